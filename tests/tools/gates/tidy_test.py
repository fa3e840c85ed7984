#!/usr/bin/python3
"""tools/gates/tidy.py with a stand-in for clang-tidy, which says what a file that is named as it is has in it.

Of what the file includes it says what it cannot find.
"""

import os
import unittest

from gate_test import GateTest

STAND_IN = '''#!/bin/sh
echo "$2" >> calls
cat "$2"
for header in $(sed -n 's/^#include "\\(.*\\)"$/\\1/p' "$2"); do
  found=false
  for folder; do
    [ ! -f "${folder#-I}/$header" ] || found=true
  done
  $found || echo "$PWD/$2:1:1: error: '$header' file not found [clang-diagnostic-error]"
done
! grep -q error: "$2"
'''


class TidyTest(GateTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.write("tidy", STAND_IN), 0o755)

    def run_tidy(self, *arguments):
        return self.run_gate("tidy.py", "--clang-tidy", os.path.join(self.folder, "tidy"), *arguments)

    def test_reports_each_finding_once(self):
        text = f"{self.folder}/a.h:3:1: warning: moved twice [bugprone-use-after-move]\n"
        text += f"{self.folder}/other.h:1:1: warning: not asked for [misc-x]\nother text\n"
        self.write("a.cc", text)
        self.write("b.cc", text)
        self.write("a.h", "")
        lines = self.run_tidy("a.cc", "a.h", "b.cc")
        self.assert_finds(lines, ("a.h:3", "moved twice [bugprone-use-after-move]; mend it"))
        self.assertEqual(sorted(self.read("calls").split()), ["a.cc", "b.cc"])

    def test_header_without_a_source_is_checked_alone(self):
        self.write("b.h", "")
        self.assert_finds(self.run_tidy("b.h"))
        self.assertEqual(self.read("calls"), "b.h\n")

    def test_compile_errors_are_always_reported(self):
        self.write("a.cc", f"{self.folder}/c.h:1:2: error: no such thing [clang-diagnostic-error]\n")
        self.assert_finds(self.run_tidy("a.cc"), ("c.h:1", "no such thing"))

    def test_generates_headers_of_every_proto(self):
        for name, path in (("First", "proto/first/v1/first.proto"), ("Second", "server/second/second.proto"),
                           ("Third", "tests/third/third.proto")):
            self.write(path, f'syntax = "proto3"; package test; message {name} {{}}')
        self.write("a.cc", '#include "first/v1/first.pb.h"\n#include "server/second/second.pb.h"\n'
                           '#include "third/third.pb.h"\n#include "server/second/none.pb.h"\n')
        self.assert_finds(self.run_tidy("a.cc"), ("a.cc:1", "'server/second/none.pb.h' file not found"))

    def test_missing_cuda_is_a_finding_only_in_ci(self):
        self.write("a.cc", f"{self.folder}/a.cc:1:10: error: 'nccl.h' file not found [clang-diagnostic-error]\n")
        lines = self.run_tidy("a.cc")
        self.assertEqual(self.status, 0)
        self.assertIn("1 files need CUDA's or NCCL's headers", lines[0])
        self.environment["CI"] = "true"
        lines = self.run_tidy("a.cc")
        self.assertEqual(self.status, 1)
        self.assertIn("run tools/install-deps --cuda", lines[0])

    def test_reports_files_beyond_the_time_limit(self):
        self.write("a.cc", "")
        lines = self.run_tidy("--within", "0", "a.cc")
        self.assertEqual((self.status, lines), (0, ["tidy: 1 of 1 files were not looked at within 0 minutes"]))


if __name__ == "__main__":
    unittest.main()

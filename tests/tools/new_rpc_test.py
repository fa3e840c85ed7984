"""tools/new-rpc still finds every place that it writes to, in a copy of this tree, and leaves a tree alone where it
cannot do all of its work. That what it writes compiles is seen by hand: it takes the whole daemon."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TREE = pathlib.Path("README.md").resolve().parent
FOLDERS = ("common", "proto", "server", "tests/server/core")


def contents(folder):
    return {path.relative_to(folder): path.read_text() for path in folder.rglob("*") if path.is_file()}


class NewRpcTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.copy = pathlib.Path(temporary.name)
        for folder in FOLDERS:
            shutil.copytree(TREE / folder, self.copy / folder, ignore=shutil.ignore_patterns("*.png"))

    def begin(self, name):
        return subprocess.run(
            [TREE / "tools" / "new-rpc", "--tree", self.copy, name], capture_output=True, text=True, check=False
        )

    def assert_rejects(self, name, why):
        before = contents(self.copy)
        outcome = self.begin(name)
        self.assertEqual(outcome.returncode, 1, outcome.stdout)
        self.assertRegex(outcome.stderr, why)
        self.assertIn("Nothing was changed", outcome.stderr)
        self.assertEqual(contents(self.copy), before)

    def test_adds_rpcs_in_sequence(self):
        for name, snake in (("CountMembers", "count_members"), ("AskAll", "ask_all")):
            before = contents(self.copy)
            outcome = self.begin(name)
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            after = contents(self.copy)
            changed = {str(path) for path in after if after[path] != before.get(path)}
            self.assertEqual(changed, set(outcome.stdout.split("\n\n")[0].splitlines()))
            self.assertLessEqual({f"server/core/{snake}.cc", f"tests/server/core/members/{snake}_test.cc"}, changed)
            for path in changed:
                self.assertRegex(after[pathlib.Path(path)], rf"{name}|{snake}")

    def test_only_adds_lines(self):
        before = contents(self.copy)
        self.begin("CountMembers")
        for path, text in contents(self.copy).items():
            old = before.get(path, "")
            # clang-format may break lines in other places, and the row before the new one now ends
            # in a backslash.
            words = [word for word in re.findall(r"\w+", text) if not re.search("(?i)count_?members", word)]
            missing = set(re.findall(r"\w+", old)) - set(words)
            self.assertEqual(missing, set(), path)

    def test_rejects_an_existing_rpc(self):
        self.assert_rejects("Join", "coordinator.proto has Join already")

    def test_rejects_the_name_of_another_request(self):
        self.assert_rejects("Stop", "has a StopRequest of another rpc")

    def test_rejects_an_invalid_name(self):
        for name in ("countMembers", "count_members", "Count Members", "2Count", ""):
            self.assert_rejects(name, "write it as CountMembers")

    def test_rejects_a_rearranged_tree(self):
        path = self.copy / "server/core/api/input.h"
        path.write_text(path.read_text().replace("MemberCall =", "CallOfAMember ="))
        self.assert_rejects("CountMembers", "server/core/api/input.h has 0 places")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""tools/gates/protos.py on .proto files that break each rule."""

import os
import unittest

from gate_test import GateTest

GOOD = '''syntax = "proto3";
package muster.v1;

// What it serves.
service ThingService {
  // Does it.
  rpc Do(DoRequest) returns (DoResponse);
}

message DoRequest {
  // Which one.
  Thing thing = 1;
  reserved 7;
  reserved "old";
}

message DoResponse {
  uint64 num_bytes = 1;  // what came
}

// One of them.
message Thing {
  // Which kind.
  ThingKind kind = 1;
  // How many take part.
  uint32 world_size = 2;
}

// Kinds of things.
enum ThingKind {
  THING_KIND_UNSPECIFIED = 0;
  // The large.
  THING_KIND_LARGE = 1;
}
'''

FILE = "proto/muster/v1/thing.proto"


class ProtosTest(GateTest):
    def setUp(self):
        super().setUp()
        self.write(FILE, GOOD)
        self.assert_finds(self.run_gate("protos.py", "--release"))

    def change(self, *pairs):
        text = GOOD
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.write(FILE, text)
        return self.run_gate("protos.py")

    def test_accepts_a_valid_proto(self):
        self.assert_finds(self.run_gate("protos.py"))

    def test_empty_list_of_released_fields(self):
        self.write("proto/released.txt", "# nothing\n")
        self.assert_finds(self.run_gate("protos.py"), ("proto/released.txt:1", "--release"))

    def test_missing_comments(self):
        for comment, what, line in (("// What it serves.", "service ThingService", 5), ("// Does it.", "rpc Do", 7),
                                    ("// Which one.", "field thing", 12), ("// what came", "field num_bytes", 18),
                                    ("// One of them.", "message Thing", 22), ("// Kinds of things.", "enum ThingKind", 30),
                                    ("// The large.", "value THING_KIND_LARGE", 33)):
            with self.subTest(what):
                self.assert_finds(self.change((comment, "")), (f"{FILE}:{line}", f"{what} has no comment"))

    def test_fields_that_carry_requests_need_no_comment(self):
        carrier = "\n// Carries calls.\nmessage Carrier {\n  oneof request {\n    DoRequest do = 1;\n    DoResponse other = 2;\n  }\n}\n"
        with open(os.path.join(self.folder, FILE), "a", encoding="utf-8") as file:
            file.write(carrier)
        self.assert_finds(self.run_gate("protos.py"), (f"{FILE}:40", "field other has no comment"))

    def test_package_matches_its_folder_and_has_a_version(self):
        os.remove(os.path.join(self.folder, FILE))
        self.write("proto/muster/thing.proto", 'syntax = "proto3";\npackage other;\n')
        self.write("proto/released.txt", "field\tmuster.Gone\t1\tname\tstring\n")
        self.assert_finds(self.run_gate("protos.py"), ("proto/muster/thing.proto:2", "call it 'muster'"),
                          ("proto/muster/thing.proto:2", "has no version"), ("proto/released.txt:1", "muster.Gone was released"))

    def test_names(self):
        added = '''// A.
message bad_name {
  // B.
  string BadField = 1;
}
// C.
enum Colour {
  RED = 0;
  // D.
  COLOUR_blue = 1;
}
// E.
service Things {}
'''
        lines = self.change(("// Kinds of things.", added + "// Kinds of things."))
        self.assert_finds(sorted(lines, key=lambda line: int(line.split(":")[1])),
                          (f"{FILE}:30", "message bad_name is not CamelCase"), (f"{FILE}:32", "field BadField is not snake_case"),
                          (f"{FILE}:36", "call it COLOUR_UNSPECIFIED"), (f"{FILE}:36", "does not begin with"),
                          (f"{FILE}:38", "does not begin with"), (f"{FILE}:41", "is not called ...Service"))

    def test_rpc_has_its_own_messages(self):
        lines = self.change(("  rpc Do(", "  // Again.\n  rpc Undo(DoRequest) returns (DoResponse);\n  // Does it.\n  rpc Do("))
        self.assert_finds(lines, (f"{FILE}:8", "give it a UndoRequest"), (f"{FILE}:8", "give it a UndoResponse"))

    def test_units(self):
        for name, text in (("wait_ms", "is a time as a number"), ("timeout", "is a time as a number"),
                           ("buffer_size", "end its name in _bytes"), ("used_kib", "end its name in _bytes")):
            with self.subTest(name):
                lines = self.change(("  uint32 world_size = 2;", f"  uint32 world_size = 2;\n  // X.\n  uint64 {name} = 3;"))
                self.assert_finds(lines, (f"{FILE}:28", text))
        self.assert_finds(self.change(("  uint32 world_size = 2;", "  uint32 world_size = 2;\n  // X.\n  string time = 3;")))

    def test_field_numbers_are_not_reused(self):
        lines = self.change(("uint32 world_size = 2", "uint32 members = 2"))
        self.assert_finds(lines, (f"{FILE}:26", "number 2 was released as field world_size"))

    def test_field_types_do_not_change(self):
        self.assert_finds(self.change(("uint32 world_size", "string world_size")), (f"{FILE}:26", "`uint32` and is `string`"))
        self.assert_finds(self.change(("uint32 world_size", "repeated uint32 world_size")), (f"{FILE}:26", "`repeated uint32`"))

    def test_removed_fields_are_reserved(self):
        line = "  // How many take part.\n  uint32 world_size = 2;\n"
        self.assert_finds(self.change((line, "")), (f"{FILE}:22", "reserved 2"))
        self.assert_finds(self.change((line, "  reserved 2;\n")), (f"{FILE}:22", "reserved 2"))
        self.assert_finds(self.change((line, '  reserved 2;\n  reserved "world_size";\n')))

    def test_removed_values_are_reserved(self):
        line = "  // The large.\n  THING_KIND_LARGE = 1;\n"
        self.assert_finds(self.change((line, "")), (f"{FILE}:30", "value THING_KIND_LARGE"))
        self.assert_finds(self.change((line, '  reserved 1;\n  reserved "THING_KIND_LARGE";\n')))

    def test_rpcs_keep_their_messages(self):
        self.assert_finds(self.change(("returns (DoResponse)", "returns (stream DoResponse)")),
                          (f"{FILE}:7", "returns (stream muster.v1.DoResponse)"))
        lines = self.change(("  // Does it.\n  rpc Do(DoRequest) returns (DoResponse);\n", ""),
                            ("message DoRequest", "// X.\nmessage DoRequest"), ("message DoResponse", "// X.\nmessage DoResponse"))
        self.assert_finds(lines, (f"{FILE}:5", "rpc Do of ThingService was released and is gone"))

    def test_unreleased_fields_may_change(self):
        added = ("  uint32 world_size = 2;", "  uint32 world_size = 2;\n  // X.\n  string more = 3;")
        self.assert_finds(self.change(added))
        self.run_gate("protos.py", "--release")
        self.assert_finds(self.change(), (f"{FILE}:22", "field more of Thing was released"))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""tools/gates/classes.py on files that define classes of one name."""

import unittest

from gate_test import GateTest


class ClassesTest(GateTest):
    def test_one_name_in_one_namespace(self):
        self.write("client/a.h", "namespace muster::internal {\nclass Stream final : public Target {\n};\n}  // namespace muster::internal\n")
        self.write("client/b.cc", "namespace muster {\nnamespace internal {\n\ntemplate <typename T>\nstruct Stream {\n  int x;\n};\n"
                   "}  // namespace internal\n}  // namespace muster\n")
        self.assert_finds(self.run_gate("classes.py"),
                          ("client/b.cc:5", "muster::internal::Stream is defined in client/a.h:2 too"))

    def test_allowed_duplicates(self):
        self.write("client/a.h", "namespace muster {\nclass Stream {\n  struct Part {};\n  class Impl;\n};\nclass Sink;\n"
                   "template <typename T>\nstruct Codec {\n};\nenum class Kind : int { kA };\n}  // namespace muster\n")
        self.write("client/a.cc", "namespace muster {\nnamespace {\nclass Sink {\n};\n}  // namespace\n\n"
                   "class Stream::Impl {\n};\n}  // namespace muster\n")
        self.write("client/b.cc", "namespace muster::internal {\nstruct Stream {\n  struct Part {};\n};\nclass Sink {\n};\n"
                   "}  // namespace muster::internal\nnamespace muster {\ntemplate <>\nstruct Codec<int> {\n};\n"
                   "struct Stream stream;\n}  // namespace muster\n")
        self.write("client/c.cc", "namespace {\nstruct Stream {\n};\n}  // namespace\nextern \"C\" {\nstruct Kind {\n};\n}\n")
        self.assert_finds(self.run_gate("classes.py"))

    def test_a_class_on_one_line(self):
        self.write("a.h", "namespace muster {\nstruct Ended {};\n}  // namespace muster\n")
        self.write("b.h", "namespace muster {\nstruct Ended {};\n}  // namespace muster\n")
        self.assert_finds(self.run_gate("classes.py"), ("b.h:2", "muster::Ended is defined in a.h:2 too"))

    def test_each_kind_of_class(self):
        for kind in ("class", "struct", "union", "enum", "enum class", "class ABSL_MUST_USE_RESULT", "struct [[nodiscard]]"):
            with self.subTest(kind):
                self.write("a.h", "namespace muster {\nclass Stream {\n};\n}  // namespace muster\n")
                self.write("b.cu", f"namespace muster {{\n{kind} Stream {{\n}};\n}}  // namespace muster\n")
                self.assert_finds(self.run_gate("classes.py"), ("b.cu:2", "muster::Stream"))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
"""tools/site/comments.py: what of a header Doxygen gets as documentation."""

import sys
import unittest

sys.path.insert(0, "tools/site")
sys.dont_write_bytecode = True

from comments import filtered  # noqa: E402


def lines_of(text):
    """Of a header with that in it, after "@file"."""
    before = ["#ifndef A_", "", "#include <a>", ""]
    result = filtered(before + text.split("\n"))
    assert result[:4] == ["#ifndef A_", "/// @file", "#include <a>", ""], result
    return result[4:]


class CommentsTest(unittest.TestCase):
    def check(self, text, expected):
        found = lines_of(text)
        self.assertEqual("\n".join(found), expected)
        self.assertEqual(len(found), len(text.split("\n")))   # so that warnings name the right line

    def test_a_comment_before_a_declaration(self):
        self.check("// It.\n// More.\nint F(int a,\n      int b);\n", "/// It.\n/// More.\nint F(int a,\n      int b);\n")

    def test_comments_outside_declarations(self):
        for text in ("int F();\n\n// ---- Part\n\nint G();", "class A;\n\n// The end.\n}  // namespace a", "int F() {\n  // Why.\n  return 1;\n}"):
            self.check(text, text)

    def test_comment_covers_adjacent_declarations(self):
        self.check("class A {\n public:\n  // All of them.\n  //\n  // Twice.\n  int F();\n  template <class T>\n  int G() {\n    return 1;\n  }\n"
                   "  A() = default;\n\n  int H();\n  // Own.\n  int I();\n private:\n  int J();\n};",
                   "class A {\n public:\n  /// All of them.\n  ///\n  /// Twice.\n  int F();\n"
                   "/** All of them.@newline @newline Twice. */   template <class T>\n  int G() {\n    return 1;\n  }\n"
                   "  A() = default;\n\n  int H();\n  /// Own.\n  int I();\n private:\n  int J();\n};")

    def test_comment_of_a_class_does_not_cover_members(self):
        self.check("// It.\nstruct A {\n  int b;\n};", "/// It.\nstruct A {\n  int b;\n};")

    def test_trailing_comment_of_a_field_or_value(self):
        self.check("enum E {\n  kA,  // the one\n  kB   // the other\n};\nstruct S {\n  int a = 1;  // in <b>\n};",
                   "enum E {\n  kA,  ///< the one\n  kB   ///< the other\n};\nstruct S {\n  int a = 1;  ///< in \\<b\\>\n};")

    def test_escapes_markup(self):
        self.check("// A<T> is @not \\n a #tag & `b<T>`.\nint F();", "/// A\\<T\\> is \\@not \\\\n a \\#tag \\& `b<T>`.\nint F();")

    def test_renders_error_lists_and_example_code(self):
        self.check("// Does it:\n//\n//   F(a);\n//\n// Errors:\n//   ABORTED    it was\n//              lost;\n//   CANCELLED  through it.\n// Later.\nint F();",
                   "/// Does it:\n///\n///       F(a);\n///\n/// Errors:\n/// - **ABORTED** it was\n///   lost;\n/// - **CANCELLED** through it.\n"
                   "/// <br>Later.\nint F();")

    def test_comments_of_c(self):
        self.check("/* It\n * goes. */\nint f(void);\n\nstruct s {\n  int a; /* one */\n};", "/// It\n/// goes.\nint f(void);\n\nstruct s {\n  int a; ///< one\n};")

    def test_the_comment_of_the_file(self):
        for after in ("", "namespace a {"):
            text = f"#ifndef A_\n\n#include <a>\n\n// Of all.\n// Here.\n{after}\n// F.\nint F();"
            self.assertEqual("\n".join(filtered(text.split("\n"))),
                             f"#ifndef A_\n\n#include <a>\n\n/// @file @newline Of all.\n/// Here.\n{after}\n/// F.\nint F();")


if __name__ == "__main__":
    unittest.main()

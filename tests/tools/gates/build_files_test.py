#!/usr/bin/python3
"""tools/gates/build_files.py on Bazel's files that break each rule."""

import unittest

from gate_test import GateTest


class BuildFilesTest(GateTest):
    def check(self, text, *arguments, name="BUILD.bazel"):
        self.write(name, text)
        return self.run_gate("build_files.py", *arguments, name)

    def test_accepts_a_tidy_file(self):
        lines = self.check('''load("@rules//cc:defs.bzl", "a", "b")
load("//bazel:rules.bzl", "c")

# A comment.
a(
    name = "one",
    srcs = ["one.cc"] + glob(["*.h"]),
    deps = [
        ":two",
        "//a",
        "//a:c",
        "//a/b",
        "@debian//:absl",
        # Another order begins.
        "//0",
    ] + select({
        "//x": b(c),
    }),
)
''')
        self.assert_finds(lines)

    def test_tests_that_no_rule_names(self):
        self.write("a/lost_test.cc", "")
        self.write("a/b/lost_test.py", "")
        self.write("a/found_test.cc", "")
        self.write("a/first_test.cc", "")
        self.write("a/second_test.sh", "")
        self.write("outside_test.py", "")
        text = '''cc_test(
    name = "found_test",
    srcs = ["found_test.cc"],
)

[a(
    name = name + "_test",
    srcs = ["%s_test.cc" % name],
) for name in [
    "first",
    "second",
]]
'''
        self.assert_finds(self.check(text, name="a/BUILD.bazel"), ("a/b/lost_test.py:1", "no rule of a/BUILD.bazel names this test"),
                          ("a/lost_test.cc:1", "no rule of a/BUILD.bazel names this test"))

    def test_unsorted_lists(self):
        text = '''a(
    name = "one",
    srcs = [
        "exchange_scope.cc",
        "exchange.cc",
    ],
    deps = [
        "@debian//:absl",
        "//b",
        ":c",
    ],
    args = [
        "z",
        "a",
    ],
)
'''
        self.assert_finds(self.check(text), ("BUILD.bazel:4", "'exchange.cc' comes here"), ("BUILD.bazel:8", "':c' comes here"))
        self.assert_finds(self.check(text, "--fix"))
        self.assertIn('''    srcs = [
        "exchange.cc",
        "exchange_scope.cc",
    ],
    deps = [
        ":c",
        "//b",
        "@debian//:absl",
    ],
    args = [
        "z",
''', self.read("BUILD.bazel"))

    def test_one_line_lists_need_no_order(self):
        text = 'a(\n    name = "one",\n    srcs = ["b", "a"],\n)\n'
        self.assert_finds(self.check(text, "--fix"), ("BUILD.bazel:3", "'a' comes here"))
        self.assertEqual(self.read("BUILD.bazel"), text)

    def test_duplicates(self):
        lines = self.check('a(\n    name = "x",\n    deps = [\n        ":y",\n        ":y",\n    ],\n)\n\nb(\n    name = "x",\n)\n')
        self.assert_finds(lines, ("BUILD.bazel:5", "twice"), ("BUILD.bazel:9", "is also the rule of line 1"))

    def test_loads(self):
        lines = self.check('load("//z:z.bzl", "z", "y", w = "v")\nload("//a:a.bzl", "a")\n\nz(name = y)\n\nload("//b:b.bzl", "b")\n\nb(name = a)\n')
        self.assert_finds(lines, ("BUILD.bazel:1", "loads 'w'"), ("BUILD.bazel:1", "not in order; write w, y, z"),
                          ("BUILD.bazel:1", "//a:a.bzl, //b:b.bzl, //z:z.bzl"), ("BUILD.bazel:6", "put it first"))

    def test_unsorted_names_in_load(self):
        self.assert_finds(self.check('load("//z:z.bzl", "z", "y")\n\nz(name = y)\n'), ("BUILD.bazel:1", "write y, z"))

    def test_layout(self):
        lines = self.check("a(\n    srcs = ['x'], \n\tname = \"b\",\n    deps = [\n        \":y\"\n    ]\n)\n\n\n\nb(name = \"c\")\n")
        self.assert_finds(sorted(lines, key=lambda line: int(line.split(":")[1])),
                          ("BUILD.bazel:1", "name is not the first"), ("BUILD.bazel:2", "ends in spaces"),
                          ("BUILD.bazel:2", "single quotes"), ("BUILD.bazel:3", "has a tab"), ("BUILD.bazel:5", "no comma"),
                          ("BUILD.bazel:6", "no comma"), ("BUILD.bazel:9", "second empty line"), ("BUILD.bazel:10", "second empty line"))

    def test_invalid_starlark(self):
        self.assert_finds(self.check("a(\n"), ("BUILD.bazel:1", "is not Starlark"))


if __name__ == "__main__":
    unittest.main()

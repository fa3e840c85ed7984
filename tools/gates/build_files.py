#!/usr/bin/python3
"""Looks at Bazel's files, as buildifier would: neither Debian nor Python's registry has that.

  BUILD files and .bzl files   loads come first, in order, and every name that is loaded is used; four
                               spaces, no tab, no space at the end, one empty line at most between things,
                               strings in "double quotes", a comma after the last element of a list that
                               has a line for each
  BUILD files                  lists of labels and files are sorted as buildifier sorts them, and name
                               nothing twice; a rule's name comes first, and no two rules have the same
  tests                        each file NAME_test.EXT is named in the BUILD file of its package, whichever
                               files were given: a test that no rule names never runs

With --fix, lists are sorted, and spaces at the end of lines go.
"""

import argparse
import ast
import os
import re
import sys

from findings import Findings, read_lines, tracked_files

SORTED = {"srcs", "hdrs", "textual_hdrs", "deps", "data", "exports", "implementation_deps", "tools", "tags", "visibility",
          "default_visibility"}


def sort_key(label):
    """buildifier's order: files, then :labels, //labels and @labels; a colon counts as a full stop."""
    phase = {":": 1, "/": 2, "@": 3}.get(label[:1], 0)
    return phase, label.replace(":", ".").split(".")


def strings_of(node):
    """The elements of a list of strings; None where there is something else in it."""
    if not isinstance(node, ast.List):
        return None
    if not all(isinstance(element, ast.Constant) and isinstance(element.value, str) for element in node.elts):
        return None
    return node.elts


def chunks_of(elements, lines):
    """Elements between which there is no line with a comment alone, which heads what follows it."""
    chunk = []
    for element in elements:
        if chunk and any(line.strip().startswith("#") for line in lines[chunk[-1].lineno:element.lineno - 1]):
            yield chunk
            chunk = []
        chunk.append(element)
    if chunk:
        yield chunk


def lists_in(argument):
    """The lists of strings of an argument, those that are added up or chosen by select() too."""
    for node in ast.walk(argument):
        elements = strings_of(node)
        if elements:
            yield elements


class BuildFile:
    def __init__(self, path, findings, fix):
        self.path, self.findings, self.fix = path, findings, fix
        self.lines = read_lines(path)
        self.is_build_file = not path.endswith(".bzl")

    def add(self, line, text):
        self.findings.add(self.path, line, text)

    def check(self):
        if self.fix:
            self.lines = [line.rstrip() for line in self.lines]
        try:
            tree = ast.parse("\n".join(self.lines))
        except SyntaxError as error:
            self.add(error.lineno or 1, f"is not Starlark: {error.msg}")
            return
        self.check_spaces()
        self.check_quotes(tree)
        self.check_loads(tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.List, ast.Call)):
                self.check_last_comma(node)
        if self.is_build_file:
            self.check_rules(tree)
        if self.fix:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write("\n".join(self.lines))

    def check_spaces(self):
        for number, line in enumerate(self.lines, 1):
            if line != line.rstrip():
                self.add(number, "ends in spaces; take them away, or run tools/check --fix")
            if "\t" in line:
                self.add(number, "has a tab; indent by four spaces")
            if line == "" and number > 1 and self.lines[number - 2] == "" and number < len(self.lines):
                if self.is_build_file:
                    self.add(number, "is a second empty line; one is enough")

    def check_quotes(self, tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if self.lines[node.lineno - 1].encode()[node.col_offset:node.col_offset + 1] == b"'" and '"' not in node.value:
                    self.add(node.lineno, f"'{node.value}' is in single quotes; write \"{node.value}\"")

    def check_last_comma(self, node):
        parts = node.elts if isinstance(node, ast.List) else node.args + [keyword.value for keyword in node.keywords]
        if not parts or node.end_lineno == node.lineno:
            return
        if isinstance(node, ast.Call) and node.keywords and node.keywords[-1].arg is None:
            return   # Bazel 4 takes no comma after **kwargs
        last = max(parts, key=lambda part: (part.end_lineno, part.end_col_offset))
        own_line = self.lines[node.end_lineno - 1].strip()
        if own_line[:1] in ("]", ")") and last.end_lineno < node.end_lineno:
            rest = self.lines[last.end_lineno - 1].encode()[last.end_col_offset:].decode()
            if not rest.lstrip(" )").startswith(",") and not isinstance(last, ast.GeneratorExp):
                self.add(last.end_lineno, "no comma after the last element; put one, so that the next change is one line")

    def check_loads(self, tree):
        loads = [statement.value for statement in tree.body
                 if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
                 and isinstance(statement.value.func, ast.Name) and statement.value.func.id == "load"]
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for load in loads:
            names = [argument.value for argument in load.args[1:]]
            names += [keyword.arg for keyword in load.keywords]
            for name in names:
                if name not in used:
                    self.add(load.lineno, f"loads '{name}', and does not use it; take it out")
            if names != sorted(names):
                self.add(load.lineno, f"names in load() are not in order; write {', '.join(sorted(names))}")
        if not self.path.endswith("WORKSPACE"):
            files = [load.args[0].value for load in loads]
            in_order = sorted(files, key=lambda file: ({"@": 0, "/": 1}.get(file[0], 2), file))
            if files != in_order:
                self.add(loads[0].lineno, f"load() calls are not in order; write {', '.join(in_order)}")
            others = [statement.lineno for statement in tree.body
                      if not (isinstance(statement, ast.Expr) and isinstance(statement.value, (ast.Constant)))
                      and getattr(statement, "value", None) not in loads]
            for load in loads:
                if others and load.lineno > others[0]:
                    self.add(load.lineno, "load() comes after something else; put it first")

    def check_rules(self, tree):
        names = {}
        for statement in tree.body:
            call = getattr(statement, "value", None)
            if not isinstance(call, ast.Call):
                continue
            arguments = [keyword.arg for keyword in call.keywords]
            if "name" in arguments[1:]:
                self.add(call.lineno, "name is not the first argument; put it first")
            for keyword in call.keywords:
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    name = keyword.value.value
                    if getattr(call.func, "id", "") == "nccl_versions_test":
                        name += "_on_nccl"   # its rules are named after the versions, too
                    if name in names:
                        self.add(call.lineno, f"'{name}' is also the rule of line {names[name]}; choose another name")
                    names[name] = call.lineno
                if keyword.arg in SORTED:
                    for elements in lists_in(keyword.value):
                        self.check_list(keyword.arg, elements)
            if isinstance(call.func, ast.Name) and call.func.id == "exports_files" and call.args:
                for elements in lists_in(call.args[0]):
                    self.check_list("exports_files", elements)

    def check_list(self, what, elements):
        seen = set()
        for element in elements:
            if element.value in seen:
                self.add(element.lineno, f"{what} has '{element.value}' twice; take one out")
            seen.add(element.value)
        for chunk in chunks_of(elements, self.lines):
            values = [element.value for element in chunk]
            expected = sorted(values, key=sort_key)
            if values == expected:
                continue
            if self.fix and self.sort(chunk):
                continue
            wrong = next(i for i, value in enumerate(values) if value != expected[i])
            self.add(chunk[wrong].lineno,
                     f"{what} is not sorted: '{expected[wrong]}' comes here; run tools/check --fix")

    def sort(self, chunk):
        """Sorts in place, where every element has a line of its own."""
        numbers = [element.lineno for element in chunk]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            return False
        lines = [(sort_key(element.value), self.lines[element.lineno - 1]) for element in chunk]
        if any(not line.rstrip().split("#")[0].rstrip().endswith(",") for _, line in lines):
            return False
        self.lines[numbers[0] - 1:numbers[0] - 1 + len(numbers)] = [line for _, line in sorted(lines)]
        return True


def package_of(file, packages):
    """The nearest folder above `file` that has a BUILD file; None if there is none."""
    folder = os.path.dirname(file)
    while folder and folder not in packages:
        folder = os.path.dirname(folder)
    return folder if folder in packages else None


def check_tests_have_rules(findings):
    """Finds tests that no BUILD file names: "x_test.cc", "x_test", "x" beside "%s_test", or a glob of tests."""
    packages = {os.path.dirname(path): path for path in tracked_files("BUILD.bazel", "*/BUILD.bazel")}
    texts = {folder: "\n".join(read_lines(path)) for folder, path in packages.items()}
    for file in tracked_files("*_test.cc", "*_test.c", "*_test.cu", "*_test.py", "*_test.sh"):
        folder = package_of(file, packages)
        if folder is None:
            continue
        name = os.path.relpath(file, folder or ".")
        stem = os.path.splitext(name)[0]
        text = texts[folder]
        named = f'"{name}"' in text or f'"{stem}"' in text
        composed = f'"{stem[:-len("_test")]}"' in text and re.search(r'%s_test|\+ "_test', text)
        globbed = re.search(r'^[^#\n]*"\*_test', text, re.M)
        if not named and not composed and not globbed:
            findings.add(file, 1, f"no rule of {packages[folder]} names this test, so it never runs; add it there")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="mend what can be mended without being asked")
    parser.add_argument("files", nargs="*", help="BUILD.bazel, WORKSPACE and .bzl files")
    args = parser.parse_args()
    findings = Findings("build")
    for path in args.files:
        BuildFile(path, findings, args.fix).check()
    check_tests_have_rules(findings)
    sys.exit(findings.exit_code())


if __name__ == "__main__":
    main()

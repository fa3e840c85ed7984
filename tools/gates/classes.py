#!/usr/bin/python3
"""Finds classes of one name that are defined in two files.

Two classes with one name in one namespace break C++'s one definition rule: the linker keeps one of their inline
functions, and objects of the other class are then handled by the wrong code. No compiler warns, and whether it does harm
depends on what the optimizer inlines.

The gate reads every .h, .cc and .cu file. It relies on their layout by clang-format: namespaces are not indented, so
that a class of a namespace begins in the first column. Classes of an unnamed namespace, forward declarations and
specializations of templates may share a name.
"""

import re
import sys

from findings import Findings, read_lines, tracked_files

NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
NAMESPACE_END = re.compile(r"^\}  // namespace\b")
CLASS = re.compile(r"^(?:class|struct|union|enum class|enum)(?: \[\[\w+\]\]| [A-Z][A-Z_]{2,}(?:\(.*?\))?)* ([\w:]+)(?: final)?(?: : .*| \{.*|$)")
TEMPLATE = re.compile(r"^template <.*> (?=class|struct)")


def classes_of(lines):
    """Yields (line number, qualified name) of each class that a namespace of `lines` defines, and other files can see."""
    scopes = []
    for number, line in enumerate(lines, 1):
        opened = NAMESPACE.match(line)
        if opened:
            scopes.append(opened[1])
        elif NAMESPACE_END.match(line) and scopes:
            scopes.pop()
        elif None not in scopes:
            found = CLASS.match(TEMPLATE.sub("", line))
            if found:
                yield number, "::".join([*scopes, found[1]])


def main():
    if len(sys.argv) > 1:
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 2
    findings = Findings("classes")
    first = {}
    for file in tracked_files("*.h", "*.cc", "*.cu"):
        for number, name in classes_of(read_lines(file)):
            place = first.setdefault(name, (file, number))
            if place[0] != file:
                findings.add(file, number, f"{name} is defined in {place[0]}:{place[1]} too, and a program that links both "
                             "takes one for the other; rename one, or move it into an unnamed namespace")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Looks at what Markdown files, comments and help texts point to.

  links      of Markdown lead to a file or folder that is in git, and #anchors to a heading there
  mentions   of docs/NAME.md and docs/NAME.md#anchor, in whatever file, name a page that is there
  paths      of the tree in `backquotes` in README.md and docs are there; {a,b}, * and ... stand for what fits

Addresses of the web are not looked at.
"""

import fnmatch
import os
import re
import sys
import urllib.parse

from findings import Findings, read_lines, tracked_files

FENCE = re.compile(r"^\s*(```|~~~)")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\s{0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
HTML_LINK = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
HTML_ANCHOR = re.compile(r"<[a-z0-9]+\b[^>]*?\b(?:id|name)=\"([^\"]+)\"")
MENTION = re.compile(r"(?<![\w/.-])docs/[a-z0-9_/-]+\.md(?:#[\w-]+)?")
CODE = re.compile(r"`([^`]+)`")
TOP_FOLDERS = "bazel|client|common|deploy|docs|examples|proto|server|tests|tools"
TREE_PATH = re.compile(rf"(?:{TOP_FOLDERS}|\.ci)/[\w./*{{}},+-]+$")
MENTIONING = ("*.md", "*.h", "*.cc", "*.cu", "*.proto", "*.py", "*.sh", "*.bazel", "*.bzl", "*.yaml", "*.yml", "tools/*", "deploy/*",
              ".bazelrc")


def slug(heading):
    """The anchor that a heading gets, as GitHub makes it."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[`*]|(?<!\w)_|_(?!\w)", "", text)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def prose_lines(lines):
    """(number, line) of those that are not in a fenced block."""
    fence = None
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if match and fence is None:
            fence = match[1]
        elif match and match[1] == fence:
            fence = None
        elif fence is None:
            yield number, line


def anchors_of(lines):
    anchors, seen = set(), {}
    for _, line in prose_lines(lines):
        anchors.update(HTML_ANCHOR.findall(line))
        match = HEADING.match(line)
        if match:
            name = slug(match[1])
            count = seen.get(name, 0)
            seen[name] = count + 1
            anchors.add(f"{name}-{count}" if count else name)
    return anchors


def expand(pattern):
    """a/{b,c}.h as a/b.h and a/c.h."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [path for choice in match[1].split(",") for path in expand(pattern[:match.start()] + choice + pattern[match.end():])]


class Tree:
    def __init__(self):
        self.files = set(tracked_files())
        self.folders = {"."}
        for file in self.files:
            while os.path.dirname(file):
                file = os.path.dirname(file)
                self.folders.add(file)
        self.anchors = {}

    def has(self, path):
        path = os.path.normpath(path)
        return path in self.files or path in self.folders

    def has_pattern(self, pattern):
        pattern = pattern.replace("...", "*").rstrip("/")
        names = self.files | self.folders
        return all(any(fnmatch.fnmatchcase(name, path) for name in names) if "*" in path else self.has(path)
                   for path in expand(pattern))

    def has_anchor(self, path, anchor):
        if not path.endswith(".md"):
            return True   # lines of sources
        if path not in self.anchors:
            self.anchors[path] = anchors_of(read_lines(path))
        return anchor in self.anchors[path]


def check_target(tree, findings, file, line, target, base):
    target = urllib.parse.unquote(target)
    if re.match(r"[a-z][a-z0-9+.-]*:|//", target):
        return
    path, _, anchor = target.partition("#")
    path = os.path.normpath(os.path.join(base, path)) if path else file
    if not tree.has(path):
        findings.add(file, line, f"'{target}' leads to {path}, which is not there; correct it, or add it to git")
    elif anchor and not tree.has_anchor(path, anchor):
        findings.add(file, line, f"'{target}' leads to a heading that {path} does not have; correct it")


def check_markdown(tree, findings, file):
    base = os.path.dirname(file)
    for number, line in prose_lines(read_lines(file)):
        without_code = CODE.sub("``", line)
        targets = LINK.findall(without_code) + HTML_LINK.findall(without_code)
        targets += DEFINITION.findall(without_code)
        for target in targets:
            check_target(tree, findings, file, number, target, base)
        if file == "README.md" or file.startswith("docs/"):
            for code in CODE.findall(line):
                if TREE_PATH.match(code) and not tree.has_pattern(code):
                    findings.add(file, number, f"`{code}` is not in the tree; correct it")


def check_mentions(tree, findings, file):
    for number, line in enumerate(read_lines(file), 1):
        if file.endswith(".md"):
            line = LINK.sub("", line)   # those are looked at as links
        for mention in MENTION.findall(line):
            path, _, anchor = mention.partition("#")
            if not tree.has(path):
                findings.add(file, number, f"speaks of {path}, which is not there; correct it")
            elif anchor and not tree.has_anchor(path, anchor):
                findings.add(file, number, f"speaks of {mention}, a heading that is not there; correct it")


def main():
    if sys.argv[1:]:
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    tree, findings = Tree(), Findings("links")
    for file in sorted(tree.files):
        if file.endswith(".md"):
            check_markdown(tree, findings, file)
    for file in tracked_files(*MENTIONING):
        # Tests of tools speak of pages that they make up.
        if not file.startswith("tests/tools/"):
            check_mentions(tree, findings, file)
    sys.exit(findings.exit_code())


if __name__ == "__main__":
    main()

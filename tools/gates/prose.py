#!/usr/bin/python3
"""Looks at how comments and Markdown pages read.

  words      a turn of phrase that prose.txt lists, with a better one
  opener     a comment begins with "Those that", "That of", "The one", "Who" or "What" in place of a verb or a noun
  sentences  90 of 100 sentences of a page have at most 25 words
  width      a line of a page has at most 100 columns, without its tables, code, links' targets and addresses

Files that prose_later.txt names have not been rewritten yet and are left out. An entry that has nothing to leave out
any more is a finding, so the list can only become shorter.
"""

import fnmatch
import os
import re
import sys

from findings import Findings, read_lines, tracked_files
from links import prose_lines

HERE = os.path.dirname(os.path.abspath(__file__))
LATER = "tools/gates/prose_later.txt"
MAX_WORDS = 25
MIN_SENTENCES = 10  # of a page whose sentences are counted
MAX_COLUMNS = 100
CPP = ("*.h", "*.cc", "*.c", "*.cu", "*.proto")
HASHED = ("*.py", "*.sh", "*.bazel", "*.bzl", "tools/*", ".ci/*")
OPENER = re.compile(r"(Those|That of|The ones?|Who|Whom|Whose|Whoever|What|Whatever)\b(?!'s)(?![^.]*\?)")
SLASHES = re.compile(r"^\s*///?<?\s?(.*)$")
STARS = re.compile(r"^\s*/?\*+/?\s?(.*?)(?:\*/)?$")
HASH = re.compile(r"^\s*#(?!!)\s?(.*)$")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[\[(\"'*_`]*[A-Z0-9]|`)")
MAY_BE_WIDE = re.compile(r"^\s*(\||<|!\[)|https?://")
NOT_A_SENTENCE = re.compile(r"^\s*(\||#|<|!\[|\[[^\]]+\]:)")


def read_phrases():
    """The rows of prose.txt: a regular expression, a tab, and what to write instead."""
    rows = [line.split("\t") for line in read_lines(os.path.join(HERE, "prose.txt")) if line and not line.startswith("#")]
    return [(re.compile(pattern), better) for pattern, better in rows]


def turns_of_phrase(phrases, number, text):
    for pattern, better in phrases:
        match = pattern.search(text)
        if match:
            yield number, f"'{match[0]}': write {better}"


def comments(file, lines):
    """Each comment of the file, as a list of (number, text)."""
    cpp = any(fnmatch.fnmatch(file, pattern) for pattern in CPP)
    block, starred = [], False
    for number, line in enumerate(lines, 1):
        if cpp:
            starred = starred or line.lstrip().startswith("/*")
            match = STARS.match(line) if starred else SLASHES.match(line)
            starred = starred and "*/" not in line
        else:
            match = HASH.match(line)
        if match:
            block.append((number, match[1]))
        elif block:
            yield block
            block = []
    if block:
        yield block


def paragraphs(lines):
    """Each paragraph or item of a page, as (number, text)."""
    start, text = 0, []
    for number, line in [*prose_lines(lines), (len(lines) + 1, "")]:
        new_item = re.match(r"\s*([-*+]|\d+\.)\s", line)
        if (not line.strip() or new_item or NOT_A_SENTENCE.match(line)) and text:
            yield start, " ".join(text)
            text = []
        if line.strip() and not NOT_A_SENTENCE.match(line):
            if not text:
                start = number
            text.append(line.strip())


def sentences(lines):
    """(number of the paragraph's first line, number of words, sentence) for each sentence of a page."""
    for number, text in paragraphs(lines):
        plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"^([-*+]|\d+\.)\s+", "", text))
        for sentence in SENTENCE_END.split(plain):
            words = re.findall(r"`[^`]*`|[^\s`]+", sentence)
            is_list_of_tests = sentence.startswith("[`")
            if len(words) > 1 and not is_list_of_tests:
                yield number, len(words), sentence


def too_long(found):
    """What is wrong with the lengths of a page's sentences."""
    found = sorted(found, key=lambda sentence: sentence[1])
    if len(found) < MIN_SENTENCES:
        return
    p90 = found[(len(found) * 9) // 10][1]
    if p90 > MAX_WORDS:
        number, words, sentence = found[-1]
        yield number, (f"a tenth of the page's sentences has {p90} words or more; {MAX_WORDS} are enough. This one has {words}: "
                       f"'{sentence[:60]}...'. Say one fact in a sentence")


def check_page(phrases, lines):
    for number, line in prose_lines(lines):
        yield from turns_of_phrase(phrases, number, re.sub(r"`[^`]*`", "``", line))
        width = len(re.sub(r"\]\([^)]*\)", "]", line))
        if width > MAX_COLUMNS and not MAY_BE_WIDE.search(line):
            yield number, f"has {width} columns; break the line at {MAX_COLUMNS}"
    yield from too_long(sentences(lines))


def check_source(phrases, file, lines):
    for block in comments(file, lines):
        first = next(((number, text) for number, text in block if text.strip()), None)
        match = first and OPENER.match(first[1])
        if match:
            yield first[0], f"a comment begins with '{match[0]}'; begin with a verb ('Returns ...') or a noun"
        for number, text in block:
            yield from turns_of_phrase(phrases, number, text)


def check_file(phrases, file):
    lines = read_lines(file)
    return list(check_page(phrases, lines) if file.endswith(".md") else check_source(phrases, file, lines))


def read_later():
    """(number, pattern) of each line of prose_later.txt."""
    if not os.path.exists(LATER):
        return []
    return [(n, line) for n, line in enumerate(read_lines(LATER), 1) if line and not line.startswith("#")]


def main():
    if sys.argv[1:]:
        print(__doc__)
        sys.exit(0 if sys.argv[1:] in (["--help"], ["-h"]) else 2)
    phrases, later, needed = read_phrases(), read_later(), set()
    findings = Findings("prose")
    for file in tracked_files("*.md", *CPP, *HASHED):
        entries = {entry for entry in later if fnmatch.fnmatch(file, entry[1])}
        if entries and entries <= needed:
            continue
        found = check_file(phrases, file)
        if not entries:
            for number, text in found:
                findings.add(file, number, text)
        elif found:
            needed |= entries
    for number, pattern in later:
        if (number, pattern) not in needed:
            findings.add(LATER, number, f"nothing that {pattern} names is to be rewritten any more; remove the line")
    return findings.exit_code()


if __name__ == "__main__":
    sys.exit(main())

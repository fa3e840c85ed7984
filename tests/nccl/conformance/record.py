#!/usr/bin/env python3
"""Writes what NCCL answered into the scenarios, for a reader to judge with `git diff`.

  record.py RECORD SCENARIO...

RECORD has a line per answer, as the test writes it where CONFORMANCE_RECORD names a file, with the
subject before it: "SUBJECT<tab>SCENARIO<tab>LINE<tab>RANK<tab>ANSWER". SUBJECT is a version, or
"fake". Steps that no subject reached keep their text.
"""

import collections
import pathlib
import sys


def key(version):
    return tuple(int(part) for part in version.split("."))


def by_rank(answers, ranks):
    """The lines for one subject: ranks with one answer share a line."""
    if len(set(answers.values())) == 1 and set(answers) == ranks and len(ranks) > 1:
        return [("all", next(iter(answers.values())))]
    groups = collections.OrderedDict()
    for rank in sorted(answers):
        groups.setdefault(answers[rank], []).append(str(rank))
    return [(" ".join(group), answer) for answer, group in groups.items()]


def matches(expected, answer):
    words, got = expected.split(), answer.split()
    return len(words) == len(got) and all(g in w.split("|") for w, g in zip(words, got))


def kept(old, answers):
    """Prefers a choice that the text already allows, as "Success|InProgress"."""
    choices = [text for text in old if "|" in text]
    return {
        rank: next((text for text in choices if matches(text, answer)), answer)
        for rank, answer in answers.items()
    }


def conditions(real, fake_lines):
    """Lines with the conditions under which they hold: neighbouring versions share them."""
    runs = []
    for version in sorted(real, key=key):
        if runs and runs[-1][1] == real[version]:
            continue
        runs.append((version, real[version]))
    out = []
    stands_for = max((v for v in real if key(v) <= (2, 28, 9)), key=key, default=None)
    if fake_lines is not None and (stands_for is None or real[stands_for] != fake_lines):
        out += [("[fake] ", *line) for line in fake_lines]
    for i, (version, lines) in enumerate(runs):
        words = ([f">={version}"] if i > 0 else []) + (
            [f"<{runs[i + 1][0]}"] if i + 1 < len(runs) else [])
        head = f"[{' '.join(words)}] " if words else ""
        out += [(head, *line) for line in lines]
    return out


def rewrite(path, answers):
    out, step = [], None
    lines = path.read_text().splitlines()
    i = 0
    while i < len(lines):
        out.append(lines[i])
        i += 1
        if not lines[i - 1].startswith(">") or i not in answers:
            continue
        old, comments, first = [], [], i
        while first < len(lines) and lines[first].startswith("  "):
            old.append(lines[first].split(": ", 1)[-1].strip())
            first += 1
        ranks = {rank for subject in answers[i].values() for rank in subject}
        real = {s: by_rank(kept(old, a), ranks) for s, a in answers[i].items() if s != "fake"}
        fake = answers[i].get("fake")
        fake = by_rank(kept(old, fake), ranks) if fake is not None else None
        out += [f"  {head}{who}: {answer}" for head, who, answer in conditions(real, fake)]
        i = first
    path.write_text("\n".join(out) + "\n")


def main():
    answers = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    for line in open(sys.argv[1]):
        subject, scenario, number, rank, answer = line.rstrip("\n").split("\t")
        answers[scenario][int(number)][subject][int(rank)] = answer
    for name in sys.argv[2:]:
        path = pathlib.Path(name)
        rewrite(path, answers[path.stem])


main()

"""What the gates of tools/check share: the files that are in git, and how a finding is told."""

import os
import subprocess


class Findings:
    """Prints each finding as "FILE:LINE: [GATE] what; how to mend it", once, and counts them."""

    def __init__(self, gate):
        self.gate = gate
        self.told = set()

    def add(self, file, line, text):
        message = f"{file}:{line}: [{self.gate}] {text}"
        if message not in self.told:
            self.told.add(message)
            print(message, flush=True)

    def exit_code(self):
        return 1 if self.told else 0


def tracked_files(*patterns):
    """Those in git, and those that are about to be: new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return sorted(name for name in set(names) if name and os.path.isfile(name))


def read_lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")

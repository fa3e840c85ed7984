"""What the tests of the gates share: a folder of files that a gate looks at."""

import os
import subprocess
import sys
import tempfile
import unittest

GATES = os.path.join(os.getcwd(), "tools/gates")


class GateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", PYTHONDONTWRITEBYTECODE="1")
        self.environment.pop("CI", None)
        subprocess.run(["git", "init", "--quiet", self.folder], check=True, env=self.environment)

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, path):
        with open(os.path.join(self.folder, path), encoding="utf-8") as file:
            return file.read()

    def run_gate(self, gate, *arguments):
        """The lines that it writes; its exit status in self.status."""
        done = subprocess.run([sys.executable, os.path.join(GATES, gate), *arguments], cwd=self.folder, capture_output=True,
                              text=True, env=self.environment)
        self.status = done.returncode
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def assert_finds(self, lines, *findings):
        """Each of `findings` is "FILE:LINE" and a part of its text, and there are no others."""
        self.assertEqual(len(lines), len(findings), "\n".join(lines))
        for (place, text), line in zip(findings, lines):
            self.assertTrue(line.startswith(place + ": ["), f"{line}\nis not at {place}")
            self.assertIn(text, line)
        self.assertEqual(self.status, 1 if findings else 0)

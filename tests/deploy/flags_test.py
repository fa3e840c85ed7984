"""What deploy/ tells the programs, they understand: every flag and every variable."""

import os
import re
import subprocess
import unittest

import rendering

if rendering.tools_folder():
    rendering.use_tools()

import objects
import rules
from cases import run_tests

_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_VARIABLE = re.compile(r"\bMUSTER_[A-Z_]+\b")


def help_of(program, *command):
    run = subprocess.run([os.environ[program], *command, "--help"], stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def flags_in(words):
    """Of a command line, up to the program that `muster run` starts."""
    words = words[:words.index("--")] if "--" in words else words
    return {match.group(1) for word in words for match in [_FLAG.match(word)] if match}


class FlagsTest(unittest.TestCase):
    def setUp(self):
        self.musterd = set(_FLAG.findall(help_of("MUSTERD")))
        self.run_ = set(_FLAG.findall(help_of("MUSTER", "run")))
        self.health = set(_FLAG.findall(help_of("MUSTER", "health")))

    def test_every_container_and_probe(self):
        for overlay in rendering.ALL:
            found = rendering.rendered(overlay)
            for w, c in rules.coordinators(found):
                self.assertEqual(flags_in(objects.command_line(w, c)) - self.musterd, set(), overlay)
                for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
                    words = c[kind].get("exec", {}).get("command", [])
                    self.assertEqual(flags_in(words) - self.health, set(), overlay)
            for w, c in rules.workers(found):
                self.assertEqual(flags_in(objects.command_line(w, c)) - self.run_, set(), overlay)

    def test_batch_script(self):
        script = text_of("deploy/slurm/muster.sbatch").replace("\\\n", " ")
        started = [(self.musterd, re.search(r"^ +musterd (.*) &$", script, re.MULTILINE).group(1)),
                   (self.run_, re.search(r"exec muster run (.*?) -- ", script).group(1))]
        for known, line in started:
            self.assertGreater(len(flags_in(line.split())), 3)
            self.assertEqual(flags_in(line.split()) - known, set(), line)

    def test_rejects_unknown_flags(self):
        self.assertNotEqual(flags_in(["musterd", "--no-such-flag=1", "--", "--theirs"]) - self.musterd, set())


class VariablesTest(unittest.TestCase):
    def test_manifests_script_and_unit(self):
        known = set(_VARIABLE.findall(help_of("MUSTERD") + help_of("MUSTER", "run") + text_of("docs/environment.md")))
        told = set()
        for overlay in rendering.ALL:
            found = rendering.rendered(overlay)
            for w, c in rules.coordinators(found) + rules.workers(found):
                told |= {name for name in objects.environment(w, c) if name.startswith("MUSTER_")}
        for path in ("deploy/slurm/muster.sbatch", "deploy/systemd/musterd@.service"):
            told |= set(_VARIABLE.findall(text_of(path)))
        self.assertGreater(len(told), 8)
        self.assertEqual(told - known, set())


if __name__ == "__main__":
    run_tests(rendering.tools_folder())

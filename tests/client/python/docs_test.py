"""The programs of docs/python.md do what it says, and its table of toolkits' names is that of the package."""

import pathlib
import re
import unittest

import muster
import ranks
from muster import toolkits

PAGE = pathlib.Path("docs/python.md")
PROGRAM = re.compile(r"^<!-- ranks: (\d+)(.*?) -->\n```python\n(.*?)^```\n\n```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class GuideTest(ranks.RanksTestCase):
    def test_programs_print_what_the_page_shows(self):
        programs = PROGRAM.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(programs), 5)
        for size, flags, source, expected in programs:
            with self.subTest(source):
                outcome = self.run_ranks(int(size), source, *flags.split())
                said = [line for rank in range(int(size)) for line in outcome.of(rank).splitlines()]
                said = [line for line in said if not line.startswith("muster: the coordinator is at")]  # of launch()
                if "--max-restarts" in flags:  # the launcher's lines about the death
                    said = [line for line in said if line in expected.splitlines()]
                self.assertEqual(sorted(said), sorted(expected.splitlines()), outcome.text)

    def test_every_program_is_marked(self):
        text = PAGE.read_text(encoding="utf-8")
        unmarked = text.count("```python") - len(PROGRAM.findall(text))
        self.assertEqual(unmarked, 1)  # the line about SIGTERM, which job_test.py has in a program


class ReferenceTest(unittest.TestCase):
    def test_everything_public_says_what_it_does(self):
        for module in (muster, toolkits):
            names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
            for name in names:
                found = getattr(module, name)
                if not getattr(found, "__module__", "").startswith("muster"):
                    continue
                self.assertTrue(found.__doc__, name)
                for member, of in vars(found).items() if isinstance(found, type) else ():
                    if not member.startswith("_") and (callable(of) or isinstance(of, property)):
                        self.assertTrue(getattr(found, member).__doc__ or of.__doc__, f"{name}.{member}")


if __name__ == "__main__":
    ranks.main()

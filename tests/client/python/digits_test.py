"""python3 -m muster.examples.digits: the loss of the C++ program, with which it shares a job, and a rank that is lost."""

import os
import re
import shlex
import subprocess
import sys
import unittest

import ranks
from muster.examples import _random

DATA = os.path.abspath("examples/digits/data/digits.csv.gz")
CPP = os.path.abspath("examples/digits/digits")
PYTHON = [sys.executable, "-m", "muster.examples.digits"]
FINAL = re.compile(r"final loss=(\S+) accuracy=(\S+)")
EPOCHS = "--epochs=3"


class RandomTest(unittest.TestCase):
    def test_numbers_match_the_standard(self):
        draw = _random.Mt19937_64(5489)
        for _ in range(9999):
            draw()
        self.assertEqual(draw(), 9981545732273789042)  # [rand.predef]


class DigitsTest(ranks.RanksTestCase):
    def final(self, text):
        found = FINAL.findall(text)
        self.assertEqual(len(found), 1, text)
        return [float(number) for number in found[0]]

    def launch(self, size, command, *flags, status=0, **variables):
        done = subprocess.run([ranks.PROGRAM, "run", "--nproc-per-node", str(size), *flags, "--", *command],
                              env=ranks.environment(**variables), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=200, check=False)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    @classmethod
    def setUpClass(cls):
        text = subprocess.run([CPP, EPOCHS, f"--data={DATA}"], check=True, text=True, stdout=subprocess.PIPE).stdout
        cls.expected = [float(number) for number in FINAL.search(text).groups()]

    def check_same(self, text):
        loss, accuracy = self.final(text)
        self.assertAlmostEqual(loss, self.expected[0], delta=1e-10)
        self.assertEqual(accuracy, self.expected[1])

    def test_any_number_of_ranks_have_the_loss_of_the_cpp_program(self):
        for size in (1, 3):
            with self.subTest(size):
                self.check_same(self.launch(size, [*PYTHON, EPOCHS, f"--data={DATA}"]))

    def test_ranks_in_cpp_and_in_python_are_in_one_job(self):
        both = [shlex.join([CPP, EPOCHS, f"--data={DATA}"]), shlex.join([*PYTHON, EPOCHS, f"--data={DATA}"])]
        for first, second in (both, reversed(both)):
            with self.subTest(first):
                text = self.launch(4, ["bash", "-c", f"if ((RANK % 2)); then exec {second}; else exec {first}; fi"])
                self.check_same(text)

    def test_a_job_goes_on_after_a_loss(self):
        # Rank 1 kills itself in the second epoch of the data.
        source = self.program("""
            from muster.examples import digits
            step = digits.PlainModel.step
            steps = []

            def lost(model, gradient, size):
                steps.append(1)
                if len(steps) == 8 and os.environ["RANK"] == "1" and os.environ["MUSTER_RESTART_COUNT"] == "0":
                    os.kill(os.getpid(), signal.SIGKILL)
                step(model, gradient, size)

            digits.PlainModel.step = lost
            digits.numpy = None
            sys.exit(digits.main(sys.argv[1:]))
        """)
        text = self.launch(3, [sys.executable, source, EPOCHS, f"--data={DATA}"], "--max-restarts", "1")
        self.check_same(text)

    def test_a_malformed_file_is_reported_once_with_its_line(self):
        path = self.folder / "wrong.csv"
        path.write_text("1,2,3\n", encoding="ascii")
        text = self.launch(2, [*PYTHON, f"--data={path}"], status=1)
        self.assertEqual(len(re.findall(r"digits: .*wrong.csv:1: 3 values, expected 65", text)), 1, text)


if __name__ == "__main__":
    ranks.main()

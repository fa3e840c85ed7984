"""Ranks in Python, as processes of `muster run`. Where this is a wheel's test, both are the wheel's."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

PROGRAM = os.environ.get("MUSTER_TEST_MUSTER") or shutil.which("muster", path=os.path.dirname(sys.executable))
MUSTERD = os.environ.get("MUSTER_MUSTERD") or shutil.which("musterd", path=os.path.dirname(sys.executable))
# muster.launch() looks for it there.
os.environ["PATH"] = os.path.dirname(PROGRAM or "") + os.pathsep + os.environ["PATH"]
# The beginning of every rank's program. Ranks wait for each other by files, so no test depends on
# which one is faster.
PRELUDE = """
import array, json, os, signal, sys, threading, time
import muster

def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never comes"
        time.sleep(0.01)

def event_file(what):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "said " + what)

def notify(what):
    open(event_file(what), "w").close()

def wait_for(what):
    until(lambda: os.path.exists(event_file(what)))

def main_waits():
    frame = sys._current_frames()[threading.main_thread().ident]
    while frame is not None and not frame.f_code.co_filename.endswith("/muster/_calls.py"):
        frame = frame.f_back
    return frame is not None

def while_main_waits(act):
    def run():
        until(main_waits)
        time.sleep(0.05)  # the call begins, too
        act()
    threading.Thread(target=run, daemon=True).start()
"""
LINE = re.compile(r"^\[(\d+)\] (.*)$")


@dataclasses.dataclass
class Outcome:
    """How a run has ended, and what each rank has written."""

    status: int
    text: str

    def of(self, rank):
        lines = (LINE.match(line) for line in self.text.splitlines())
        return "\n".join(line[2] for line in lines if line and int(line[1]) == rank)


def environment(**variables):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_TEST_")}
    return {**inherited, "PYTHONUNBUFFERED": "1", **variables}


class RanksTestCase(unittest.TestCase):
    """A test that runs jobs."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def program(self, source):
        path = self.folder / f"rank-{len(list(self.folder.iterdir()))}.py"
        path.write_text(PRELUDE + textwrap.dedent(source), encoding="utf-8")
        return str(path)

    def start(self, ranks, source, *flags, **variables):
        command = [PROGRAM, "run", "--nproc-per-node", str(ranks), *flags, "--", sys.executable, self.program(source)]
        return subprocess.Popen(command, env=environment(**variables), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def run_ranks(self, ranks, source, *flags, status=0, **variables):
        """Runs the source on so many ranks, and expects that exit status."""
        with self.start(ranks, source, *flags, **variables) as run:
            try:
                text, _ = run.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                run.terminate()
                self.fail(f"the run does not end: {run.communicate()[0]}")
        if status is not None:
            self.assertEqual(run.returncode, status, text)
        return Outcome(run.returncode, text)

    @contextlib.contextmanager
    def daemon(self, world_size, *flags):
        """A musterd, at self.coordinator, for a job "t"."""
        port = self.folder / "port"
        command = [MUSTERD, "--listen", "127.0.0.1:0", "--port-file", str(port), "--job", "t", "--world-size",
                   str(world_size), "--exit-when-done", *flags]
        with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as daemon:
            try:
                while not port.exists() or not port.read_text(encoding="ascii"):
                    self.assertIsNone(daemon.poll(), "musterd does not start")
                    time.sleep(0.01)
                self.coordinator = "127.0.0.1:" + port.read_text(encoding="ascii").strip()
                yield daemon
            finally:
                daemon.terminate()

    def run_alone(self, source, status=0, **variables):
        """Runs the source in one process without a launcher."""
        done = subprocess.run([sys.executable, self.program(source)], env=environment(**variables), text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout)
        return Outcome(done.returncode, done.stdout)


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[1:], verbosity=2)

#!/usr/bin/python3
"""Runs one job of four ranks on two "nodes", in which daemon, launchers and ranks may be of two versions, and checks
how it ends. tools/test-compat calls it. A version is a folder with bin/musterd and bin/muster.

Modes are those of tests/compat/rank.c. In "steps" the daemon is killed in the middle, and another one, of the version
that --next-daemon names, goes on with the job.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 180  # seconds; machines may be busy
STEPS = 20      # before the daemon is killed, and after that
NODES = 2
RANKS = 4


class Process:
    """A process whose output is read as it comes."""

    def __init__(self, name, command, environment):
        self.name = name
        self._lines = []
        self._changed = threading.Condition()
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._lines.append("")  # the end
            self._changed.notify_all()

    def text(self):
        with self._changed:
            return "".join(self._lines)

    def count(self, pattern):
        return len(re.findall(pattern, self.text(), re.MULTILINE))

    def await_output(self, pattern, times=1):
        """Blocks until the output has so many matches."""
        def ready():
            ended = self._lines and self._lines[-1] == ""
            return ended or len(re.findall(pattern, "".join(self._lines), re.MULTILINE)) >= times
        with self._changed:
            self._changed.wait_for(ready, PATIENCE)
        if self.count(pattern) < times:
            raise AssertionError(f"{self.name} has not written '{pattern}' {times} times")

    def await_port(self, file):
        """Blocks until the process has written the number of its port, as musterd --port-file does."""
        deadline = time.monotonic() + PATIENCE
        while not (file.exists() and file.read_text(encoding="utf-8").strip()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{self.name} does not listen")
            time.sleep(0.05)
        return int(file.read_text(encoding="utf-8"))

    def await_end(self):
        try:
            status = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{self.name} does not end") from error
        self._reader.join(PATIENCE)
        return status

    def expect_success(self):
        status = self.await_end()
        if status != 0:
            raise AssertionError(f"{self.name} ended with status {status}")

    def kill(self):
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Job:
    def __init__(self, arguments, work):
        self._arguments = arguments
        self._work = work
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        self._environment["MUSTER_TIMEOUT"] = f"{PATIENCE}s"
        self._processes = []
        self._port = 0
        self.daemon = self._start_daemon(arguments.daemon)
        self.launchers = [self._start_launcher(node) for node in range(NODES)]

    def _start(self, name, command):
        self._processes.append(Process(name, command, self._environment))
        return self._processes[-1]

    def _start_daemon(self, version):
        port_file = self._work / f"port-{len(self._processes)}"
        daemon = self._start("musterd", [version / "bin/musterd", f"--listen=127.0.0.1:{self._port}",
                                         f"--port-file={port_file}", "--job=compat", f"--world-size={RANKS}",
                                         "--exit-when-done"])
        self._port = daemon.await_port(port_file)
        return daemon

    def _start_launcher(self, node):
        return self._start(f"node{node}", [
            self._arguments.launcher / "bin/muster", "run", f"--coordinator=127.0.0.1:{self._port}", "--job=compat",
            f"--nnodes={NODES}", f"--node-rank={node}", f"--node-id=node{node}", f"--nproc-per-node={RANKS // NODES}",
            "--", *self._arguments.ranks])

    def replace_daemon(self):
        self.daemon.kill()
        self.daemon = self._start_daemon(self._arguments.next_daemon)

    def show_status(self):
        """`muster status` of the launchers' version, as it is written."""
        return subprocess.run([self._arguments.launcher / "bin/muster", "status", f"--coordinator=127.0.0.1:{self._port}"],
                              env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=True, timeout=PATIENCE).stdout

    def end(self):
        for process in self._processes:
            process.kill()

    def print_output(self):
        for process in self._processes:
            print(f"--- {process.name}\n{process.text()}")


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def run_everything(job):
    for launcher in job.launchers:
        launcher.expect_success()
    left = sum(launcher.count(r"rank \d has left") for launcher in job.launchers)
    expect(left == RANKS, f"{left} of {RANKS} ranks have left")
    job.daemon.expect_success()


def run_loss(job):
    statuses = [launcher.await_end() for launcher in job.launchers]
    told = sum(launcher.count(r"rank \d: told of rank 1") for launcher in job.launchers)
    expect(told == RANKS - 1, f"{told} of {RANKS - 1} ranks were told of rank 1")
    expect(0 not in statuses, f"the launchers ended with {statuses}")


def run_steps(job, stop):
    first = job.launchers[0]
    first.await_output(r"step \d+", STEPS)
    job.replace_daemon()
    # One step may have been completed before the daemon was killed without having been printed.
    first.await_output(r"step \d+", first.count(r"step \d+") + STEPS)
    status = job.show_status()
    expect(f"world size {RANKS}" in status, f"muster status says: {status}")
    stop.touch()
    run_everything(job)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemon", type=pathlib.Path, required=True, metavar="VERSION")
    parser.add_argument("--next-daemon", type=pathlib.Path, metavar="VERSION")
    parser.add_argument("--launcher", type=pathlib.Path, required=True, metavar="VERSION")
    parser.add_argument("--rank", required=True, metavar="PROGRAM")
    parser.add_argument("mode", choices=["everything", "loss", "steps"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stop = pathlib.Path(folder) / "stop"
        arguments.ranks = [arguments.rank, arguments.mode] + ([stop] if arguments.mode == "steps" else [])
        job = Job(arguments, pathlib.Path(folder))
        try:
            if arguments.mode == "everything":
                run_everything(job)
            elif arguments.mode == "loss":
                run_loss(job)
            else:
                run_steps(job, stop)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            job.print_output()
            sys.exit(f"FAILED: {error}")
        finally:
            job.end()


if __name__ == "__main__":
    main()

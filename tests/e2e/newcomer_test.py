"""A new user's first hour: tools/install, the first program, the first mistakes, the first hang, the first killed rank, the first restart and
the first loss of a coordinator, on one laptop and on two "nodes" of it, with examples/hello and the programs that
were installed. Every answer must name the culprit, and keep to a terminal of 80 columns.

The test prints the transcript. The lines that may still be wider are in WIDER; the end of the transcript counts them.
"""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

COLUMNS = 80
DEADLINE = 240  # seconds, for any output; machines may be busy
EXAMPLE = "examples/hello/hello"
FOREVER = "100000000"  # steps of hello

# Lines that may be wider than a terminal. They are messages of one line, which terminals wrap, and
# which `grep` needs whole.
WIDER = (
    r"^muster: the coordinator is at ",
    r"^muster: (another|the) ",
    r"^muster: no coordinator runs on this machine ",
    r"^muster: cannot ",
    r"^muster: no status from the coordinator ",
    r"^muster: got SIG",
    r"^muster: job ",
    r"^muster: rank \d+ ",
    r"^\[musterd\] ",
    r"^\[\d+\] job '",
    r"^(\[\d+\] )?\d{4}-\d\d-\d\dT\S+ ",  # logs
)


def say(text=""):
    print(text, flush=True)


class Command:
    """A command that a user has typed."""

    def __init__(self, shell, command, environment):
        self.command = command
        self.path = shell.folder / f"output-{len(shell.commands)}"
        with open(self.path, "wb") as output:
            self.process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=shell.folder, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=subprocess.STDOUT)

    @property
    def output(self):
        return self.path.read_text(encoding="utf-8", errors="replace")

    def wait(self):
        return self.process.wait(timeout=DEADLINE)


class Installation:
    """What the user has installed, below a folder of their own."""

    folder = None

    @classmethod
    def make(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="newcomer-installed")
        prefix = pathlib.Path(cls.folder.name) / "prefix"
        say("$ tools/install --prefix ~/muster")
        installed = subprocess.run(["tools/install", "--prefix", prefix, "--built", os.getcwd(), "--without-nccl"], text=True,
                                   env=dict(os.environ, HOME=cls.folder.name),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=DEADLINE)
        say(installed.stdout.rstrip().replace(str(prefix), "~/muster"))
        if installed.returncode != 0:
            raise AssertionError(f"tools/install has failed with status {installed.returncode}")
        cls.programs = prefix / "bin"

    @classmethod
    def remove(cls):
        cls.folder.cleanup()


def setUpModule():
    Installation.make()
    unittest.addModuleCleanup(Installation.remove)


class UserShell:
    """The shell of a user, in a terminal of 80 columns, with the installed programs in PATH and nothing else of Muster's."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="newcomer")
        self.folder = pathlib.Path(self.temporary.name)
        self.commands = []
        self.wide = {}
        programs = self.folder / "bin"
        programs.mkdir()
        (self.folder / "run").mkdir(mode=0o700)
        (programs / "hello").symlink_to(pathlib.Path(EXAMPLE).resolve())
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
        self.environment.update(PATH=f"{programs}:{Installation.programs}:/usr/local/bin:/usr/bin:/bin", COLUMNS=str(COLUMNS), LC_ALL="C.UTF-8",
                                MUSTER_RUNTIME_DIR=str(self.folder / "run"), MUSTER_TERMINATION_LOG=str(self.folder / "termination"))

    def start(self, command, **variables):
        started = Command(self, command, dict(self.environment, **variables))
        self.commands.append(started)
        return started

    def show(self, started):
        """Puts a command and what it has written into the transcript."""
        say(f"$ {started.command}")
        for line in started.output.splitlines():
            say(line)
            if len(line) <= COLUMNS:
                continue
            known = [pattern for pattern in WIDER if re.search(pattern, line)]
            if not known:
                raise AssertionError(f"{len(line)} columns: {line}")
            self.wide[known[0]] = self.wide.get(known[0], 0) + 1
        return started.output

    def run(self, command, **variables):
        """The status and the output of a command that ends."""
        started = self.start(command, **variables)
        status = started.wait()
        output = self.show(started)
        if status != 0:
            say(f"(exit status {status})")
        return status, output

    def quietly(self, command):
        """The same, for what the test itself wants to know."""
        asked = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, check=False, timeout=DEADLINE)
        return asked.stdout

    def close(self):
        running = [command.process for command in self.commands if command.process.poll() is None]
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.temporary.cleanup()


def until(what, condition):
    """Waits until it returns something, which it returns."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {DEADLINE} s: {what}")


def flat(text):
    """As one line, for words that may stand at the end of any."""
    return " ".join(text.split())


class FirstHour(unittest.TestCase):
    def setUp(self):
        self.shell = UserShell()
        self.addCleanup(self.shell.close)
        say(f"\n== {self.id().split('.')[-1].replace('test_', '').replace('_', ' ')}\n")

    def tearDown(self):
        if self.shell.wide:
            say(f"(wider than {COLUMNS} columns: {self.shell.wide})")

    # ---- The status of the job ----

    def status(self, flags=""):
        text = self.shell.quietly(f"muster status --json {flags}")
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return {}

    def pid_of(self, rank, flags=""):
        """Once the rank runs."""

        def find():
            for member in self.status(flags).get("members", []):
                if member.get("rank") == rank and member["state"] == "MEMBER_STATE_RUNNING":
                    return int(member["member"]["pid"])
            return None

        return until(f"rank {rank} runs", find)

    def await_running(self, ranks, flags=""):
        """Until the job runs with so many ranks, and each of them is attached to the coordinator."""

        def all_run():
            status = self.status(flags)
            running = [m for m in status.get("members", []) if m["state"] == "MEMBER_STATE_RUNNING"]
            return status.get("state") == "JOB_STATE_RUNNING" and len(running) == ranks

        until(f"{ranks} ranks run", all_run)

    def stop_in_a_barrier(self, rank, flags=""):
        """Stops the rank, when the other one waits for it in a barrier: in an all-reduce musterd would not see it."""
        pid = self.pid_of(rank, flags)

        def stopped():
            os.kill(pid, signal.SIGSTOP)
            end = time.monotonic() + 1
            while time.monotonic() < end:
                for pending in self.status(flags).get("pending_collectives", []):
                    if pending.get("missing_ranks") == [rank] and float(pending.get("age", "0s").rstrip("s")) > 0.3:
                        return True
            os.kill(pid, signal.SIGCONT)
            return False

        until(f"the others wait for rank {rank}", stopped)
        return pid

    def expect_short_names(self, text):
        """Nobody should have to read a boot id."""
        self.assertNotRegex(text, r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-")

    def expect_rows(self, text, nodes):
        """Each rank has a row, which names its node."""
        rows = re.findall(r"^(\d+) +(\S+) +\d+ +(?:running|stopped) ", text, re.MULTILINE)
        self.assertEqual(rows, [(str(rank), node) for rank, node in enumerate(nodes)], text)
        members = text.split("\n\n")[1].splitlines()
        self.assertLessEqual(len(members), 1 + 2 * len(nodes), text)  # a second one if names are long

    def host(self):
        return socket.gethostname()

    # ---- On one laptop ----

    def test_the_first_program(self):
        status, output = self.shell.run("hello")
        self.assertEqual((status, output), (0, "rank 0 of 1 on node rank 0: average 0\n"))
        status, output = self.shell.run("muster run --nproc-per-node 2 -- hello")
        self.assertEqual(status, 0)
        for rank in (0, 1):
            self.assertIn(f"[{rank}] rank {rank} of 2 on node rank 0: average 0.5\n", output)

    def test_the_first_mistakes(self):
        status, output = self.shell.run("muster run --nproc 2 -- hello")
        self.assertEqual(status, 64)
        self.assertIn("unknown flag: --nproc; did you mean --nproc-per-node?", output)
        self.assertIn("muster run --help", output)
        status, output = self.shell.run("muster run --nproc-per-node 2 -- ./helo")
        self.assertEqual(status, 127)
        self.assertIn("./helo", output)
        # A misspelt variable: the program runs alone, and says why.
        status, output = self.shell.run("hello", MUSTER_COORDINATR="127.0.0.1:7370")
        self.assertEqual(status, 0)
        self.assertIn("MUSTER_COORDINATR means nothing to Muster; did you mean MUSTER_COORDINATOR?", output)
        self.assertIn("rank 0 of 1", output)
        status, output = self.shell.run("muster status")
        self.assertEqual(status, 1)
        self.assertIn("no coordinator", output)

    def test_the_first_hang_in_which_a_rank_never_joins(self):
        # Rank 0 joins only when the coordinator knows the launcher, whose answer `muster debug`
        # needs.
        program = shlex.quote('[ "$RANK" = 0 ] || exec sleep 1000; until [ -e known ]; do sleep 0.05; done; exec hello')
        job = self.shell.start(f"muster run --nproc-per-node 2 -- sh -c {program}")
        until("the launcher is known", lambda: "2 processes run" in flat(self.shell.quietly("muster status")))
        (self.shell.folder / "known").touch()
        until("rank 0 waits", lambda: any(m.get("waiting_in") == "Join" for m in self.status().get("members", [])))
        status, output = self.shell.run("muster status")
        self.assertEqual(status, 0)
        self.assertIn("1 of 2 members have joined", output)
        self.expect_short_names(output)
        status, output = self.shell.run("muster debug --wait=0s --output hang")
        self.assertEqual(status, 0)
        self.assertRegex(flat(output), rf"^rank 1 \(host {re.escape(self.host())}, pid \d+\) has not called Join")
        self.expect_short_names(output)
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130)
        self.expect_short_names(self.shell.show(job))

    def test_the_first_hang_in_a_barrier_and_the_first_kill(self):
        job = self.shell.start(f"muster run --nproc-per-node 2 -- hello {FOREVER}")
        pid = self.stop_in_a_barrier(1)
        status, output = self.shell.run("muster status")
        self.assertEqual(status, 0)
        self.expect_rows(output, [self.host()] * 2)
        self.expect_short_names(output)
        status, output = self.shell.run("muster debug --wait=0s --output hang")
        self.assertEqual(status, 0)
        culprit = rf"rank 1 \(host {re.escape(self.host())}, pid {pid}\)"
        self.assertRegex(flat(output), f"^{culprit} has not come to .*: it is stopped")
        self.expect_short_names(output)
        say(f"$ kill -9 {pid}")
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(job.wait(), 128 + signal.SIGKILL)
        output = self.shell.show(job)
        self.assertRegex(output, rf"\[0\] job '.*': {culprit} was lost at ")
        self.assertRegex(output, r"muster: job \S+ failed: rank 1 \(.*killed by signal 9 \(SIGKILL\)")
        self.expect_short_names(output)

    def test_the_first_restart(self):
        program = shlex.quote('[ "$MUSTER_RESTART_COUNT$LOCAL_RANK" != 01 ] || kill -9 $$; exec hello')
        status, output = self.shell.run(f"muster run --nproc-per-node 2 --max-restarts 1 -- sh -c {program}")
        self.assertEqual(status, 0)
        self.assertRegex(output, r"muster: rank 1 \(.*killed by signal 9 \(SIGKILL\).*restart")
        self.assertRegex(output, r"\[1\] rank \d of 2 on node rank 0: average 0.5\n")
        self.expect_short_names(output)

    def test_the_first_coordinator_that_dies(self):
        job = self.shell.start(f"muster run --nproc-per-node 2 -- hello {FOREVER}")
        self.pid_of(1)
        parent = job.process.pid
        daemon = until("musterd runs", lambda: self.daemon_below(parent))
        say(f"$ kill -9 {daemon}  # musterd")
        os.kill(daemon, signal.SIGKILL)
        until("another musterd runs", lambda: self.daemon_below(parent) not in (None, daemon))
        self.await_running(2)
        status, output = self.shell.run("muster status")
        self.assertEqual(status, 0)
        self.expect_short_names(output)
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(), 130)
        output = self.shell.show(job)
        self.assertRegex(output, r"muster: .*coordinator.*killed by signal 9")
        self.expect_short_names(output)

    def daemon_below(self, pid):
        """The musterd among the processes that this one has started, and these."""
        left = [pid]
        while left:
            for child in self.shell.quietly(f"ps -o pid=,comm= --ppid {left.pop()}").splitlines():
                child_pid, name = child.split(maxsplit=1)
                if name == "musterd":
                    return int(child_pid)
                left.append(int(child_pid))
        return None

    # ---- On two "nodes" ----

    def musterd(self, listen="127.0.0.1:0"):
        port_file = self.shell.folder / "port"
        port_file.unlink(missing_ok=True)
        daemon = self.shell.start(f"musterd --listen {listen} --port-file {port_file} --job train --world-size 2")
        port = until("musterd listens", lambda: port_file.exists() and port_file.read_text())
        return daemon, f"127.0.0.1:{port.strip()}"

    def start_nodes(self, coordinator, steps=""):
        return [self.shell.start(f"muster run --coordinator {coordinator} --job train --nnodes 2 --node-rank {rank} --node-id {name} -- hello {steps}".rstrip())
                for rank, name in enumerate("ab")]

    def test_two_nodes(self):
        _, coordinator = self.musterd()
        nodes = self.start_nodes(coordinator)
        for rank, node in enumerate(nodes):
            self.assertEqual(node.wait(), 0, node.output)
            self.assertIn(f"rank {rank} of 2 on node rank {rank}: average 0.5\n", self.shell.show(node))

    def test_a_hang_and_a_kill_on_two_nodes(self):
        daemon, coordinator = self.musterd()
        nodes = self.start_nodes(coordinator, FOREVER)
        pid = self.stop_in_a_barrier(1, f"--coordinator {coordinator}")
        _, output = self.shell.run(f"muster status --coordinator {coordinator}")
        self.expect_rows(output, ["a", "b"])
        self.expect_short_names(output)
        _, output = self.shell.run(f"muster debug --coordinator {coordinator} --wait=0s --output hang")
        self.assertRegex(flat(output), rf"^rank 1 \(node 'b', host {re.escape(self.host())}, pid {pid}\) has not come to ")
        say(f"$ kill -9 {pid}")
        os.kill(pid, signal.SIGKILL)
        for node, status in zip(nodes, (75, 128 + signal.SIGKILL)):
            self.assertEqual(node.wait(), status, node.output)
            output = self.shell.show(node)
            self.assertIn("rank 1 (", output)
            self.expect_short_names(output)
        self.expect_short_names(daemon.output)

    def test_the_coordinator_of_two_nodes_dies_and_is_started_again(self):
        daemon, coordinator = self.musterd()
        nodes = self.start_nodes(coordinator, FOREVER)
        self.pid_of(1, f"--coordinator {coordinator}")
        say("$ kill -9  # musterd")
        daemon.process.kill()
        daemon.wait()
        _, output = self.shell.run(f"muster status --coordinator {coordinator}")
        self.assertIn(coordinator, output)
        daemon, _ = self.musterd(coordinator)
        self.await_running(2, f"--coordinator {coordinator}")
        _, output = self.shell.run(f"muster status --coordinator {coordinator}")
        self.expect_rows(output, ["a", "b"])
        for node in nodes:
            node.process.send_signal(signal.SIGINT)
        # A rank may hear of the other one's end before its own launcher has got the signal.
        statuses = sorted(node.wait() for node in nodes)
        self.assertIn(statuses, ([130, 130], [75, 130]), "\n".join(node.output for node in nodes))
        for node in nodes:
            self.expect_short_names(self.shell.show(node))
        self.expect_short_names(daemon.output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)

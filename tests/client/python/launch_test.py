"""muster.launch() and muster.spawn(): values, failures, signals, notebooks."""

import contextlib
import io
import os
import pickle
import signal
import subprocess
import sys
import _thread
import time
import unittest

import muster
import ranks


# The functions that the new processes run. They find them in this file, which is their main module.
def total(first, more=0):
    with muster.join(timeout=60) as job:
        print("hello from", job.rank)
        return job.rank, job.all_reduce(first + more)


def fail_on_one(rank_to_fail):
    with muster.join(timeout=60) as job:
        job.barrier("start")
        if job.rank == rank_to_fail:
            raise ValueError("no such layer")
        job.barrier("never")


def die_on_one(local_rank, rank_to_die):
    with muster.join(timeout=60) as job:
        job.barrier("start")
        if local_rank == rank_to_die:
            os.kill(os.getpid(), signal.SIGKILL)
        job.barrier("never")


def exit_early(code):
    sys.exit(code)


def forget_to_leave():
    muster.join(timeout=60).barrier()


def place(local_rank, *args, **kwargs):
    return local_rank, args, kwargs


class LaunchTest(unittest.TestCase):
    def launch(self, *args, **options):
        """Launches, and returns the values and what the processes have written."""
        written = io.StringIO()
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
            try:
                values = muster.launch(*args, **options)
            finally:
                self.written = written.getvalue()
        return values

    def test_values_come_back_in_rank_order(self):
        values = self.launch(total, args=(1,), kwargs={"more": 2}, nproc_per_node=3)
        self.assertEqual(values, [(0, 9), (1, 9), (2, 9)], self.written)
        for rank in range(3):
            self.assertIn(f"[{rank}] hello from {rank}\n", self.written)

    def test_spawn_passes_the_local_rank(self):
        self.assertEqual(muster.spawn(place, ("a",), nprocs=2, kwargs={"b": 1}),
                         [(0, ("a",), {"b": 1}), (1, ("a",), {"b": 1})])

    def test_a_place_in_another_job_is_not_inherited(self):
        os.environ.update(MUSTER_COORDINATOR="127.0.0.1:1", MUSTER_RANK="7", MUSTER_WORLD_SIZE="9")
        for name in ("MUSTER_COORDINATOR", "MUSTER_RANK", "MUSTER_WORLD_SIZE"):
            self.addCleanup(os.environ.pop, name)
        self.assertEqual(self.launch(total, args=(1,), nproc_per_node=2), [(0, 2), (1, 2)], self.written)

    def test_an_exception_is_blamed_on_its_rank_and_has_its_traceback(self):
        with self.assertRaises(muster.LaunchError) as caught:
            self.launch(fail_on_one, args=(1,), nproc_per_node=3)
        error = caught.exception
        self.assertEqual((error.rank, error.exit_code, error.code), (1, 1, muster.ErrorCode.INTERNAL))
        self.assertRegex(str(error), r"^3 of 3 processes failed: rank 1 \(pid \d+\): ValueError: no such layer; rank 0 \(pid")
        self.assertRegex(str(error.__cause__), r'launch_test.py", line \d+, in fail_on_one')
        self.assertEqual([process.local_rank for process in error.processes], [0, 1, 2])
        self.assertEqual(error.processes[1].error, "ValueError: no such layer")
        self.assertRegex(error.processes[0].error, "rank 1 .* was lost")
        copied = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(copied), vars(copied)), (muster.LaunchError, vars(error)))

    def test_a_killed_process_is_blamed(self):
        with self.assertRaises(muster.LaunchError) as caught:
            muster.spawn(die_on_one, args=(0,), nprocs=2)
        self.assertEqual((caught.exception.rank, caught.exception.exit_code), (0, 128 + signal.SIGKILL))
        self.assertRegex(str(caught.exception), r"^2 of 2 processes failed: rank 0 \(pid \d+\): it ended before")

    def test_sys_exit_is_a_failure_unless_it_is_of_0(self):
        self.assertEqual(self.launch(exit_early, args=(0,), nproc_per_node=1), [None])
        with self.assertRaises(muster.LaunchError) as caught:
            self.launch(exit_early, args=(3,), nproc_per_node=1)
        self.assertEqual(caught.exception.exit_code, 3)

    def test_a_job_that_was_not_left_is_a_failure_though_the_function_has_returned(self):
        with self.assertRaisesRegex(muster.LaunchError, "status 1, although every function has returned: its output"):
            self.launch(forget_to_leave, nproc_per_node=1)
        self.assertIn("without Leave()", self.written)

    def test_functions_that_cannot_be_sent_are_refused_with_what_to_do(self):
        sys.modules["cloudpickle"] = None  # as if it were not installed
        self.addCleanup(sys.modules.pop, "cloudpickle")
        with self.assertRaisesRegex(muster.InvalidArgumentError, "<lambda>.*cannot be sent.*install cloudpickle"):
            muster.launch(lambda: 1, nproc_per_node=1)
        with self.assertRaisesRegex(muster.InvalidArgumentError, "lock"):
            muster.launch(total, args=(_thread.allocate_lock(),), nproc_per_node=1)

    def test_flags_are_those_of_muster_run(self):
        with self.assertRaises(muster.LaunchError) as caught:
            self.launch(exit_early, args=(0,), nproc_per_node=0)
        self.assertEqual(caught.exception.exit_code, 64)
        self.assertIn("ended with status 64 before it ran the function", str(caught.exception))
        self.assertIn("--nproc-per-node", self.written)

    def test_the_start_method_of_multiprocessing_may_still_be_chosen(self):
        import multiprocessing

        self.launch(exit_early, args=(0,), nproc_per_node=1)
        self.assertIsNone(multiprocessing.get_start_method(allow_none=True))

    def test_a_missing_program_is_named(self):
        path = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        self.addCleanup(os.environ.update, PATH=path)
        with self.assertRaisesRegex(muster.NotFoundError, "`muster`.*install"):
            muster.launch(exit_early, args=(0,))


class ProgramTest(ranks.RanksTestCase):
    """Programs that launch."""

    BEGIN = """
        import time
        def wait_for_ever():
            with muster.join(timeout=60) as job:
                notify(f"rank {job.rank} is {os.getpid()}")
                job.barrier()
                if job.rank == 0:
                    notify("both are there")
                time.sleep(600)

        def pids():
            folder = os.path.dirname(os.path.abspath(__file__))
            return [int(name.split()[-1]) for name in os.listdir(folder) if name.startswith("said rank")]
    """

    def test_a_program_that_does_not_guard_the_call_is_told(self):
        outcome = self.run_alone("""
            def f():
                return 1
            muster.launch(f, nproc_per_node=1)
        """, status=1)
        self.assertIn("guard the call by `if __name__ == \"__main__\":`", outcome.text)

    def test_ctrl_c_ends_all_processes(self):
        outcome = self.run_alone(self.BEGIN + """
        if __name__ == "__main__":
            def interrupt():
                wait_for("both are there")
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt, daemon=True).start()
            try:
                muster.launch(wait_for_ever, nproc_per_node=2)
            except KeyboardInterrupt:
                assert len(pids()) == 2
                print("left", [pid for pid in pids() if os.path.exists(f"/proc/{pid}")])
        """)
        self.assertIn("left []", outcome.text)

    def test_the_processes_end_with_the_program(self):
        source = self.program(self.BEGIN + """
        if __name__ == "__main__":
            muster.launch(wait_for_ever, nproc_per_node=2)
        """)
        with subprocess.Popen([sys.executable, source], env=ranks.environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as program:
            self.await_condition(lambda: (self.folder / "said both are there").exists())
            program.kill()
        pids = [int(path.name.split()[-1]) for path in self.folder.glob("said rank*")]
        self.assertEqual(len(pids), 2)
        self.await_condition(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))

    def test_functions_of_a_notebook_need_cloudpickle(self):
        try:
            import cloudpickle  # noqa: F401 pylint: disable=unused-import
        except ImportError:
            self.skipTest("cloudpickle is not installed")
        # A notebook's main module is no file either.
        source = "import muster\ndef f(x):\n  with muster.join() as job:\n    return job.all_reduce(x)\n"
        source += "print(muster.launch(f, (5,), nproc_per_node=1))"
        done = subprocess.run([sys.executable, "-c", source], env=ranks.environment(), text=True, timeout=120, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^\[5\]$")

    def await_condition(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "it never comes")
            time.sleep(0.01)


if __name__ == "__main__":
    ranks.main()

"""How processes end: signals, exceptions, lost ranks, forks."""

import re

import ranks


class InterruptTest(ranks.RanksTestCase):
    # Interrupts this process in its next call that waits, and prints afterwards how long that took.
    INTERRUPT = """
        def interrupt(number=signal.SIGINT):
            def send():
                global sent
                sent = time.monotonic()
                os.kill(os.getpid(), number)
            while_main_waits(send)

        def ended(what):
            print(f"{what}: {1000 * (time.monotonic() - sent):.1f} ms")
            notify(what)
    """

    def check(self, outcome, *names):
        for name in names:
            took = re.search(rf"{name}: ([\d.]+) ms", outcome.text)
            self.assertIsNotNone(took, outcome.text)
            # Far more than a loaded machine needs. Without the interruptible wait it would be a
            # minute.
            self.assertLess(float(took[1]), 10000, name)
        print(outcome.text)

    def test_ctrl_c_ends_every_wait_at_once_and_the_call_may_be_repeated(self):
        outcome = self.run_ranks(2, self.INTERRUPT + """
        with muster.join(timeout=60) as job:
            if job.rank == 0:
                for name, call in (("barrier", lambda: job.barrier("together")),
                                   ("lease", lambda: job.once_per_job("work")),
                                   ("await_failure", lambda: job.await_failure(60)),
                                   ("run_on_rank", lambda: job.run_on_rank(1, lambda: 5))):
                    if name == "lease":
                        job.barrier("together")  # repeated
                        job.barrier("lease held")
                    interrupt()
                    try:
                        call()
                        raise SystemExit(name + " has ended by itself")
                    except KeyboardInterrupt:
                        ended(name)
                assert job.run_on_rank(1, lambda: 5) == 5
            else:
                wait_for("barrier")
                job.barrier("together")
                with job.once_per_job("work"):
                    job.barrier("lease held")
                    wait_for("lease")
                wait_for("run_on_rank")
                assert job.run_on_rank(1, lambda: 5) == 5
        """)
        self.check(outcome, "barrier", "lease", "await_failure", "run_on_rank")

    def test_ctrl_c_ends_an_array_operation_and_the_peers_are_told(self):
        outcome = self.run_ranks(2, self.INTERRUPT + """
        with muster.join(timeout=60) as job:
            ranks = job.communicator()
            if job.rank == 0:
                interrupt()
                try:
                    ranks.all_reduce(array.array("f", [1]))
                except KeyboardInterrupt:
                    ended("all_reduce")
                try:
                    ranks.barrier()
                    raise SystemExit("the communicator is finished")
                except muster.CancelledError:
                    pass
                ranks.close()
            else:
                wait_for("all_reduce")
                try:
                    while True:  # the first one may have all that it needs
                        ranks.all_reduce(array.array("f", [1]))
                except muster.MusterError as error:
                    print("told", type(error).__name__, error)
            job.barrier()
        """)
        self.check(outcome, "all_reduce")
        self.assertRegex(outcome.of(1), "told (Cancelled|Aborted|Unavailable)Error")

    def test_ctrl_c_ends_joining(self):
        outcome = self.run_alone(self.INTERRUPT + """
        interrupt()
        try:
            muster.join(coordinator="127.0.0.1:1", coordinator_timeout=60, timeout=60)
        except KeyboardInterrupt:
            ended("join")
        """)
        self.check(outcome, "join")

    def test_signals_at_any_instant_leave_nothing_hanging(self):
        self.run_ranks(2, """
            import random

            class Hit(BaseException):
                pass

            def gather_for_ever():
                while True:
                    assert group.all_gather(b"x") == [b"x"]

            def hit(_, frame):
                while frame is not None:  # elsewhere nobody catches it
                    if frame.f_code is gather_for_ever.__code__:
                        raise Hit
                    frame = frame.f_back

            random.seed(7)
            with muster.join(timeout=60) as job:
                group = job.new_group(f"mine {job.rank}", [job.rank])
                signal.signal(signal.SIGALRM, hit)
                for _ in range(1000):
                    try:
                        # Again after 50 ms: what is raised in a __del__() of Python's own is lost.
                        signal.setitimer(signal.ITIMER_REAL, 0.00001 + 0.002 * random.random(), 0.05)
                        gather_for_ever()
                    except Hit:
                        pass
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert group.all_gather(b"x") == [b"x"]
                threads = len(os.listdir("/proc/self/task"))  # the SDK's, too
                assert threads < 100, threads
                job.barrier("all are well")
        """)

    def test_a_handler_that_returns_lets_the_call_go_on(self):
        self.run_ranks(2, self.INTERRUPT + """
        with muster.join(timeout=60) as job:
            seen = []
            signal.signal(signal.SIGUSR1, lambda *_: (seen.append(job.rank), notify("seen")))
            with job.communicator() as ranks:
                if job.rank == 0:
                    interrupt(signal.SIGUSR1)
                else:
                    wait_for("seen")
                ranks.barrier()
                assert seen == ([0] if job.rank == 0 else [])
        """)

    def test_an_uncaught_interrupt_ends_the_process_as_ctrl_c_does(self):
        outcome = self.run_alone("""
            while_main_waits(lambda: os.kill(os.getpid(), signal.SIGINT))
            muster.join(coordinator="127.0.0.1:1", timeout=60)
        """, status=None)
        self.assertEqual(outcome.status, -2, outcome.text)  # Python ends itself by SIGINT
        self.assertIn("KeyboardInterrupt", outcome.text)


class BlameTest(ranks.RanksTestCase):
    def test_an_exception_is_blamed_on_its_rank_alone(self):
        reason = self.folder / "reason-"
        outcome = self.run_ranks(3, f"""
            os.environ["MUSTER_TERMINATION_LOG"] = {str(reason)!r} + os.environ["MUSTER_LOCAL_RANK"]
            with muster.join(timeout=60) as job:
                job.barrier("start")
                if job.rank == 1:
                    raise ValueError("no such layer")
                job.barrier("step 1")
        """, status=1)
        self.assertIn("ValueError: no such layer", outcome.of(1))
        for rank in (0, 2):
            self.assertRegex(outcome.of(rank), r"AbortedError: .*rank 1 \(.* was lost at .*: exited with status 1")
        self.assertRegex(outcome.text, r"rank 1 .*status 1")
        for rank in (0, 2):
            self.assertNotRegex(outcome.text, rf"rank {rank} .*exited with status 1")
        self.assertEqual((self.folder / "reason-1").read_text().strip(), "rank 1: ValueError: no such layer")
        self.assertRegex((self.folder / "reason-0").read_text(), "rank 1 .*was lost")

    def test_innocent_ranks_exit_with_75(self):
        # Each rank prints its own status, since the launcher ends the other ranks once it knows
        # which rank failed.
        outcome = self.run_ranks(2, """
            if "MUSTER_TEST_CHILD" not in os.environ:
                import subprocess
                ended = subprocess.run([sys.executable, *sys.argv], env={**os.environ, "MUSTER_TEST_CHILD": "1"})
                print("ended", ended.returncode)
                sys.exit(0)
            with muster.join(timeout=60) as job, job.communicator(backend="gloo") as ranks:
                if job.rank == 1:
                    os._exit(9)
                lost = job.members[1]
                def check(error):
                    assert error.rank == 1 and error.exit_code == 75 and error.code == muster.ErrorCode.ABORTED
                    assert (error.node, error.pid, error.missing_ranks) == (lost.node_id, lost.pid, (1,)), vars(error)
                    assert error.cause and error.cause in str(error), (error.cause, str(error))
                try:
                    ranks.all_reduce(array.array("f", [1]))
                except muster.AbortedError as error:
                    check(error)
                try:
                    job.barrier("step")
                except muster.AbortedError as error:
                    check(error)
                    check(job.health())
                    assert job.health().rank == 1 and job.await_failure(60).rank == 1
                    raise RuntimeError("training has failed") from error
        """, status=None, MUSTER_MEMBER_GRACE="300ms")
        self.assertRegex(outcome.of(0), "RuntimeError: training has failed\nended 75$")
        self.assertIn("ended 9", outcome.of(1))

    def test_exit_codes_are_those_of_the_error(self):
        for source, status in (
                ("muster.join(coordinator='nowhere')", 64),
                ("muster.join(world_size=2, rank=5)", 64),
                ("job = muster.join(); raise muster.AbortedError('mine')", 75),
                ("job = muster.join(); raise RuntimeError('x') from muster.UnavailableError('mine')", 75),
                ("job = muster.join(); raise muster.InternalError('mine')", 1),
                ("job = muster.join(); raise ValueError('mine')", 1),
                ("with muster.join() as job: sys.exit(3)", 3),
                ("with muster.join() as job: sys.exit(0)", 0),
                ("with muster.join() as job: raise muster.UnavailableError('mine')", 75)):
            with self.subTest(source):
                outcome = self.run_alone(source, status=None)
                self.assertEqual(outcome.status, status, outcome.text)

    def test_sys_exit_0_leaves(self):
        self.run_ranks(2, """
            with muster.join(timeout=60) as job:
                if job.rank == 0:
                    notify("about to leave")
                    sys.exit(0)
                wait_for("about to leave")
                assert job.await_failure(0.5) is None
        """)

    def test_callbacks_learn_of_a_loss(self):
        outcome = self.run_ranks(2, """
            job = muster.join(timeout=60)
            heard = threading.Event()
            with job.on_failure(lambda error: (print("heard of", error.rank, flush=True), heard.set())):
                job.barrier()
                if job.rank == 1:
                    os._exit(9)
                assert heard.wait(60)
            job.close()
            job.close()
            try:
                job.barrier()
            except muster.CancelledError as error:
                print(error)
        """, status=9)
        self.assertIn("heard of 1", outcome.of(0))


    def test_a_callback_does_not_outlive_the_interpreter(self):
        self.run_alone("""
            job = muster.join()
            kept = job.on_failure(lambda error: print("called"))
        """)


class ElasticTest(ranks.RanksTestCase):
    def test_survivors_and_a_new_process_go_on_together(self):
        outcome = self.run_ranks(3, """
            done = 0
            job = muster.join(timeout=60)
            while True:
                try:
                    first = job.broadcast(done, encoding="json")
                    with job.communicator() as ranks:
                        for done in range(first, 6):
                            if done == 3 and job.rank == 1 and not job.resumed:
                                os._exit(9)
                            assert ranks.all_reduce(1) == 3
                            job.barrier(f"step {done}")
                    break
                except muster.AbortedError:
                    job.rejoin()
                    assert job.health() is None
            print("rank", job.rank, "resumed", job.resumed, "from", first, "was", job.self.previous_rank)
            job.leave()
            job.close()
        """, "--max-restarts", "1")
        self.assertEqual(len(re.findall(r"resumed True from 3 was \d", outcome.text)), 2, outcome.text)
        self.assertEqual(len(re.findall(r"resumed True from 3 was None", outcome.text)), 1, outcome.text)


class ForkTest(ranks.RanksTestCase):
    def test_a_fork_is_refused_and_leaves_the_parents_job_alone(self):
        outcome = self.run_ranks(2, """
            with muster.join(timeout=60) as job:
                ranks = job.communicator()
                child = os.fork()
                if child == 0:
                    for call in (job.barrier, lambda: job.rank, lambda: ranks.all_reduce(1), lambda: muster.join()):
                        try:
                            call()
                            print("not refused")
                        except muster.FailedPreconditionError as error:
                            print(type(error).__name__, error)
                    del ranks
                    job.close()
                    sys.stdout.flush()
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
                ranks.all_reduce(1)
                job.barrier()
        """)
        self.assertEqual(outcome.of(0).count("is a fork of process"), 4, outcome.text)
        self.assertNotIn("not refused", outcome.text)

    def test_children_of_multiprocessing_end_normally(self):
        self.run_ranks(2, """
            import multiprocessing
            with muster.join(timeout=60) as job:
                job.barrier()
                with multiprocessing.get_context("fork").Pool(2) as pool:
                    assert pool.map(abs, [-1, -2]) == [1, 2]
                job.barrier()
        """)

    def test_a_process_may_fork_before_it_joins(self):
        self.run_alone("""
            child = os.fork()
            with muster.join() as job:
                job.barrier()
            if child:
                assert os.waitpid(child, 0)[1] == 0
        """)


class LeftAloneTest(ranks.RanksTestCase):
    def test_a_process_that_ends_without_leaving_is_lost(self):
        outcome = self.run_ranks(2, """
            job = muster.join(timeout=60)
            if job.rank == 0:
                job.barrier("for ever")
        """, status=1)
        self.assertRegex(outcome.of(0), r"AbortedError: .*rank 1")


if __name__ == "__main__":
    ranks.main()

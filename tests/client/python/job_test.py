"""Jobs, groups, leases and communicators, on several ranks."""

import ranks


class JobTest(ranks.RanksTestCase):
    def test_ranks_use_the_whole_api(self):
        outcome = self.run_ranks(3, """
            with muster.join(timeout=60) as job:
                rank = job.rank
                assert job.world_size == job.size == 3 and job.ranks == (0, 1, 2), job.ranks
                assert (job.local_rank, job.local_world_size, job.node_rank, job.num_nodes) == (rank, 3, 0, 1)
                assert job.is_distributed and job.is_main == (rank == 0) and job.epoch > 0 and not job.resumed
                assert [member.rank for member in job.members] == [0, 1, 2]
                assert job.self == job.members[rank] and job.self.pid == os.getpid() and job.self.previous_rank is None
                assert job.health() is None and job.newcomers_waiting == 0
                job.barrier("all")
                assert job.broadcast(b"bytes" if rank == 1 else b"", 1) == b"bytes"
                assert job.broadcast({"of": rank}, 2, encoding="json") == {"of": 2}
                assert job.gather(b"x" * rank, 1) == ([b"", b"x", b"xx"] if rank == 1 else [])
                assert job.all_gather({rank, "a"}, encoding="pickle") == [{0, "a"}, {1, "a"}, {2, "a"}]
                assert job.all_reduce(rank) == 3 and job.all_reduce(0.5 * rank, "max") == 1.0
                assert job.all_reduce(rank == 2, muster.ReduceOp.BITWISE_OR) is True
                assert job.all_reduce(array.array("i", [rank, 1])) == array.array("i", [3, 3])
                assert bytes(job.all_reduce(bytes([1, rank]), "max")) == bytes([1, 2])
                print(job)
        """)
        for rank in range(3):
            self.assertRegex(outcome.of(rank), rf"<muster.Job 'run-\w+': rank {rank} of 3>")

    def test_groups_and_splits(self):
        self.run_ranks(3, """
            with muster.join(timeout=60) as job:
                rank = job.rank
                part = job.split(rank % 2, -rank)
                assert part.ranks == ((2, 0) if rank != 1 else (1,)), part
                assert part.all_gather(rank, encoding="json") == list(part.ranks)
                assert (job.split(None if rank == 1 else 0) is None) == (rank == 1)
                if rank != 1:
                    with_ends = job.new_group("ends", [2, 0])
                    assert (with_ends.name, with_ends.rank, with_ends.size) == ("ends", 0 if rank == 2 else 1, 2)
                    with_ends.barrier("the ends")
                    assert with_ends.all_reduce(rank) == 2
                    with with_ends.communicator() as pair:
                        assert pair.all_reduce(rank) == 2
                    with_ends.close()
                    with_ends.close()
                    try:
                        with_ends.barrier()
                        raise SystemExit("a closed group was used")
                    except muster.CancelledError as error:
                        assert "'ends' is closed" in str(error), error
        """)

    def test_leases_are_given_to_one_and_their_results_to_all(self):
        self.run_ranks(3, """
            with muster.join(timeout=60) as job:
                with job.once_per_node("extract", encoding="json") as work:
                    did = work.held
                    assert bool(work) == did
                    if work:
                        assert work.token > 0
                        work.complete({"path": "/data"})
                        assert not work.held
                assert work.result == {"path": "/data"}
                assert job.all_reduce(int(did)) == 1

                with job.once_per_job("quiet") as work:  # done without a result
                    pass
                assert work.result == b""

                assert job.run_once_per_job("number", lambda: 7) == 7
                try:
                    job.run_once_per_node("fails", lambda: 1 // 0)
                    raise SystemExit("it did not fail")
                except ZeroDivisionError:
                    failed_here = 1
                except muster.UnknownError as error:
                    assert str(error).startswith("ZeroDivisionError: "), error
                    failed_here = 0
                assert job.all_reduce(failed_here) == 1

                for turn in range(3):  # who gives it up lets the next one do it
                    try:
                        with job.once_per_job("passed on") as work:
                            if work and turn == 0 and job.rank == 0:
                                raise KeyboardInterrupt
                    except KeyboardInterrupt:
                        pass
                assert job.once_per_job("passed on").result == b""
                work.close()
                work.close()
        """)

    def test_one_rank_works_for_all(self):
        outcome = self.run_ranks(3, """
            def work():
                assert job.prevents_block and job.all_reduce(5) == 5  # nobody waits for the others
                return {"rank": job.rank}

            with muster.join(timeout=60) as job:
                assert job.run_on_rank(2, work) == {"rank": 2}
                assert job.run_on_main(lambda: b"raw", encoding="bytes") == b"raw"
                assert not job.prevents_block
                try:
                    job.run_on_rank(1, lambda: open("/nowhere"))
                    raise SystemExit("it did not fail")
                except muster.InternalError as error:
                    assert error.rank == 1 and "rank 1 (" in str(error) and "FileNotFoundError" in str(error), error
                    assert isinstance(error.__cause__, FileNotFoundError) == (job.rank == 1)
                    print("told", error.rank)
        """)
        self.assertEqual([outcome.of(rank) for rank in range(3)], ["told 1"] * 3)

    def test_arrays_go_from_peer_to_peer(self):
        self.run_ranks(3, """
            with muster.join(timeout=60) as job, job.communicator(backend="gloo") as ranks:
                rank = ranks.rank
                assert (ranks.size, ranks.backend) == (3, "gloo")
                data = array.array("f", [rank, 1])
                assert ranks.all_reduce(data) is data and list(data) == [3, 3]
                out = array.array("d", [0])
                assert ranks.all_reduce(array.array("d", [rank]), "max", out=out) is out and out[0] == 2
                assert ranks.all_reduce(rank) == 3 and ranks.all_reduce(1.5, "average") == 1.5
                assert ranks.broadcast(10 + rank, 1) == 11
                assert list(ranks.broadcast(bytearray([rank]), 2)) == [2]
                assert ranks.reduce(array.array("q", [rank]), root=1) == (array.array("q", [3]) if rank == 1 else None)
                assert list(ranks.all_gather(array.array("i", [rank, -rank]))) == [0, 0, 1, -1, 2, -2]
                assert list(ranks.all_gather(bytes([7] * rank), counts=[0, 1, 2])) == [7, 7, 7]
                assert list(ranks.reduce_scatter(array.array("i", range(6)))) == [6 * rank, 6 * rank + 3]
                assert list(ranks.all_to_all(array.array("i", [10 * rank + i for i in range(3)]))) == [
                    rank, 10 + rank, 20 + rank]
                got = ranks.send_recv(array.array("i", [rank]), (rank + 1) % 3, array.array("i", [-1]), (rank + 2) % 3)
                assert got[0] == (rank + 2) % 3
                if rank == 0:
                    ranks.send(b"hello", 2)
                elif rank == 2:
                    assert ranks.recv(bytearray(5), 0) == b"hello"
                model = [array.array("f", [rank, 1]), array.array("q", [rank]), array.array("f"), array.array("f", [2])]
                assert ranks.all_reduce_coalesced(model) is model
                assert [list(each) for each in model] == [[3, 3], [3], [], [6]], model
                assert ranks.all_reduce_coalesced([]) == []
                halves = array.array("H", [0x3f80])  # 1.0
                ranks.broadcast(halves, dtype="bfloat16")
                ranks.barrier()
                for wrong, text in ((lambda: ranks.all_reduce([1.0]), "a list"),
                                    (lambda: ranks.all_reduce(b"x"), "read-only"),
                                    (lambda: ranks.all_reduce(memoryview(bytearray(4))[::2]), "not contiguous"),
                                    (lambda: ranks.all_reduce(data, "mean"), "expected one of sum, "),
                                    (lambda: ranks.all_reduce(data, out=out), "expected 2 of float32"),
                                    (lambda: ranks.all_reduce(2**70), "64 bits"),
                                    (lambda: ranks.all_reduce_coalesced([data, b"x"]), "arrays[1] is read-only"),
                                    (lambda: ranks.reduce_scatter(data), "3 ranks cannot share"),
                                    (lambda: ranks.all_gather(data, counts=[1, 1, 1]), "one for each of 3")):
                    try:
                        wrong()
                        raise SystemExit(f"{text}: not refused")
                    except muster.InvalidArgumentError as error:
                        assert text in str(error), error
                try:
                    ranks.all_reduce(halves, dtype="bfloat16")
                    raise SystemExit("gloo has no arithmetic on it")
                except muster.UnimplementedError as error:
                    assert "bfloat16" in str(error), error
                with job.prevent_block():
                    assert ranks.all_reduce(rank) == rank
                    assert list(ranks.all_reduce_coalesced([array.array("f", [rank])])[0]) == [rank]
                    ranks.barrier()
                    mine = ranks.all_gather(bytes([rank]), out=bytearray(3))
                    assert mine[rank] == rank
        """)

    def test_arrays_of_numpy(self):
        self.run_ranks(2, """
            import numpy
            with muster.join(timeout=60) as job, job.communicator() as ranks:
                data = numpy.full((2, 3), ranks.rank + 1, dtype=numpy.float32)
                assert ranks.all_reduce(data, "average") is data and (data == 1.5).all()
                every = ranks.all_gather(numpy.arange(2) + ranks.rank)
                assert every.dtype == numpy.int64 and every.tolist() == [0, 1, 1, 2]
                assert job.all_reduce(numpy.float32([1, 2])).tolist() == [2, 4]
                assert job.all_reduce(numpy.float64(1.5)) == 3
                ranks.all_reduce(numpy.zeros((0, 4)))
                ranks.broadcast(numpy.zeros(3, dtype=numpy.float16))
                try:
                    ranks.all_reduce(numpy.zeros((4, 4))[:, 1])
                except muster.InvalidArgumentError as error:
                    assert "contiguous" in str(error)
        """)

    def test_disagreements_are_named_on_all_ranks(self):
        outcome = self.run_ranks(2, """
            with muster.join(timeout=60) as job:
                try:
                    job.all_gather(1, encoding="json" if job.rank else "pickle")
                except muster.FailedPreconditionError as error:
                    print(error)
        """)
        for rank in range(2):
            self.assertRegex(outcome.of(rank), r"json.*pickle|pickle.*json")
            self.assertRegex(outcome.of(rank), r"rank-\d+.py:\d+")  # the line of the call

    def test_time_outs_name_the_missing(self):
        outcome = self.run_ranks(2, """
            with muster.join(timeout=60) as job:
                if job.rank == 0:
                    try:
                        job.barrier("late", timeout=0.5)
                    except TimeoutError as error:
                        print(type(error).__name__, error)
                        assert error.missing_ranks == (1,) and error.pid == job.members[1].pid, vars(error)
                    lease = job.once_per_job("let go")
                    notify("held")
                    lease.close()
                else:
                    wait_for("held")
                    with job.once_per_job("let go") as work:
                        assert work.held
                job.barrier("late")
        """)
        self.assertRegex(outcome.of(0), "DeadlineExceededError .*missing 1 of 2: rank 1")

    def test_all_stop_at_one_step_and_signal_handlers_may_ask_for_it(self):
        self.run_ranks(2, """
            with muster.join(timeout=60) as job:
                def handler(*_):
                    job.request_stop()
                    notify("asked")

                signal.signal(signal.SIGTERM, handler)
                steps = 0
                while not job.stop_requested:
                    if steps == 3 and job.rank == 0:
                        while_main_waits(lambda: os.kill(os.getpid(), signal.SIGTERM))
                    elif steps == 3:
                        wait_for("asked")  # while rank 0 waits in the barrier
                    job.barrier("step")
                    steps += 1
                assert job.all_gather(steps, encoding="json") == [4] * 2
        """)

    def test_other_threads_go_on_and_may_be_cancelled(self):
        self.run_ranks(2, """
            def wait(call):
                try:
                    call()
                except muster.CancelledError as error:
                    ended.append(str(error))

            with muster.join(timeout=60) as job:
                ended = []
                if job.rank == 0:
                    cancellation = muster.Cancellation()
                    group = job.new_group("mine", [0, 1])
                    thread = threading.Thread(target=wait, args=(lambda: group.barrier(cancellation=cancellation),))
                    thread.start()
                    counted = sum(range(100000))  # the GIL is free
                    cancellation.cancel()
                    thread.join(30)
                    assert not thread.is_alive() and len(ended) == 1 and cancellation.cancelled
                    try:
                        group.barrier(cancellation=cancellation)
                        raise SystemExit("not cancelled")
                    except muster.CancelledError:
                        pass
                    thread = threading.Thread(target=wait, args=(group.barrier,))
                    thread.start()
                    time.sleep(0.05)
                    group.close()  # while a thread waits in it
                    thread.join(30)
                    assert not thread.is_alive() and len(ended) == 2
                job.barrier("ended")
        """)


if __name__ == "__main__":
    ranks.main()

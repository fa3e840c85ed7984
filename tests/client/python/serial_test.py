"""In one process, without a coordinator: values, errors, the log."""

import array
import ctypes
import gc
import logging
import os
import pickle
import threading
import unittest

import muster
import ranks
from muster import _library, encodings


class SerialTest(unittest.TestCase):
    def setUp(self):
        self.job = muster.join(environment=False)
        self.addCleanup(self.job.close)

    def test_every_call_works(self):
        job = self.job
        self.assertEqual((job.rank, job.world_size, job.local_rank, job.node_rank), (0, 1, 0, 0))
        self.assertFalse(job.is_distributed)
        self.assertTrue(job.is_main)
        self.assertEqual(job.broadcast(b"x"), b"x")
        self.assertEqual(job.gather("x", encoding="json"), ["x"])
        self.assertEqual(job.all_reduce(array.array("i", [3])), array.array("i", [3]))
        self.assertEqual(job.run_on_main(lambda: 3), 3)
        self.assertEqual(job.communicator().all_reduce(2), 2)
        self.assertIsNone(job.await_failure(0.01))
        job.rejoin()
        job.request_stop()
        job.leave()
        job.leave()
        self.assertTrue(job.left)

    def test_every_call_of_the_store_works(self):
        store = self.job.store
        store.set("port", b"70\x0001")
        self.assertEqual(store.get(b"port"), b"70\x0001")
        store.wait(["port"])
        self.assertEqual(store.add("n", -3), -3)
        self.assertEqual(store.add("n", 3), 0)
        self.assertEqual(store.compare_and_set("port", None, b"1"), (False, b"70\x0001"))
        self.assertEqual(store.compare_and_set("port", b"70\x0001", b"1"), (True, b"1"))
        self.assertEqual(store.compare_and_set("absent", b"x", b"1"), (False, None))
        self.assertEqual(store.append("port", b"23"), 3)
        self.assertEqual(store.list(), [b"n", b"port"])
        self.assertEqual(store.count("p"), 1)
        self.assertEqual((store.push("q", b"first"), store.push("q", b"")), (1, 2))
        self.assertEqual((store.pop("q"), store.length("q"), store.pop("q")), (b"first", 1, b""))
        self.assertEqual(store.barrier("met", 1), 1)
        self.assertEqual((store.delete("port"), store.delete("port")), (True, False))
        with self.assertRaisesRegex(muster.DeadlineExceededError, "port"):
            store.get("port", timeout=0.01)
        with self.assertRaisesRegex(muster.FailedPreconditionError, "queue"):
            store.get("q")
        with self.assertRaises(muster.InvalidArgumentError):
            store.set("", b"x")

    def test_a_watch_tells_of_keys_and_changes(self):
        store = self.job.store
        store.set("workers/0", b"a")
        with store.watch("workers/") as changes:
            self.assertEqual(changes.next(), (b"workers/0", muster.StoreKind.VALUE, b"a", 0))
            store.set("elsewhere", b"")
            store.push("workers/queue", b"work")
            self.assertEqual(changes.next()[1:], (muster.StoreKind.QUEUE, b"", 1))
            store.delete("workers/0")
            self.assertEqual(next(iter(changes)).kind, muster.StoreKind.DELETED)
            with self.assertRaisesRegex(muster.DeadlineExceededError, "prefix"):
                changes.next(timeout=0.01)
        store.delete("workers/queue")
        self.assertEqual(list(changes), [])
        with self.assertRaises(muster.CancelledError):
            changes.next()

    def test_a_watch_ends_with_its_job(self):
        changes = self.job.store.watch()
        self.job.close()
        self.assertEqual(list(changes), [])

    def test_objects_are_only_pickled_on_request(self):
        with self.assertRaisesRegex(TypeError, "a dict is no bytes: say how.*encoding='json'"):
            self.job.broadcast({})
        with self.assertRaises(TypeError):
            self.job.all_gather({1, 2}, encoding="json")
        with self.assertRaisesRegex(ValueError, "'yaml'; expected one of bytes, json, pickle"):
            self.job.broadcast(1, encoding="yaml")
        self.assertEqual(self.job.broadcast({1}, encoding="pickle"), {1})

    def test_errors_are_classes_by_code(self):
        with self.assertRaises(muster.InvalidArgumentError) as caught:
            self.job.barrier("x" * 10000)
        self.assertEqual((caught.exception.code, caught.exception.exit_code), (muster.ErrorCode.INVALID_ARGUMENT, 64))
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsNone(caught.exception.rank)
        self.assertEqual((caught.exception.node, caught.exception.pid, caught.exception.cause), (None, None, None))
        self.assertEqual(caught.exception.missing_ranks, ())
        lost = muster.AbortedError("lost", rank=3, node="n", pid=7, cause="killed", missing_ranks=[3, 5])
        copied = pickle.loads(pickle.dumps(lost))
        self.assertEqual((type(copied), vars(copied)), (muster.AbortedError, vars(lost)))
        self.assertEqual((str(copied), copied.exit_code, copied.missing_ranks), ("lost", 75, (3, 5)))
        with self.assertRaisesRegex(muster.InvalidArgumentError, "expected seconds, 0 or more"):
            self.job.barrier(timeout=-1)
        with self.assertRaisesRegex(muster.InvalidArgumentError, "zero byte"):
            self.job.barrier("a\0b")
        with self.assertRaisesRegex(muster.InvalidArgumentError, "no rank 7|rank 7"):
            self.job.new_group("g", [0, 7])
        with self.assertRaisesRegex(muster.AlreadyExistsError, "."):
            raise muster.AlreadyExistsError("taken")

    def test_every_code_has_a_class(self):
        lib = _library.library()
        for code in muster.ErrorCode:
            if code == muster.ErrorCode.OK:
                continue
            status = lib.status_new(int(code), b"rank 4 (host h, pid 1): no")
            with self.assertRaises(muster.MusterError) as caught:
                muster._errors.check(status)  # pylint: disable=protected-access
            self.assertEqual((caught.exception.code, caught.exception.rank), (code, 4))

    def test_options_are_checked(self):
        for options in ({"coordinator": "nowhere"}, {"rank": -2}, {"timeout": 0.0, "coordinator": "a:1"},
                        {"world_size": 0}, {"topology": "\n", "coordinator": "a:1"}):
            with self.subTest(options), self.assertRaises(muster.InvalidArgumentError):
                muster.join(environment=False, **options)

    def test_the_environment_counts_unless_it_is_left_out(self):
        os.environ["MUSTER_JOB"] = "train"
        self.addCleanup(os.environ.pop, "MUSTER_JOB")
        with muster.join() as job:
            self.assertEqual(job.id, "train")
        with muster.join(job="mine") as job:
            self.assertEqual(job.id, "mine")
        with muster.join(environment=False) as job:
            self.assertEqual(job.id, "default")

    def test_closing_twice_is_harmless_and_uses_afterwards_are_refused(self):
        job = muster.join(environment=False)
        group, lease, ranks_ = job.new_group("g", [0]), job.once_per_job("w"), job.communicator()
        job.close()
        job.close()
        for call in (job.barrier, lambda: job.rank, group.barrier, lease.complete, lambda: ranks_.all_reduce(1)):
            with self.assertRaises(muster.CancelledError):
                call()
        for closed in (group, lease, ranks_):
            closed.close()
            closed.close()
        self.assertIn("closed", repr(job))
        del job, group, lease, ranks_
        gc.collect()

    def test_objects_of_a_job_keep_it(self):
        ranks_, group, lease = (lambda job: (job.communicator(), job.new_group("g", [0]), job.once_per_job("w")))(
            muster.join(environment=False))
        gc.collect()
        self.assertEqual(ranks_.all_reduce(1), 1)
        group.barrier()
        lease.complete()

    def test_scopes_are_the_threads_own_and_nest(self):
        seen = []
        with self.job.prevent_block():
            with self.job.prevent_block():
                self.assertTrue(self.job.prevents_block)
            self.assertTrue(self.job.prevents_block)
            thread = threading.Thread(target=lambda: seen.append(self.job.prevents_block))
            thread.start()
            thread.join()
            self.assertEqual(self.job.all_gather(b"x"), [b"x"])
        self.assertFalse(self.job.prevents_block)
        self.assertEqual(seen, [False])

    def test_values_of_cpp_have_their_types(self):
        scores = encodings.vector_of(encodings.struct_of("dqqq"))
        self.assertEqual(scores.type_name, "vector<struct of 32 bytes>")
        self.assertEqual(scores.decode(scores.encode([(1.5, 1, 2, 3), (2.5, 4, 5, 6)])), [(1.5, 1, 2, 3), (2.5, 4, 5, 6)])
        self.assertEqual(encodings.STRING.encode("ab"), b"\2\0\0\0\0\0\0\0ab")
        self.assertEqual(encodings.vector_of(encodings.FLOAT64).decode(encodings.vector_of(encodings.FLOAT64).encode([])), [])
        self.assertEqual(self.job.broadcast("text", encoding=encodings.STRING), "text")
        with self.assertRaises(TypeError):
            encodings.vector_of(encodings.STRING)

    def test_log_lines_go_to_logging(self):
        with self.assertLogs("muster", "WARNING") as logged:
            self.job.once_per_job("dropped").close()
        self.assertIn("'dropped'", logged.output[0])
        muster.use_logging(False)
        self.addCleanup(muster.use_logging)
        records = []  # what a handler raises reaches nobody
        watch = logging.Handler()
        watch.emit = records.append
        logger = logging.getLogger("muster")
        logger.addHandler(watch)
        self.addCleanup(logger.removeHandler, watch)
        self.job.once_per_job("dropped").close()
        self.assertEqual(records, [])

    def test_structs_match_the_header(self):
        # size, timeout and two pointers, line with its padding, and two pointers
        self.assertEqual(ctypes.sizeof(_library.CallOptions), 56)
        self.assertEqual(ctypes.sizeof(_library.CMember), 56)
        self.assertEqual(ctypes.sizeof(_library.CStoreEvent), 56)


class LogTest(ranks.RanksTestCase):
    def test_lines_go_to_standard_error_without_logging_setup(self):
        source = """
            with muster.join() as job:
                job.once_per_job("dropped").close()
        """
        self.assertRegex(self.run_alone(source).text, "muster warning: .*'dropped'")
        self.assertEqual(self.run_alone(source, MUSTER_LOG_LEVEL="error").text, "")

    def test_lines_go_to_existing_handlers(self):
        outcome = self.run_alone("""
            import logging
            logging.basicConfig(format="%(name)s %(levelname)s %(message)s")
            with muster.join() as job:
                job.once_per_job("dropped").close()
        """)
        self.assertRegex(outcome.text, "muster WARNING .*'dropped'")


if __name__ == "__main__":
    ranks.main()

"""The helpers by other toolkits' names: alone, and four ranks, two on each node."""

import array
import os
import subprocess
import sys
import threading
import unittest

import muster
import ranks
from muster import toolkits

IMPORTS = """
            from muster import toolkits
            from muster.toolkits import *
"""


class SerialTest(unittest.TestCase):
    """Without a coordinator every helper works, in a world of one."""

    def test_a_world_of_one(self):
        self.assertIsNone(toolkits.get_rank())
        toolkits.set_local_rank(3)
        self.assertEqual(toolkits.get_local_rank(), 3)
        with self.assertRaises(muster.InvalidArgumentError):
            toolkits.set_local_rank(-1)
        self.assertEqual(toolkits.rank_prefixed_message("hello"), "hello")
        self.assertEqual((toolkits.get_world_size(), toolkits.get_nproc_per_node(), toolkits.get_nnodes(),
                          toolkits.get_node_rank()), (1, 1, 1, 0))
        self.assertTrue(toolkits.is_main_process() and toolkits.if_main_process() and toolkits.is_master_process())
        self.assertTrue(toolkits.is_local_rank_zero())
        self.assertFalse(toolkits.is_distributed() or toolkits.is_distributed_initialized())
        self.assertEqual((toolkits.backend(), toolkits.model_name(), toolkits.device(), toolkits.infer_device()),
                         (None, "serial", "cpu", "cpu"))
        self.assertEqual(toolkits.run_on_main(lambda x: x + 1, (2,)), 3)
        self.assertEqual(toolkits.main_process_only(lambda: 4)(), 4)
        self.assertEqual(toolkits.compute_and_broadcast(lambda: 5), 5)
        self.assertEqual(toolkits.run_once_per_node(lambda: [6]), [6])
        self.assertEqual(toolkits.gather_from_all_ranks(lambda: 7), [7])
        self.assertEqual(toolkits.reduce_and_broadcast(lambda: 8, sum), 8)
        self.assertEqual(toolkits.all_reduce(9, "SUM"), 9)
        self.assertEqual(toolkits.all_gather("ten"), ["ten"])
        self.assertEqual(toolkits.all_gather(array.array("i", [1, 2])), array.array("i", [1, 2]))
        values = array.array("f", [11])
        self.assertIs(toolkits.average_across_processes(values), values)
        with toolkits.zero_first(True):
            toolkits.barrier()
        with toolkits.get_configs_parallel({"a": 1}, [0]) as configs:
            self.assertEqual(configs, [{"a": 1}])

    def test_gpu_memory_is_what_nvml_says_of_this_process(self):
        self.assertEqual(toolkits.gpu_mem_usage(), 0)
        # The stand-in for NVML, whose process uses memory on two GPUs. tests/nccl/cuda/README.md describes it.
        folders = os.path.abspath("tests/nccl/cuda/lib") + os.pathsep + os.environ["LD_LIBRARY_PATH"]
        for used, expected in ((None, "0"), ("300", "600")):
            variables = {"LD_LIBRARY_PATH": folders, **({} if used is None else {"FAKE_NVML_MIB": used})}
            said = subprocess.run([sys.executable, "-c", "from muster import toolkits; print(toolkits.gpu_mem_usage())"],
                                  env=ranks.environment(**variables), text=True, check=True, stdout=subprocess.PIPE).stdout
            self.assertEqual(said.strip(), expected)

    def test_sync_adopts_a_job_that_was_joined_by_other_means(self):
        job = muster.join(environment=False, job="other")
        toolkits.sync()
        self.assertEqual(toolkits.current_job().id, "other")
        toolkits.finalize()
        self.assertTrue(job.left)
        job.close()
        toolkits.sync()
        self.assertEqual(toolkits.current_job().id, "default")

    def test_an_unknown_backends_error_lists_the_linked_backends(self):
        with self.assertRaisesRegex(muster.InvalidArgumentError, "'nope'; there are: gloo"):
            toolkits.initialize("nope")


# The functions that new processes run. They find them in this file, which is their main module.
def double(local_rank, factor, plus=0):
    job = toolkits.current_job()
    return local_rank, job.world_size, toolkits.backend(), factor * job.all_reduce(1) + plus


def sum_of(value):
    with muster.join(timeout=60) as job:
        return job.all_reduce(value)


class LaunchTest(unittest.TestCase):
    def test_spawn_joins_and_leaves_around_the_function(self):
        self.assertEqual(toolkits.spawn("gloo", double, (2,), {"plus": 1}, nproc_per_node=2),
                         [(0, 2, "gloo", 5), (1, 2, "gloo", 5)])

    def test_launch_takes_virtexs_arguments(self):
        self.assertEqual(toolkits.launch(sum_of, num_gpus_per_machine=3, args=(2,)), [6, 6, 6])


class MachinesTest(ranks.RanksTestCase):
    def test_launch_on_two_machines_joins_the_coordinator_of_both(self):
        source = """
            import toolkits_test
            if __name__ == "__main__":
                from muster import toolkits
                machine, address = sys.argv[1:]
                print("values", toolkits.launch(toolkits_test.sum_of, 2, 1, int(machine), "tcp://" + address, (3,), job="t"))
        """
        with self.daemon(2):
            machines = [subprocess.Popen([sys.executable, self.program(source), str(machine), self.coordinator],
                                         env=ranks.environment(MUSTER_NODE_ID=f"node{machine}"), text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for machine in range(2)]
            for machine in machines:
                text, _ = machine.communicate(timeout=120)
                self.assertEqual(machine.returncode, 0, text)
                self.assertIn("values [6]", text)


class ToolkitsTest(ranks.RanksTestCase):
    def run_nodes(self, source, status=0):
        """Four ranks, two on each of two nodes."""
        done = []

        def launch(node):
            done.append(self.run_ranks(2, IMPORTS + source, "--coordinator", self.coordinator, "--job", "t", "--nnodes",
                                       "2", "--node-rank", str(node), "--node-id", f"node{node}", status=None))

        with self.daemon(4):
            threads = [threading.Thread(target=launch, args=(node,)) for node in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(done), 2, "a node has not ended")  # what fails in a thread fails no test
        text = "".join(each.text for each in done)
        for each in done:
            self.assertEqual(each.status, status, text)
        return ranks.Outcome(status, text)

    def test_ranks_and_nodes(self):
        outcome = self.run_nodes("""
            import logging
            assert get_rank() == int(os.environ["RANK"]) and get_local_rank() == int(os.environ["LOCAL_RANK"])
            job = initialize("gloo", timeout=60)
            assert get_rank() == job.rank == 2 * get_node_rank() + get_local_rank()
            assert (get_world_size(), get_nproc_per_node(), get_nnodes()) == (4, 2, 2)
            assert is_distributed() and is_distributed_initialized()
            assert is_main_process() == if_main_process() == is_master_process() == (job.rank == 0)
            assert is_local_rank_zero() == (job.local_rank == 0)
            assert rank_prefixed_message("hi") == f"[rank: {job.rank}] hi" and hostname() == job.self.hostname
            assert (backend(), available_backends(), model_name(), device(), infer_device()) == (
                "gloo", ("gloo",), "muster-gloo", "cpu", "cpu")
            try:
                initialize()
            except muster.FailedPreconditionError as error:
                assert "finalize()" in str(error)
            logging.basicConfig(level=logging.INFO)
            show_config()
            ddp_barrier("all")
            synchronize()
            finalize()
            assert get_world_size() == 1 and get_rank() == int(os.environ["RANK"]) and not is_distributed()
        """)
        self.assertRegex(outcome.text, r"muster-gloo: device cpu, host \S+, world size 4, rank 3, local rank 1")

    def test_functions_on_some_of_the_ranks(self):
        self.run_nodes("""
            job = ddp_init_group({"distributed_backend": "gloo"})
            ran = []

            def note(value):
                ran.append(value)
                assert job.prevents_block and job.all_reduce(1) == 1
                return value

            rank = job.rank
            assert run_on_main(note, ("main",), post_func=note, post_args=("post",)) == "main"
            assert ran == (["main"] if rank == 0 else ["post"]), ran
            ran.clear()
            assert run_on_main(note, ("main",), post_func=note, post_args=("post",), run_post_on_main=True) == "main"
            assert ran == (["main", "post"] if rank == 0 else ["post"])
            ran.clear()
            assert main_process_only(note)("x") == "x" and ran == (["x"] if rank == 0 else [])
            assert main_process_only(encoding="pickle")(lambda: {1})() == {1}
            assert compute_and_broadcast(lambda: job.rank, 3) == 3
            assert one_rank_only(2)(note)("one") == ("one" if rank == 2 else None)
            assert one_rank_only(1, with_barrier=True)(lambda: object)() is (object if rank == 1 else None)
            assert run_once_per_node(lambda: {rank}) == ({rank} if rank % 2 == 0 else None)
            assert run_once_per_node(lambda: "f", post_func=lambda: "p") == ("f" if rank % 2 == 0 else "p")
            assert run_once_per_node(lambda: "f", post_func=lambda: "p", run_post_on_all=True) == "p"
            assert once_per_node(lambda: rank)() == (rank if rank % 2 == 0 else None)
            with zero_only() as main:
                assert main == (rank == 0) == job.prevents_block
            with MainProcessContext() as main, OncePerNodeContext() as first:
                assert (main, first) == (rank == 0, rank % 2 == 0)
            with ddp_prevent_block():
                assert job.prevents_block
                barrier()
            finalize()
        """)

    def test_zero_first_keeps_the_others_until_the_first_of_every_node_have_run(self):
        path = self.folder / "done-"
        self.run_nodes(f"""
            job = initialize()
            with zero_first(is_local_rank_zero()):
                if is_local_rank_zero():
                    time.sleep(0.3)
                    open({str(path)!r} + str(job.node_rank), "w").close()
                else:
                    assert os.path.exists({str(path)!r} + "0") and os.path.exists({str(path)!r} + "1")
            try:
                with zero_first(job.rank == 2):
                    assert job.rank == 2, "the others do not run it"
                    raise KeyError("lost")
            except muster.InternalError as error:
                assert error.rank == 2 and str(error).startswith("rank 2 (node 'node1', pid "), error
            finalize()
        """)

    def test_all_waiting_ranks_get_the_error_with_its_rank(self):
        self.run_nodes("""
            job = initialize()

            def fails():
                raise ValueError("no such file")

            def only(rank):
                return lambda: fails() if job.rank == rank else job.rank

            node_first = 2 * job.node_rank
            for rank, call in ((0, lambda: run_on_main(fails)), (0, lambda: main_process_only(fails)()),
                               (3, lambda: compute_and_broadcast(fails, 3)),
                               (1, lambda: one_rank_only(1, with_barrier=True)(fails)()),
                               (node_first, lambda: run_once_per_node(fails)),
                               (2, lambda: gather_from_all_ranks(only(2))),
                               (1, lambda: gather_scalar_from_all_ranks(only(1))),
                               (0, lambda: reduce_and_broadcast(lambda: 1, lambda values: fails()))):
                try:
                    call()
                    raise SystemExit("it did not fail")
                except muster.InternalError as error:
                    assert error.rank == rank, error
                    assert f"rank {rank} (node 'node{rank // 2}', pid " in str(error) and "ValueError: no such file" in str(error)
                    assert isinstance(error.__cause__, ValueError) == (job.rank == rank)
            finalize()
        """)

    def test_values_and_arrays_of_all(self):
        self.run_nodes("""
            job = initialize()
            rank = job.rank
            assert broadcast({"of": rank}, 1) == ddp_broadcast({"of": rank}, 1) == {"of": 1}
            assert gather_from_all_ranks(lambda: [rank], 2) == ([[0], [1], [2], [3]] if rank == 2 else [])
            assert gather_scalar_from_all_ranks(lambda: rank / 2) == ([0, 0.5, 1, 1.5] if rank == 0 else [])
            assert reduce_and_broadcast(lambda: rank, max) == 3
            assert all_reduce(rank) == ddp_all_reduce(rank, muster.ReduceOp.SUM) == 6 and all_reduce(0.5, "PRODUCT") == 0.0625
            assert all_gather(rank) == [0, 1, 2, 3] and all_gather("x" * rank) == ["", "x", "xx", "xxx"]
            data = array.array("f", [rank, 1])
            assert all_reduce(data, "AVERAGE") is data and list(data) == [1.5, 1]
            assert list(all_gather(array.array("i", [rank, 0]))) == [0, 0, 1, 0, 2, 0, 3, 0]
            model = {"w": array.array("d", [rank, 4]), "b": array.array("f", [2 * rank])}
            average_across_processes(model)
            assert list(model["w"]) == [1.5, 4] and list(model["b"]) == [3]
            for differs in (lambda: all_reduce(array.array("f", [0] * (1 + (rank == 2)))),
                            lambda: average_across_processes({"w" if rank else "v": array.array("f", [0])}),
                            lambda: all_gather(array.array("d" if rank == 1 else "f", [0]))):
                try:
                    differs()
                    raise SystemExit("not refused")
                except muster.InvalidArgumentError as error:
                    assert "rank 0" in str(error) and "nothing was changed" in str(error), error
            assert all_reduce(1) == 4
            finalize()
        """)

    def test_the_first_rank_sees_all_offers(self):
        self.run_nodes(f"""
            job = initialize()
            rank = job.rank
            node = job.new_group(f"node {{job.node_rank}}", [2 * job.node_rank, 2 * job.node_rank + 1])
            pair = [2 * job.node_rank + 1, 2 * job.node_rank]  # the second of the node is the first of the list
            mine = {{"rank": rank}} if rank else None
            with get_configs_parallel(mine, pair, node) as configs:
                first = rank == pair[0]
                assert configs == ([mine, None if pair[1] == 0 else {{"rank": pair[1]}}] if first else []), configs
            with get_configs_parallel({{rank}}, [3, 0], workspace_path={str(self.folder)!r}, encoding="pickle") as configs:
                assert configs == ([{{3}}, {{0}}] if rank == 3 else [])
            job.barrier()
            # The folder is removed after the last meeting.
            until(lambda: not [name for name in os.listdir({str(self.folder)!r}) if name.startswith("muster-exchange")])
            with get_tensors_parallel(array.array("f", [rank, 1]), pair, node) as tensors:
                assert [list(each) for each in tensors] == ([[pair[0], 1], [pair[1], 1]] if first else [])
            for wrong, kind, text in (
                    (lambda: get_configs_parallel(1, [0, 2]), muster.FailedPreconditionError, "on several"),
                    (lambda: get_configs_parallel(1, [0, 0], node), muster.InvalidArgumentError, "each once"),
                    (lambda: get_tensors_parallel(array.array("f", [0] * (rank + 1)), pair, node),
                     muster.InvalidArgumentError, "different arrays")):
                try:
                    with wrong():
                        raise SystemExit("not refused")
                except kind as error:
                    assert text in str(error), error
            finalize()
        """)

    def test_all_waiting_ranks_learn_of_a_killed_runner(self):
        outcome = self.run_ranks(3, IMPORTS + """
            job = initialize()

            def die():
                wait_for("0 waits")
                wait_for("2 waits")
                os._exit(9)

            run_once_per_node(lambda: 1)
            if job.rank != 1:
                while_main_waits(lambda: notify(f"{job.rank} waits"))
            try:
                compute_and_broadcast(die, 1)
            except muster.AbortedError as error:
                print("told", error.rank)
                raise
        """, status=9)
        for rank in (0, 2):
            self.assertIn("told 1", outcome.of(rank))


if __name__ == "__main__":
    ranks.main()

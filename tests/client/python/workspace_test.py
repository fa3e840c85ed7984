"""muster.Workspace: what one rank writes another reads, also in C++, and damage is found."""

import array
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import muster
import ranks
from muster import toolkits

RANK = os.environ.get("MUSTER_TEST_RANK") or os.path.abspath("tests/rank/rank")


class WorkspaceTest(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def open(self, rank=0):
        return muster.Workspace(self.folder, rank)

    def test_any_rank_reads_what_another_has_written(self):
        arrays = {"w": array.array("f", [1.5, -2]), "n": array.array("q", [7]), "none": array.array("d"), "b": bytes([1, 2, 3]),
                  "half": muster.Tensor(array.array("H", [0x3f80]), "bfloat16"),
                  "grid": memoryview(array.array("i", range(6))).cast("B").cast("i", [2, 3])}
        self.open(1).write({"layers": 12, "name": "gr\u00fcn"}, arrays)
        for read in (muster.Workspace(self.folder).read, self.open(0).map):
            found = read(1)
            self.assertEqual(found.config, {"layers": 12, "name": "gr\u00fcn"})
            self.assertEqual({name: each.data.tolist() for name, each in found.tensors.items()},
                             {"w": [1.5, -2], "n": [7], "none": [], "b": [1, 2, 3], "half": [0x3f80], "grid": [[0, 1, 2], [3, 4, 5]]})
            self.assertEqual({name: each.dtype for name, each in found.tensors.items()},
                             {"w": "float32", "n": "int64", "none": "float64", "b": "uint8", "half": "bfloat16", "grid": "int32"})
            self.assertEqual(found.tensors["grid"].shape, (2, 3))
            self.assertTrue(found.tensors["w"].data.readonly)
        self.assertIsNone(self.open(0).read(0))

    def test_arrays_of_numpy_keep_their_shapes(self):
        import numpy

        weights = numpy.arange(6, dtype=numpy.float64).reshape(2, 3)
        self.open().write(None, {"w": weights, "scalar": numpy.float32(3) * numpy.ones(())})
        found = self.open(1).read(0)
        self.assertIsNone(found.config)
        self.assertTrue((numpy.asarray(found.tensors["w"].data) == weights).all())
        self.assertEqual(found.tensors["scalar"].shape, ())

    def test_a_new_configuration_replaces_the_old_one(self):
        workspace = self.open()
        workspace.write(1)
        workspace.write(2)
        self.assertEqual(workspace.read(0).config, 2)
        workspace.clear()
        workspace.clear()
        self.assertIsNone(workspace.read(0))

    def test_opening_removes_only_the_ranks_own_files(self):
        self.open(0).write("zero")
        self.open(1).write("one")
        (self.folder / ".rank-0.safetensors.12ab").write_bytes(b"left by a crash")
        (self.folder / ".rank-1.safetensors.34cd").write_bytes(b"being written")
        self.open(0)
        self.assertEqual(sorted(os.listdir(self.folder)), [".rank-1.safetensors.34cd", "rank-1.safetensors"])

    def test_wrong_uses_are_refused(self):
        workspace = self.open()
        workspace.write("kept")
        for name, data, text in (("", b"", "name is ''"), ("__metadata__", b"", "name is"), ("w", [1], "is a list"),
                                 ("w", memoryview(bytes(4))[::2], "not contiguous"), ("x" * 2000, b"", "1 to 1024 bytes")):
            with self.assertRaisesRegex(muster.InvalidArgumentError, text):
                workspace.write(None, {name: data})
        with self.assertRaises(TypeError):
            workspace.write({1, 2})
        self.assertEqual(workspace.read(0).config, "kept")
        self.assertEqual(os.listdir(self.folder), ["rank-0.safetensors"])
        with self.assertRaisesRegex(muster.FailedPreconditionError, "for reading only"):
            muster.Workspace(self.folder).write(1)
        with self.assertRaisesRegex(muster.NotFoundError, "nowhere"):
            muster.Workspace(self.folder / "nowhere")
        with self.assertRaisesRegex(muster.InvalidArgumentError, "rank is -1"):
            muster.Workspace(self.folder, -1)

    def test_every_damaged_byte_is_found(self):
        workspace = self.open()
        workspace.write({"a": 1}, {"w": array.array("i", [1, 2])})
        path = pathlib.Path(workspace.file_of(0))
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1:])
            with self.subTest(place), self.assertRaisesRegex(muster.DataLossError, "rank-0.safetensors is damaged: "):
                workspace.read(0)
        for size in range(len(whole)):
            path.write_bytes(whole[:size])
            with self.subTest(size), self.assertRaises(muster.DataLossError):
                workspace.map(0)

    def test_the_format_is_that_of_safetensors(self):
        self.open().write(None, {"w": array.array("f", [1, 2]), "b": array.array("b", [3])})
        data = (self.folder / "rank-0.safetensors").read_bytes()
        length = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + length])
        self.assertEqual(length % 8, 0)
        self.assertEqual(header["w"], {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})
        self.assertEqual(header["b"], {"dtype": "I8", "shape": [1], "data_offsets": [8, 9]})
        self.assertEqual(data[8 + length:], struct.pack("<ffb", 1, 2, 3))

    def test_a_killed_writer_leaves_the_old_file(self):
        self.open().write("old")
        source = ("import muster, sys, array\nw = muster.Workspace(sys.argv[1], 0)\nw.write('old')\nprint('ready', flush=True)\n"
                  "while True:\n  w.write('new', {'w': array.array('b', bytes(4000000))})")
        with subprocess.Popen([sys.executable, "-c", source, str(self.folder)], stdout=subprocess.PIPE) as writer:
            self.assertEqual(writer.stdout.readline(), b"ready\n")
            end = time.monotonic() + 60
            while not [name for name in os.listdir(self.folder) if name.startswith(".")]:  # it is writing
                self.assertLess(time.monotonic(), end)
            writer.send_signal(signal.SIGKILL)
        self.assertIn(muster.Workspace(self.folder).read(0).config, ("old", "new"))
        self.open(0)
        self.assertEqual(os.listdir(self.folder), [])

    def test_modelopts_names(self):
        toolkits.NFSWorkspace(self.folder).write_configs_and_weights({"a": 1}, {"w": array.array("f", [2])})
        config, weights = toolkits.NFSWorkspace(self.folder, job=muster.join(environment=False)).read_configs_and_weights_from_rank(5)
        self.assertEqual((config, weights), (None, None))
        with self.assertRaisesRegex(muster.FailedPreconditionError, "not initialized"):
            toolkits.NFSWorkspace().write_configs_and_weights({}, {})
        self.assertFalse(toolkits.NFSWorkspace().is_initialized)


class SharedTest(ranks.RanksTestCase):
    def test_ranks_in_cpp_and_in_python_read_each_others_files(self):
        source = self.program(f"""
            with muster.join(timeout=60) as job:
                workspace = muster.Workspace({str(self.folder / "shared")!r}, job.rank)
                workspace.write(job.rank, {{"x": array.array("i", [job.rank] * 3)}})
                job.barrier("the others have written")
                job.barrier("all have written")
                found = workspace.read(1)
                print("rank 1 has", found.config, list(found.tensors["x"].data))
        """)
        both = f"if ((RANK)); then exec {RANK} 'share={self.folder / 'shared'}' leave; else exec {sys.executable} {source}; fi"
        done = subprocess.run([ranks.PROGRAM, "run", "--nproc-per-node", "2", "--", "bash", "-c", both],
                              env=ranks.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("[0] rank 1 has 1 [1, 1, 1]", done.stdout)
        self.assertIn("[1] rank 0 has 0: 0,0,0", done.stdout)


if __name__ == "__main__":
    ranks.main()

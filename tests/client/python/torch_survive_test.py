"""examples/torch/survive.py: goes on after the loss of a rank, with Debian's PyTorch and that of tools/peers."""

import os
import subprocess
import sys
import unittest

import ranks

PROGRAM = os.path.abspath("examples/torch/survive.py")
PEERS = os.path.abspath("../torch_peer/installed")


# Debian 13's PyTorch has no TCPStore: it is built without libuv.
MAKE_STORE = "import torch.distributed as d; d.TCPStore('127.0.0.1', 0, is_master=True, wait_for_workers=False)"


def has_torch(path):
    command = [sys.executable, "-c", MAKE_STORE]
    return subprocess.run(command, env=ranks.environment(PYTHONPATH=path), check=False, capture_output=True).returncode == 0


class TorchSurviveTest(unittest.TestCase):
    def survives(self, path):
        """Runs the program with the PyTorch that this PYTHONPATH finds."""
        done = subprocess.run(
            [ranks.PROGRAM, "run", "--nproc-per-node=4", "--min-world-size=2", "--torch-store=loopback", "--",
             sys.executable, PROGRAM, "--kill-rank=1"],
            env=ranks.environment(PYTHONPATH=path, OMP_NUM_THREADS="1"), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=280, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("succeeded although rank 1", done.stdout)
        for before, after in enumerate((0, None, 1, 2)):
            if after is not None:
                self.assertIn(f"rank {before} is rank {after} of 3 now", done.stdout)
                self.assertIn(f"rank {after} of 3 has learned 3.0 in step 100", done.stdout)

    def test_with_a_new_process_group(self):
        path = os.environ["PYTHONPATH"]
        if not has_torch(path):
            self.skipTest("tools/install-deps --torch brings Debian's PyTorch; on Debian 13 it has no TCPStore")
        self.survives(path)

    # Not skipped without tools/peers, which CI does not run.
    if os.path.exists(PEERS):
        def test_with_reconfigure(self):
            peers = os.path.join(os.path.dirname(os.path.realpath(PEERS)), "python")
            self.survives(f"{os.environ['PYTHONPATH']}:{peers}")


if __name__ == "__main__":
    unittest.main(verbosity=2)

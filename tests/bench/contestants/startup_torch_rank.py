"""One rank of startup.cc over PyTorch: startup_torch_rank.py FOLDER. Its line is described in startup_rank.cc."""

import sys
import time

began = time.monotonic_ns()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

loaded = time.monotonic_ns()

dist.init_process_group("gloo")
dist.barrier()
barrier = time.monotonic_ns()
dist.all_reduce(torch.ones(1024))
reduced = time.monotonic_ns()
with open(f"{sys.argv[1]}/replies", "w") as replies:
    replies.write(f"{dist.get_rank()} ran {began} {loaded} {barrier} {reduced}\n")
dist.destroy_process_group()

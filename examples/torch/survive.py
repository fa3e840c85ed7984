"""A program of PyTorch that goes on when a rank is lost. Here rank 1 kills itself:

    muster run --nproc-per-node 4 --min-world-size 2 --torch-store loopback -- \
        python3 examples/torch/survive.py --kill-rank 1

Muster says which ranks are left: job.rejoin() returns on all of them, with new ranks. PyTorch connects them again.
Its reconfigure (2.15, experimental) gets the job's epoch as uuid, and the handles in the order of the ranks. With
an older PyTorch, the program makes another process group.

A rank that is lost breaks Gloo's connections to it. A rank that waits for another survivor waits until TIMEOUT, and
abort() does not end that. So TIMEOUT is short here; it must be longer than the longest step.
"""

import argparse
import os
import signal
from datetime import timedelta

import muster
import torch
import torch.distributed as dist

TIMEOUT = timedelta(seconds=10)
STEPS = 100


def connect(job, store):
    """Connects the ranks of this epoch with each other."""
    place = {"rank": job.rank, "world_size": job.world_size, "timeout": TIMEOUT}
    if hasattr(dist, "_reconfigure"):
        if not dist.is_initialized():
            dist.init_process_group("gloo", store=store, enable_reconfigure=True, **place)
        handles = job.all_gather(dist._get_reconfigure_handle(), encoding="json")
        dist._reconfigure(job.epoch, handles, timeout=TIMEOUT).wait()
        return
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("gloo", store=dist.PrefixStore(f"epoch {job.epoch}", store), **place)


def train(job, state, kill_rank):
    """Trains until the last step. All ranks have the same state: the next step, and the weight."""
    state.update(job.broadcast(state, encoding="json"))  # rank 0 has seen every earlier epoch
    while state["step"] < STEPS:
        if job.rank == kill_rank and state["step"] == STEPS // 2 and not job.resumed:
            os.kill(os.getpid(), signal.SIGKILL)
        inputs = torch.linspace(-1, 1, 16) + 0.1 * job.rank
        gradient = torch.mean((state["weight"] - 3) * inputs * inputs).reshape(1)
        dist.all_reduce(gradient)
        state["weight"] -= 0.5 * gradient.item() / job.world_size
        state["step"] += 1


def main():
    parser = argparse.ArgumentParser(description="Trains, and goes on when a rank is lost.")
    parser.add_argument("--kill-rank", type=int, help="the rank that kills itself in the middle")
    kill_rank = parser.parse_args().kill_rank
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    state = {"step": 0, "weight": 0.0}
    with muster.join() as job:
        while state["step"] < STEPS:
            try:
                connect(job, store)
                train(job, state, kill_rank)
            except (RuntimeError, muster.AbortedError, muster.UnavailableError) as error:
                print(f"rank {job.rank} of {job.world_size}: {str(error).splitlines()[0]}", flush=True)
                before = job.rank
                job.rejoin()
                print(f"rank {before} is rank {job.rank} of {job.world_size} now", flush=True)
        job.barrier("trained")
        print(f"rank {job.rank} of {job.world_size} has learned {state['weight']:.1f} in step {state['step']}", flush=True)


main()

"""A rank of run_torch_test.cc: a program of PyTorch. The argument says what it does.

survive   rank 0 is killed, and the others go on with the store.
restarts  waits at each step until the test has made a file of its name in the folder GATES.
attempts  fails in the first attempt.
"""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _get_default_store

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])


def say(text):
    sys.stdout.write(f"rank {RANK} {text}\n")
    sys.stdout.flush()


def await_gate(name):
    while not os.path.exists(os.path.join(os.environ["GATES"], name)):
        time.sleep(0.01)


def total():
    """Returns the sum over all ranks of their rank plus one."""
    number = torch.ones(1) * (RANK + 1)
    dist.all_reduce(number)
    return int(number.item())


def survive():
    dist.init_process_group("gloo")
    store = _get_default_store()
    say(f"sums {total()}")
    if RANK == 0:
        store.wait([f"ready {rank}" for rank in range(1, WORLD)])
        os.kill(os.getpid(), signal.SIGKILL)
    store.set(f"ready {RANK}", "1")
    await_gate("killed")
    store.add("survivors", 1)
    store.set(f"survivor {RANK}", str(RANK))
    names = [store.get(f"survivor {rank}").decode() for rank in range(1, WORLD)]
    say(f"survives with {' '.join(names)}")
    store.set(f"done {RANK}", "1")
    store.wait([f"done {rank}" for rank in range(1, WORLD)])
    os._exit(0)  # the process group of rank 0 cannot be destroyed


def restarts():
    say("starts")
    if RANK == WORLD - 1:
        await_gate("init")
    say("joins")
    dist.init_process_group("gloo", timeout=timedelta(minutes=10))
    store = _get_default_store()
    say(f"sums {total()}")
    if RANK == 0:
        await_gate("wait")
        store.set("go", "went")
    else:
        say("waits")
        say(f"saw {store.get('go').decode()}")
    await_gate("step")
    say(f"sums again {total()}")
    counted = store.add("count", 1)
    store.set(f"counted {counted}", str(RANK))
    store.wait([f"counted {number + 1}" for number in range(WORLD)])
    group = dist.new_group(list(range(WORLD)), timeout=timedelta(minutes=10))
    dist.barrier(group)
    say(f"ends with {store.add('count', 0)}")
    dist.destroy_process_group()


def attempts():
    dist.init_process_group("gloo")
    attempt = _get_default_store().add("attempts", 1)
    dist.barrier()
    if os.environ["MUSTER_RESTART_COUNT"] == "0":
        sys.exit(3 if RANK == 1 else 0)
    say(f"is number {attempt <= WORLD} in attempt {os.environ['MUSTER_RESTART_COUNT']}")
    dist.barrier()
    dist.destroy_process_group()


globals()[sys.argv[1]]()

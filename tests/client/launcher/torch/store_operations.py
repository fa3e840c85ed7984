"""Runs every operation of PyTorch's TCPStore, and prints what each returns.

    MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python3 store_operations.py        # at an endpoint
    python3 store_operations.py --own                                          # PyTorch's own server

Both print the same lines that begin with "result: ".
"""

import os
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist

SHORT = timedelta(milliseconds=300)


def connect(own):
    if own:
        server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        port = server.port
    else:
        server = None
        port = int(os.environ["MASTER_PORT"])
    clients = [
        dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False, timeout=timedelta(seconds=30))
        for _ in range(3)
    ]
    return server, clients


def show(name, call, *arguments):
    try:
        result = call(*arguments)
    except Exception as error:  # the kinds of errors are part of what is compared
        result = type(error).__name__
    if isinstance(result, list):
        result = sorted(result) if name == "list_keys" else result
    print("result:", name, result, flush=True)


def values(a, b):
    show("set", a.set, "a", "1")
    show("get", b.get, "a")
    show("set empty", a.set, "empty", "")
    show("get empty", b.get, "empty")
    show("set bytes", a.set, "bytes", bytes(range(256)))
    show("get bytes", b.get, "bytes")
    show("large set", a.set, "large", "x" * 8_000_000)
    show("large get", lambda: len(b.get("large")))
    if not hasattr(a, "append"):  # PyTorch 2.0 and older
        return
    show("append", a.append, "a", "23")
    show("append new", a.append, "new", "x")
    show("multi_get", b.multi_get, ["a", "new", "empty"])
    show("multi_set", a.multi_set, ["m1", "m2"], ["1", "2"])
    show("multi_get", b.multi_get, ["m2", "m1"])


def numbers(a, b):
    show("add", a.add, "n", 5)
    show("add", b.add, "n", -7)
    show("get number", a.get, "n")
    show("set number", a.set, "n", "41")
    show("add", b.add, "n", 1)


def compares(a, b):
    show("compare_set missing", a.compare_set, "c", "x", "y")
    show("compare_set new", a.compare_set, "c", "", "1")
    show("compare_set again", b.compare_set, "c", "", "2")
    show("compare_set wrong", b.compare_set, "c", "0", "2")
    show("compare_set right", b.compare_set, "c", "1", "2")
    show("compare_set empty", b.compare_set, "empty", "", "full")
    show("get compared", a.get, "empty")


def waits(a, b):
    if hasattr(a, "check"):
        show("check", a.check, ["a", "n"])
        show("check missing", a.check, ["a", "none"])
    show("wait", a.wait, ["a", "n"], SHORT)
    if hasattr(a, "check"):  # at its own server, an old client cannot go on after a time-out
        show("wait in vain", a.wait, ["none"], SHORT)
        show("wait for several in vain", a.wait, ["a", "none", "never"], SHORT)
    show("set after", b.set, "none", "1")
    show("get after a time-out", a.get, "none")
    timer = threading.Timer(0.2, lambda: b.set("late", "came"))
    timer.start()
    show("get late", a.get, "late")
    timer.join()
    timer = threading.Timer(0.2, lambda: (b.set("late1", "1"), b.set("late2", "2")))
    timer.start()
    show("wait late", a.wait, ["late1", "late2"], timedelta(seconds=20))
    timer.join()


def keys(a, b):
    show("num_keys", a.num_keys)
    if hasattr(a, "list_keys"):
        show("list_keys", a.list_keys)
    show("delete_key", a.delete_key, "late")
    show("delete_key", b.delete_key, "late")
    show("num_keys", b.num_keys)
    if hasattr(a, "check"):
        show("check deleted", a.check, ["late"])


def queues(a, b, c):
    show("queue_len", lambda: a.queue_len("q"))
    show("queue_pop empty", lambda: a.queue_pop("q", False))
    a.set_timeout(SHORT)
    show("queue_pop in vain", lambda: a.queue_pop("q"))
    a.set_timeout(timedelta(seconds=30))
    a.queue_push("q", "1")
    a.queue_push("q", "2")
    show("queue_len", lambda: b.queue_len("q"))
    show("queue_pop", lambda: b.queue_pop("q"))
    show("queue_pop", lambda: c.queue_pop("q", False))
    show("queue_len", lambda: c.queue_len("q"))
    show("check empty queue", lambda: c.check(["q"]))
    c.queue_push("w", "1")
    c.queue_push("w", "2")
    show("wait for a queue", a.wait, ["w"])
    show("check queue", a.check, ["w"])
    show("queue_len", lambda: a.queue_len("w"))
    show("queue_pop", lambda: a.queue_pop("w"))
    show("queue_pop", lambda: a.queue_pop("w"))
    show("check popped queue", a.check, ["w"])
    show("queue_pop of a clone", lambda: (c.queue_push("w", "3"), a.clone().queue_pop("w")))
    popped = []
    threads = [threading.Thread(target=lambda s=s: popped.append(s.queue_pop("q"))) for s in (a, b)]
    for thread in threads:
        thread.start()
    c.queue_push("q", "x")
    c.queue_push("q", "y")
    for thread in threads:
        thread.join()
    show("popped", sorted, popped)


def barriers(a, b, c):
    show("barrier in vain", lambda: a.barrier("b0", 2, SHORT))
    threads = [threading.Thread(target=lambda s=s: s.barrier("b", 3, timedelta(seconds=20))) for s in (a, b)]
    for thread in threads:
        thread.start()
    show("barrier", lambda: c.barrier("b", 3, timedelta(seconds=20)))
    for thread in threads:
        thread.join()
    show("barrier again", lambda: c.barrier("b", 3, SHORT))


def main():
    server, (a, b, c) = connect("--own" in sys.argv)
    values(a, b)
    numbers(a, b)
    compares(a, b)
    waits(a, b)
    keys(a, b)
    prefixed = dist.PrefixStore("p", a)
    show("prefixed", lambda: (prefixed.set("x", "1"), b.get("p/x")))
    if hasattr(a, "clone"):
        show("clone", lambda: a.clone().get("a"))
    if hasattr(a, "queue_push"):
        queues(a, b, c)
    if hasattr(a, "barrier"):
        barriers(a, b, c)
        show("too long a key", lambda: a.set("k" * 9000, "1") or a.get("a"))
    print("torch", torch.__version__, file=sys.stderr)


main()

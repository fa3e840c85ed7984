"""Ranks of a job that has no Muster in it, for control_plane.cc: forks that do what lines tell them, as
control_plane_rank.cc describes. The process that starts them becomes the job's service.

A side of the comparison is an object with join(address, rank, ranks), which returns when all have joined, the
operations, clean() and leave().
"""

import os
import sys
import time


class Rank:
    def __init__(self, side, folder, rank, ranks):
        self.side, self.rank, self.ranks = side, rank, ranks
        self.commands = open(f"{folder}/commands.{rank}")
        self.replies = os.open(f"{folder}/replies", os.O_WRONLY)

    def reply(self, *words):
        os.write(self.replies, (" ".join(map(str, (self.rank, *words))) + "\n").encode())

    def work(self):
        self.reply("up")
        for line in self.commands:
            command, *words = line.split()
            try:
                getattr(self, command)(*words)
            except Exception as error:
                self.reply("failed", repr(error).replace("\n", " "))
                raise

    def join(self, address):
        cpu, begin = time.process_time_ns(), time.monotonic_ns()
        self.side.join(address, self.rank, self.ranks)
        self.reply("joined", begin, time.monotonic_ns(), time.process_time_ns() - cpu)

    def run(self, operation, size, first, count):
        value = b"x" * int(size)
        numbers = range(int(first), int(first) + int(count))
        one = getattr(self, operation.replace("-", "_"))
        if operation == "get":
            self.side.set(value)
        self.side.barrier(f"before {first}")
        cpu, ends = time.process_time_ns(), [time.monotonic_ns()]
        for number in numbers:
            one(number, value)
            ends.append(time.monotonic_ns())
        if operation == "set":  # has no answer, so one read waits for all of them
            self.get(first, value)
            ends[-1] = time.monotonic_ns()
        used = time.process_time_ns() - cpu
        steps = sorted(end - begin for begin, end in zip(ends, ends[1:]))
        self.reply("ran", ends[-1] - ends[0], steps[len(steps) // 2], used)

    def clean(self, operation, first, count):
        if self.rank == 0:
            self.side.clean(operation, first, range(int(first), int(first) + int(count)))
        self.reply("cleaned")

    def leave(self):
        self.side.leave()
        self.reply("left")

    def barrier(self, number, _):
        self.side.barrier(number)

    def broadcast(self, number, value):
        got = self.side.broadcast(number, number % self.ranks, value)
        assert len(got) == len(value), "an answer is not what was sent"

    def all_gather(self, number, value):
        got = self.side.all_gather(number, value)
        assert len(got) == self.ranks and len(got[-1]) == len(value), "an answer is not what was sent"

    def lease(self, number, value):
        assert self.side.lease(number, value) == value, "an answer is not what was sent"

    def get(self, _, value):
        assert len(self.side.get()) == len(value), "an answer is not what was sent"

    def set(self, _, value):
        self.side.set(value)

    def set_get(self, number, value):
        self.side.set(value)
        self.get(number, value)

    def add(self, *_):
        self.side.add()

    def mesh(self, number, value):
        self.side.mesh(number, value)

    def gloo(self, number, value):
        self.side.gloo(number, value)


def main(sides, serve):
    """Runs ranks of one of `sides`, which the command line names: SIDE FOLDER RANKS PORT_FILE FIRST COUNT. `serve` starts
    the service for so many ranks and returns its port. Without a PORT_FILE, the service is there already."""
    name, folder, port_file = sys.argv[1], sys.argv[2], sys.argv[4]
    ranks, first, count = int(sys.argv[3]), int(sys.argv[5]), int(sys.argv[6])
    side = sides[name]()
    for rank in range(first, first + count):
        if os.fork() == 0:
            Rank(side, folder, rank, ranks).work()
            os._exit(0)
    if port_file:
        service, port = serve(ranks)
        with open(port_file + ".new", "w") as file:
            file.write(f"{port}\n")
        os.rename(port_file + ".new", port_file)
    for _ in range(count):
        os.wait()

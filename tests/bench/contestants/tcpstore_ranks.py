"""PyTorch's TCPStore, with libuv, as torch.distributed uses it where nothing else is there yet."""

import datetime
import os

from torch.distributed import TCPStore

import peer_ranks

TIMEOUT = datetime.timedelta(minutes=10)

# With so many ranks, one key to which all append is faster than a key for each.
MANY_RANKS = 16


class KeysSide:
    """Counters and keys, which all releases have."""

    def join(self, address, rank, ranks):
        host, port = address.split(":")
        self.rank, self.ranks = rank, ranks
        self.store = TCPStore(host, int(port), ranks, False, TIMEOUT, use_libuv=True)
        self.barrier("join")  # the constructor does not wait for the other ranks

    def barrier(self, name):
        if self.store.add(f"barrier/{name}", 1) == self.ranks:
            self.store.set(f"barrier/{name}/done", b"1")
        else:
            self.store.wait([f"barrier/{name}/done"])

    def broadcast(self, number, root, value):
        if self.rank != root:
            return self.store.get(f"broadcast/{number}")
        self.store.set(f"broadcast/{number}", value)
        return value

    def all_gather(self, number, value):
        self.store.set(f"all-gather/{number}/{self.rank}", value)
        return self.store.multi_get([f"all-gather/{number}/{rank}" for rank in range(self.ranks)])

    def lease(self, number, value):
        if self.store.add(f"lease/{number}", 1) > 1:
            return self.store.get(f"lease/{number}/value")
        self.store.set(f"lease/{number}/value", value)
        return value

    def clean(self, operation, first, numbers):
        ranks = range(self.ranks)
        parts = {
            "barrier": ["", "/done"],
            "broadcast": [""],
            "all-gather": ["/all", "/barrier", *(f"/{rank}" for rank in ranks)],
            "lease": ["", "/value"],
            "mesh": [f"/{rank}" for rank in ranks],
            "gloo": [f"//cpu//0/{rank}" for rank in ranks],
        }
        for part in parts["barrier"]:
            self.store.delete_key(f"barrier/before {first}{part}")
        for number in numbers:
            for part in parts.get(operation, ()):
                self.store.delete_key(f"{operation}/{number}{part}")

    # The operations of store.cc.

    def get(self):
        return self.store.get(f"value/{self.rank}")

    def set(self, value):
        self.store.set(f"value/{self.rank}", value)

    def add(self):
        self.store.add("sum", 1)

    def mesh(self, number, value):
        """What Gloo does with addresses, when it connects all ranks with each other."""
        self.exchange(f"mesh/{number}", value)

    def gloo(self, number, value):
        """The same, with keys that look like Gloo's."""
        self.exchange(f"gloo/{number}//cpu//0", value)

    def exchange(self, prefix, value):
        self.store.set(f"{prefix}/{self.rank}", value)
        for rank in range(self.ranks):
            self.store.get(f"{prefix}/{rank}")

    def leave(self):
        self.barrier("leave")


class Side(KeysSide):
    """The fastest that this release offers. Its queues are not: each rank needs a copy of its own, and queue_pop() raises
    QueueEmptyError if another rank was faster."""

    def barrier(self, name):
        self.store.barrier(f"barrier/{name}", self.ranks)

    def all_gather(self, number, value):
        if self.ranks < MANY_RANKS:
            return super().all_gather(number, value)
        self.store.append(f"all-gather/{number}/all", self.rank.to_bytes(4, "little") + value)
        self.store.barrier(f"all-gather/{number}/barrier", self.ranks)
        return self.split(self.store.get(f"all-gather/{number}/all"), len(value))

    def split(self, joined, size):
        """Returns the values in the order of their ranks."""
        values = [b""] * self.ranks
        for at in range(0, len(joined), 4 + size):
            values[int.from_bytes(joined[at : at + 4], "little")] = joined[at + 4 : at + 4 + size]
        return values


class EndpointSide(Side):
    """The same at the endpoint that `muster run` gives its ranks."""

    def join(self, _, rank, ranks):
        super().join(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", rank, ranks)


def serve(ranks):
    store = TCPStore("127.0.0.1", 0, None, True, TIMEOUT, wait_for_workers=False, use_libuv=True)
    return store, store.port


if __name__ == "__main__":
    peer_ranks.main({"tcpstore": Side, "tcpstore_keys": KeysSide, "endpoint": EndpointSide}, serve)

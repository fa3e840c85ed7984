"""JAX's coordination service, as jax.distributed uses it: barriers, and a store of keys that nothing overwrites."""

import socket

from jaxlib import _jax

import peer_ranks

TIMEOUT_MS = 600_000


class Side:
    def join(self, address, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.client = _jax.get_distributed_runtime_client(address, rank, init_timeout=TIMEOUT_MS // 1000)
        self.client.connect()

    def barrier(self, name):
        self.client.wait_at_barrier(f"barrier/{name}", TIMEOUT_MS)

    def broadcast(self, number, root, value):
        if self.rank != root:
            return self.client.blocking_key_value_get_bytes(f"broadcast/{number}", TIMEOUT_MS)
        self.client.key_value_set_bytes(f"broadcast/{number}", value)
        return value

    def all_gather(self, number, value):
        # With 8 ranks or more, this is much faster than to get one key after the other.
        self.client.key_value_set_bytes(f"all-gather/{number}/{self.rank}", value)
        self.client.wait_at_barrier(f"all-gather/{number}", TIMEOUT_MS)
        return [got for _, got in self.client.key_value_dir_get_bytes(f"all-gather/{number}/")]

    def lease(self, number, value):
        if self.client.key_value_increment(f"lease/{number}", 1) > 1:
            return self.client.blocking_key_value_get_bytes(f"lease/{number}/value", TIMEOUT_MS)
        self.client.key_value_set_bytes(f"lease/{number}/value", value)
        return value

    def clean(self, operation, _, numbers):
        for number in numbers:
            self.client.key_value_delete(f"{operation}/{number}")

    def leave(self):
        self.client.shutdown()


def serve(ranks):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return _jax.get_distributed_runtime_service(f"127.0.0.1:{port}", ranks), port


if __name__ == "__main__":
    peer_ranks.main({"jax": Side}, serve)

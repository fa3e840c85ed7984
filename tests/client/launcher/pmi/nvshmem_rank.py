"""A rank of run_mpi_test.cc: gathers a number of each rank by NVSHMEM's plug-in for PMI.

NVSHMEM loads this library before it touches a GPU, so none is needed. The argument is its path.
The structure is the first part of NVSHMEM's bootstrap_handle_t, version 3.
"""

import ctypes
import sys

VERSION = 30000


class Handle(ctypes.Structure):
    """bootstrap_handle_t."""


INT = ctypes.c_int
POINTER = ctypes.c_void_p
Handle._fields_ = [
    ("version", INT),
    ("rank", INT),
    ("size", INT),
    ("node_rank", INT),
    ("node_size", INT),
    ("allgather", ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT, ctypes.POINTER(Handle))),
    ("alltoall", ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT, ctypes.POINTER(Handle))),
    ("barrier", ctypes.CFUNCTYPE(INT, ctypes.POINTER(Handle))),
    ("global_exit", ctypes.CFUNCTYPE(None, INT)),
    ("finalize", ctypes.CFUNCTYPE(INT, ctypes.POINTER(Handle))),
]


def check(result, what):
    if result != 0:
        sys.exit(f"{what} returned {result}")


def main():
    library = ctypes.CDLL(sys.argv[1])
    memory = (ctypes.c_char * 4096)()  # the whole structure, of which only the beginning is known
    handle = ctypes.cast(memory, ctypes.POINTER(Handle))
    handle.contents.version = VERSION
    check(library.nvshmemi_bootstrap_plugin_init(None, handle, INT(VERSION)), "the plug-in's init")
    plugin = handle.contents
    sent = (INT * 1)(10 * plugin.rank)
    received = (INT * plugin.size)()
    check(plugin.allgather(sent, received, ctypes.sizeof(sent), handle), "allgather")
    check(plugin.barrier(handle), "barrier")
    print(f"rank {plugin.rank} of {plugin.size} has {', '.join(map(str, received))}", flush=True)
    check(plugin.finalize(handle), "finalize")


main()

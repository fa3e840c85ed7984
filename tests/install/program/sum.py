"""The same in Python, by ctypes over muster/c.h: a barrier, and a number of each rank to all ranks."""
import ctypes
import sys

muster = ctypes.CDLL("libmuster.so.0")
POINTER, TEXT, INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int


def function(name, result, *arguments):
    """Declares a function: without its types ctypes passes pointers as 32 bits."""
    found = getattr(muster, name)
    found.restype, found.argtypes = result, arguments
    return found


message = function("muster_status_message", TEXT, POINTER)
exit_code = function("muster_status_exit_code", INT, POINTER)
free_status = function("muster_status_free", None, POINTER)
join = function("muster_join", POINTER, POINTER, POINTER, ctypes.POINTER(POINTER))
leave = function("muster_leave", POINTER, POINTER, POINTER)
free_job = function("muster_job_free", None, POINTER)
world = function("muster_world", POINTER, POINTER)
rank = function("muster_rank", INT, POINTER)
world_size = function("muster_world_size", INT, POINTER)
barrier = function("muster_barrier", POINTER, POINTER, TEXT, POINTER)
all_gather = function("muster_all_gather", POINTER, POINTER, POINTER, ctypes.c_size_t, POINTER, POINTER)


class MusterError(Exception):
    """What a call has returned: NULL is success."""

    def __init__(self, status):
        super().__init__(message(status).decode())
        self.exit_code = exit_code(status)
        free_status(status)


def check(status):
    if status:
        raise MusterError(status)


def main():
    job = POINTER()
    check(join(None, None, ctypes.byref(job)))
    mine = ctypes.c_int32(rank(job) + 1)
    numbers = (ctypes.c_int32 * world_size(job))()
    check(barrier(world(job), b"loaded", None))
    check(all_gather(world(job), ctypes.byref(mine), ctypes.sizeof(mine), numbers, None))
    print(f"rank {rank(job)} of {world_size(job)}: {sum(numbers)} apples", flush=True)
    check(leave(job, None))
    free_job(job)


try:
    main()
except MusterError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)

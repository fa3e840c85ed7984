"""Becomes another program, which gets SIGTERM when the process that started this one ends, however that ends.

    python3 _tied.py PARENT_PID PROGRAM ARGUMENT...

Imports nothing of the package, so that it starts fast. It is a program of its own because code between fork() and
exec() is not safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    if os.getppid() != int(sys.argv[1]):
        sys.exit(0)  # the parent has ended before prctl()
    try:
        os.execv(sys.argv[2], sys.argv[2:])
    except OSError as failed:
        sys.exit(f"muster: cannot run {sys.argv[2]}: {failed.strerror}")

"""What a process that muster.launch() starts does: it runs the function, and writes its outcome for the caller.

The caller's folder has the file "call" (_launch.py). Process N of the machine writes "started-N" when it begins, and
"outcome-N" when its function has returned or raised. Without the second file, it was killed, or has ended by itself.
"""

from __future__ import annotations

import dataclasses
import multiprocessing.process
import os
import pickle
import sys
import time
import traceback
from typing import Any, Dict, Optional

from muster import _exit
from muster._errors import MusterError, describe


@dataclasses.dataclass
class Failure:
    """An exception of the function, without the objects that only its process has."""

    text: str  # "ValueError: no such file"
    trace: str
    exit_code: int
    error: Optional[MusterError]  # the MusterError that it is, or was raised from
    when: float = dataclasses.field(default_factory=time.time)


def write(folder: str, name: str, data: bytes) -> None:
    """Writes a file that readers see complete or not at all."""
    path = os.path.join(folder, name)
    with open(path + ".new", "wb") as file:
        file.write(data)
    os.rename(path + ".new", path)


def failure_of(error: BaseException) -> Failure:
    """Describes an exception for the caller. Its exit code is the one with which this process ends."""
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    known = _exit.muster_error(error)
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else 1
        return Failure(f"it called sys.exit({error.code!r})", trace, code, None)
    return Failure(describe(error), trace, 1 if known is None else known.exit_code, known)


def _prepare(prepared: Dict[str, Any]) -> None:
    """Imports the caller's main module under another name, as multiprocessing does, so that its functions exist."""
    from multiprocessing import spawn  # pylint: disable=import-outside-toplevel

    process: Any = multiprocessing.process.current_process()
    process._inheriting = True  # makes a program without `if __name__ == "__main__"` fail instead of starting more
    try:
        spawn.prepare(prepared)
    finally:
        del process._inheriting


def run(folder: str) -> None:
    """Runs the function. Its exception ends this process as an exception of a program does."""
    number = os.environ["MUSTER_LOCAL_RANK"]
    write(folder, f"started-{number}", f"{os.environ.get('RANK', number)} {os.getpid()}".encode())
    try:
        with open(os.path.join(folder, "call"), "rb") as file:
            _prepare(pickle.load(file))
            function, args, kwargs, with_local_rank = pickle.load(file)
        value = function(*([int(number)] if with_local_rank else []), *args, **kwargs)
        data = pickle.dumps((value, None))
    except BaseException as error:
        done = isinstance(error, SystemExit) and error.code in (None, 0)
        write(folder, f"outcome-{number}", pickle.dumps((None, None if done else failure_of(error))))
        raise
    write(folder, f"outcome-{number}", data)


def main() -> None:
    """Runs the function of the folder that the first argument names."""
    _exit.note("")
    run(sys.argv[1])

"""Work that one process does for its node, or for the job."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Optional, Type

from muster import _calls
from muster._calls import Handle
from muster._errors import ErrorCode, MusterError, check, take_error
from muster._library import library
from muster.encodings import Encoding


def describe(error: BaseException) -> str:
    """Returns what an error of the program's own is called on other ranks: "ValueError: no such file"."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class Lease:
    """The answer to Job.once_per_node() or once_per_job(): this process does the work, or here is its outcome.

        with job.once_per_node("extract") as work:
            if work.held:
                work.complete(extract())
        path = work.result

    Where the block ends without complete(), the work is done and its result empty. An exception that leaves the block
    is the outcome: every other process that asks gets it as an UnknownError, or as the error of Muster that it was.
    KeyboardInterrupt, SystemExit and the loss of the holder give the lease up, so that the next process to ask does the
    work, which must bear being repeated. A lease lasts as long as its holder lives, however long the work takes. From one
    thread at a time.
    """

    def __init__(self, pointer: int, job: Any, name: str, encoding: Encoding) -> None:
        self._job = job  # which is not to end before this
        self._handle = Handle(pointer, library().lease_free, f"the lease '{name}'")
        self._name = name
        self._encoding = encoding
        self._own: Optional[bytes] = None
        self._ended = False

    def __repr__(self) -> str:
        return f"<muster.Lease {self._name!r}{': held' if not self._handle.closed and self.held else ''}>"

    def __enter__(self) -> "Lease":
        if not self._ended and not self.held:
            self._outcome()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if not self.held:
            return
        if error is None:
            self._send(b"")
        elif isinstance(error, Exception):
            self.fail(error)
        else:
            self.release()

    @property
    def name(self) -> str:
        """What the work is called."""
        return self._name

    @property
    def held(self) -> bool:
        """Whether the caller must do the work, and has not yet said how it ended."""
        return not self._ended and bool(self._handle.ask(library().lease_held))

    def __bool__(self) -> bool:
        return self.held

    @property
    def token(self) -> int:
        """The fencing token, which grows with every grant of the job. Write it beside what the work makes, and never
        replace something with a higher one: then a holder that was taken for dead can do no harm."""
        return int(self._handle.ask(library().lease_token))

    @property
    def result(self) -> Any:
        """What the work has come to; raises the error that it has failed with. None where complete() was not called.
        FailedPreconditionError: this process holds the lease, and has not completed the work."""
        data = self._own if self._own is not None else self._outcome()
        return self._encoding.decode(data) if data else self._empty()

    def _empty(self) -> Any:
        return b"" if self._encoding.type_name == "bytes" else None

    def _outcome(self) -> bytes:
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        pointer = self._handle.enter()
        try:
            check(library().lease_result(pointer, ctypes.byref(data), ctypes.byref(size)))
            return ctypes.string_at(data.value or 0, size.value)
        finally:
            self._handle.leave()

    def complete(self, value: Any = b"") -> None:
        """Publishes the result to all processes that wait or ask later. Waits for the coordinator alone.

        FailedPreconditionError: the lease is not held, or no longer this process's: what was made under its token must
        not be used. ResourceExhaustedError: the result is over the coordinator's limit; the lease is still held.
        """
        self._send(self._encoding.encode(value))

    def _send(self, data: bytes) -> None:
        self._call(library().lease_complete, data, len(data))
        self._own = data
        self._ended = True

    def fail(self, error: BaseException) -> None:
        """Publishes that the work has failed, and how. Errors as of complete()."""
        code = error.code if isinstance(error, MusterError) else ErrorCode.UNKNOWN
        text = error.message if isinstance(error, MusterError) else describe(error)
        self._call(library().lease_fail, int(code), text.replace("\0", " ").encode())
        self._ended = True

    def _call(self, function: Any, *arguments: Any) -> None:
        # It has no time-out and no cancellation: what interrupts it lets it go on by itself.
        error = take_error(_calls.run_interruptibly(lambda: self._handle.ask(function, *arguments)))
        if error is not None:
            raise error

    def release(self) -> None:
        """Gives a held lease up without an outcome: the next process to ask does the work. Does not block."""
        self._handle.ask(library().lease_release)
        self._ended = True

    def close(self) -> None:
        """Lets go of the lease. One that is still held is given up, with a warning in the log."""
        self._handle.close()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            handle.close()



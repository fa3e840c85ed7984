"""Work that one process does for its node or for the job."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Optional, Set, Type

from muster import _calls
from muster._calls import Handle
from muster._errors import ErrorCode, FailedPreconditionError, MusterError, as_message, check, describe
from muster._library import library
from muster.encodings import Encoding


class Lease:
    """The answer to Job.once_per_node() or once_per_job(): this process must do the work, or this is its outcome.

        with job.once_per_node("extract") as work:
            if work.held:
                work.complete(extract())
        path = work.result

    If the block ends without complete(), the work counts as done, with an empty result. If an exception leaves the
    block, it is the outcome: every other process that asks gets it as an UnknownError, or as the MusterError that it
    was. KeyboardInterrupt, SystemExit and the loss of the holder release the lease. The next process that asks then
    does the work, so the work must bear being repeated. A lease lasts as long as its holder lives, however long the
    work takes.

    If Ctrl-C interrupts complete() or fail(), the call goes on in the background, and the lease accepts no other call
    until it has ended. Use a lease from one thread at a time.
    """

    def __init__(self, handle: Handle, job: Any, name: str, encoding: Encoding) -> None:
        self._job = job  # must not end before this
        self._handle = handle
        self._name = name
        self._encoding = encoding
        self._own: Optional[bytes] = None
        self._ended = False
        self._sending: Set[object] = set()  # calls in progress, which signal handlers may have interrupted

    def __repr__(self) -> str:
        return f"<muster.Lease {self._name!r}{': held' if self._may_ask and self.held else ''}>"

    def __enter__(self) -> "Lease":
        if not self._ended and not self.held:
            self._outcome()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._sending:
            self.close()  # the call in progress decides the outcome
            return
        if not self.held:
            return
        if error is None:
            self._send(b"")
        elif isinstance(error, Exception):
            self.fail(error)
        else:
            self.release()

    @property
    def _may_ask(self) -> bool:
        return not self._handle.closed and not self._sending

    def _ask(self, function: Any, *arguments: Any) -> Any:
        # Only one thread at a time may use a muster_lease.
        if self._sending:
            raise FailedPreconditionError(f"the lease '{self._name}': a call that was interrupted has not ended")
        return self._handle.ask(function, *arguments)

    @property
    def name(self) -> str:
        """The name of the work."""
        return self._name

    @property
    def held(self) -> bool:
        """Whether the caller must do the work, and has not yet reported its outcome."""
        return not self._ended and bool(self._ask(library().lease_held))

    def __bool__(self) -> bool:
        return self.held

    @property
    def token(self) -> int:
        """The fencing token, which grows with every grant in the job. Write it beside the output of the work, and never
        replace output that has a higher token. Then a holder that was taken for dead can do no harm."""
        return int(self._ask(library().lease_token))

    @property
    def result(self) -> Any:
        """The result of the work. Raises the error with which the work failed. None if complete() was not called.
        FailedPreconditionError: this process holds the lease, and has not completed the work."""
        data = self._own if self._own is not None else self._outcome()
        return self._encoding.decode(data) if data else self._empty()

    def _empty(self) -> Any:
        return b"" if self._encoding.type_name == "bytes" else None

    def _outcome(self) -> bytes:
        def copy(pointer: int) -> bytes:
            data, size = ctypes.c_void_p(), ctypes.c_size_t()
            check(library().lease_result(pointer, ctypes.byref(data), ctypes.byref(size)))
            return ctypes.string_at(data.value or 0, size.value)

        return bytes(self._ask(copy))

    def complete(self, value: Any = b"") -> None:
        """Publishes the result to all processes that wait or ask later. Blocks until the coordinator has it.

        FailedPreconditionError: this process does not hold the lease, or no longer; discard the output made under its
        token. ResourceExhaustedError: the result is over the coordinator's limit; the lease is still held.
        """
        self._send(self._encoding.encode(value))

    def _send(self, data: bytes) -> None:
        self._call(data, library().lease_complete, data, len(data))

    def fail(self, error: BaseException) -> None:
        """Publishes the error with which the work failed. Raises the same errors as complete()."""
        code = error.code if isinstance(error, MusterError) else ErrorCode.UNKNOWN
        self._call(None, library().lease_fail, int(code), as_message(describe(error)))

    def _call(self, own: Optional[bytes], function: Any, *arguments: Any) -> None:
        marker = object()

        def call() -> None:
            try:
                check(self._handle.ask(function, *arguments))
                self._own = own
                self._ended = True
            finally:
                self._sending.discard(marker)

        self._ask(lambda _: self._sending.add(marker))
        # The call has no time-out and no cancellation. If it is interrupted, it goes on in the
        # background.
        _calls.run_interruptibly(call)

    def release(self) -> None:
        """Releases a held lease without an outcome: the next process that asks does the work. Does not block."""
        self._ask(library().lease_release)
        self._ended = True

    def close(self) -> None:
        """Drops the lease. If it is still held, releases it, with a warning in the log. Does not block. If a call was
        interrupted, the lease is dropped when that call ends."""
        self._handle.close(wait=False)



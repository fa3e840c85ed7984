"""Work that one process does for its node, or for the job."""

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
    """The answer to Job.once_per_node() or once_per_job(): this process does the work, or here is its outcome.

        with job.once_per_node("extract") as work:
            if work.held:
                work.complete(extract())
        path = work.result

    Where the block ends without complete(), the work is done and its result empty. An exception that leaves the block
    is the outcome: every other process that asks gets it as an UnknownError, or as the error of Muster that it was.
    KeyboardInterrupt, SystemExit and the loss of the holder give the lease up, so that the next process to ask does the
    work, which must bear being repeated. A lease lasts as long as its holder lives, however long the work takes. Where
    Ctrl-C interrupts complete() or fail(), that goes on by itself, and the lease can do nothing else until it has ended.
    From one thread at a time.
    """

    def __init__(self, handle: Handle, job: Any, name: str, encoding: Encoding) -> None:
        self._job = job  # which is not to end before this
        self._handle = handle
        self._name = name
        self._encoding = encoding
        self._own: Optional[bytes] = None
        self._ended = False
        self._sending: Set[object] = set()  # calls that have not ended, which signal handlers may have interrupted

    def __repr__(self) -> str:
        return f"<muster.Lease {self._name!r}{': held' if self._may_ask and self.held else ''}>"

    def __enter__(self) -> "Lease":
        if not self._ended and not self.held:
            self._outcome()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._sending:
            self.close()  # and what is being sent decides
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
        # A muster_lease is of one thread at a time.
        if self._sending:
            raise FailedPreconditionError(f"the lease '{self._name}': a call that was interrupted has not ended")
        return self._handle.ask(function, *arguments)

    @property
    def name(self) -> str:
        """What the work is called."""
        return self._name

    @property
    def held(self) -> bool:
        """Whether the caller must do the work, and has not yet said how it ended."""
        return not self._ended and bool(self._ask(library().lease_held))

    def __bool__(self) -> bool:
        return self.held

    @property
    def token(self) -> int:
        """The fencing token, which grows with every grant of the job. Write it beside what the work makes, and never
        replace something with a higher one: then a holder that was taken for dead can do no harm."""
        return int(self._ask(library().lease_token))

    @property
    def result(self) -> Any:
        """What the work has come to; raises the error that it has failed with. None where complete() was not called.
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
        """Publishes the result to all processes that wait or ask later. Waits for the coordinator alone.

        FailedPreconditionError: the lease is not held, or no longer this process's: what was made under its token must
        not be used. ResourceExhaustedError: the result is over the coordinator's limit; the lease is still held.
        """
        self._send(self._encoding.encode(value))

    def _send(self, data: bytes) -> None:
        self._call(data, library().lease_complete, data, len(data))

    def fail(self, error: BaseException) -> None:
        """Publishes that the work has failed, and how. Errors as of complete()."""
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
        # It has no time-out and no cancellation: what interrupts it lets it go on by itself.
        _calls.run_interruptibly(call)

    def release(self) -> None:
        """Gives a held lease up without an outcome: the next process to ask does the work. Does not block."""
        self._ask(library().lease_release)
        self._ended = True

    def close(self) -> None:
        """Lets go of the lease. One that is still held is given up, with a warning in the log. Does not block: after a call
        that was interrupted this happens when that ends."""
        self._handle.close(wait=False)



"""Exceptions, one class for each error code."""

from __future__ import annotations

import enum
from typing import Any, Dict, Optional, Sequence, Tuple, Type

from muster._library import library


class ErrorCode(enum.IntEnum):
    """gRPC's canonical codes, as in muster/c.h."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class MusterError(Exception):
    """An error of Muster. Each code has its own class.

        code           the kind of error
        message        what happened, to which process, and what to do next; str() returns it too
        rank           the rank that the error names first: the lost member of an AbortedError, or the rank whose
                       work has failed; None if it names no rank
        node, pid      its node, as Member.node_id, and its process id there; None if the error does not say
        cause          why the rank was lost: "killed by signal 9 (SIGKILL)"; None if the error does not say
        missing_ranks  all ranks that were lost, or that a time-out waited for, in ascending order; may be empty
        exit_code      the status with which the process should end, so that a scheduler blames the right rank
                       (docs/exit-codes.md). A process that has joined a job ends with it if the exception is not
                       caught
    """

    code: ErrorCode = ErrorCode.UNKNOWN

    def __init__(self, message: str, *, exit_code: Optional[int] = None, rank: Optional[int] = None,
                 node: Optional[str] = None, pid: Optional[int] = None, cause: Optional[str] = None,
                 missing_ranks: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = _DEFAULT_EXIT_CODES.get(self.code, 1) if exit_code is None else exit_code
        self.rank = rank
        self.node = node
        self.pid = pid
        self.cause = cause
        self.missing_ranks = tuple(missing_ranks)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        facts = {name: getattr(self, name) for name in ("exit_code", "rank", "node", "pid", "cause", "missing_ranks")}
        return _restore, (type(self), self.message, facts)


def _restore(kind: Type[MusterError], message: str, facts: Dict[str, Any]) -> MusterError:
    return kind(message, **facts)


class CancelledError(MusterError):
    """A Cancellation has ended the call, or the job was closed."""

    code = ErrorCode.CANCELLED


class UnknownError(MusterError):
    """The work of a lease has failed, with an exception that is not a MusterError."""

    code = ErrorCode.UNKNOWN


class InvalidArgumentError(MusterError, ValueError):
    """An argument is malformed; nothing was sent."""

    code = ErrorCode.INVALID_ARGUMENT


class DeadlineExceededError(MusterError, TimeoutError):
    """The time-out has passed. `missing_ranks` has every missing rank."""

    code = ErrorCode.DEADLINE_EXCEEDED


class NotFoundError(MusterError):
    """There is no such backend, network interface, or job at this coordinator."""

    code = ErrorCode.NOT_FOUND


class AlreadyExistsError(MusterError):
    """The rank that was asked for is taken, or this process has joined the job already."""

    code = ErrorCode.ALREADY_EXISTS


class PermissionDeniedError(MusterError):
    """The coordinator rejects these credentials."""

    code = ErrorCode.PERMISSION_DENIED


class ResourceExhaustedError(MusterError):
    """A limit is reached; the message names it."""

    code = ErrorCode.RESOURCE_EXHAUSTED


class FailedPreconditionError(MusterError):
    """The ranks made different calls, or the call cannot be made now."""

    code = ErrorCode.FAILED_PRECONDITION


class ForkError(FailedPreconditionError):
    """The object belongs to another process, of which this one is a fork."""


class AbortedError(MusterError):
    """A member of the job was lost: `rank`, on `node`, because of `cause`. `missing_ranks` has all lost members."""

    code = ErrorCode.ABORTED


class OutOfRangeError(MusterError):
    """A number is out of range."""

    code = ErrorCode.OUT_OF_RANGE


class UnimplementedError(MusterError, NotImplementedError):
    """The backend does not have this operation on this type; nothing was sent."""

    code = ErrorCode.UNIMPLEMENTED


class InternalError(MusterError):
    """Work that runs for all ranks has raised an exception, or the SDK has failed."""

    code = ErrorCode.INTERNAL


class UnavailableError(MusterError, ConnectionError):
    """The coordinator or a peer could not be reached."""

    code = ErrorCode.UNAVAILABLE


class DataLossError(MusterError):
    """Data that was read is damaged."""

    code = ErrorCode.DATA_LOSS


class UnauthenticatedError(MusterError):
    """The coordinator requires credentials."""

    code = ErrorCode.UNAUTHENTICATED


# Tracebacks then show the names that programs use.
for _kind in list(vars().values()):
    if isinstance(_kind, type) and issubclass(_kind, (MusterError, ErrorCode)):
        _kind.__module__ = "muster"

_CLASSES: Dict[int, Type[MusterError]] = {
    kind.code: kind
    for kind in (CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError,
                 AlreadyExistsError, PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError,
                 AbortedError, OutOfRangeError, UnimplementedError, InternalError, UnavailableError, DataLossError,
                 UnauthenticatedError)
}
# The exit codes of errors that the program raises itself; see ExitCode() in muster/exit_code.h.
_DEFAULT_EXIT_CODES = {ErrorCode.ABORTED: 75, ErrorCode.UNAVAILABLE: 75, ErrorCode.INVALID_ARGUMENT: 64}


def describe(error: BaseException) -> str:
    """Returns the text of an error for other ranks and for a scheduler: "ValueError: no such file"."""
    if isinstance(error, MusterError):
        return error.message
    try:
        text = str(error)
    except Exception:  # pylint: disable=broad-except
        text = ""  # a class of the program, whose __str__() fails
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def as_message(text: str) -> bytes:
    """Returns a message as muster/c.h takes it, whatever characters it has."""
    return text.replace("\0", " ").encode("utf-8", "backslashreplace")


def error_of(status: int) -> MusterError:
    """Returns the exception for a muster_status, which the caller's caller frees."""
    lib = library()
    message = (lib.status_message(status) or b"").decode("utf-8", "replace")
    rank, pid = lib.status_rank(status), lib.status_pid(status)
    kind = _CLASSES.get(lib.status_code(status), UnknownError)
    return kind(message, exit_code=lib.status_exit_code(status), rank=None if rank < 0 else rank,
                node=_text(lib.status_node(status)), pid=None if pid < 0 else pid, cause=_text(lib.status_cause(status)),
                missing_ranks=[lib.status_missing_rank(status, i) for i in range(lib.status_missing_count(status))])


def _text(text: Optional[bytes]) -> Optional[str]:
    """Returns a text of the library, or None if it is empty."""
    return text.decode("utf-8", "replace") if text else None


def take_error(status: Optional[int]) -> Optional[MusterError]:
    """Returns the exception for a muster_status, and frees the status. Returns None for NULL, which means success."""
    if not status:
        return None
    try:
        return error_of(status)
    finally:
        library().status_free(status)


def check(status: Optional[int]) -> None:
    """Raises the exception for a muster_status, unless it is NULL. Frees the status."""
    error = take_error(status)
    if error is not None:
        # This frame is in the traceback, so it must not keep the exception. Such a cycle would keep
        # the callers' objects until the garbage collector runs.
        try:
            raise error
        finally:
            del error

"""Groups of ranks, and their collectives of small objects."""

from __future__ import annotations

import array
import ctypes
from typing import Any, Callable, Iterable, List, Optional, Tuple, TypeVar

from muster import _arrays, _calls
from muster._arrays import AnyOp
from muster._calls import Cancellation, Handle, Timeout
from muster._errors import check
from muster._library import library
from muster._scopes import Preventions
from muster.communicator import Communicator, connect
from muster.encodings import AnyEncoding, split_name

T = TypeVar("T")


def take_values(out: int) -> List[bytes]:
    """Returns copies of the values of a muster_values, and frees it."""
    lib = library()
    try:
        values = []
        size = ctypes.c_size_t()
        for index in range(lib.values_count(out)):
            data = lib.values_get(out, index, ctypes.byref(size))
            values.append(ctypes.string_at(data, size.value))
        return values
    finally:
        lib.values_free(out)


class Group:
    """An ordered list of ranks that make collectives together: a part of a job, made by Job.new_group() or Job.split().
    A Job has the same calls, for all ranks.

    Every collective blocks until all ranks of the group have called it, in the same order, with the same kind, root,
    label and encoding. Values are small objects, which go through the coordinator; use a Communicator for arrays. One
    collective at a time for a group: a second one, from another thread, raises FailedPreconditionError. Otherwise
    thread-safe. All collectives take

      timeout       seconds, or a timedelta; then DeadlineExceededError names every missing rank. None means the job's.
                    Retry the same call. Until it completes, other calls on this group are refused. The retry's value is
                    ignored; the first one sent is used.
      cancellation  a Cancellation, which ends the call with CancelledError; retry as above

    and may raise

      AbortedError            a member of the job was lost; names its rank, node, process and cause. Final
      FailedPreconditionError the ranks made different calls; names both sides, and the group is finished. Or a needed
                              rank is leaving, or this process has left
      ForkError               this process is a fork of the process that has the group
      InvalidArgumentError    an argument is malformed; nothing was sent
      ResourceExhaustedError  the value is over the coordinator's limit; names the limit's flag
      UnavailableError        the coordinator could not be reached within its time-out

    Ctrl-C, and any signal handler that raises, ends the main thread's call at once. The same call may then be retried.
    If a handler returns, the call goes on. A signal may arrive just as a call succeeds. Then its result is lost
    although this rank has done the collective, and a retry is one collective more than the other ranks make. The
    program cannot tell the two cases apart, except for a barrier with a label of its own: there, one too many raises
    FailedPreconditionError.
    """

    def __init__(self, handle: Handle, name: str, preventions: Preventions,
                 pointer: Optional[Callable[[int], Any]] = None, job: Optional["Group"] = None) -> None:
        self._handle = handle
        self._job = job  # must not end before the objects that were made from it
        self._name = name
        self._preventions = preventions
        # Converts the handle's pointer to the pointer of the muster_group.
        self._group = pointer if pointer is not None else (lambda own: own)

    def __repr__(self) -> str:
        if self._handle.closed:
            return f"<muster.{type(self).__name__} {self._name!r}, closed>"
        return f"<muster.{type(self).__name__} {self._name!r}: rank {self.rank} of {self.size}>"

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._handle.ask(lambda own: function(self._group(own), *arguments))

    def _wait(self, function: Callable[..., Optional[int]], *before: Any, timeout: Timeout,
              cancellation: Optional[Cancellation], type_name: Optional[bytes] = None,
              new: Optional[Callable[[Any], Any]] = None) -> Any:
        return _calls.wait(self._handle, function, before, timeout=timeout, cancellation=cancellation,
                           type_name=type_name, new=new, pointer=self._group)

    def close(self) -> None:
        """Releases the group. Other threads' calls on it end with CancelledError. May be called again."""
        self._handle.close()

    @property
    def name(self) -> str:
        """The name with which the group was made."""
        return self._name

    @property
    def rank(self) -> int:
        """The caller's index in the group."""
        return int(self._ask(library().group_rank))

    @property
    def size(self) -> int:
        """The number of ranks in the group."""
        return int(self._ask(library().group_size))

    @property
    def ranks(self) -> Tuple[int, ...]:
        """The ranks' numbers in the job, in the group's order."""
        return tuple(self._ask(library().group_member, index) for index in range(self.size))

    @property
    def prevents_block(self) -> bool:
        """Whether this thread is in a block of Job.prevent_block(), in which no collective waits."""
        return self._preventions.open

    def barrier(self, label: str = "", *, timeout: Timeout = None,
                cancellation: Optional[Cancellation] = None) -> None:
        """Waits for all ranks. `label` describes the program's step ("epoch 3"). It must be the same on all ranks, and
        appears in errors and on status pages."""
        text = _calls.text(label, "label")
        if self.prevents_block:
            return
        self._wait(library().barrier, text, timeout=timeout, cancellation=cancellation)

    def broadcast(self, value: Any = b"", root: int = 0, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
                  cancellation: Optional[Cancellation] = None) -> Any:
        """Returns the root's value on every rank. Ignores the other ranks' `value`. `root` is an index in the group.
        `encoding` is "bytes", "json", "pickle", or an Encoding."""
        chosen, name = split_name(encoding)
        sends = self.rank == root or self.prevents_block
        data = chosen.encode(value) if sends else b""
        if self.prevents_block:
            return chosen.decode(data)
        values = self._wait(library().broadcast_values, data, len(data), root, timeout=timeout, cancellation=cancellation,
                            type_name=name, new=take_values)
        return chosen.decode(values[0])

    def gather(self, value: Any, root: int = 0, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
               cancellation: Optional[Cancellation] = None) -> List[Any]:
        """Returns every rank's value, in the group's order, on the root, and an empty list on the other ranks."""
        chosen, name = split_name(encoding)
        data = chosen.encode(value)
        if self.prevents_block:
            return [chosen.decode(data)]
        values = self._wait(library().gather_values, data, len(data), root, timeout=timeout, cancellation=cancellation,
                            type_name=name, new=take_values)
        return [chosen.decode(each) for each in values]

    def all_gather(self, value: Any, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
                   cancellation: Optional[Cancellation] = None) -> List[Any]:
        """Returns every rank's value, in the group's order, on every rank."""
        chosen, name = split_name(encoding)
        data = chosen.encode(value)
        if self.prevents_block:
            return [chosen.decode(data)]
        values = self._wait(library().all_gather_values, data, len(data), timeout=timeout, cancellation=cancellation,
                            type_name=name, new=take_values)
        return [chosen.decode(each) for each in values]

    def all_reduce(self, value: T, op: AnyOp = "sum", *, timeout: Timeout = None,
                   cancellation: Optional[Cancellation] = None) -> T:
        """Returns the reduction of all ranks' values, in the group's order, so every rank gets the same bits.

        For a number, returns a number: an int is reduced as int64, a float as float64, a bool only by bitwise
        operations. For an array.array, a numpy array or another buffer of numbers, returns a new array, reduced element
        by element; all ranks must pass as many elements. Use it for counts, losses and flags, and a Communicator for
        gradients.
        """
        number = _arrays.op_number(op)
        if _arrays.is_number(value):
            elements, dtype = _arrays.number_array(value)  # type: ignore[arg-type]
            self._reduce(_arrays.View(elements, "value", writable=True, dtype=dtype), number, timeout, cancellation)
            return type(value)(elements[0])  # type: ignore[call-arg]
        copied: T = _copy(value)
        self._reduce(_arrays.View(copied, "value", writable=True), number, timeout, cancellation)
        return copied

    def communicator(self, *, backend: Optional[str] = None, interface: Optional[str] = None, timeout: Timeout = None,
                     cancellation: Optional[Cancellation] = None) -> Communicator:
        """Connects all ranks, so that arrays move between them. A collective.

        `backend` is "gloo" or another backend of the library; default: MUSTER_BACKEND, else the best one. `interface`
        is the IP address or network interface that this process offers its peers; default: MUSTER_INTERFACE, else the
        address from which it reaches the coordinator. `timeout` becomes the default of every operation too.

        NotFoundError: the backend or interface does not exist. FailedPreconditionError: the ranks chose different
        backends, or addresses that cannot reach each other, or this thread is in prevent_block().
        """
        return connect(self, self._handle, self._group, self._preventions, backend, interface, timeout, cancellation)

    def _reduce(self, view: _arrays.View, op: int, timeout: Timeout, cancellation: Optional[Cancellation]) -> None:
        if not self.prevents_block:
            self._wait(library().all_reduce, view, view.count, view.type, op, timeout=timeout,
                       cancellation=cancellation)


def _copy(value: Any) -> Any:
    """Returns a writable copy, of the same kind if possible."""
    if isinstance(value, array.array):
        return value[:]
    if hasattr(value, "__array_interface__"):
        return value.copy() if getattr(value, "ndim", 0) else value.reshape(1).copy()
    view = _arrays.View(value, "value", writable=False)
    if view.type_name == "uint8":
        return bytearray(memoryview(value).tobytes())
    copied = _arrays.empty_like(value, view.count)
    if view.pointer:
        ctypes.memmove(_arrays.View(copied, "value", writable=True).pointer or 0, view.pointer, view.nbytes)
    return copied


def new_group(job: Group, handle: Handle, name: str, ranks: Iterable[int], preventions: Preventions) -> Group:
    """Makes a group. See Job.new_group()."""
    listed = list(ranks)
    out = ctypes.c_void_p()
    made = Handle(out, library().group_free, f"the group '{name}'", handle)
    numbers = (ctypes.c_int * max(1, len(listed)))(*listed)
    check(handle.ask(library().group_new, _calls.text(name, "name"), numbers, len(listed), ctypes.byref(out)))
    return Group(made, name, preventions, job=job)

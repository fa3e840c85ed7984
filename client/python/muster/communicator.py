"""A communicator, which moves arrays between ranks, from peer to peer."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any, Callable, Optional, Sequence, Type

from muster import _arrays, _calls
from muster._arrays import AnyOp, View
from muster._calls import Cancellation, Handle, Timeout
from muster._errors import InvalidArgumentError
from muster._library import library
from muster._scopes import Preventions


class Communicator:
    """Moves arrays between the ranks of a group, from peer to peer; nothing passes through the coordinator. Made by
    Job.communicator() and Group.communicator().

        with job.communicator() as ranks:
            ranks.all_reduce(gradients, "average")     # in place
            loss = ranks.all_reduce(loss, "average")   # a number

    Arrays are array.array, numpy arrays, bytearray, and any contiguous buffer of numbers in host memory. numpy is not
    required. `dtype` names the element type if a buffer cannot: "bfloat16" for an array of uint16, for example.

    All ranks must make the same calls in the same order with the same sizes. If they do not, the calls end at their
    time-out. A call blocks until this rank's part is done, without the GIL. One call at a time: a second call, from
    another thread, raises FailedPreconditionError. Calls raise the errors of Group, and also:

      UnimplementedError    the backend does not have this operation on this type; nothing was sent
      InvalidArgumentError  sizes, types, root or peer do not fit; nothing was sent

    After AbortedError, DeadlineExceededError, CancelledError, UnavailableError, InternalError and Ctrl-C, peers may
    have seen a part of the data. The communicator is finished then, and later calls raise the same error. Make a new
    one, unless the job is broken.
    """

    def __init__(self, handle: Handle, group: Any, preventions: Preventions) -> None:
        lib = library()
        self._group = group  # must not end before this
        self._handle = handle
        self._preventions = preventions
        self._rank = int(self._handle.ask(lib.communicator_rank))
        self._size = int(self._handle.ask(lib.communicator_size))
        self._backend: str = self._handle.ask(lib.communicator_backend).decode()

    def __repr__(self) -> str:
        return f"<muster.Communicator of {self._backend}: rank {self._rank} of {self._size}>"

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends the communicator, and tells the peers. Other threads' calls on it end with CancelledError. May be called
        again."""
        self._handle.close()

    @property
    def rank(self) -> int:
        """The caller's index in the group."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of ranks in the group."""
        return self._size

    @property
    def backend(self) -> str:
        """The backend that moves the data: "gloo", or "serial" in a group of one."""
        return self._backend

    def _wait(self, function: Callable[..., Optional[int]], *before: Any, timeout: Timeout,
              cancellation: Optional[Cancellation]) -> None:
        _calls.wait(self._handle, function, before, timeout=timeout, cancellation=cancellation)

    def all_reduce(self, data: Any, op: AnyOp = "sum", *, out: Any = None, dtype: Optional[str] = None,
                   timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> Any:
        """Reduces `data` over all ranks, on every rank. Returns the array with the result: `out` if it is given, else
        `data`, which changes. For a number, returns the resulting number."""
        number = _arrays.op_number(op)
        if _arrays.is_number(data):
            elements, dtype = _arrays.number_array(data)
            self.all_reduce(elements, op, dtype=dtype, timeout=timeout, cancellation=cancellation)
            return type(data)(elements[0])
        source = View(data, "data", writable=out is None, dtype=dtype)
        target = source if out is None else View(out, "out", writable=True, dtype=dtype)
        _expect("out", target, source, source.count)
        if self._preventions.open:
            _copy(source, target)
        else:
            self._wait(library().communicator_all_reduce, source, target, source.count, source.type,
                       number, timeout=timeout, cancellation=cancellation)
        return data if out is None else out

    def all_reduce_coalesced(self, arrays: Sequence[Any], op: AnyOp = "sum", *, dtype: Optional[str] = None,
                             timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> Sequence[Any]:
        """Reduces each of the arrays over all ranks, in place, such as the gradients of a model, and returns `arrays`.
        Takes one pass for each type, and not one for each array. All ranks pass as many arrays, with the same sizes and
        types. `dtype` is the element type of all."""
        number = _arrays.op_number(op)
        views = [View(each, f"arrays[{index}]", writable=True, dtype=dtype) for index, each in enumerate(arrays)]
        if not self._preventions.open:
            pointers = (ctypes.c_void_p * len(views))(*(view.pointer for view in views))
            # Holds the arrays' memory for as long as the call lasts, whatever interrupts it.
            pointers.views = views  # type: ignore[attr-defined]
            counts = (ctypes.c_size_t * len(views))(*(view.count for view in views))
            types = (ctypes.c_int32 * len(views))(*(view.type for view in views))
            self._wait(library().communicator_all_reduce_coalesced, pointers, counts, types, len(views), number,
                       timeout=timeout, cancellation=cancellation)
        return arrays

    def broadcast(self, data: Any, root: int = 0, *, dtype: Optional[str] = None, timeout: Timeout = None,
                  cancellation: Optional[Cancellation] = None) -> Any:
        """Writes the root's data into `data` on every rank, and returns it. For a number, returns the root's number;
        all ranks must pass a number of the same type."""
        if _arrays.is_number(data):
            elements, dtype = _arrays.number_array(data)
            self.broadcast(elements, root, dtype=dtype, timeout=timeout, cancellation=cancellation)
            return type(data)(elements[0])
        view = View(data, "data", writable=True, dtype=dtype)
        if not self._preventions.open:
            self._wait(library().communicator_broadcast, view, view.count, view.type, root, timeout=timeout,
                       cancellation=cancellation)
        return data

    def reduce(self, data: Any, op: AnyOp = "sum", root: int = 0, *, out: Any = None, dtype: Optional[str] = None,
               timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> Any:
        """Reduces `data` over all ranks into the root's `out`, by default a new array. Returns it on the root, and None
        on the other ranks."""
        number = _arrays.op_number(op)
        source = View(data, "data", writable=False, dtype=dtype)
        receives = self._rank == root or self._preventions.open
        if receives and out is None:
            out = _arrays.empty_like(data, source.count)
        target = View(out, "out", writable=True, dtype=dtype) if receives else None
        if target is not None:
            _expect("out", target, source, source.count)
        if target is not None and self._preventions.open:
            _copy(source, target)
        else:
            self._wait(library().communicator_reduce, source, target, source.count, source.type, number, root,
                       timeout=timeout, cancellation=cancellation)
        return out if receives else None

    def all_gather(self, data: Any, *, out: Any = None, counts: Optional[Sequence[int]] = None,
                   dtype: Optional[str] = None, timeout: Timeout = None,
                   cancellation: Optional[Cancellation] = None) -> Any:
        """Returns all ranks' data, one after another in rank order, in `out` or a new array of one dimension. If the
        ranks' sizes differ, `counts`, the same on all ranks, must have each rank's number of elements."""
        source = View(data, "data", writable=False, dtype=dtype)
        if counts is not None and (len(counts) != self._size or counts[self._rank] != source.count):
            raise InvalidArgumentError(
                f"counts is {list(counts)}; expected one for each of {self._size} ranks, {source.count} of them this one's")
        whole = self._size * source.count if counts is None else sum(counts)
        if out is None:
            out = _arrays.empty_like(data, whole)
        target = View(out, "out", writable=True, dtype=dtype)
        _expect("out", target, source, whole)
        if self._preventions.open:
            before = self._rank * source.count if counts is None else sum(counts[:self._rank])
            _copy(source, target, before)
        elif counts is None:
            self._wait(library().communicator_all_gather, source, target, source.count, source.type,
                       timeout=timeout, cancellation=cancellation)
        else:
            sizes = (ctypes.c_size_t * len(counts))(*counts)
            self._wait(library().communicator_all_gather_uneven, source, target, sizes, source.type,
                       timeout=timeout, cancellation=cancellation)
        return out

    def reduce_scatter(self, data: Any, op: AnyOp = "sum", *, out: Any = None, dtype: Optional[str] = None,
                       timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> Any:
        """Returns this rank's part of `data` reduced over all ranks, in `out` or a new array. `data` has one part for
        each rank, all of the same size."""
        number = _arrays.op_number(op)
        source = View(data, "data", writable=False, dtype=dtype)
        part = _part("data", source, self._size)
        if out is None:
            out = _arrays.empty_like(data, part)
        target = View(out, "out", writable=True, dtype=dtype)
        _expect("out", target, source, part)
        if self._preventions.open:
            _copy_part(source, self._rank * part, target)
        else:
            self._wait(library().communicator_reduce_scatter, source, target, part, source.type, number,
                       timeout=timeout, cancellation=cancellation)
        return out

    def all_to_all(self, data: Any, *, out: Any = None, dtype: Optional[str] = None, timeout: Timeout = None,
                   cancellation: Optional[Cancellation] = None) -> Any:
        """Sends part i of `data` to rank i, and returns the parts that each rank sent here, in rank order, in `out` or
        a new array. `data` has one part for each rank, all of the same size."""
        source = View(data, "data", writable=False, dtype=dtype)
        part = _part("data", source, self._size)
        if out is None:
            out = _arrays.empty_like(data, source.count)
        target = View(out, "out", writable=True, dtype=dtype)
        _expect("out", target, source, source.count)
        if self._preventions.open:
            width = source.nbytes // max(1, source.count)
            at = self._rank * part * width
            ctypes.memmove((target.pointer or 0) + at, (source.pointer or 0) + at, part * width)
        else:
            self._wait(library().communicator_all_to_all, source, target, part, source.type,
                       timeout=timeout, cancellation=cancellation)
        return out

    def send(self, data: Any, peer: int, *, dtype: Optional[str] = None, timeout: Timeout = None,
             cancellation: Optional[Cancellation] = None) -> None:
        """Sends `data` to rank `peer`, which must call recv(). May block until it does: two ranks that both begin with
        send() can wait for each other."""
        view = View(data, "data", writable=False, dtype=dtype)
        self._wait(library().communicator_send, view, view.count, view.type, peer, timeout=timeout,
                   cancellation=cancellation)

    def recv(self, data: Any, peer: int, *, dtype: Optional[str] = None, timeout: Timeout = None,
             cancellation: Optional[Cancellation] = None) -> Any:
        """Receives `data` from rank `peer`, which must send as many elements, and returns it."""
        view = View(data, "data", writable=True, dtype=dtype)
        self._wait(library().communicator_recv, view, view.count, view.type, peer, timeout=timeout,
                   cancellation=cancellation)
        return data

    def send_recv(self, data: Any, to: int, out: Any, from_: int, *, dtype: Optional[str] = None,
                  timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> Any:
        """Sends `data` to rank `to` and receives `out` from rank `from_` at the same time, so all ranks of a ring may
        call it at once. Returns `out`."""
        source = View(data, "data", writable=False, dtype=dtype)
        target = View(out, "out", writable=True, dtype=dtype)
        _expect("out", target, source, target.count)
        self._wait(library().communicator_send_recv, source, source.count, to, target, target.count,
                   from_, source.type, timeout=timeout, cancellation=cancellation)
        return out

    def barrier(self, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> None:
        """Waits for all ranks, without the coordinator."""
        if not self._preventions.open:
            self._wait(library().communicator_barrier, timeout=timeout, cancellation=cancellation)


def _expect(what: str, view: View, like: View, count: int) -> None:
    if view.type != like.type or view.count != count:
        raise InvalidArgumentError(
            f"{what} has {view.count} elements of {view.type_name}; expected {count} of {like.type_name}, as data has")


def _part(what: str, view: View, size: int) -> int:
    if view.count % size != 0:
        raise InvalidArgumentError(f"{what} has {view.count} elements, which {size} ranks cannot share evenly")
    return view.count // size


def _copy(source: View, target: View, before: int = 0) -> None:
    """Copies the caller's own value, as a collective does for a rank that does not wait for the others."""
    if source.pointer and target.pointer and source.pointer != target.pointer:
        at = target.pointer + before * (source.nbytes // source.count)
        ctypes.memmove(at, source.pointer, source.nbytes)


def _copy_part(source: View, before: int, target: View) -> None:
    if source.pointer and target.pointer:
        ctypes.memmove(target.pointer, source.pointer + before * (source.nbytes // source.count), target.nbytes)


def connect(of: Any, handle: Handle, group: Callable[[int], Any], preventions: Preventions, backend: Optional[str],
            interface: Optional[str], timeout: Timeout, cancellation: Optional[Cancellation]) -> Communicator:
    """Makes a communicator. See Job.communicator()."""
    lib = library()
    names = tuple(None if name is None else _calls.text(name, what)
                  for name, what in ((backend, "backend"), (interface, "interface")))

    def new(pointer: int) -> Handle:
        return Handle(pointer, lib.communicator_free, "the communicator", handle)

    made = _calls.wait(handle, lib.communicator_new, names, timeout=timeout, cancellation=cancellation, new=new,
                       pointer=group)
    return Communicator(made, of, preventions)

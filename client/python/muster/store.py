"""The job's keys and values, which all its processes share.

    store = job.store
    if job.rank == 0:
        store.set("port", b"7001")
    port = store.get("port")  # waits for the key
    ticket = store.add("tickets", 1)

Keys are text or bytes; values and elements are bytes. See muster/store.h.
"""

from __future__ import annotations

import ctypes
import enum
import queue
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from muster import _calls
from muster._calls import Cancellation, Handle, Timeout
from muster._errors import CancelledError, DeadlineExceededError, MusterError, error_of
from muster._library import StoreCallback, library
from muster._listening import Listening
from muster.group import take_values

Key = Union[str, bytes]


class Comparison(NamedTuple):
    """The outcome of Store.compare_and_set()."""

    changed: bool
    """Whether the key had the expected value, and has the new one."""
    value: Optional[bytes]
    """What the key has now. None: it does not exist."""


class StoreKind(enum.IntEnum):
    """What a key holds, or that it was deleted."""

    VALUE = 0
    QUEUE = 1
    BARRIER = 2
    DELETED = 3


class StoreEvent(NamedTuple):
    """A change below a watched prefix. It may stand for several changes of its key."""

    key: bytes
    """The key that has changed."""
    kind: StoreKind
    """What it holds now."""
    value: bytes
    """The value, of VALUE."""
    count: int
    """The elements of a queue, or the arrivals in a barrier's latest round."""


class Watch:
    """The changes below a prefix, in their order. Made by Store.watch(). Keeps those that were not read yet.

        with store.watch("workers/") as changes:
            for change in changes:  # the existing keys first
                print(change.key, change.value)
    """

    def __init__(self, handle: Handle, prefix: Key) -> None:
        # Holds None after the last change.
        changes: "queue.SimpleQueue[Union[StoreEvent, MusterError, None]]" = queue.SimpleQueue()
        self._changes = changes

        def note(event: Any, error: Optional[int]) -> None:
            changes.put(_event(event.contents) if event else error_of(error or 0))
            if not event:
                changes.put(None)

        self._listening = Listening(
            StoreCallback, note,
            lambda function, out: handle.ask(library().store_watch, *_bytes(prefix), function, None, out),
            "Store.watch()")

    def next(self, timeout: Timeout = None) -> StoreEvent:
        """Returns the next change. Blocks until there is one, for at most `timeout` seconds: DeadlineExceededError.
        Raises the error of a watch that has ended by itself, and CancelledError after close()."""
        limit = _calls.milliseconds(timeout)
        try:
            change = self._changes.get(timeout=None if limit < 0 else limit / 1000)
        except queue.Empty:
            raise DeadlineExceededError("no key below the watched prefix has changed in time") from None
        if change is None:
            self._changes.put(None)  # for the next call, and for other threads that wait
            raise CancelledError("the watch has ended")
        if isinstance(change, MusterError):
            raise change
        return change

    def __iter__(self) -> Iterator[StoreEvent]:
        """Ends when the watch is closed."""
        while True:
            try:
                yield self.next()
            except CancelledError:
                return

    def close(self) -> None:
        """Ends the watch. Calls of next() that wait for a change end with CancelledError."""
        self._listening.close()
        self._changes.put(None)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Store:
    """Keys and values that belong to the job, not to an epoch. Made by Job.store.

    A key holds a value, the elements of a queue, or the arrivals at a barrier. All calls block until the coordinator has
    answered. It may be killed and restarted at any time: each call is applied exactly once. Thread-safe.

    `timeout` limits how long a call waits for keys, elements or arrivals; DeadlineExceededError names what was missing.
    InvalidArgumentError: a key is empty or too long. FailedPreconditionError: the key holds something else.
    ResourceExhaustedError: a value is too large, or the store is full.
    """

    def __init__(self, handle: Handle, job: Any) -> None:
        self._handle = handle
        self._job = job  # must not end before this

    def __repr__(self) -> str:
        return f"<muster.Store of {self._job!r}>"

    def _wait(self, function: Callable[..., Optional[int]], *before: Any, timeout: Timeout,
              cancellation: Optional[Cancellation], new: Optional[Callable[[Any], Any]] = None) -> Any:
        return _calls.wait(self._handle, function, before, timeout=timeout, cancellation=cancellation, new=new)

    def set(self, key: Key, value: bytes, *, timeout: Timeout = None,
            cancellation: Optional[Cancellation] = None) -> None:
        """Gives the key this value."""
        self._wait(library().store_set, *_bytes(key), *_bytes(value), timeout=timeout, cancellation=cancellation)

    def get(self, key: Key, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> bytes:
        """Returns the value of the key. Blocks until it has one."""
        values: List[bytes] = self._wait(library().store_get, *_bytes(key), timeout=timeout, cancellation=cancellation,
                                         new=take_values)
        return values[0]

    def wait(self, keys: Iterable[Key], *, timeout: Timeout = None,
             cancellation: Optional[Cancellation] = None) -> None:
        """Blocks until all keys exist at the same time."""
        all_keys = [_bytes(key) for key in keys]
        texts = (ctypes.c_char_p * len(all_keys))(*(key for key, _ in all_keys))
        sizes = (ctypes.c_size_t * len(all_keys))(*(size for _, size in all_keys))
        self._wait(library().store_wait, texts, sizes, len(all_keys), timeout=timeout, cancellation=cancellation)

    def add(self, key: Key, amount: int = 1, *, timeout: Timeout = None,
            cancellation: Optional[Cancellation] = None) -> int:
        """Adds to the value, which is a decimal number, and returns the sum. A key that does not exist counts as 0."""
        return int(self._wait(library().store_add, *_bytes(key), amount, timeout=timeout, cancellation=cancellation,
                              new=_number))

    def compare_and_set(self, key: Key, expected: Optional[bytes], desired: bytes, *, timeout: Timeout = None,
                        cancellation: Optional[Cancellation] = None) -> Comparison:
        """Gives the key the value `desired` if it has the value `expected`, or, if that is None, if it does not exist."""
        changed = ctypes.c_int(0)

        def call(job: int, *arguments: Any) -> Optional[int]:
            *before, out = arguments
            error: Optional[int] = library().store_compare_and_set(job, *before, ctypes.byref(changed), out)
            return error

        has = (None, 0) if expected is None else _bytes(expected)
        values: List[bytes] = self._wait(call, *_bytes(key), *has, *_bytes(desired), timeout=timeout,
                                         cancellation=cancellation, new=take_values)
        return Comparison(bool(changed.value), values[0] if values else None)

    def append(self, key: Key, value: bytes, *, timeout: Timeout = None,
               cancellation: Optional[Cancellation] = None) -> int:
        """Appends to the value, and returns its length in bytes. A key that does not exist counts as empty."""
        return int(self._wait(library().store_append, *_bytes(key), *_bytes(value), timeout=timeout,
                              cancellation=cancellation, new=_number))

    def delete(self, key: Key, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> bool:
        """Deletes the key with its value, queue or barrier. Returns whether it existed."""
        return bool(self._wait(library().store_delete, *_bytes(key), timeout=timeout, cancellation=cancellation,
                               new=_number))

    def list(self, prefix: Key = b"", *, timeout: Timeout = None,
             cancellation: Optional[Cancellation] = None) -> List[bytes]:
        """Returns the keys that begin with the prefix, in the order of their bytes."""
        keys: List[bytes] = self._wait(library().store_list, *_bytes(prefix), timeout=timeout,
                                       cancellation=cancellation, new=take_values)
        return keys

    def count(self, prefix: Key = b"", *, timeout: Timeout = None,
              cancellation: Optional[Cancellation] = None) -> int:
        """Returns the number of keys that begin with the prefix."""
        return int(self._wait(library().store_count, *_bytes(prefix), timeout=timeout, cancellation=cancellation,
                              new=_number))

    def push(self, key: Key, element: bytes, *, timeout: Timeout = None,
             cancellation: Optional[Cancellation] = None) -> int:
        """Appends an element to the queue, and returns the queue's length."""
        return int(self._wait(library().store_push, *_bytes(key), *_bytes(element), timeout=timeout,
                              cancellation=cancellation, new=_number))

    def pop(self, key: Key, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> bytes:
        """Removes the first element of the queue, and returns it. Blocks until there is one."""
        values: List[bytes] = self._wait(library().store_pop, *_bytes(key), timeout=timeout, cancellation=cancellation,
                                         new=take_values)
        return values[0]

    def length(self, key: Key, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> int:
        """Returns the number of elements of the queue."""
        return int(self._wait(library().store_length, *_bytes(key), timeout=timeout, cancellation=cancellation,
                              new=_number))

    def barrier(self, key: Key, count: int, *, timeout: Timeout = None,
                cancellation: Optional[Cancellation] = None) -> int:
        """Arrives at the barrier, and blocks until `count` arrivals have come since the last round was complete.

        Returns the arrival's place in its round, from 1. An arrival counts for good, also if this call times out: do not
        repeat it then.
        """
        return int(self._wait(library().store_barrier, *_bytes(key), count, timeout=timeout, cancellation=cancellation,
                              new=_number))

    def watch(self, prefix: Key = b"") -> Watch:
        """Returns the existing keys that begin with the prefix, and then each change of such a key. Does not block."""
        return Watch(self._handle, prefix)


def _event(event: Any) -> StoreEvent:
    return StoreEvent(ctypes.string_at(event.key, event.key_size), StoreKind(event.kind),
                      ctypes.string_at(event.value, event.value_size), event.count)


def _bytes(text: Key) -> Tuple[bytes, int]:
    data = text.encode() if isinstance(text, str) else bytes(text)
    return data, len(data)


def _number(out: Optional[int]) -> int:
    """Returns the number of 64 bits that a call has written in place of a pointer."""
    return ctypes.c_int64(out or 0).value

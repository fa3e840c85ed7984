"""Calls that wait: Ctrl-C ends them at once, and so does closing what they were made of.

Python runs signal handlers in the main thread, between two steps of the interpreter: not while that thread waits in
C. So the main thread hands a call that waits to another thread, and waits for it in Python, where handlers run. A
handler that raises, as that of Ctrl-C does, cancels the call. One that returns lets it go on, and may make calls of its
own meanwhile (`job.request_stop()` from SIGTERM's, say). Other threads of a program call directly.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import datetime
import functools
import itertools
import os
import queue
import sys
import _thread
import threading
import time
import weakref
from types import FrameType
from typing import Any, Callable, Iterable, List, Optional, Set, Tuple, Union

from muster._errors import (CancelledError, ForkError, InvalidArgumentError, MusterError, ResourceExhaustedError, check,
                            take_error)
from muster._library import CallOptions, library

Timeout = Union[None, float, int, datetime.timedelta]

# A handler that became due just before the main thread began to wait is run after this, in seconds.
_RECHECK = 0.1
_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_EXAMPLES = os.path.join(_FOLDER, "examples") + os.sep


class _Token:
    """A muster_cancellation, of one call at a time.

    It has no __del__(): what a signal handler raises in one is lost, and with it a Ctrl-C.
    """

    def __init__(self) -> None:
        self.pointer = ctypes.c_void_p()
        self.spent = False  # cancelled, or about to be
        check(library().cancellation_new(ctypes.byref(self.pointer)))

    def cancel(self) -> None:
        self.spent = True
        library().cancel(self.pointer)


class _Use:
    """One use of a handle, by a call that is made with `token`, if it waits.

    Sets have weak references to it, which leave them with it: some versions of Python may run a signal handler right before
    the `finally` that takes it out, and what that raises would leave it there for ever.
    """

    def __init__(self, token: Optional[_Token] = None) -> None:
        self.token = token
        self.thread = 0

    def enter(self, uses: "_Uses") -> "weakref.ref[_Use]":
        """The caller takes what this returns out again."""
        entry = weakref.ref(self, uses.discard)
        uses.add(entry)
        return entry


_Uses = Set["weakref.ref[_Use]"]


# What follows has no locks: a signal handler may come at any step, raise there, or wait for another thread that needs the
# same lock. It relies on single operations of sets and lists, which are atomic.
_unused: List[_Token] = []
_spent: List[_Token] = []
_cancelling: _Uses = set()


def _take_token() -> _Token:
    try:
        return _unused.pop()
    except IndexError:
        return _Token()


def _give_token_back(token: _Token) -> None:
    """After the call has ended, and no set has it any more. One that was cancelled stays so."""
    if not token.spent:
        _unused.append(token)
        return
    _spent.append(token)
    free = []
    while _spent:
        free.append(_spent.pop())
    # Who began to cancel before these tokens left their sets may be about to use one.
    if _cancelling:
        _spent.extend(free)
        return
    for each in free:
        library().cancellation_free(each.pointer)


def _cancel_all(uses: _Uses) -> None:
    marker = _Use()
    entered = marker.enter(_cancelling)
    try:
        for entry in list(uses):
            use = entry()
            if use is None or use.token is None:
                continue
            # In this order: a call that ends in between does not give the token to another one.
            use.token.spent = True
            if entry in uses:
                use.token.cancel()
    finally:
        _cancelling.discard(entered)


class Cancellation:
    """Ends waiting calls from another thread, with CancelledError.

    One object may serve many calls, one after another or at once. Once cancelled it stays so: calls that are given it
    end at once. Any thread.
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._uses: _Uses = set()

    def cancel(self) -> None:
        """Ends every call that was given this object. Does not block."""
        self._cancelled = True
        _cancel_all(self._uses)

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""
        return self._cancelled

    def _add(self, use: _Use) -> "weakref.ref[_Use]":
        entry = use.enter(self._uses)
        if self._cancelled and use.token is not None:
            use.token.cancel()
        return entry

    def _remove(self, entry: "weakref.ref[_Use]") -> None:
        self._uses.discard(entry)


class _Worker:
    """A thread that makes the main thread's calls, one after another."""

    def __init__(self) -> None:
        self._calls: "queue.SimpleQueue[Callable[[], Any]]" = queue.SimpleQueue()
        # No threading.Thread: its start() waits for the thread, and what a signal handler raises there breaks its locks.
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
            # A signal handler may raise one of its own.
            if "can't start new thread" not in str(error):
                raise
            raise ResourceExhaustedError(
                f"this process gets no thread that waits for its calls: {error}; raise its limit of processes "
                "(ulimit -u), or that of its container") from None

    def _run(self) -> None:
        while True:
            self._calls.get()()

    def begin(self, call: Callable[[], Any]) -> None:
        self._calls.put(call)

    def await_all(self) -> None:
        """Blocks until everything that was begun has ended, whatever signal handlers raise meanwhile."""
        ended: List[bool] = []
        wake = _thread.allocate_lock()
        wake.acquire()

        def end() -> None:
            ended.append(True)
            wake.release()

        self._calls.put(end)
        # A handler may raise after acquire() has succeeded, too: so the list counts, and not the lock. And no Event, whose
        # own lock would stay locked where a handler raises in it.
        while not ended:
            try:
                wake.acquire(timeout=_RECHECK)
            except BaseException:  # pylint: disable=broad-except
                continue  # the first one is being raised


def acquire(lock: "_thread.LockType", timeout: Optional[float]) -> bool:
    """Acquires a lock within so many seconds, and lets signal handlers run meanwhile. None: however long it takes."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _RECHECK if end is None else min(_RECHECK, end - time.monotonic())
        if lock.acquire(timeout=max(0, left)):
            return True
        if end is not None and time.monotonic() >= end:
            return False


_idle: List[_Worker] = []


def _take_worker() -> _Worker:
    try:
        return _idle.pop()  # a signal handler may have taken the last one
    except IndexError:
        return _Worker()


def _forget_workers() -> None:
    # A fork has none of its parent's threads.
    _idle.clear()
    _unused.clear()
    _spent.clear()
    _cancelling.clear()
    _dropped.clear()


os.register_at_fork(after_in_child=_forget_workers)


def run_interruptibly(call: Callable[[], Any], cancel: Optional[Callable[[], None]] = None) -> Any:
    """Makes the call on another thread, if this is the main one, and returns what it returns.

    What a signal handler raises here is raised at once: after `cancel` has ended the call, or, without one, while the
    call goes on by itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    worker: Optional[_Worker] = None
    ended = _thread.allocate_lock()
    ended.acquire()
    outcome: List[Any] = []

    def run() -> None:
        try:
            outcome.append((call(), None))
        except BaseException as raised:  # pylint: disable=broad-except
            outcome.append((None, raised))
        ended.release()

    # A handler may raise at any step, also right after the worker has got the call: hence await_all().
    try:
        worker = _take_worker()
        worker.begin(run)
        acquire(ended, None)
        _idle.append(worker)
    except BaseException:
        # More handlers may raise meanwhile. No function of its own: one may raise where that begins.
        while worker is not None and worker not in _idle:
            try:
                if cancel is None:
                    worker.begin(functools.partial(_idle.append, worker))
                    break
                cancel()
                worker.await_all()
                _idle.append(worker)
            except BaseException:  # pylint: disable=broad-except
                continue  # the first one is being raised
        outcome.clear()
        raise
    returned, raised = outcome.pop()
    if raised is not None:
        # What this frame keeps of an exception makes a cycle with its traceback: the callers' frames then last until the
        # garbage collector comes, on whatever thread.
        try:
            raise raised
        finally:
            del raised
    return returned


class _OfThread(threading.local):
    callbacks = 0  # how many are running on it


# The library may call callbacks with its locks held. They count themselves here, so that a handle that is dropped meanwhile
# (by the garbage collector, say) is freed later.
of_thread = _OfThread()
_dropped: List["Handle"] = []


def _close_dropped() -> None:
    if not _dropped or of_thread.callbacks:
        return
    for handle in list(_dropped):
        handle.close(wait=False)
        try:
            _dropped.remove(handle)
        except ValueError:
            pass  # another thread was faster


atexit.register(_close_dropped)


# Goes through an iterator.
_run_all: Callable[[Iterable[Any]], Any] = functools.partial(collections.deque, maxlen=0)


class Handle:
    """A pointer of the library's: freed once, after the last call that uses it, and never in a fork.

    `parent` is the handle of what it was made of, which is not to end before it. `forget` is gone through after `free`
    was called. Both are to be in C: see _end.
    """

    _process = -1  # where __init__() was interrupted

    def __init__(self, pointer: Union[int, ctypes.c_void_p], free: Callable[[Any], None], what: str,
                 parent: Optional["Handle"] = None, forget: Iterable[Any] = ()) -> None:
        _close_dropped()
        self._pointer = pointer
        self._what = what
        self._parent = parent
        self._uses: _Uses = set()
        self._closed = False
        self._freed: List[bool] = []
        # Who gets this frees the pointer. All of it is one step of the interpreter, so that a signal handler cannot raise
        # between the parts.
        self._end = iter([itertools.chain(map(free, [pointer]), forget, map(self._freed.append, [True]))])
        self._process = os.getpid()

    def check_process(self) -> None:
        process = os.getpid()
        if process != self._process:
            raise ForkError(
                f"process {process} is a fork of process {self._process}, which {self._what} belongs to: use it there. "
                "A fork shares the connections of its parent; fork before muster.join(), or start processes by "
                "subprocess, or by multiprocessing's 'spawn'")

    @property
    def closed(self) -> bool:
        return self._closed

    def ask(self, function: Callable[..., Any], *arguments: Any, use: Optional[_Use] = None) -> Any:
        """Returns function(pointer, *arguments). The pointer is good until that returns."""
        self.check_process()
        if use is None:
            use = _Use()
        use.thread = _thread.get_ident()
        entry = use.enter(self._uses)
        try:
            # After enter(): so either close() sees this use, or this sees that it is closed.
            if self._closed:
                raise CancelledError(f"{self._what} is closed")
            return function(self._pointer, *arguments)
        finally:
            self._uses.discard(entry)
            if self._closed:
                self._free_unless_used()

    def _free_unless_used(self) -> None:
        if not self._uses:  # else the last one frees it
            _run_all(map(_run_all, self._end))

    def _used_by(self, thread: int) -> bool:
        found = [entry() for entry in list(self._uses)]
        return any(use is not None and use.thread == thread for use in found)

    def close(self, wait: bool = True) -> None:
        """Cancels the calls that use it, and frees it after their ends, which it waits for. Harmless afterwards.

        A signal handler may come while its own thread uses the handle: then that use frees it.
        """
        if os.getpid() != self._process:
            return  # what it points to belongs to the parent
        self._closed = True
        own, pause = _thread.get_ident(), 0.0005
        while True:
            _cancel_all(self._uses)
            self._free_unless_used()
            if not wait or self._freed or self._used_by(own):
                return
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def __del__(self) -> None:
        if self._process != -1 and not self._freed:
            # At first, so that what a signal handler raises in here does no more than put it off.
            _dropped.append(self)
            _close_dropped()


def milliseconds(timeout: Timeout) -> int:
    """Returns a time-out as muster/c.h takes it: -1 for None, the job's."""
    if timeout is None:
        return -1
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)
    if not 0 <= seconds < 2**53:
        raise InvalidArgumentError(f"a time-out is {timeout!r}; expected seconds, 0 or more")
    return round(seconds * 1000)


def caller() -> Tuple[bytes, int]:
    """Returns the file and the line of the program that called into this package."""
    frame: Optional[FrameType] = sys._getframe(1)  # pylint: disable=protected-access
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_FOLDER) or name.startswith(_EXAMPLES):
            return name.encode("utf-8", "replace")[-900:], frame.f_lineno
        frame = frame.f_back
    return b"", 0


def text(value: str, what: str, errors: str = "strict") -> bytes:
    """Returns a text as muster/c.h takes it."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a {type(value).__name__}, expected a str")
    if "\0" in value:
        raise InvalidArgumentError(f"{what} has a zero byte in it")
    try:
        return value.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{what} is no text: {error}") from None


def wait(
    handle: Optional[Handle],
    function: Callable[..., Optional[int]],
    before: Tuple[Any, ...] = (),
    *,
    timeout: Timeout = None,
    cancellation: Optional[Cancellation] = None,
    type_name: Optional[bytes] = None,
    new: Optional[Callable[[Any], Any]] = None,
    options: bool = True,
    pointer: Optional[Callable[[int], Any]] = None,
) -> Any:
    """Makes a call that waits: function(pointer of handle, *before, options). Raises its error.

    Where the call writes a new pointer, to its last argument, `new` makes of that what this returns: a Handle, say, which
    frees it where the call is interrupted. `pointer` makes of the handle's pointer the one that the call takes. Without
    `options` the call takes a cancellation alone. What `before` points to lives as long as the call, whatever interrupts
    this.
    """
    _close_dropped()
    if handle is not None:
        handle.check_process()
    limit = milliseconds(timeout)
    file, line = caller() if options else (b"", 0)
    out = ctypes.c_void_p()
    after = () if new is None else (ctypes.byref(out),)
    token = _take_token()
    use = _Use(token)
    filled = CallOptions(ctypes.sizeof(CallOptions), limit, token.pointer, file or None, line, type_name)
    ended: List[Tuple[Optional[MusterError], Any]] = []
    unused: List[_Token] = []

    def make(first: int) -> Optional[int]:
        return function(first if pointer is None else pointer(first), *before, ctypes.byref(filled), *after)

    def call() -> None:
        try:
            if not options:
                error = take_error(function(*before, token.pointer, *after))
            else:
                assert handle is not None
                error = take_error(handle.ask(make, use=use))
            ended.append((error, None if error is not None or new is None else new(out.value)))
        finally:
            unused.append(token)

    # What signal handlers raise may come at any step from here on, so nothing is left to the code after the call.
    entry: Optional["weakref.ref[_Use]"] = None
    try:
        if cancellation is not None:
            entry = cancellation._add(use)  # pylint: disable=protected-access
        run_interruptibly(call, token.cancel)
    except BaseException:
        ended.clear()  # the traceback has this frame, and would keep what was made
        raise
    finally:
        if cancellation is not None and entry is not None:
            cancellation._remove(entry)  # pylint: disable=protected-access
        if unused:
            _give_token_back(unused.pop())
    failed, made = ended.pop()
    if failed is not None:
        try:
            raise failed
        finally:
            del failed
    return made

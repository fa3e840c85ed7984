"""Calls that wait. Ctrl-C ends them at once, and so does closing the object that they use.

Python runs signal handlers in the main thread, between two steps of the interpreter, so not while that thread waits in
C. So the main thread hands a waiting call to a worker thread, and waits for it in Python, where handlers run. If a
handler raises, as the handler of Ctrl-C does, the call is cancelled. If it returns, the call goes on; the handler may
make calls of its own, such as `job.request_stop()` on SIGTERM. Other threads of a program call directly.

A handler may raise at any step of the code below, which is why it has no locks and so many small steps:

    worker.begin(run)      # the worker has the call
                           # <- a handler raises here
    acquire(ended, None)   # never reached, but the call must still be cancelled, and its result freed
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

# How soon, in seconds, a handler runs that became due just before the main thread began to wait.
_RECHECK = 0.1
_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_EXAMPLES = os.path.join(_FOLDER, "examples") + os.sep


class _Token:
    """A muster_cancellation, used by one call at a time.

    Has no __del__(), because an exception of a signal handler in a __del__() is lost, and with it a Ctrl-C.
    """

    def __init__(self) -> None:
        self.pointer = ctypes.c_void_p()
        self.spent = False  # cancelled, or about to be
        check(library().cancellation_new(ctypes.byref(self.pointer)))

    def cancel(self) -> None:
        self.spent = True
        library().cancel(self.pointer)


class _Use:
    """One use of a handle by a call, with the call's `token` if the call waits.

    Sets keep only weak references to it, which disappear with it. Some versions of Python may run a signal handler
    right before the `finally` that removes the use. If the handler raises there, a strong reference would stay forever.
    """

    def __init__(self, token: Optional[_Token] = None) -> None:
        self.token = token
        self.thread = 0

    def enter(self, uses: "_Uses") -> "weakref.ref[_Use]":
        """Adds this use to `uses`, and returns the entry. The caller removes the entry from `uses` afterwards."""
        entry = weakref.ref(self, uses.discard)
        uses.add(entry)
        return entry


_Uses = Set["weakref.ref[_Use]"]


# The code below has no locks. A signal handler may run at any step, and may raise there, or wait
# for a thread that needs the same lock. It relies on single operations of sets and lists, which are
# atomic.
_unused: List[_Token] = []
_spent: List[_Token] = []
_cancelling: _Uses = set()


def _take_token() -> _Token:
    try:
        return _unused.pop()
    except IndexError:
        return _Token()


def _return_token(token: _Token) -> None:
    """Recycles or frees a token, after its call has ended and no set has it any more. A cancelled token stays
    cancelled."""
    if not token.spent:
        _unused.append(token)
        return
    _spent.append(token)
    free = []
    while _spent:
        free.append(_spent.pop())
    # Another thread that began to cancel before these tokens left their sets may still use one.
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
            # The order matters: a call that ends in between sees `spent`, and does not give the
            # token to another call.
            use.token.spent = True
            if entry in uses:
                use.token.cancel()
    finally:
        _cancelling.discard(entered)


class Cancellation:
    """Ends waiting calls from another thread, with CancelledError.

    One object may serve many calls, one after another or at the same time. Once cancelled, it stays so: later calls
    with it end at once. Thread-safe.
    """

    def __init__(self) -> None:
        self._cancelled = False
        self._uses: _Uses = set()

    def cancel(self) -> None:
        """Ends every call that uses this object. Does not block."""
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
        # Not a threading.Thread: its start() waits for the thread, and a signal handler that raises
        # there breaks its locks.
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
            # A signal handler may raise a RuntimeError of its own.
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
        """Blocks until all calls that were begun have ended, whatever signal handlers raise meanwhile."""
        ended: List[bool] = []
        wake = _thread.allocate_lock()
        wake.acquire()

        def end() -> None:
            ended.append(True)
            wake.release()

        self._calls.put(end)
        # A handler may raise after acquire() has succeeded too, so the list counts and not the
        # lock. Not an Event, whose own lock would stay locked if a handler raises in it.
        while not ended:
            try:
                wake.acquire(timeout=_RECHECK)
            except BaseException:  # pylint: disable=broad-except
                continue  # the first exception is being raised


def acquire(lock: "_thread.LockType", timeout: Optional[float]) -> bool:
    """Acquires a lock within `timeout` seconds, or without a limit if None. Lets signal handlers run meanwhile."""
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
    """Makes the call, on a worker thread if this is the main thread, and returns its result.

    If a signal handler raises here, its exception is raised at once. With `cancel`, the call is cancelled first, and
    has ended. Without `cancel`, the call goes on in the background.
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

    # A handler may raise at any step, also right after the worker got the call. Hence await_all().
    try:
        worker = _take_worker()
        worker.begin(run)
        acquire(ended, None)
        _idle.append(worker)
    except BaseException:
        # More handlers may raise meanwhile. The loop is not a function, since a handler may raise
        # where a function begins.
        while worker is not None and worker not in _idle:
            try:
                if cancel is None:
                    worker.begin(functools.partial(_idle.append, worker))
                    break
                cancel()
                worker.await_all()
                _idle.append(worker)
            except BaseException:  # pylint: disable=broad-except
                continue  # the first exception is being raised
        outcome.clear()
        raise
    returned, raised = outcome.pop()
    if raised is not None:
        # A frame that keeps an exception makes a cycle with its traceback. The callers' frames
        # would then live until the garbage collector runs, on any thread.
        try:
            raise raised
        finally:
            del raised
    return returned


class _ThreadState(threading.local):
    callbacks = 0  # number of callbacks that are running on the thread


# The library may call callbacks while it holds its locks. Callbacks count themselves here. If the
# garbage collector drops a handle meanwhile, it is freed later.
of_thread = _ThreadState()
_dropped: List["Handle"] = []


def _close_dropped() -> None:
    if not _dropped or of_thread.callbacks:
        return
    for handle in list(_dropped):
        handle.close(wait=False)
        try:
            _dropped.remove(handle)
        except ValueError:
            pass  # another thread has removed it


atexit.register(_close_dropped)


# Exhausts an iterator.
_run_all: Callable[[Iterable[Any]], Any] = functools.partial(collections.deque, maxlen=0)


class Handle:
    """A pointer of the library. It is freed once, after the last call that uses it, and never in a fork.

    `parent` is the handle of the object that it was made from, which must not end first. `forget` is an iterator that
    is exhausted after `free` was called. Both must be implemented in C: see _end.
    """

    _process = -1  # if __init__() was interrupted

    def __init__(self, pointer: Union[int, ctypes.c_void_p], free: Callable[[Any], None], what: str,
                 parent: Optional["Handle"] = None, forget: Iterable[Any] = ()) -> None:
        _close_dropped()
        self._pointer = pointer
        self._what = what
        self._parent = parent
        self._uses: _Uses = set()
        self._closed = False
        self._freed: List[bool] = []
        # The thread that takes the only element frees the pointer. All of it is one step of the
        # interpreter, so a signal handler cannot raise in the middle.
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
        """Returns function(pointer, *arguments). The pointer is valid until that returns."""
        self.check_process()
        if use is None:
            use = _Use()
        use.thread = _thread.get_ident()
        entry = use.enter(self._uses)
        try:
            # Checked after enter(): either close() sees this use, or this sees that the handle is
            # closed.
            if self._closed:
                raise CancelledError(f"{self._what} is closed")
            return function(self._pointer, *arguments)
        finally:
            self._uses.discard(entry)
            if self._closed:
                self._free_unless_used()

    def _free_unless_used(self) -> None:
        if not self._uses:  # else the last use frees it
            _run_all(map(_run_all, self._end))

    def _used_by(self, thread: int) -> bool:
        found = [entry() for entry in list(self._uses)]
        return any(use is not None and use.thread == thread for use in found)

    def close(self, wait: bool = True) -> None:
        """Cancels the calls that use the pointer, waits for their ends, and frees it. May be called again.

        If a signal handler calls it while its own thread uses the handle, that use frees the pointer later.
        """
        if os.getpid() != self._process:
            return  # the pointer belongs to the parent process
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
            # First of all, so that a signal handler that raises in here only delays the freeing.
            _dropped.append(self)
            _close_dropped()


def milliseconds(timeout: Timeout) -> int:
    """Returns a time-out as muster/c.h takes it. None becomes -1, which means the job's."""
    if timeout is None:
        return -1
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)
    if not 0 <= seconds < 2**53:
        raise InvalidArgumentError(f"a time-out is {timeout!r}; expected seconds, 0 or more")
    return round(seconds * 1000)


def caller() -> Tuple[bytes, int]:
    """Returns the file and line in the program that called this package."""
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
        raise InvalidArgumentError(f"{what} is not valid text: {error}") from None


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
    """Makes a waiting call, function(pointer of handle, *before, options), and raises its error.

    `new` makes this function's result from the pointer that the call writes to its last argument. The result is a
    Handle, for example, which frees the pointer even if the call is interrupted. `pointer` converts the handle's
    pointer to the one that the call takes. Without `options`, the call takes only a cancellation. Memory that `before`
    points to lives as long as the call, whatever interrupts this function.
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

    # From here on signal handlers may raise at any step, so nothing is left to the code after the
    # call.
    entry: Optional["weakref.ref[_Use]"] = None
    try:
        if cancellation is not None:
            entry = cancellation._add(use)  # pylint: disable=protected-access
        run_interruptibly(call, token.cancel)
    except BaseException:
        ended.clear()  # else the traceback, which has this frame, keeps it
        raise
    finally:
        if cancellation is not None and entry is not None:
            cancellation._remove(entry)  # pylint: disable=protected-access
        if unused:
            _return_token(unused.pop())
    failed, made = ended.pop()
    if failed is not None:
        try:
            raise failed
        finally:
            del failed
    return made

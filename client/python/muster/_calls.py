"""Calls that wait: Ctrl-C ends them at once, and so does closing what they were made of.

Python runs signal handlers in the main thread, between two steps of the interpreter: not while that thread waits in
C. So the main thread hands a call that waits to another thread, and waits for it in Python, where handlers run. A
handler that raises, as that of Ctrl-C does, cancels the call. One that returns lets it go on, and may make calls of its
own meanwhile (`job.request_stop()` from SIGTERM's, say). Other threads of a program call directly.
"""

from __future__ import annotations

import ctypes
import datetime
import os
import queue
import sys
import _thread
import threading
import time
from types import FrameType
from typing import Any, Callable, List, Optional, Set, Tuple, Union

from muster._errors import CancelledError, ForkError, InvalidArgumentError, ResourceExhaustedError, check
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
        self.cancelled = False
        check(library().cancellation_new(ctypes.byref(self.pointer)))

    def cancel(self) -> None:
        self.cancelled = True
        library().cancel(self.pointer)


_unused: List[_Token] = []


def _take_token() -> _Token:
    try:
        return _unused.pop()
    except IndexError:
        return _Token()


def _give_token_back(token: _Token) -> None:
    """After the call has ended. One that was cancelled stays so."""
    if token.cancelled:
        library().cancellation_free(token.pointer)
    else:
        _unused.append(token)


class Cancellation:
    """Ends waiting calls from another thread, with CancelledError.

    One object may serve many calls, one after another or at once. Once cancelled it stays so: calls that are given it
    end at once. Any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # signal handlers may come in again
        self._cancelled = False
        self._tokens: Set[_Token] = set()

    def cancel(self) -> None:
        """Ends every call that was given this object. Does not block."""
        with self._lock:
            self._cancelled = True
            for token in self._tokens:
                token.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""
        return self._cancelled

    def _add(self, token: _Token) -> None:
        with self._lock:
            self._tokens.add(token)
            if self._cancelled:
                token.cancel()

    def _remove(self, token: _Token) -> None:
        with self._lock:
            self._tokens.discard(token)


class _Worker:
    """A thread that makes the main thread's calls, one after another."""

    def __init__(self) -> None:
        self._calls: "queue.SimpleQueue[Callable[[], Any]]" = queue.SimpleQueue()
        # No threading.Thread: its start() waits for the thread, and what a signal handler raises there breaks its locks.
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError as error:
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
        if worker is not None and worker not in _idle and cancel is not None:
            cancel()
            worker.await_all()
            _idle.append(worker)
        raise
    returned, raised = outcome[0]
    if raised is not None:
        raise raised
    return returned


class Handle:
    """A pointer of the library's: freed once, after the last call that uses it, and never in a fork."""

    def __init__(self, pointer: Optional[int], free: Callable[[Any], None], what: str) -> None:
        self._pointer = pointer
        self._free = free
        self._what = what
        self._process = os.getpid()
        self._lock = threading.RLock()  # signal handlers may come in again
        self._none_left = threading.Condition(self._lock)
        self._calls = 0
        self._tokens: Set[_Token] = set()
        self._closed = False

    def check_process(self) -> None:
        process = os.getpid()
        if process != self._process:
            raise ForkError(
                f"process {process} is a fork of process {self._process}, which {self._what} belongs to: use it there. "
                "A fork shares the connections of its parent; fork before muster.join(), or start processes by "
                "subprocess, or by multiprocessing's 'spawn'")

    def enter(self, token: Optional[_Token] = None) -> int:
        """Returns the pointer, which is good until leave()."""
        self.check_process()
        with self._lock:
            if self._closed or self._pointer is None:
                raise CancelledError(f"{self._what} is closed")
            self._calls += 1
            if token is not None:
                self._tokens.add(token)
            return self._pointer

    def leave(self, token: Optional[_Token] = None) -> None:
        with self._lock:
            self._calls -= 1
            if token is not None:
                self._tokens.discard(token)
            if self._calls == 0:
                self._none_left.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Makes a call that does not wait."""
        pointer = self.enter()
        try:
            return function(pointer, *arguments)
        finally:
            self.leave()

    def close(self) -> None:
        """Cancels the calls that use it, waits for their ends, and frees it. Harmless afterwards."""
        if os.getpid() != self._process:
            return  # what it points to belongs to the parent
        with self._lock:
            self._closed = True
            for token in self._tokens:
                token.cancel()
            while self._calls > 0:
                self._none_left.wait(_RECHECK)
            pointer, self._pointer = self._pointer, None
        if pointer is not None:
            self._free(pointer)


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


def wait(
    handle: Optional[Handle],
    function: Callable[..., Optional[int]],
    before: Tuple[Any, ...] = (),
    after: Tuple[Any, ...] = (),
    *,
    timeout: Timeout = None,
    cancellation: Optional[Cancellation] = None,
    type_name: Optional[bytes] = None,
    out: Optional[ctypes.c_void_p] = None,
    free: Optional[Callable[[Any], None]] = None,
    options: bool = True,
    pointer: Optional[Callable[[int], Any]] = None,
) -> None:
    """Makes a call that waits: function(pointer of handle, *before, options, *after). Raises its error.

    `out` is what the call writes a new pointer to, if it does: where the call is interrupted, `free` frees that. `pointer`
    makes of the handle's pointer the one that the call takes. Without `options` the call takes a cancellation alone.
    """
    token = _take_token()
    file, line = caller() if options else (b"", 0)
    filled = CallOptions(ctypes.sizeof(CallOptions), milliseconds(timeout), token.pointer, file or None, line, type_name)

    def call() -> Optional[int]:
        if not options:
            return function(*before, token.pointer, *after)
        assert handle is not None
        first = handle.enter(token)
        try:
            taken = first if pointer is None else pointer(first)
            return function(taken, *before, ctypes.byref(filled), *after)
        finally:
            handle.leave(token)

    if handle is not None:
        handle.check_process()
    if cancellation is not None:
        cancellation._add(token)  # pylint: disable=protected-access
    # What signal handlers raise may come at any step from here on, so nothing is left to the code after the call.
    ended: List[Optional[int]] = []
    try:
        run_interruptibly(lambda: ended.append(call()), token.cancel)
    except BaseException:
        if ended and ended[0]:
            library().status_free(ended[0])
        elif ended and out is not None and out.value and free is not None:
            free(out.value)
            out.value = None
        raise
    finally:
        if cancellation is not None:
            cancellation._remove(token)  # pylint: disable=protected-access
    _give_token_back(token)
    check(ended[0])

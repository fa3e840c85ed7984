"""Functions that the library calls from its threads, until their subscription ends."""

from __future__ import annotations

import atexit
import ctypes
from typing import Any, Callable, Dict
import weakref

from muster import _calls, log
from muster._calls import Handle
from muster._errors import check
from muster._library import library

# Closed at exit, since no callback may run when the interpreter ends.
_all: "weakref.WeakSet[Listening]" = weakref.WeakSet()
# The functions that the library may call. Each stays here until the library has forgotten it,
# whatever signal handlers raise meanwhile.
_functions: Dict[int, Any] = {}  # by id(), since they have no hash


def _end_all() -> None:
    for listening in list(_all):
        listening.close()


atexit.register(_end_all)


class Listening:
    """A subscription of the library, which calls `call` without the context. `kind` is the function's type in C.
    `subscribe` gets the function, and where the subscription is to be stored, and returns a muster_status. `what` is
    the method that this comes from, for messages."""

    def __init__(self, kind: Any, call: Callable[..., None], subscribe: Callable[[Any, Any], Any], what: str) -> None:

        def guarded(_context: Any, *arguments: Any) -> None:
            _calls.of_thread.callbacks += 1
            try:
                call(*arguments)
            except Exception:  # pylint: disable=broad-except
                log.LOGGER.exception("a callback of %s has raised an exception", what)
            finally:
                _calls.of_thread.callbacks -= 1

        function = kind(guarded)
        _functions[id(function)] = function
        out = ctypes.c_void_p()
        # Made before the call, since a signal handler may raise right after the call.
        self._handle = Handle(out, library().subscription_free, "the subscription",
                              forget=map(_functions.pop, [id(function)]))
        try:
            check(subscribe(function, ctypes.byref(out)))
            _all.add(self)
        except BaseException:
            self._handle.close()
            raise

    def close(self) -> None:
        """Ends the subscription. When this returns, the callback is not running and never runs again. Not for use in
        the callback."""
        self._handle.close()

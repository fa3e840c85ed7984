"""Sets the process's exit code if an exception is not caught: docs/exit-codes.md."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Dict, Optional, Type

from muster._errors import MusterError, as_message, describe
from muster._library import library

_state: Dict[str, Any] = {"installed": False, "who": ""}


def muster_error(error: Optional[BaseException]) -> Optional[MusterError]:
    """Returns the MusterError that an exception is, or was raised from, or None."""
    while error is not None and not isinstance(error, MusterError):
        error = error.__cause__
    return error


def note(who: str) -> None:
    """Makes an uncaught exception end the process as schedulers expect. `who` names this rank; empty if it is not
    known."""
    _state["who"] = who
    if not _state["installed"]:
        _state["installed"] = True
        _install()


def reason_of(error: BaseException) -> str:
    """Returns the text of an error for the file in which a scheduler looks for the reason."""
    if isinstance(error, MusterError):
        return error.message
    who = f"{_state['who']}: " if _state["who"] else ""
    return who + describe(error)


def _install() -> None:
    before = sys.excepthook

    def hook(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> Any:
        before(kind, error, trace)
        if not isinstance(error, Exception):
            return
        library().write_termination_reason(as_message(reason_of(error)))
        known = muster_error(error)
        # A SystemExit that leaves the hook sets the interpreter's exit status. An interactive
        # session goes on.
        if known is not None and known.exit_code != 1 and not hasattr(sys, "ps1"):
            raise SystemExit(known.exit_code)

    sys.excepthook = hook

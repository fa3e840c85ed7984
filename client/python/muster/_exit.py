"""What a process ends with when an exception is not caught: docs/exit-codes.md."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Dict, Optional, Type

from muster._errors import MusterError, as_message, describe
from muster._library import library

_state: Dict[str, Any] = {"installed": False, "who": ""}


def _muster_error(error: Optional[BaseException]) -> Optional[MusterError]:
    """Returns the error of Muster that an exception is, or was raised from."""
    while error is not None and not isinstance(error, MusterError):
        error = error.__cause__
    return error


def note(who: str) -> None:
    """From now on an exception that nobody catches ends the process as a scheduler expects it; `who` is this rank, empty
    where it is not known."""
    _state["who"] = who
    if not _state["installed"]:
        _state["installed"] = True
        _install()


def reason_of(error: BaseException) -> str:
    """Returns what an error is called where a scheduler looks for the reason of an end."""
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
        known = _muster_error(error)
        # The interpreter ends with the status of a SystemExit that leaves the hook. In a session at a terminal the
        # program goes on.
        if known is not None and known.exit_code != 1 and not hasattr(sys, "ps1"):
            raise SystemExit(known.exit_code)

    sys.excepthook = hook

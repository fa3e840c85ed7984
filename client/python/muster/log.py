"""The SDK's log lines, as records of `logging`.

From the first muster.join() on, lines go to the logger "muster", at the levels DEBUG, INFO, WARNING and ERROR. While
neither this logger nor the root logger has a handler, lines at MUSTER_LOG_LEVEL (warning) and above go to standard
error.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from typing import Optional

from muster._calls import of_thread
from muster._library import LogSink, library

LOGGER = logging.getLogger("muster")
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)
_NAMES = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_lock = threading.RLock()
_asked: Optional[bool] = None
_sink: Optional[LogSink] = None  # type: ignore[valid-type]
_process = 0  # the process that has set the sink


def _write(_context: Optional[int], level: int, line: bytes) -> None:
    # Catches everything: ctypes would only print the exception, and the line would be lost.
    of_thread.callbacks += 1
    try:
        text, severity = line.decode("utf-8", "replace"), _LEVELS[min(max(level, 0), 3)]
        if LOGGER.hasHandlers():
            LOGGER.log(severity, "%s", text)
        elif severity >= _NAMES.get(os.environ.get("MUSTER_LOG_LEVEL", ""), logging.WARNING):
            print(f"muster {logging.getLevelName(severity).lower()}: {text}", file=sys.stderr, flush=True)
    except Exception:  # pylint: disable=broad-except
        pass
    finally:
        of_thread.callbacks -= 1


def use_logging(enabled: bool = True) -> None:
    """Sends the SDK's lines to the logger "muster" or, if not `enabled`, back to standard error. Thread-safe.

    A handler of this logger must not call Muster, since it runs while the SDK writes the line.
    """
    global _asked, _sink, _process  # pylint: disable=global-statement
    with _lock:
        _asked = enabled
        if enabled and _sink is None:
            _sink = LogSink(_write)
            _process = os.getpid()
            library().set_log_sink(_sink, None)
        elif not enabled and _sink is not None:
            library().set_log_sink(LogSink(), None)
            _sink = None


def use_logging_unless_asked() -> None:
    """Enables the logger at the first join, unless the program has called use_logging()."""
    if _asked is None:
        level = _NAMES.get(os.environ.get("MUSTER_LOG_LEVEL", ""))
        if level is not None and LOGGER.level == logging.NOTSET:
            LOGGER.setLevel(level)
        use_logging(True)


def _stop() -> None:
    # The interpreter is about to end, and then the SDK's threads may not call into it. A fork has
    # none of these threads, but may have a lock that one of them held.
    if os.getpid() != _process:
        return
    with _lock:
        if _sink is not None:
            use_logging(False)


atexit.register(_stop)

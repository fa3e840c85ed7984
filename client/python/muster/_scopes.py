"""Blocks that only some ranks run. While one is open, the thread's collectives do not wait. See muster/scopes.h."""

from __future__ import annotations

import contextlib
import threading
from typing import Iterator


class Preventions:
    """The number of such blocks of one job that each thread has open."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @property
    def open(self) -> bool:
        return bool(getattr(self._of_thread, "count", 0))

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        self._of_thread.count = getattr(self._of_thread, "count", 0) + 1
        try:
            yield
        finally:
            self._of_thread.count -= 1

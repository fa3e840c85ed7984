"""The programs of a wheel: its console scripts `musterd` and `muster` become them."""

import os
import sys
from typing import NoReturn

from muster._library import folder


def _become(name: str) -> NoReturn:
    path = os.path.join(folder(), name)
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: cannot run {path}: {error.strerror}; install the wheel again, or Muster itself (tools/install)")


def musterd() -> NoReturn:
    """The coordinator of a job."""
    _become("musterd")


def muster() -> NoReturn:
    """The launcher, and what looks at jobs."""
    _become("muster")

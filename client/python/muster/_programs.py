"""The console scripts `musterd` and `muster` of a wheel, which become the programs."""

import os
import sys
from typing import NoReturn

from muster._library import folder


def _exec_program(name: str) -> NoReturn:
    path = os.path.join(folder(), name)
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: cannot run {path}: {error.strerror}; install the wheel again, or Muster itself (tools/install)")


def musterd() -> NoReturn:
    """Becomes the coordinator of a job."""
    _exec_program("musterd")


def muster() -> NoReturn:
    """Becomes the launcher and command line."""
    _exec_program("muster")

"""Muster for Python: brings the processes of one distributed job together.

    import muster

    with muster.join() as job:                       # as the environment says: `muster run -- python3 train.py`
        job.barrier("loaded")
        samples = job.all_reduce(1000)
        with job.communicator() as ranks:
            ranks.all_reduce(gradients, "average")   # array.array, or numpy if it is there

When a rank dies, the calls of all others raise AbortedError, which names it. docs/python.md is the guide. The package
calls libmuster.so.0 by ctypes, and needs nothing else.
"""

from muster import encodings
from muster._arrays import ReduceOp
from muster._calls import Cancellation
from muster._errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    ErrorCode,
    FailedPreconditionError,
    ForkError,
    InternalError,
    InvalidArgumentError,
    MusterError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
)
from muster._launch import LaunchedProcess, LaunchError, launch, spawn
from muster._library import library as _loaded
from muster.communicator import Communicator
from muster.encodings import Encoding
from muster.group import Group
from muster.job import Job, Member, Subscription, join
from muster.lease import Lease
from muster.log import use_logging
from muster.store import Store, StoreEvent, StoreKind, Watch
from muster.workspace import Configuration, Tensor, Workspace

__version__ = _loaded().version().decode()

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "Cancellation",
    "CancelledError",
    "Communicator",
    "Configuration",
    "DataLossError",
    "DeadlineExceededError",
    "Encoding",
    "ErrorCode",
    "FailedPreconditionError",
    "ForkError",
    "Group",
    "InternalError",
    "InvalidArgumentError",
    "Job",
    "LaunchError",
    "LaunchedProcess",
    "Lease",
    "Member",
    "MusterError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ReduceOp",
    "ResourceExhaustedError",
    "Store",
    "StoreEvent",
    "StoreKind",
    "Subscription",
    "Tensor",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "Watch",
    "Workspace",
    "encodings",
    "join",
    "launch",
    "spawn",
    "use_logging",
]

"""A process's membership in its job."""

from __future__ import annotations

import ctypes
import dataclasses
import datetime
import os
import _thread
import weakref
from types import TracebackType
from typing import Any, Callable, ContextManager, Dict, Iterable, List, Optional, Tuple, Type, TypeVar, Union

from muster import _calls, _exit, log
from muster._calls import Cancellation, Handle, Timeout
from muster._errors import ErrorCode, MusterError, as_message, check, describe, error_of, take_error
from muster._library import CMember, FailureCallback, Work, library
from muster._listening import Listening
from muster._scopes import Preventions
from muster.encodings import AnyEncoding, find
from muster.group import Group, new_group, take_values
from muster.lease import Lease
from muster.store import Store

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Member:
    """One process of the job, as every process sees it."""

    rank: int  # in the world
    local_rank: int  # among the processes of its node
    node_rank: int  # of the member's node
    node_id: str  # a domain of one file system and GPUs: MUSTER_NODE_ID, else host and boot
    hostname: str
    pid: int  # on its host
    previous_rank: Optional[int]  # in the last epoch; None for newcomers and in the first epoch
    topology: str  # "zone/rack/switch"


class Subscription(Listening):
    """A callback that waits for an event. Keep this object: without it the callback is no longer called."""

    def __init__(self, job: Handle, callback: Callable[[MusterError], None]) -> None:
        self._callback = callback
        this = weakref.ref(self)

        def call(status: int) -> None:
            subscription = this()
            if subscription is not None:
                subscription._callback(error_of(status))

        super().__init__(FailureCallback, call,
                         lambda function, out: job.ask(library().on_failure, function, None, out), "Job.on_failure()")

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


# The options of join(), with their environment variables.
_VARIABLES = {
    "coordinator": "MUSTER_COORDINATOR", "job": "MUSTER_JOB", "world_size": "MUSTER_WORLD_SIZE", "rank": "MUSTER_RANK",
    "local_rank": "MUSTER_LOCAL_RANK", "node_rank": "MUSTER_NODE_RANK", "node_id": "MUSTER_NODE_ID",
    "topology": "MUSTER_TOPOLOGY", "timeout": "MUSTER_TIMEOUT", "coordinator_timeout": "MUSTER_COORDINATOR_TIMEOUT",
    "node_fanin": "MUSTER_NODE_FANIN", "node_commits": "MUSTER_NODE_COMMITS", "token_file": "MUSTER_TOKEN_FILE",
    "tls_ca": "MUSTER_TLS_CA", "tls_cert": "MUSTER_TLS_CERT", "tls_key": "MUSTER_TLS_KEY", "tls_server_name": "MUSTER_TLS_SERVER_NAME",
}


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (float, datetime.timedelta)):
        return f"{_calls.milliseconds(value)}ms"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _fill_options(options: ctypes.c_void_p, given: Dict[str, Any]) -> None:
    for name, value in given.items():
        if value is None:
            continue
        if name.endswith("timeout"):
            value = float(value) if isinstance(value, int) else value
        # File names may have bytes that are not text.
        data = _calls.text(_value_text(value), name, "surrogateescape")
        check(library().options_set(options, _VARIABLES[name].encode(), data))


# The job that this process joined last: see muster.toolkits.
_latest: List["weakref.ref[Job]"] = []


def latest() -> Optional["Job"]:
    """Returns the job that this process joined last, or None if it has left or closed that."""
    job = _latest[-1]() if _latest else None
    return job if job is not None and not job.left else None


def join(
    *,
    coordinator: Optional[str] = None,
    job: Optional[str] = None,
    world_size: Optional[int] = None,
    rank: Optional[int] = None,
    local_rank: Optional[int] = None,
    node_rank: Optional[int] = None,
    node_id: Optional[str] = None,
    topology: Optional[str] = None,
    timeout: Timeout = None,
    coordinator_timeout: Timeout = None,
    node_fanin: Optional[bool] = None,
    node_commits: Optional[bool] = None,
    token_file: Union[None, str, "os.PathLike[str]"] = None,
    tls_ca: Union[None, str, "os.PathLike[str]"] = None,
    tls_cert: Union[None, str, "os.PathLike[str]"] = None,
    tls_key: Union[None, str, "os.PathLike[str]"] = None,
    tls_server_name: Optional[str] = None,
    environment: bool = True,
    cancellation: Optional[Cancellation] = None,
) -> "Job":
    """Joins a job, and blocks until all its members have joined.

    Options that are not given come from the environment (docs/environment.md), or with environment=False have their
    defaults. Without a coordinator the job is serial: it has only this process, and every call works.

      coordinator          the address of musterd: "host:port" or "[ipv6]:port"
      job                  the job's id; the daemon rejects members of another job
      world_size           number of processes; default: as the daemon or the other members say
      rank                 the rank that this process must get; either every process asks for one, or none does
      local_rank           orders the processes of a node; node_rank orders the nodes
      node_id              names a domain of one file system and GPUs; default: host name and boot id
      topology             "zone/rack/switch": neighbours get neighbouring ranks
      timeout              default of every waiting call, including this one, in seconds; 30 minutes by default
      coordinator_timeout  how long to try to reach a coordinator that does not answer; 10 minutes by default
      node_fanin           whether processes of one node arrive at collectives together, through shared memory
      node_commits         whether a collective of one node's ranks may complete there, and the coordinator hears later
      token_file           file with the job's token
      tls_ca, tls_cert, tls_key, tls_server_name   PEM files, and the name in the coordinator's certificate

    Errors say in which phase joining ended. DeadlineExceededError, UnavailableError; InvalidArgumentError (an option is
    wrong, or does not match the other members'); FailedPreconditionError (the job is full or finished, or the
    environment states several processes but no coordinator); AbortedError (the job has failed); NotFoundError (the
    coordinator serves another job); AlreadyExistsError (the rank is taken, or this process has joined already);
    ResourceExhaustedError; CancelledError. Ctrl-C ends the call at once.

    From then on, an uncaught exception ends the process with an exit code that does not blame this rank for another's
    loss.
    """
    lib = library()
    log.use_logging_unless_asked()
    _exit.note("")
    given = {name: value for name, value in locals().items() if name in _VARIABLES}

    # One call, so that the options live as long as joining takes, whatever interrupts the wait for
    # it.
    def call(token: Any, place: Any) -> Optional[int]:
        options = ctypes.c_void_p()
        check((lib.options_from_environment if environment else lib.options_new)(ctypes.byref(options)))
        try:
            _fill_options(options, given)
            status: Optional[int] = lib.join(options, token, place)
            return status
        finally:
            lib.options_free(options)

    joined = Job(_calls.wait(None, call, cancellation=cancellation, new=_job_handle, options=False))
    _latest.append(weakref.ref(joined))
    del _latest[:-1]
    _exit.note(f"rank {joined.rank}")
    return joined


def _job_handle(pointer: int) -> Handle:
    lib = library()
    return Handle(pointer, lib.job_free, f"job '{(lib.job_id(pointer) or b'').decode()}'")


def alone() -> "Job":
    """Returns a job of this process alone. latest() does not return it."""
    lib = library()
    options, out = ctypes.c_void_p(), ctypes.c_void_p()
    check(lib.options_new(ctypes.byref(options)))
    try:
        check(lib.join(options, None, ctypes.byref(out)))
    finally:
        lib.options_free(options)
    assert out.value is not None
    return Job(_job_handle(out.value))


class Job(Group):
    """A process's membership in its job: rank, collectives of small objects, leases. Made by join().

        with muster.join() as job:
            job.barrier("loaded")
            samples = job.all_reduce(len(data))

    At the end of the block, the process leaves the job, and waits until all others leave too. If an exception leaves
    the block, the other members see this process as lost at once, and their calls raise AbortedError, which names this
    rank. If no process catches its exception, the others exit with 75 and this one with 1. `sys.exit(0)` leaves as the
    end of the block does.

    When any member is lost, every waiting and later call raises AbortedError. The text is the same everywhere, and
    names the member's rank, node, process and cause. In an elastic job, rejoin() then enters the next epoch: the next
    formed membership of the job.

    Thread-safe. After os.fork(), the child cannot use the parent's job: ForkError.
    """

    def __init__(self, handle: Handle) -> None:
        lib = library()
        self._id = (handle.ask(lib.job_id) or b"").decode()
        super().__init__(handle, "", Preventions(), lib.world)
        self._left = False

    def __repr__(self) -> str:
        if self._handle.closed:
            return f"<muster.Job {self._id!r}, closed>"
        return f"<muster.Job {self._id!r}: rank {self.rank} of {self.world_size}>"

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._handle.check_process()
        try:
            if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
                if not self._left:
                    self.leave()
        finally:
            self.close()

    def leave(self, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> None:
        """Declares that this process needs nothing more, and blocks until every member is leaving or lost. Later
        collectives and leases are refused. May be called again. DeadlineExceededError names the ranks that are not
        leaving; this process then counts as lost."""
        self._job_wait(library().leave, timeout, cancellation)
        self._left = True

    def close(self) -> None:
        """Ends the membership. Without an earlier leave(), the other members see this process as lost. Other threads'
        calls end with CancelledError. Waits for no other process. May be called again."""
        self._handle.close()

    @property
    def left(self) -> bool:
        """Whether this process has left the job, or closed it."""
        return self._left or self._handle.closed

    def _job_wait(self, function: Callable[..., Optional[int]], timeout: Timeout, cancellation: Optional[Cancellation],
                  *before: Any) -> None:
        _calls.wait(self._handle, function, before, timeout=timeout, cancellation=cancellation)

    # ---- This process's place in the job. Nothing here blocks.

    @property
    def id(self) -> str:
        """The job's id."""
        return self._id

    @property
    def rank(self) -> int:
        """This process's rank in the world, from 0."""
        return int(self._handle.ask(library().rank))

    @property
    def world_size(self) -> int:
        """The number of processes in the job."""
        return int(self._handle.ask(library().world_size))

    @property
    def size(self) -> int:
        """The same as world_size."""
        return self.world_size

    @property
    def local_rank(self) -> int:
        """This process's index on its node."""
        return int(self._handle.ask(library().local_rank))

    @property
    def local_world_size(self) -> int:
        """The number of processes on this node."""
        return int(self._handle.ask(library().local_world_size))

    @property
    def node_rank(self) -> int:
        """This node's index."""
        return int(self._handle.ask(library().node_rank))

    @property
    def num_nodes(self) -> int:
        """The number of nodes."""
        return int(self._handle.ask(library().num_nodes))

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @property
    def is_distributed(self) -> bool:
        """Whether the job has a coordinator; false in serial mode."""
        return bool(self._handle.ask(library().is_distributed))

    @property
    def members(self) -> Tuple[Member, ...]:
        """Every member, in rank order."""
        return tuple(self._member(rank) for rank in range(self.world_size))

    @property
    def self(self) -> Member:
        """This process's entry in members."""
        return self._member(self.rank)

    def _member(self, rank: int) -> Member:
        def copy(pointer: int) -> Member:
            found = CMember(size=ctypes.sizeof(CMember))
            check(library().member_of(pointer, rank, ctypes.byref(found)))
            texts = [(text or b"").decode("utf-8", "replace") for text in (found.node_id, found.hostname, found.topology)]
            previous = None if found.previous_rank < 0 else found.previous_rank
            return Member(found.rank, found.local_rank, found.node_rank, texts[0], texts[1], found.pid, previous, texts[2])

        member: Member = self._handle.ask(copy)
        return member

    # ---- The health of the job.

    def health(self) -> Optional[MusterError]:
        """Returns None while every member is alive, afterwards the error with which calls end. Does not block."""
        return take_error(self._handle.ask(library().health))

    def on_failure(self, callback: Callable[[MusterError], None]) -> Subscription:
        """Calls `callback` once, with the error of health(), or CancelledError if the job is closed first. Calls it
        from a thread of the SDK, or at once in this thread. The callback must not block or call the job. It is for the
        current epoch only."""
        return Subscription(self._handle, callback)

    def await_failure(self, timeout: Timeout) -> Optional[MusterError]:
        """Blocks until health() is an error and returns it. Returns None after `timeout` seconds."""
        limit = _calls.milliseconds(timeout)
        failed = _thread.allocate_lock()  # an Event's lock may stay locked if a handler raises
        failed.acquire()
        with self.on_failure(lambda _: failed.release()):
            _calls.acquire(failed, None if limit < 0 else limit / 1000)
        return self.health()

    # ---- Elastic jobs.

    @property
    def epoch(self) -> int:
        """The number of the current epoch, which grows from each epoch to the next."""
        return int(self._handle.ask(library().epoch))

    @property
    def resumed(self) -> bool:
        """Whether rank 0 is a survivor of an earlier epoch, and so holds the job's state."""
        return bool(self._handle.ask(library().resumed))

    @property
    def newcomers_waiting(self) -> int:
        """The number of processes that wait for a place in the next epoch."""
        return int(self._handle.ask(library().newcomers_waiting))

    def rejoin(self, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> None:
        """Enters the next epoch of an elastic job, after a loss or to take in newcomers. If the epoch is still whole,
        breaks it, so every other member must call rejoin() too. Blocks until the next epoch forms.

        Older groups and communicators keep raising the old epoch's error: make new ones. Survivors keep their order,
        and rank 0 is a survivor, so broadcast() gives every rank the state that the job had reached. Call it from one
        thread. FailedPreconditionError: the job is not elastic, or too few members are left. AbortedError: this process
        counts as lost. In serial mode nothing changes.
        """
        self._job_wait(library().rejoin, timeout, cancellation)

    def request_stop(self, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> None:
        """Asks all ranks to stop at the same step. Blocks until the coordinator knows. A signal handler may call it
        while the main thread waits."""
        self._job_wait(library().request_stop, timeout, cancellation)

    @property
    def stop_requested(self) -> bool:
        """Whether a stop was requested, as of the world's last collective that this process completed in this epoch.
        Becomes true at the same collective on all ranks."""
        return bool(self._handle.ask(library().stop_requested))

    # ---- Groups and communicators.

    def new_group(self, name: str, ranks: Iterable[int]) -> Group:
        """Makes a group of some ranks, in the given order. All of them must make it in the same way. Does not block.
        InvalidArgumentError: the name or list is empty, a rank is out of range or listed twice, or the caller's is
        missing."""
        return new_group(self, self._handle, name, ranks, self._preventions)

    def split(self, color: Optional[int], key: int = 0, *, timeout: Timeout = None,
              cancellation: Optional[Cancellation] = None) -> Optional[Group]:
        """Divides the world into groups, one for each color, in the order of the keys. Returns the caller's group, or
        None to callers that pass no color. A collective of the world."""
        name = f"split, color {color}"

        def new(pointer: Optional[int]) -> Optional[Handle]:
            return Handle(pointer, library().group_free, f"the group '{name}'", self._handle) if pointer else None

        chosen = None if color is None else ctypes.pointer(ctypes.c_int(color))
        handle = _calls.wait(self._handle, library().split, (chosen, key), timeout=timeout, cancellation=cancellation,
                             new=new)
        return None if handle is None else Group(handle, name, self._preventions, job=self)

    def prevent_block(self) -> ContextManager[None]:
        """Returns a block in which this thread's collectives do not wait for other ranks: each returns at once with the
        caller's own value. For code that only some ranks run. Blocks nest."""
        return self._preventions.scope()

    @property
    def store(self) -> Store:
        """The job's keys and values, which all its processes share. Connects to nothing before the first call."""
        return Store(self._handle, self)

    # ---- Work that one process does.

    def once_per_node(self, name: str, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
                      cancellation: Optional[Cancellation] = None) -> Lease:
        """Asks for the right to do the named work once on each node. Blocks until this process holds the lease, or
        another process has completed the work. `encoding` is the result's. Errors are as for Group;
        DeadlineExceededError names the holder. The result lasts as long as the job, so work that each epoch needs must
        have the epoch in its name."""
        return self._acquire(name, 0, encoding, timeout, cancellation)

    def once_per_job(self, name: str, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
                     cancellation: Optional[Cancellation] = None) -> Lease:
        """As once_per_node(), but once in the job."""
        return self._acquire(name, 1, encoding, timeout, cancellation)

    def _acquire(self, name: str, scope: int, encoding: AnyEncoding, timeout: Timeout,
                 cancellation: Optional[Cancellation]) -> Lease:
        def new(pointer: int) -> Handle:
            return Handle(pointer, library().lease_free, f"the lease '{name}'", self._handle)

        chosen = find(encoding)
        handle = _calls.wait(self._handle, library().acquire_lease, (_calls.text(name, "name"), scope), timeout=timeout,
                             cancellation=cancellation, new=new)
        return Lease(handle, self, name, chosen)

    def run_once_per_node(self, name: str, work: Callable[[], T], *, encoding: AnyEncoding = "json",
                          timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> T:
        """Runs `work` on the first process of each node that asks, and returns its value to all processes of the
        node."""
        return _run(self.once_per_node(name, encoding=encoding, timeout=timeout, cancellation=cancellation), work)

    def run_once_per_job(self, name: str, work: Callable[[], T], *, encoding: AnyEncoding = "json",
                         timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> T:
        """As run_once_per_node(), but once in the job."""
        return _run(self.once_per_job(name, encoding=encoding, timeout=timeout, cancellation=cancellation), work)

    def run_on_rank(self, rank: int, work: Callable[[], T], *, encoding: AnyEncoding = "json", timeout: Timeout = None,
                    cancellation: Optional[Cancellation] = None) -> T:
        """Runs `work` on rank `rank` and returns its value on every rank. A collective of the world.

        An exception of the work is raised on every rank, as an InternalError, or as the MusterError that it was, and
        names the rank. On that rank itself, the exception is the cause of the error. While the work runs, its thread's
        collectives do not wait (prevent_block). Without a time-out, the other ranks wait as long as that rank lives.
        KeyboardInterrupt and SystemExit of the work stay on that rank.
        """
        chosen = find(encoding)
        if self.prevents_block:
            return work()
        mine: Optional[bytes] = b""
        failed: Optional[Exception] = None
        if self.rank == rank:
            try:
                with self.prevent_block():
                    mine = chosen.encode(work())
            except Exception as error:  # pylint: disable=broad-except
                failed = error
        try:
            return chosen.decode(self._share(rank, mine or b"", failed, timeout, cancellation))  # type: ignore[no-any-return]
        except MusterError as error:
            if failed is not None:
                raise error from failed
            raise
        finally:
            del failed  # its traceback has this frame

    def _share(self, rank: int, mine: bytes, failed: Optional[Exception], timeout: Timeout,
               cancellation: Optional[Cancellation]) -> bytes:
        lib = library()
        why: Optional[Tuple[int, bytes]] = None
        if failed is not None:
            code = failed.code if isinstance(failed, MusterError) else ErrorCode.INTERNAL
            why = int(code), as_message(describe(failed))

        # Catches everything: after an exception, ctypes would return an invalid pointer.
        def give(_context: Optional[int], value: int) -> Optional[int]:
            _calls.of_thread.callbacks += 1
            status: Optional[int] = None
            try:
                status = lib.values_set(value, mine, len(mine)) if why is None else lib.status_new(*why)
            except BaseException:  # pylint: disable=broad-except
                status = lib.status_new(13, b"the result of the work could not be handed over")  # INTERNAL
            finally:
                _calls.of_thread.callbacks -= 1
            return status

        values: List[bytes] = _calls.wait(self._handle, lib.run_on_rank, (rank, Work(give), None), timeout=timeout,
                                          cancellation=cancellation, new=take_values)
        return values[0]

    def run_on_main(self, work: Callable[[], T], *, encoding: AnyEncoding = "json", timeout: Timeout = None,
                    cancellation: Optional[Cancellation] = None) -> T:
        """As run_on_rank(), on rank 0."""
        return self.run_on_rank(0, work, encoding=encoding, timeout=timeout, cancellation=cancellation)


def _run(lease: Lease, work: Callable[[], T]) -> T:
    with lease:
        if lease.held:
            value = work()
            lease.complete(value)
            return value
        return lease.result  # type: ignore[no-any-return]



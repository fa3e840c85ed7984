"""A process's membership in its job."""

from __future__ import annotations

import atexit
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
from muster._scopes import Preventions
from muster.encodings import AnyEncoding, find
from muster.group import Group, new_group, take_values
from muster.lease import Lease

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Member:
    """One process of the job, as every process sees it."""

    rank: int  # in the world
    local_rank: int  # among the processes of its node
    node_rank: int  # of its node
    node_id: str  # what shares a file system and GPUs: MUSTER_NODE_ID, else host and boot
    hostname: str
    pid: int  # on its host
    previous_rank: Optional[int]  # in the epoch before; None of a newcomer, and of all in the first epoch
    topology: str  # "zone/rack/switch"


# A callback may not run any more when the interpreter ends.
_subscriptions: "weakref.WeakSet[Subscription]" = weakref.WeakSet()
# What the library calls, from before it knows of it until it has forgotten it, whatever signal handlers raise meanwhile.
_functions: Dict[int, Any] = {}  # by id(): they have no hash


def _end_subscriptions() -> None:
    for subscription in list(_subscriptions):
        subscription.close()


atexit.register(_end_subscriptions)


class Subscription:
    """A callback that waits for an event. Keep it: the callback is no longer called once this is gone."""

    def __init__(self, job: Handle, callback: Callable[[MusterError], None]) -> None:
        self._callback = callback
        this = weakref.ref(self)

        def call(_context: Optional[int], status: int) -> None:
            _calls.of_thread.callbacks += 1
            try:
                subscription = this()
                if subscription is not None:
                    subscription._callback(error_of(status))
            except Exception:  # pylint: disable=broad-except
                log.LOGGER.exception("a callback of Job.on_failure() has raised an exception")
            finally:
                subscription = None
                _calls.of_thread.callbacks -= 1

        function = FailureCallback(call)
        _functions[id(function)] = function
        out = ctypes.c_void_p()
        # Before the call, since a signal handler may raise right after it.
        self._handle = Handle(out, library().subscription_free, "the subscription",
                              forget=map(_functions.pop, [id(function)]))
        try:
            check(job.ask(library().on_failure, function, None, ctypes.byref(out)))
            _subscriptions.add(self)
        except BaseException:
            self._handle.close()
            raise

    def close(self) -> None:
        """When this returns the callback is not running, and never will. Not from the callback."""
        self._handle.close()

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


# What joining takes, and the variable that says the same.
_VARIABLES = {
    "coordinator": "MUSTER_COORDINATOR", "job": "MUSTER_JOB", "world_size": "MUSTER_WORLD_SIZE", "rank": "MUSTER_RANK",
    "local_rank": "MUSTER_LOCAL_RANK", "node_rank": "MUSTER_NODE_RANK", "node_id": "MUSTER_NODE_ID",
    "topology": "MUSTER_TOPOLOGY", "timeout": "MUSTER_TIMEOUT", "coordinator_timeout": "MUSTER_COORDINATOR_TIMEOUT",
    "node_fanin": "MUSTER_NODE_FANIN", "token_file": "MUSTER_TOKEN_FILE", "tls_ca": "MUSTER_TLS_CA",
    "tls_cert": "MUSTER_TLS_CERT", "tls_key": "MUSTER_TLS_KEY", "tls_server_name": "MUSTER_TLS_SERVER_NAME",
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
        # Names of files may have bytes that are no text.
        data = _calls.text(_value_text(value), name, "surrogateescape")
        check(library().options_set(options, _VARIABLES[name].encode(), data))


# The job that this process has joined last: see muster.toolkits.
_latest: List["weakref.ref[Job]"] = []


def latest() -> Optional["Job"]:
    """Returns the job that this process has joined last, unless it has left or closed it."""
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
    token_file: Union[None, str, "os.PathLike[str]"] = None,
    tls_ca: Union[None, str, "os.PathLike[str]"] = None,
    tls_cert: Union[None, str, "os.PathLike[str]"] = None,
    tls_key: Union[None, str, "os.PathLike[str]"] = None,
    tls_server_name: Optional[str] = None,
    environment: bool = True,
    cancellation: Optional[Cancellation] = None,
) -> "Job":
    """Joins a job, and blocks until all its members have.

    What is not given is what the environment says (docs/environment.md); with environment=False the default. Without a
    coordinator: serial mode, a job of this one process, in which every call works.

      coordinator          where musterd listens: "host:port", "[ipv6]:port"
      job                  the job's id; the daemon refuses members of another job
      world_size           number of processes; default: as the daemon or the other members say
      rank                 that this process must get; either every process asks for one, or none
      local_rank           orders the processes of a node; node_rank orders the nodes
      node_id              what shares a file system and GPUs; default: host name and boot id
      topology             "zone/rack/switch": neighbours get neighbouring ranks
      timeout              of every waiting call, this one included, in seconds; 30 minutes by default
      coordinator_timeout  how long to try to reach a coordinator that does not answer; 10 minutes by default
      node_fanin           whether processes of one node arrive at collectives together, through shared memory
      token_file           holds the job's token
      tls_ca, tls_cert, tls_key, tls_server_name   files in PEM, and the name in the coordinator's certificate

    Errors say in which phase joining ended. DeadlineExceededError, UnavailableError; InvalidArgumentError (an option is
    wrong, or does not fit those of the others); FailedPreconditionError (the job is full or finished; or the environment
    says that there are several processes, and names no coordinator); AbortedError (the job has failed); NotFoundError
    (another job's coordinator); AlreadyExistsError (the rank is taken, or this process has joined already);
    ResourceExhaustedError; CancelledError. Ctrl-C ends it at once.

    From then on an exception that nobody catches ends the process with the exit code that does not blame this rank for
    the loss of another.
    """
    lib = library()
    log.use_logging_unless_asked()
    _exit.note("")
    given = {name: value for name, value in locals().items() if name in _VARIABLES}

    # All of it in one call, so that the options live as long as joining takes, whatever interrupts the wait for it.
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
    """Returns a job of this process alone, which is not the one that it has joined last."""
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

    Where the block ends, the process leaves the job, which waits until all others leave, too. Where an exception leaves
    it, the process is lost to the others at once, and their calls raise AbortedError, which names this rank; an exception
    that nobody catches then ends them with 75, and this process with 1. `sys.exit(0)` leaves as the end of the block does.

    When any member is lost, every waiting and later call raises AbortedError with one text that names the member's rank,
    node, process and cause. In an elastic job rejoin() then leads into the next epoch: one formed membership of the job.

    Thread-safe. A process that called os.fork() cannot use a job that it had before: ForkError.
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
        """Says that this process needs nothing more, and blocks until every member is leaving or lost. Collectives and
        leases after it are refused. Harmless when called again. DeadlineExceededError names the ranks that are not leaving; this
        process then counts as lost."""
        self._job_wait(library().leave, timeout, cancellation)
        self._left = True

    def close(self) -> None:
        """Ends the membership. Without leave() before it, the other members see this process as lost. Calls of other
        threads end with CancelledError. Waits for nobody else; harmless when called again."""
        self._handle.close()

    @property
    def left(self) -> bool:
        """Whether this process has left the job, or closed it."""
        return self._left or self._handle.closed

    def _job_wait(self, function: Callable[..., Optional[int]], timeout: Timeout, cancellation: Optional[Cancellation],
                  *before: Any) -> None:
        _calls.wait(self._handle, function, before, timeout=timeout, cancellation=cancellation)

    # ---- Who this process is. None of it blocks.

    @property
    def id(self) -> str:
        """The job's name."""
        return self._id

    @property
    def rank(self) -> int:
        """This process's place in the world, from 0."""
        return int(self._handle.ask(library().rank))

    @property
    def world_size(self) -> int:
        """How many processes the job has."""
        return int(self._handle.ask(library().world_size))

    @property
    def size(self) -> int:
        """The same."""
        return self.world_size

    @property
    def local_rank(self) -> int:
        """This process's place on its node."""
        return int(self._handle.ask(library().local_rank))

    @property
    def local_world_size(self) -> int:
        """How many processes this node has."""
        return int(self._handle.ask(library().local_world_size))

    @property
    def node_rank(self) -> int:
        """This node's place."""
        return int(self._handle.ask(library().node_rank))

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return int(self._handle.ask(library().num_nodes))

    @property
    def is_main(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0

    @property
    def is_distributed(self) -> bool:
        """False in serial mode."""
        return bool(self._handle.ask(library().is_distributed))

    @property
    def members(self) -> Tuple[Member, ...]:
        """Every member, in rank order."""
        return tuple(self._member(rank) for rank in range(self.world_size))

    @property
    def self(self) -> Member:
        """This process's own entry of members."""
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
        """Returns None while every member is there, afterwards the error that calls end with. Does not block."""
        return take_error(self._handle.ask(library().health))

    def on_failure(self, callback: Callable[[MusterError], None]) -> Subscription:
        """Calls `callback` once, with the error that health() then is (CancelledError where the job is closed first):
        from a thread of the SDK, or at once in this one. It must not block, nor call the job. Of the current epoch."""
        return Subscription(self._handle, callback)

    def await_failure(self, timeout: Timeout) -> Optional[MusterError]:
        """Blocks until health() is an error and returns it, or None after `timeout` seconds."""
        limit = _calls.milliseconds(timeout)
        failed = _thread.allocate_lock()  # an Event's own lock would stay locked where a signal handler raises in it
        failed.acquire()
        with self.on_failure(lambda _: failed.release()):
            _calls.acquire(failed, None if limit < 0 else limit / 1000)
        return self.health()

    # ---- Elastic jobs.

    @property
    def epoch(self) -> int:
        """Names the current epoch; grows from each to the next."""
        return int(self._handle.ask(library().epoch))

    @property
    def resumed(self) -> bool:
        """Whether rank 0 is a survivor of an earlier epoch, which holds the job's state."""
        return bool(self._handle.ask(library().resumed))

    @property
    def newcomers_waiting(self) -> int:
        """How many processes wait for a place that the next epoch has for them."""
        return int(self._handle.ask(library().newcomers_waiting))

    def rejoin(self, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> None:
        """Leads into the next epoch of an elastic job: after a loss, or to take in newcomers. Breaks the epoch if it is
        still whole, so that every other member must call it too. Blocks until the next one forms.

        Groups and communicators from before keep raising the old epoch's error: make new ones. Survivors keep their
        order, and rank 0 is one of them, so that broadcast() gives everybody what the job had reached. From one thread.
        FailedPreconditionError: the job is not elastic, or too few members are left; AbortedError: this process counts as
        lost. In serial mode nothing changes.
        """
        self._job_wait(library().rejoin, timeout, cancellation)

    def request_stop(self, *, timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> None:
        """Asks all ranks to stop at one and the same step. Blocks until the coordinator knows. A signal handler may call
        it while the main thread waits."""
        self._job_wait(library().request_stop, timeout, cancellation)

    @property
    def stop_requested(self) -> bool:
        """Whether a collective of the world that this process has completed in this epoch said that a stop was asked for.
        Turns true at the same collective on all ranks."""
        return bool(self._handle.ask(library().stop_requested))

    # ---- Groups and communicators.

    def new_group(self, name: str, ranks: Iterable[int]) -> Group:
        """A group of some ranks, in the order given, which all of them must create alike. Does not block.
        InvalidArgumentError: an empty name or list, a rank twice, out of range, or without the caller's own."""
        return new_group(self, self._handle, name, ranks, self._preventions)

    def split(self, color: Optional[int], key: int = 0, *, timeout: Timeout = None,
              cancellation: Optional[Cancellation] = None) -> Optional[Group]:
        """Divides the world into groups, one for each color, in the order of the keys, and returns the caller's; None to
        callers that pass no color. A collective of the world."""
        name = f"split, color {color}"

        def new(pointer: Optional[int]) -> Optional[Handle]:
            return Handle(pointer, library().group_free, f"the group '{name}'", self._handle) if pointer else None

        chosen = None if color is None else ctypes.pointer(ctypes.c_int(color))
        handle = _calls.wait(self._handle, library().split, (chosen, key), timeout=timeout, cancellation=cancellation,
                             new=new)
        return None if handle is None else Group(handle, name, self._preventions, job=self)

    def prevent_block(self) -> ContextManager[None]:
        """A block in which the collectives of this thread do not wait for the other ranks: each returns at once with the
        caller's own value. For blocks that only some ranks run. They nest."""
        return self._preventions.scope()

    # ---- Work that one process does.

    def once_per_node(self, name: str, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
                      cancellation: Optional[Cancellation] = None) -> Lease:
        """Asks for the right to do the named work once on each node. Blocks until this process holds the lease, or another
        one has completed the work. `encoding` is that of the result. Errors as of Group; DeadlineExceededError names the
        holder. The result lasts as long as the job: work that each epoch needs has the epoch in its name."""
        return self._acquire(name, 0, encoding, timeout, cancellation)

    def once_per_job(self, name: str, *, encoding: AnyEncoding = "bytes", timeout: Timeout = None,
                     cancellation: Optional[Cancellation] = None) -> Lease:
        """The same, once in the job."""
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
        """Runs `work` on the first process of each node to ask, and returns its value to all of them."""
        return _run(self.once_per_node(name, encoding=encoding, timeout=timeout, cancellation=cancellation), work)

    def run_once_per_job(self, name: str, work: Callable[[], T], *, encoding: AnyEncoding = "json",
                         timeout: Timeout = None, cancellation: Optional[Cancellation] = None) -> T:
        """The same, once in the job."""
        return _run(self.once_per_job(name, encoding=encoding, timeout=timeout, cancellation=cancellation), work)

    def run_on_rank(self, rank: int, work: Callable[[], T], *, encoding: AnyEncoding = "json", timeout: Timeout = None,
                    cancellation: Optional[Cancellation] = None) -> T:
        """Runs `work` on that rank and returns its value on every rank. A collective of the world.

        An exception of the work is raised on every rank as an InternalError, or as the error of Muster that it was, with
        the name of the rank; on that rank itself the exception is its cause. While the work runs, collectives of its
        thread do not wait (prevent_block). The other ranks wait for as long as that rank lives, unless there is a time-out.
        KeyboardInterrupt and SystemExit of the work are this rank's alone.
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

        # An exception cannot leave this: ctypes would return a pointer that is none.
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
        """The same on rank 0."""
        return self.run_on_rank(0, work, encoding=encoding, timeout=timeout, cancellation=cancellation)


def _run(lease: Lease, work: Callable[[], T]) -> T:
    with lease:
        if lease.held:
            value = work()
            lease.complete(value)
            return value
        return lease.result  # type: ignore[no-any-return]



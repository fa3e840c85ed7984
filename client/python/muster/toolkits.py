"""The distributed utilities of SpeechBrain, Axolotl, Ignite, VirTex and ModelOpt, under their own names.

docs/toolkits.md has the names side by side. Everything here is built on Job, Group and Communicator; new programs do
not need it. A call uses the process's current job, which initialize() joins, or another one given as `job=`. Without a
current job, it uses a job of this process alone, in which every call works.

If ranks wait for a function that another rank runs, they wait as long as that rank lives, or until `timeout` if it is
given. If the function raises, all ranks that wait for it raise an InternalError, or the MusterError that it was, which
names the rank. On that rank itself, the exception is the error's cause. While a function runs on some of the ranks, the
collectives that it calls do not wait. Values are encoded with `encoding`, by default "json"; pickle is never a default.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import mmap
import os
import shutil
import socket
import tempfile
import weakref
from typing import Any, Callable, ContextManager, Dict, Iterator, List, NoReturn, Optional, Sequence, Tuple, Type, TypeVar

from muster import _arrays, _gpu, log
from muster._calls import Timeout
from muster._errors import (_CLASSES, ErrorCode, FailedPreconditionError, InvalidArgumentError, MusterError, check,
                            describe)
from muster._launch import launch as _launch
from muster._launch import spawn as _spawn
from muster._library import library
from muster.communicator import Communicator
from muster.encodings import AnyEncoding, find
from muster.group import Group
from muster.job import Job, Member, alone, join, latest
from muster.workspace import Tensor, Workspace

T = TypeVar("T")

# The time-out, ten years, of ranks that wait for another rank's function. If that rank is lost, their calls end anyway.
_WHILE_IT_LIVES = 10 * 365 * 24 * 3600.0

# ---- The current job.

_state: Dict[str, Any] = {"current": None, "owned": False, "alone": None, "local_rank": None, "backend": None}


def current_job() -> Job:
    """Returns the current job, or a job of this process alone if there is none."""
    job = _state["current"]
    if job is not None and not job.left:
        return job  # type: ignore[no-any-return]
    if _state["alone"] is None or _state["alone"].left:
        _state["alone"] = alone()
    return _state["alone"]  # type: ignore[no-any-return]


def _job(job: Optional[Job]) -> Job:
    return current_job() if job is None else job


def initialize(backend: Optional[str] = None, **options: Any) -> Job:
    """Joins a job, makes it the current one, and returns it. `backend` is for the helpers that move arrays. Other
    options and errors are those of muster.join(). FailedPreconditionError: there is a current job already. As in
    Ignite."""
    if _state["current"] is not None and not _state["current"].left:
        raise FailedPreconditionError("there is a current job already: call finalize() before initialize()")
    if backend is not None and backend not in available_backends():
        raise InvalidArgumentError(f"there is no backend {backend!r}; there are: {', '.join(available_backends())}")
    _state.update(current=join(**options), owned=True, backend=backend)
    return _state["current"]  # type: ignore[no-any-return]


def ddp_init_group(run_opts: Optional[Dict[str, Any]] = None) -> Job:
    """As initialize(), with SpeechBrain's options: only "distributed_backend" of `run_opts` counts."""
    return initialize((run_opts or {}).get("distributed_backend"))


def sync() -> None:
    """Makes the job that this process joined last, in any way, the current one. If it has left or closed that job, or
    never joined one, a job of its own."""
    _state.update(current=latest(), owned=False)


def finalize() -> None:
    """Leaves the current job together with the other ranks, and closes it if initialize() joined it, even if leaving
    fails. Later calls use a job of this process alone."""
    job, owned = _state["current"], _state["owned"]
    _state.update(current=None, owned=False, backend=None)
    if job is None:
        return
    try:
        if not job.left:
            job.leave()
    finally:
        _drop_communicator(job)
        if owned:
            job.close()


def _from_environment(function: Callable[[Any], int]) -> Optional[int]:
    """Returns a value from the environment without joining, or None."""
    import ctypes  # pylint: disable=import-outside-toplevel

    lib, options = library(), ctypes.c_void_p()
    check(lib.options_from_environment(ctypes.byref(options)))
    try:
        number = function(options)
    finally:
        lib.options_free(options)
    return None if number < 0 else number


def _current() -> Optional[Job]:
    job = _state["current"]
    return None if job is None or job.left else job


def get_rank() -> Optional[int]:
    """Returns the rank in the current job. Without one, the rank in the environment, or None."""
    job = _current()
    return job.rank if job is not None else _from_environment(library().options_rank)


def get_local_rank() -> Optional[int]:
    """As get_rank(), for the local rank. Falls back to the value of set_local_rank()."""
    job = _current()
    if job is not None:
        return job.local_rank
    number = _from_environment(library().options_local_rank)
    return _state["local_rank"] if number is None else number


def set_local_rank(index: int) -> None:
    """Sets the local rank for the case that the environment has none."""
    if index < 0:
        raise InvalidArgumentError(f"the local rank is {index}, expected 0 or more")
    _state["local_rank"] = index


def get_world_size() -> int:
    """Returns the world size of the current job, or 1 without one."""
    return current_job().world_size


def get_nproc_per_node() -> int:
    """Returns the number of processes on this node."""
    return current_job().local_world_size


def get_nnodes() -> int:
    """Returns the number of nodes."""
    return current_job().num_nodes


def get_node_rank() -> int:
    """Returns this node's index."""
    return current_job().node_rank


def hostname() -> str:
    """Returns the name of this host."""
    return socket.gethostname()


def is_distributed(job: Optional[Job] = None) -> bool:
    """Returns whether the job has a coordinator; false in serial mode."""
    return _job(job).is_distributed


is_distributed_initialized = is_distributed


def is_main_process(job: Optional[Job] = None) -> bool:
    """Returns whether this is rank 0; true in serial mode."""
    return _job(job).is_main


if_main_process = is_main_process
is_master_process = is_main_process


def is_local_rank_zero(job: Optional[Job] = None) -> bool:
    """Returns whether this is the first process of its node."""
    return _job(job).local_rank == 0


def rank_prefixed_message(message: str) -> str:
    """Returns "[rank: 3] message", or the message alone if the rank is unknown."""
    rank = get_rank()
    return message if rank is None else f"[rank: {rank}] {message}"


# ---- Backend and device.


def available_backends() -> Tuple[str, ...]:
    """Returns the backends of this package. It moves arrays in host memory: over Gloo and through shared memory."""
    return ("gloo",)


def backend(job: Optional[Job] = None) -> Optional[str]:
    """Returns the backend of the helpers that move arrays, or None in serial mode."""
    if not _job(job).is_distributed:
        return None
    return _state["backend"] or os.environ.get("MUSTER_BACKEND") or available_backends()[0]


def device(job: Optional[Job] = None) -> str:  # pylint: disable=unused-argument
    """Returns the device of the arrays that this package moves: "cpu"."""
    return "cpu"


def infer_device() -> str:
    """As device(). The process need not have joined yet."""
    return "cpu"


def gpu_mem_usage() -> int:
    """Returns the MiB of GPU memory in use by this process, whatever library uses it. 0 without a GPU, and in containers
    in which the driver does not know the process by its pid. As in VirTex."""
    return _gpu.memory_in_use() >> 20


def model_name(job: Optional[Job] = None) -> str:
    """Returns the name of the way in which the processes work together: "serial" or "muster-gloo"."""
    name = backend(job)
    return "serial" if name is None else f"muster-{name}"


def show_config(level: int = logging.INFO, job: Optional[Job] = None) -> None:
    """Logs this process's place in the job, in one line, to the logger "muster"."""
    of = _job(job)
    log.LOGGER.log(
        level, "%s: device %s, host %s, world size %d, rank %d, local rank %d, %d processes on this node, %d nodes, node rank %d",
        model_name(of), device(of), hostname(), of.world_size, of.rank, of.local_rank, of.local_world_size, of.num_nodes,
        of.node_rank)


# ---- Starting processes.


def _initialized(local_rank: int, backend: Optional[str], fn: Callable[..., T], args: Sequence[Any],  # pylint: disable=redefined-outer-name
                 kwargs: Dict[str, Any]) -> T:
    initialize(backend)
    try:
        return fn(local_rank, *args, **kwargs)
    finally:
        finalize()


def spawn(backend: Optional[str], fn: Callable[..., Any],  # pylint: disable=redefined-outer-name
          args: Sequence[Any] = (), kwargs_dict: Optional[Dict[str, Any]] = None, nproc_per_node: int = 1,
          **options: Any) -> List[Any]:
    """Calls fn(local_rank, *args, **kwargs_dict) in new processes, between initialize(backend) and finalize(), and
    returns their values. Other options and errors are those of muster.launch(). As in Ignite, whose function returns
    nothing."""
    return _spawn(_initialized, (backend, fn, tuple(args), kwargs_dict or {}), nproc_per_node, **options)


def launch(job_fn: Callable[..., Any], num_machines: int = 1, num_gpus_per_machine: int = 1, machine_rank: int = 0,
           dist_url: Optional[str] = None, args: Sequence[Any] = (), **options: Any) -> List[Any]:
    """Calls job_fn(*args) in new processes, and returns their values. `dist_url` is the address of a musterd,
    "tcp://host:port" or "host:port", which several machines need. Other options and errors are those of
    muster.launch(). As in VirTex, whose function returns nothing."""
    address = None if dist_url is None else dist_url[len("tcp://"):] if dist_url.startswith("tcp://") else dist_url
    return _launch(job_fn, args, nproc_per_node=num_gpus_per_machine, nnodes=num_machines, node_rank=machine_rank,
                   coordinator=address, **options)


# ---- Waiting, and running functions on some of the ranks.


def barrier(label: str = "", *, job: Optional[Job] = None, timeout: Timeout = None) -> None:
    """Waits for all ranks."""
    _job(job).barrier(label, timeout=timeout)


ddp_barrier = barrier


def synchronize(*, job: Optional[Job] = None, timeout: Timeout = None) -> None:
    """As barrier(), without a label."""
    _job(job).barrier(timeout=timeout)


_Outcome = Tuple[int, str]
_DONE: _Outcome = (0, "")


def _outcome_of(error: Exception) -> _Outcome:
    if isinstance(error, MusterError):
        return int(error.code), error.message
    return int(ErrorCode.INTERNAL), describe(error)


def _name(member: Member) -> str:
    """Returns the name of a rank as the SDK writes it, with the host or the node's given id."""
    given = not member.node_id.startswith(member.hostname)
    where = f"node '{member.node_id}'" if given else f"host {member.hostname}"
    return f"rank {member.rank} ({where}, pid {member.pid})"


def _error_of(outcome: _Outcome, member: Member, world_size: int) -> MusterError:
    code, text = outcome
    kind: Type[MusterError] = _CLASSES.get(code, _CLASSES[int(ErrorCode.UNKNOWN)])
    return kind(text if world_size == 1 else f"{_name(member)}: {text}", rank=member.rank)


def _attempt(job: Job, function: Callable[[], T]) -> Tuple[Optional[T], Optional[Exception]]:
    """Runs a function, whose collectives do not wait. Returns its value, or its exception."""
    try:
        with job.prevent_block():
            return function(), None
    except Exception as error:  # pylint: disable=broad-except
        return None, error


def _raise(error: Exception) -> NoReturn:
    try:
        raise error
    finally:
        del error  # its traceback has this frame


def _share_failure(job: Job, group: Group, root: int, failed: Optional[Exception], timeout: Timeout) -> None:
    """Shares the outcome of the root's function with the group: if it failed, raises the error on all ranks."""
    if job.prevents_block:
        if failed is not None:
            _raise(failed)
        return
    at_root = group.rank == root
    outcome = _DONE if failed is None else _outcome_of(failed)
    patient = timeout if at_root or timeout is not None else _WHILE_IT_LIVES
    code, text = group.broadcast(list(outcome), root, encoding="json", timeout=patient)
    if code != 0:
        raise _error_of((code, text), job.members[group.ranks[root]], job.world_size) from failed


def run_on_main(func: Callable[..., T], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None,
                post_func: Optional[Callable[..., Any]] = None, post_args: Sequence[Any] = (),
                post_kwargs: Optional[Dict[str, Any]] = None, run_post_on_main: bool = False, *,
                encoding: AnyEncoding = "json", job: Optional[Job] = None, timeout: Timeout = None) -> T:
    """Runs `func` on the main process, and then `post_func` on the others, and with `run_post_on_main` on the main
    process too. Returns the value of `func` on every rank. The value of `post_func` is dropped, and its error stays on
    that rank. As in SpeechBrain, whose function returns nothing."""
    of = _job(job)
    value = of.run_on_main(lambda: func(*args, **(kwargs or {})), encoding=encoding, timeout=timeout)
    if post_func is not None and (run_post_on_main or not (of.is_main or of.prevents_block)):
        with of.prevent_block():
            post_func(*post_args, **(post_kwargs or {}))
    return value


def main_process_only(function: Optional[Callable[..., T]] = None, *, encoding: AnyEncoding = "json") -> Any:
    """Decorates a function so that it runs on the main process of the current job and returns its value on every rank.
    Write `@main_process_only` or `@main_process_only(encoding="pickle")`. As in SpeechBrain."""
    if function is None:
        return functools.partial(main_process_only, encoding=encoding)

    @functools.wraps(function)
    def on_main(*args: Any, **kwargs: Any) -> T:
        assert function is not None
        return current_job().run_on_main(lambda: function(*args, **kwargs), encoding=encoding)

    return on_main


def compute_and_broadcast(fn: Callable[[], T], rank: int = 0, *, encoding: AnyEncoding = "json",
                          job: Optional[Job] = None, timeout: Timeout = None) -> T:
    """Runs `fn` on rank `rank`, and returns its value on all ranks. As in Axolotl."""
    return _job(job).run_on_rank(rank, fn, encoding=encoding, timeout=timeout)


def one_rank_only(rank: int = 0, with_barrier: bool = False) -> Callable[[Callable[..., T]], Callable[..., Optional[T]]]:
    """Decorates a function so that it runs on one rank of the current job, and returns its value there and None
    elsewhere. With `with_barrier`, the other ranks wait for it and raise its error too. As in Ignite."""

    def decorate(function: Callable[..., T]) -> Callable[..., Optional[T]]:
        @functools.wraps(function)
        def on_one(*args: Any, **kwargs: Any) -> Optional[T]:
            job = current_job()
            if not 0 <= rank < job.world_size:
                raise InvalidArgumentError(f"one_rank_only: there is no rank {rank} in a job of {job.world_size}")
            value, failed = None, None
            if job.rank == rank or job.prevents_block:
                value, failed = _attempt(job, lambda: function(*args, **kwargs))
            if with_barrier:
                _share_failure(job, job, rank, failed, None)
            elif failed is not None:
                raise failed
            return value

        return on_one

    return decorate


def _node_group(job: Job) -> Group:
    """Returns the group of this node's processes, in the order of their local ranks."""
    mine = job.node_rank
    ranks = sorted((member.local_rank, member.rank) for member in job.members if member.node_rank == mine)
    return job.new_group(f"node {mine} of toolkits", [rank for _, rank in ranks])


def run_once_per_node(func: Callable[..., Any], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None,
                      post_func: Optional[Callable[..., Any]] = None, post_args: Sequence[Any] = (),
                      post_kwargs: Optional[Dict[str, Any]] = None, run_post_on_all: bool = False, *,
                      job: Optional[Job] = None, timeout: Timeout = None) -> Any:
    """Runs `func` on local rank 0 of each node while the node's other processes wait, and then `post_func` on the
    others, or with `run_post_on_all` on all. Returns the value of the last function that this process ran, or None if
    it ran none. No value leaves its process, so any type is allowed. As in SpeechBrain. Job.run_once_per_node()
    differs: there, the first process that asks runs the function, and its value goes to the whole node."""
    of = _job(job)
    value, failed = None, None
    runs = of.local_rank == 0 or of.prevents_block
    if runs:
        value, failed = _attempt(of, lambda: func(*args, **(kwargs or {})))
    with contextlib.closing(_node_group(of)) as node:
        _share_failure(of, node, 0, failed, timeout)
    if post_func is not None and (run_post_on_all or not runs):
        with of.prevent_block():
            value = post_func(*post_args, **(post_kwargs or {}))
    return value


def once_per_node(function: Callable[..., T]) -> Callable[..., Optional[T]]:
    """Decorates a function so that it runs on local rank 0 of each node, and returns its value there. The other ranks
    get None, and do not wait. As in SpeechBrain."""

    @functools.wraps(function)
    def on_first(*args: Any, **kwargs: Any) -> Optional[T]:
        job = current_job()
        if job.local_rank != 0 and not job.prevents_block:
            return None
        with job.prevent_block():
            return function(*args, **kwargs)

    return on_first


@contextlib.contextmanager
def _scope(job: Job, runs: bool) -> Iterator[bool]:
    with job.prevent_block() if runs else contextlib.nullcontext():
        yield runs


def zero_only(job: Optional[Job] = None) -> ContextManager[bool]:
    """Returns a block for the main process, for which no rank waits. A block cannot be skipped, so write `with
    zero_only() as main:` and `if main:`. As in Axolotl."""
    of = _job(job)
    return _scope(of, of.is_main)


MainProcessContext = zero_only


def OncePerNodeContext(job: Optional[Job] = None) -> ContextManager[bool]:  # pylint: disable=invalid-name
    """As zero_only(), for local rank 0 of each node. As in SpeechBrain."""
    of = _job(job)
    return _scope(of, of.local_rank == 0)


def ddp_prevent_block(job: Optional[Job] = None) -> ContextManager[None]:
    """Returns a block in which this thread's collectives return at once with the caller's own value. As in
    SpeechBrain."""
    return _job(job).prevent_block()


@contextlib.contextmanager
def zero_first(is_main: bool, *, job: Optional[Job] = None, timeout: Timeout = None) -> Iterator[None]:
    """A block that ranks with `is_main` true run first. When all of these have finished, the other ranks run it. If it
    fails on one of the first ranks, all ranks raise that error, and the others do not run it. As in Axolotl.

        with zero_first(is_local_rank_zero()):
            data = prepare()        # local rank 0 writes the cache that the others read
    """
    of = _job(job)
    failed: Optional[Exception] = None
    if is_main:
        try:
            with of.prevent_block():
                yield
        except Exception as error:  # pylint: disable=broad-except
            failed = error
    try:
        _share_first(of, failed, timeout)
    finally:
        del failed  # its traceback has this frame
    if not is_main:
        with of.prevent_block():
            yield


def _share_first(job: Job, failed: Optional[Exception], timeout: Timeout) -> None:
    mine = _DONE if failed is None else _outcome_of(failed)
    patient = _WHILE_IT_LIVES if timeout is None else timeout
    for rank, (code, text) in enumerate(job.all_gather(list(mine), encoding="json", timeout=patient)):
        if code != 0:
            if job.prevents_block and failed is not None:
                _raise(failed)
            raise _error_of((code, text), job.members[rank], job.world_size) from failed


# ---- Small objects of all ranks.


def broadcast(value: Any, src: int = 0, *, encoding: AnyEncoding = "json", job: Optional[Job] = None,
              timeout: Timeout = None) -> Any:
    """Returns the value of rank `src` on every rank. As ddp_broadcast in SpeechBrain."""
    return _job(job).broadcast(value, src, encoding=encoding, timeout=timeout)


ddp_broadcast = broadcast


def gather_from_all_ranks(fn: Callable[[], T], rank: int = 0, *, encoding: AnyEncoding = "json",
                          job: Optional[Job] = None, timeout: Timeout = None) -> List[T]:
    """Runs `fn` on every rank. Returns the values in rank order on rank `rank`, and an empty list on the others. If it
    fails on a rank, all ranks raise that error, with the rank's name. As in Axolotl."""
    of = _job(job)
    values = _run_on_all_ranks(of, fn, encoding, timeout)
    return values if of.rank == rank or of.prevents_block else []


def _run_on_all_ranks(job: Job, fn: Callable[[], T], encoding: AnyEncoding, timeout: Timeout) -> List[T]:
    chosen = find(encoding)
    mine, failed = b"", None
    try:
        mine = chosen.encode(fn())
    except Exception as error:  # pylint: disable=broad-except
        failed = error
    try:
        head = json.dumps(list(_DONE if failed is None else _outcome_of(failed))).encode()
        values = []
        for rank, told in enumerate(job.all_gather(head + b"\n" + mine, timeout=timeout)):
            outcome, _, data = told.partition(b"\n")
            code, text = json.loads(outcome)
            if code != 0:
                raise _error_of((code, text), job.members[rank], job.world_size) from failed
            values.append(chosen.decode(data))
        return values
    finally:
        del failed  # its traceback has this frame


def gather_scalar_from_all_ranks(fn: Callable[[], float], rank: int = 0, *, job: Optional[Job] = None,
                                 timeout: Timeout = None) -> List[float]:
    """As gather_from_all_ranks(), for a function that returns a number. As in Axolotl."""

    def number() -> float:
        value = fn()
        if not _arrays.is_number(value):
            raise InvalidArgumentError(f"the function has returned a {type(value).__name__}, expected a number")
        return value

    return gather_from_all_ranks(number, rank, job=job, timeout=timeout)


def reduce_and_broadcast(fn1: Callable[[], T], fn2: Callable[[List[T]], Any], *, encoding: AnyEncoding = "json",
                         job: Optional[Job] = None, timeout: Timeout = None) -> Any:
    """Runs `fn1` on every rank, and `fn2` on rank 0 with the list of all values. Returns its value everywhere. As in
    Axolotl."""
    of = _job(job)
    values = gather_from_all_ranks(fn1, encoding=encoding, job=of, timeout=timeout)
    return of.run_on_main(lambda: fn2(values), encoding=encoding, timeout=timeout)


# ---- Numbers and arrays of all ranks.

_communicators: "weakref.WeakKeyDictionary[Job, Tuple[int, Communicator]]" = weakref.WeakKeyDictionary()


def _communicator(job: Job) -> Communicator:
    """Returns the helpers' communicator. The first helper that needs it makes it, and again in each epoch of the
    job."""
    kept = _communicators.get(job)
    if kept is not None and kept[0] == job.epoch:
        return kept[1]
    _drop_communicator(job)
    made = job.communicator(backend=_state["backend"])
    _communicators[job] = (job.epoch, made)
    return made


def _drop_communicator(job: Job) -> None:
    kept = _communicators.pop(job, None)
    if kept is not None:
        kept[1].close()


def _shape(data: Any) -> Any:
    """Returns the facts about an array that must agree between the ranks."""
    view = _arrays.View(data, "the array", writable=False)
    return [view.type_name, list(memoryview(data).shape or ())]


def _agree_on_arguments(job: Job, what: str, mine: Any, timeout: Timeout) -> None:
    """Compares `mine` on all ranks, through the coordinator. If ranks pass different things, all raise
    InvalidArgumentError."""
    gathered = job.all_gather([what, mine], encoding="json", timeout=timeout)
    for rank, other in enumerate(gathered):
        if other != gathered[0]:
            raise InvalidArgumentError(f"the ranks pass different arrays: rank 0 calls {_describe_call(gathered[0])}, "
                                       f"rank {rank} calls {_describe_call(other)}; nothing was changed")


def _describe_call(call: Any) -> str:
    return f"{call[0]} of {json.dumps(call[1])}"


def _with_communicator(job: Job, call: Callable[[Communicator], T]) -> T:
    try:
        return call(_communicator(job))
    except BaseException as error:
        if not isinstance(error, (InvalidArgumentError, NotImplementedError)):
            _drop_communicator(job)  # it is finished: the next call connects the ranks again
        raise


def all_reduce(x: Any, op: Any = "sum", *, job: Optional[Job] = None, timeout: Timeout = None) -> Any:
    """Reduces a number, or an array in place, over all ranks, and returns it. As in Ignite, and as ddp_all_reduce in
    SpeechBrain: operations may be written "SUM". A number goes through the coordinator. An array goes from peer to
    peer, once all ranks have met. If their arrays differ, all ranks raise InvalidArgumentError."""
    of = _job(job)
    if isinstance(op, _arrays.ReduceOp):
        op = op.value  # as a text it is "ReduceOp.SUM" in some versions of Python, and "sum" in others
    elif isinstance(op, str):
        op = op.lower()
    if _arrays.is_number(x):
        return of.all_reduce(x, op, timeout=timeout)
    _arrays.op_number(op)
    _arrays.View(x, "the array", writable=True)
    if of.prevents_block or of.world_size == 1:
        return x
    _agree_on_arguments(of, f"all_reduce {op}", _shape(x), timeout)
    return _with_communicator(of, lambda ranks: ranks.all_reduce(x, op, timeout=timeout))


ddp_all_reduce = all_reduce


def all_gather(x: Any, *, job: Optional[Job] = None, timeout: Timeout = None) -> Any:
    """For numbers, or texts of any lengths, returns all ranks' values as a list in rank order. For arrays of shape [n,
    ...], returns an array of shape [world size * n, ...]. As in Ignite."""
    of = _job(job)
    if _arrays.is_number(x) or isinstance(x, str):
        return of.all_gather(x, encoding="json", timeout=timeout)
    shape = _shape(x)
    if of.prevents_block or of.world_size == 1:
        return _stacked(x, x, 1)
    _agree_on_arguments(of, "all_gather", shape, timeout)
    return _stacked(x, _with_communicator(of, lambda ranks: ranks.all_gather(x, timeout=timeout)), of.world_size)


def _stacked(x: Any, whole: Any, size: int) -> Any:
    if not hasattr(x, "__array_interface__"):
        return whole[:]
    shape = x.shape if x.ndim else (1,)
    return whole.copy().reshape((size * shape[0], *shape[1:]))


def average_across_processes(tensors: Any, *, job: Optional[Job] = None, timeout: Timeout = None) -> Any:
    """Averages an array, or each array of a dictionary, over all ranks in place, and returns it. If names or shapes
    differ between the ranks, all raise InvalidArgumentError. As in VirTex."""
    of = _job(job)
    named = tensors if isinstance(tensors, dict) else {"": tensors}
    for name, each in named.items():
        _arrays.View(each, f"the array {name!r}" if name else "the array", writable=True)
    if of.prevents_block or of.world_size == 1:
        return tensors
    names = sorted(named)
    _agree_on_arguments(of, "average_across_processes", {name: _shape(named[name]) for name in names}, timeout)
    for name in names:
        _with_communicator(of, lambda ranks, each=named[name]: ranks.all_reduce(  # type: ignore[misc]
            each, "average", timeout=timeout))
    return tensors


# ---- Configurations and arrays in files.


class NFSWorkspace:
    """A muster.Workspace of the current job's rank. As in ModelOpt. Without a path it is not initialized, and every other
    call raises FailedPreconditionError."""

    def __init__(self, workspace_path: "Optional[str | os.PathLike[str]]" = None, *, job: Optional[Job] = None) -> None:
        self._workspace = None if workspace_path is None else Workspace(workspace_path, _job(job).rank)

    @property
    def is_initialized(self) -> bool:
        """Whether it has a path."""
        return self._workspace is not None

    def _opened(self) -> Workspace:
        if self._workspace is None:
            raise FailedPreconditionError("the workspace is not initialized: pass workspace_path")
        return self._workspace

    def write_configs_and_weights(self, config_json: Any, weights: Dict[str, Any]) -> None:
        """Writes this rank's configuration and arrays: see Workspace.write()."""
        self._opened().write(config_json, weights)

    def read_configs_and_weights_from_rank(self, target_rank: int) -> Tuple[Any, Optional[Dict[str, Tensor]]]:
        """Returns the configuration and the arrays of a rank, or (None, None) if it has written none: see
        Workspace.read()."""
        found = self._opened().read(target_rank)
        return (None, None) if found is None else (found.config, found.tensors)


# ---- Data that the first of some ranks reads from the others.


class _SharedBytes:
    """Bytes that another process of this node can map. They have no name, so nothing is left behind, however the
    processes end."""

    def __init__(self, data: memoryview) -> None:
        self._file = os.memfd_create("muster-exchange", os.MFD_CLOEXEC)
        os.ftruncate(self._file, max(1, data.nbytes))
        written = 0
        while written < data.nbytes:
            written += os.pwrite(self._file, data[written:written + (1 << 30)], written)
        self.place = [f"/proc/{os.getpid()}/fd/{self._file}", os.fstat(self._file).st_ino, data.nbytes]

    def close(self) -> None:
        os.close(self._file)


def _map(place: Sequence[Any]) -> memoryview:
    path, inode, size = place
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if os.fstat(file).st_ino != inode:
            raise FailedPreconditionError(f"{path} is another file than the rank has written: is it in another container?")
        return memoryview(mmap.mmap(file, max(1, size), access=mmap.ACCESS_READ))[:size]
    finally:
        os.close(file)


def _write_file(folder: str, rank: int, data: bytes) -> List[Any]:
    path = os.path.join(folder, f"rank-{rank}")
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return [path, None, len(data)]


def _check_exchange(job: Job, ranks: Sequence[int], group: Group, folder: Optional[str]) -> None:
    listed = list(ranks)
    if not listed or len(set(listed)) != len(listed) or not set(listed) <= set(group.ranks):
        raise InvalidArgumentError(f"ranks is {listed}; expected ranks of the group ({list(group.ranks)}), each once")
    nodes = {job.members[rank].node_id: _name(job.members[rank]) for rank in listed}
    if folder is None and len(nodes) > 1:
        raise FailedPreconditionError("shared memory is of one node, and the ranks are on several: " +
                                      ", ".join(nodes.values()) + "; name a folder that all of them share")


@contextlib.contextmanager
def get_configs_parallel(config: Any, ranks: Sequence[int], group: Optional[Group] = None,
                         workspace_path: Optional[str] = None, *, encoding: AnyEncoding = "json",
                         job: Optional[Job] = None, timeout: Timeout = None) -> Iterator[List[Any]]:
    """A block in which the first of `ranks` gets the list of all these ranks' configs, in the order of `ranks`. A rank
    may offer None. The first rank's own config is in the list as it was passed. The other ranks get an empty list. As
    in ModelOpt.

    `ranks` are ranks of the world, and members of `group`, by default all ranks. The block is a collective of the
    group, at whose end all ranks meet again. Configs go through shared memory, or through files in `workspace_path`, a
    folder that all share, and never through the coordinator. An error of one rank is raised on all.
    FailedPreconditionError: shared memory is used, and the ranks are on different nodes.
    """
    of = _job(job)
    chosen = find(encoding)

    def offer() -> Optional[bytes]:
        return None if config is None else chosen.encode(config)

    with _exchange(of, offer, ranks, group or of, workspace_path, timeout) as offered:
        yield [config if rank == of.rank else None if data is None else chosen.decode(bytes(data))
               for rank, data in offered]


@contextlib.contextmanager
def get_tensors_parallel(tensor: Any, ranks: Sequence[int], group: Optional[Group] = None, *,
                         job: Optional[Job] = None, timeout: Timeout = None) -> Iterator[List[Any]]:
    """As get_configs_parallel(), for one array of each of `ranks`, all of one type and shape, on one node. The first
    rank reads the others' arrays without a copy, for as long as the block lasts: as read-only numpy arrays if it passes
    one, else as memoryviews. InvalidArgumentError: shapes or types differ. As in ModelOpt."""
    of = _job(job)
    whole = group or of
    takes_part = of.rank in list(ranks)
    _compare_shapes(of, whole, lambda: None if not takes_part else _shape(tensor), ranks, timeout)

    def offer() -> Optional[memoryview]:
        return memoryview(tensor).cast("B") if takes_part else None

    with _exchange(of, offer, ranks, whole, None, timeout) as offered:
        views = [tensor if rank == of.rank else _array_like(tensor, data) for rank, data in offered]
        yield views
        views.clear()


def _array_like(tensor: Any, data: Optional[memoryview]) -> Any:
    assert data is not None
    if hasattr(tensor, "__array_interface__"):
        import numpy  # pylint: disable=import-outside-toplevel

        return numpy.frombuffer(data, dtype=tensor.dtype).reshape(tensor.shape)
    like = memoryview(tensor)
    return data.cast(like.format, list(like.shape or ()))  # type: ignore[call-overload]


def _compare_shapes(job: Job, group: Group, shape_of: Callable[[], Any], ranks: Sequence[int], timeout: Timeout) -> None:
    """Compares the shapes of all ranks that take part."""
    gathered = _all_or_fail(job, group, shape_of, timeout)
    shapes = {rank: shape for rank, shape in zip(group.ranks, gathered) if rank in set(ranks)}
    first = next(iter(shapes))
    for rank, shape in shapes.items():
        if shape != shapes[first]:
            raise InvalidArgumentError(f"the ranks pass different arrays: rank {first} {json.dumps(shapes[first])}, rank "
                                       f"{rank} {json.dumps(shape)}")


def _all_or_fail(job: Job, group: Group, work: Callable[[], Any], timeout: Timeout) -> List[Any]:
    """Gathers, in JSON, the value of `work` on each rank of the group. An error of one rank is raised on all."""
    mine, failed = None, None
    try:
        mine = work()
    except Exception as error:  # pylint: disable=broad-except
        failed = error
    try:
        mine = [list(_DONE if failed is None else _outcome_of(failed)), mine]
        told = group.all_gather(mine, encoding="json", timeout=timeout)
        for index, (outcome, _) in enumerate(told):
            if outcome[0] != 0:
                raise _error_of(tuple(outcome), job.members[group.ranks[index]], job.world_size) from failed
        return [value for _, value in told]
    finally:
        del failed  # its traceback has this frame


@contextlib.contextmanager
def _exchange(job: Job, offer: Callable[[], Any], ranks: Sequence[int], group: Group, folder: Optional[str],
              timeout: Timeout) -> Iterator[List[Tuple[int, Optional[memoryview]]]]:
    kept: List[_SharedBytes] = []
    own = folder

    def make_folder() -> Optional[str]:
        _check_exchange(job, ranks, group, folder)
        first = folder is not None and job.rank == list(ranks)[0]
        return tempfile.mkdtemp(prefix="muster-exchange-", dir=folder) if first else None

    def place() -> Optional[List[Any]]:
        data = offer() if job.rank in list(ranks) else None
        if data is None:
            return None
        if own is not None:
            return _write_file(own, job.rank, data)
        kept.append(_SharedBytes(memoryview(data)))
        return kept[-1].place

    try:
        made = [name for name in _all_or_fail(job, group, make_folder, timeout) if name is not None]
        own = made[0] if made else None
        places = dict(zip(group.ranks, _all_or_fail(job, group, place, timeout)))
        seen = _all_or_fail_local(job, group, ranks, places, timeout)
        try:
            yield seen
        finally:
            seen.clear()
            group.barrier("the end of an exchange", timeout=timeout)
    finally:
        for each in kept:
            each.close()
        if own is not None and own != folder and job.rank == list(ranks)[0]:
            shutil.rmtree(own, ignore_errors=True)


def _all_or_fail_local(job: Job, group: Group, ranks: Sequence[int], places: Dict[int, Any],
                       timeout: Timeout) -> List[Tuple[int, Optional[memoryview]]]:
    """Returns the other ranks' data on the first of the ranks. If it cannot read them, all ranks raise its error."""
    seen: List[Tuple[int, Optional[memoryview]]] = []

    def read() -> None:
        if job.rank != list(ranks)[0]:
            return
        for rank in ranks:
            place = places[rank]
            if place is None or rank == job.rank:
                seen.append((rank, None))
            elif place[1] is None:
                with open(place[0], "rb") as file:
                    seen.append((rank, memoryview(file.read())))
            else:
                seen.append((rank, _map(place)))

    _all_or_fail(job, group, read, timeout)
    return seen

"""Starts the processes of a job from inside a program or a notebook, and returns what their functions return.

    def train(epochs):
        with muster.join() as job:
            ...
            return loss

    if __name__ == "__main__":
        losses = muster.launch(train, args=(3,), nproc_per_node=4)

`muster run` starts, watches and ends the processes: nothing of that is done here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from muster import _launched
from muster._calls import Timeout, milliseconds
from muster._errors import ErrorCode, InvalidArgumentError, MusterError, NotFoundError
from muster._library import folder as native_folder

_PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TIED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_tied.py")
# The code that a new process runs. Its arguments are the folder of the package and the folder of the call.
_RANK = "import sys; sys.path.insert(0, sys.argv.pop(1)); from muster import _launched; _launched.main()"
# The place of this process in another job, which the new processes must not take for theirs.
_PLACE = ("MUSTER_COORDINATOR", "MUSTER_JOB", "MUSTER_LOCAL_RANK", "MUSTER_NODE_RANK", "MUSTER_PROCESS_SECRET",
          "MUSTER_RANK", "MUSTER_RESTART_COUNT", "MUSTER_WORLD_SIZE")
# The exit codes of processes that are healthy, and only report the failure of another (docs/exit-codes.md).
_HEALTHY = (75, 76)


@dataclasses.dataclass(frozen=True)
class LaunchedProcess:
    """How one process of launch() or spawn() has ended."""

    rank: int  # in the job
    local_rank: int  # on this machine
    pid: int
    value: Any  # what the function has returned; None if it has not
    error: Optional[str]  # "ValueError: no such file"; None if the function has returned


class LaunchError(MusterError):
    """A process of launch() or spawn() has failed. `rank` is the rank to blame, `exit_code` the exit code of `muster
    run`, `processes` says how every process of this machine has ended, and the exception's cause has the traceback."""

    __module__ = "muster"
    code = ErrorCode.INTERNAL

    def __init__(self, message: str, *, processes: Sequence[LaunchedProcess] = (), exit_code: Optional[int] = None,
                 rank: Optional[int] = None) -> None:
        pid = next((process.pid for process in processes if process.rank == rank), None)
        super().__init__(message, exit_code=exit_code, rank=rank, pid=pid)
        self.processes = tuple(processes)

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restore, (self.message, self.processes, self.exit_code, self.rank)


def _restore(message: str, processes: Sequence[LaunchedProcess], exit_code: int, rank: Optional[int]) -> LaunchError:
    return LaunchError(message, processes=processes, exit_code=exit_code, rank=rank)


class RemoteTraceback(Exception):
    """The traceback of another process's exception, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def launch(
    fn: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Optional[Dict[str, Any]] = None,
    *,
    nproc_per_node: Union[int, str] = "auto",
    nnodes: int = 1,
    node_rank: int = 0,
    coordinator: Optional[str] = None,
    job: Optional[str] = None,
    failure_wait: Timeout = None,
    grace: Timeout = None,
    debug_dir: Union[None, str, "os.PathLike[str]"] = None,
    flags: Sequence[str] = (),
) -> List[Any]:
    """Calls fn(*args, **kwargs) in new Python processes, and returns their values, by local rank. Blocks until all of
    them have ended, and all processes that they have started. In each, muster.join() joins the job.

      nproc_per_node       number of processes on this machine; or "gpu", "cpu" or "auto": one for each GPU, or CPU
      nnodes, node_rank    the number of machines, on each of which a program calls launch(), and the number of this one
      coordinator          the address of a musterd, which several machines need; default: one of its own
      job                  the job's id
      failure_wait, grace  seconds that the others have to end after a failure, and from SIGTERM to SIGKILL
      debug_dir            a folder for reports of hangs
      flags                more flags of `muster run`, such as ["--max-restarts", "1"]

    The processes are new interpreters, which import the program's main module under another name. So a program guards
    the call by `if __name__ == "__main__":`. The function, its arguments and its value are pickled, only between these
    processes, which run as one user. For a function of a notebook, or a local one, the package cloudpickle is needed.

    What the processes write appears on sys.stdout and sys.stderr, with the rank before each line. Ctrl-C ends all of
    them. If this process is killed, they end too.

    LaunchError: a process has failed; names the rank and its exception. InvalidArgumentError: something cannot be
    pickled. NotFoundError: the program `muster` was not found.
    """
    return _run(_Call(fn, tuple(args), kwargs or {}, False),
                _flags_of(nproc_per_node, nnodes, node_rank, coordinator, job, failure_wait, grace, debug_dir, flags),
                own_coordinator=coordinator is None)


def spawn(fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: Union[int, str] = 1,
          kwargs: Optional[Dict[str, Any]] = None, **options: Any) -> List[Any]:
    """As launch(), but calls fn(local_rank, *args, **kwargs), in `nprocs` processes, as torch.multiprocessing.spawn
    does. The other options are those of launch()."""
    return _run(_Call(fn, tuple(args), kwargs or {}, True), _flags_of(nprocs, **options),
                own_coordinator=options.get("coordinator") is None)


@dataclasses.dataclass(frozen=True)
class _Call:
    """A function and its arguments."""

    function: Callable[..., Any]
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    with_local_rank: bool

    def encode(self) -> bytes:
        """Returns the file "call" of _launched.py."""
        return pickle.dumps(_prepared()) + self._pickled()

    def _pickled(self) -> bytes:
        whole = (self.function, self.args, self.kwargs, self.with_local_rank)
        if not self._is_of_a_notebook():
            try:
                return pickle.dumps(whole)
            except Exception as error:  # pylint: disable=broad-except
                why = error
        else:
            why = AttributeError("it is defined where other processes cannot import it")
        try:
            import cloudpickle  # pylint: disable=import-outside-toplevel
        except ImportError:
            raise InvalidArgumentError(
                f"{getattr(self.function, '__qualname__', self.function)} or an argument cannot be sent to another "
                f"process: {why}; define the function in a module, or install cloudpickle") from why
        return bytes(cloudpickle.dumps(whole))

    def _is_of_a_notebook(self) -> bool:
        """Returns whether the function is defined in a main module that is no file."""
        main = sys.modules["__main__"]
        known = getattr(main, "__spec__", None) is not None or getattr(main, "__file__", None) is not None
        return getattr(self.function, "__module__", None) == "__main__" and not known


def _prepared() -> Dict[str, Any]:
    """Returns what a new process needs to import the main module: multiprocessing knows how."""
    import multiprocessing.spawn  # pylint: disable=import-outside-toplevel

    chosen = multiprocessing.get_start_method(allow_none=True)
    try:
        data: Dict[str, Any] = multiprocessing.spawn.get_preparation_data("MusterRank")
    except RuntimeError as error:
        raise InvalidArgumentError(
            "launch() was called while a new process imports the program's main module: guard the call by "
            "`if __name__ == \"__main__\":`") from error
    finally:
        if chosen is None:  # the program may still choose
            multiprocessing.set_start_method(None, force=True)
    data.pop("start_method", None)
    data.pop("authkey", None)  # a secret that only multiprocessing needs
    return data


def _flags_of(nproc_per_node: Union[int, str], nnodes: int = 1, node_rank: int = 0, coordinator: Optional[str] = None,
              job: Optional[str] = None, failure_wait: Timeout = None, grace: Timeout = None,
              debug_dir: Union[None, str, "os.PathLike[str]"] = None, flags: Sequence[str] = ()) -> List[str]:
    given = {"--nproc-per-node": nproc_per_node, "--nnodes": nnodes, "--node-rank": node_rank if nnodes > 1 else None,
             "--coordinator": coordinator, "--job": job, "--debug-dir": None if debug_dir is None else os.fspath(debug_dir),
             "--failure-wait": None if failure_wait is None else f"{milliseconds(failure_wait)}ms",
             "--grace": None if grace is None else f"{milliseconds(grace)}ms"}
    return [f"{name}={value}" for name, value in given.items() if value is not None] + list(flags)


def _find_program() -> str:
    inside = os.path.join(native_folder(), "muster")
    found = inside if os.path.exists(inside) else shutil.which("muster")
    if found is None:
        raise NotFoundError("the program `muster`, which starts the processes, is neither in the package nor in PATH: "
                            "install the wheel, or Muster itself (tools/install)")
    return found


def _environment(own_coordinator: bool) -> Dict[str, str]:
    hidden = _PLACE if own_coordinator else tuple(name for name in _PLACE if name != "MUSTER_COORDINATOR")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def _run(call: _Call, flags: Sequence[str], own_coordinator: bool) -> List[Any]:
    program = _find_program()
    with tempfile.TemporaryDirectory(prefix="muster-launch-") as folder:
        _launched.write(folder, "call", call.encode())
        command = [sys.executable, _TIED, str(os.getpid()), program, "run", *flags, "--", sys.executable, "-c", _RANK,
                   _PACKAGES, folder]
        status = _supervise(command, _environment(own_coordinator))
        return _values_of(_read(folder), status)


def _supervise(command: Sequence[str], environment: Dict[str, str]) -> int:
    """Runs `muster run` to its end, and returns its exit status. If an exception such as that of Ctrl-C interrupts the
    wait, ends it first."""
    with contextlib.ExitStack() as copies:
        stdout, stderr = _target(sys.stdout), _target(sys.stderr)
        # A session of its own: a terminal's Ctrl-C then reaches `muster run` once, from here.
        run = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True,
                               stdout=stdout, stderr=stderr)
        for pipe, stream in ((run.stdout, sys.stdout), (run.stderr, sys.stderr)):
            if pipe is not None:
                copies.enter_context(_copying(pipe, stream))
        try:
            return run.wait()
        except BaseException:
            run.send_signal(signal.SIGINT)
            while run.poll() is None:
                with contextlib.suppress(KeyboardInterrupt):  # the second one changes nothing: `grace` ends all
                    run.wait()
            raise


def _target(stream: Any) -> Optional[int]:
    """Returns None if a new process inherits what the stream writes to, else a pipe: a notebook's streams, and those of
    tests, are no files."""
    try:
        return None if stream.fileno() in (1, 2) else subprocess.PIPE
    except (AttributeError, OSError, ValueError):
        return subprocess.PIPE


@contextlib.contextmanager
def _copying(pipe: IO[bytes], stream: Any) -> Iterator[None]:
    """A block at whose end all output of the pipe is in the stream."""

    def copy() -> None:
        for line in pipe:
            stream.write(line.decode("utf-8", "replace"))
            stream.flush()

    thread = threading.Thread(target=copy, daemon=True)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        pipe.close()


@dataclasses.dataclass(frozen=True)
class _Ended:
    """What a process has left in the folder."""

    local_rank: int
    rank: int
    pid: int
    value: Any
    failure: Optional[_launched.Failure]
    has_outcome: bool

    @property
    def failed(self) -> bool:
        return not self.has_outcome or self.failure is not None

    @property
    def text(self) -> Optional[str]:
        if not self.has_outcome:
            return "it ended before its function had returned: was it killed?"
        return None if self.failure is None else self.failure.text


def _read(folder: str) -> List[_Ended]:
    ended = []
    for name in os.listdir(folder):
        kind, _, number = name.partition("-")
        if kind != "started" or not number.isdigit():
            continue
        with open(os.path.join(folder, name), encoding="ascii") as file:
            rank, pid = map(int, file.read().split())
        path = os.path.join(folder, f"outcome-{number}")
        value, failure = None, None
        if os.path.exists(path):
            with open(path, "rb") as outcome:
                value, failure = pickle.load(outcome)
        ended.append(_Ended(int(number), rank, pid, value, failure, os.path.exists(path)))
    return sorted(ended, key=lambda process: process.local_rank)


def _values_of(ended: Sequence[_Ended], status: int) -> List[Any]:
    """Returns the values of all processes, or raises LaunchError."""
    processes = [LaunchedProcess(each.rank, each.local_rank, each.pid, each.value, each.text) for each in ended]
    failed = [each for each in ended if each.failed]
    if status == 0 and ended and not failed:
        return [each.value for each in ended]
    if not failed:
        raise LaunchError(
            f"`muster run` has ended with status {status}, although every function has returned: its output says why"
            if ended else f"`muster run` has ended with status {status} before it ran the function: its output says why",
            exit_code=status or 1, processes=processes)
    blamed = _to_blame(failed)
    failed.sort(key=lambda each: (each.rank != blamed, each.rank))
    texts = "; ".join(f"rank {each.rank} (pid {each.pid}): {each.text}" for each in failed)
    error = LaunchError(f"{len(failed)} of {len(ended)} processes failed: {texts}", exit_code=status or 1, rank=blamed,
                        processes=processes)
    trace = failed[0].failure.trace if failed[0].failure is not None else None
    raise error from (None if trace is None else RemoteTraceback(trace))


def _to_blame(failed: Sequence[_Ended]) -> int:
    """Returns the rank of the process that failed first on its own. A killed process has left nothing, but the errors
    of the others name it."""
    own = [each for each in failed if each.failure is not None and each.failure.exit_code not in _HEALTHY]
    if own:
        return min(own, key=lambda each: each.failure.when if each.failure is not None else 0).rank
    for each in failed:
        error = each.failure.error if each.failure is not None else None
        if error is not None and error.rank is not None:
            return error.rank
    silent = [each for each in failed if not each.has_outcome]
    return (silent or list(failed))[0].rank

"""Loads libmuster.so.0 with ctypes, and declares its functions. muster/c.h documents them."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Any, Dict, List, Optional, Tuple

LIBRARY = "libmuster.so.0"
# A function that only versions of the library have that have every function of this package.
C_API = "muster_store_watch"

Pointer = ctypes.c_void_p
Text = ctypes.c_char_p
Int = ctypes.c_int
Size = ctypes.c_size_t


class CallOptions(ctypes.Structure):
    """The struct muster_call_options."""

    _fields_ = [
        ("size", Size),
        ("timeout_ms", ctypes.c_int64),
        ("cancellation", Pointer),
        ("file", Text),
        ("line", ctypes.c_int32),
        ("type_name", Text),
        ("stream", Pointer),
    ]


class CMember(ctypes.Structure):
    """The struct muster_member."""

    _fields_ = [
        ("size", Size),
        ("rank", ctypes.c_int32),
        ("local_rank", ctypes.c_int32),
        ("node_rank", ctypes.c_int32),
        ("previous_rank", ctypes.c_int32),
        ("pid", ctypes.c_int64),
        ("node_id", Text),
        ("hostname", Text),
        ("topology", Text),
    ]


class CStoreEvent(ctypes.Structure):
    """The struct muster_store_event."""

    _fields_ = [
        ("size", Size),
        ("key", Pointer),
        ("key_size", Size),
        ("value", Pointer),
        ("value_size", Size),
        ("count", ctypes.c_uint64),
        ("kind", ctypes.c_int32),
    ]


LogSink = ctypes.CFUNCTYPE(None, Pointer, ctypes.c_int32, Text)
FailureCallback = ctypes.CFUNCTYPE(None, Pointer, Pointer)
StoreCallback = ctypes.CFUNCTYPE(None, Pointer, ctypes.POINTER(CStoreEvent), Pointer)
Work = ctypes.CFUNCTYPE(Pointer, Pointer, Pointer)

_Options = ctypes.POINTER(CallOptions)
_Out = ctypes.POINTER(Pointer)
_Ints = ctypes.POINTER(Int)

# Name, result and arguments of each function. A function that can fail returns a muster_status, a
# Pointer.
_FUNCTIONS: List[Tuple[str, Any, Tuple[Any, ...]]] = [
    ("version", Text, ()),
    ("status_code", ctypes.c_int32, (Pointer,)),
    ("status_message", Text, (Pointer,)),
    ("status_exit_code", Int, (Pointer,)),
    ("status_rank", Int, (Pointer,)),
    ("status_node", Text, (Pointer,)),
    ("status_cause", Text, (Pointer,)),
    ("status_pid", ctypes.c_int64, (Pointer,)),
    ("status_missing_count", Size, (Pointer,)),
    ("status_missing_rank", Int, (Pointer, Size)),
    ("status_new", Pointer, (ctypes.c_int32, Text)),
    ("status_free", None, (Pointer,)),
    ("write_termination_reason", None, (Text,)),
    ("set_log_sink", None, (LogSink, Pointer)),
    ("options_new", Pointer, (_Out,)),
    ("options_from_environment", Pointer, (_Out,)),
    ("options_set", Pointer, (Pointer, Text, Text)),
    ("options_rank", Int, (Pointer,)),
    ("options_local_rank", Int, (Pointer,)),
    ("options_free", None, (Pointer,)),
    ("cancellation_new", Pointer, (_Out,)),
    ("cancel", None, (Pointer,)),
    ("cancellation_free", None, (Pointer,)),
    ("join", Pointer, (Pointer, Pointer, _Out)),
    ("leave", Pointer, (Pointer, _Options)),
    ("job_free", None, (Pointer,)),
    ("rank", Int, (Pointer,)),
    ("world_size", Int, (Pointer,)),
    ("local_rank", Int, (Pointer,)),
    ("local_world_size", Int, (Pointer,)),
    ("node_rank", Int, (Pointer,)),
    ("num_nodes", Int, (Pointer,)),
    ("job_id", Text, (Pointer,)),
    ("is_distributed", Int, (Pointer,)),
    ("member_of", Pointer, (Pointer, Int, ctypes.POINTER(CMember))),
    ("health", Pointer, (Pointer,)),
    ("on_failure", Pointer, (Pointer, FailureCallback, Pointer, _Out)),
    ("subscription_free", None, (Pointer,)),
    ("rejoin", Pointer, (Pointer, _Options)),
    ("epoch", ctypes.c_uint64, (Pointer,)),
    ("newcomers_waiting", Int, (Pointer,)),
    ("resumed", Int, (Pointer,)),
    ("request_stop", Pointer, (Pointer, _Options)),
    ("stop_requested", Int, (Pointer,)),
    ("world", Pointer, (Pointer,)),
    ("group_new", Pointer, (Pointer, Text, _Ints, Size, _Out)),
    ("split", Pointer, (Pointer, _Ints, Int, _Options, _Out)),
    ("group_free", None, (Pointer,)),
    ("group_rank", Int, (Pointer,)),
    ("group_size", Int, (Pointer,)),
    ("group_member", Int, (Pointer, Int)),
    ("barrier", Pointer, (Pointer, Text, _Options)),
    ("all_reduce", Pointer, (Pointer, Pointer, Size, ctypes.c_int32, ctypes.c_int32, _Options)),
    ("broadcast_values", Pointer, (Pointer, Text, Size, Int, _Options, _Out)),
    ("gather_values", Pointer, (Pointer, Text, Size, Int, _Options, _Out)),
    ("all_gather_values", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("values_count", Size, (Pointer,)),
    ("values_get", Pointer, (Pointer, Size, ctypes.POINTER(Size))),
    ("values_free", None, (Pointer,)),
    ("values_set", Pointer, (Pointer, Text, Size)),
    ("run_on_rank", Pointer, (Pointer, Int, Work, Pointer, _Options, _Out)),
    ("store_set", Pointer, (Pointer, Text, Size, Text, Size, _Options)),
    ("store_get", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("store_wait", Pointer, (Pointer, Pointer, Pointer, Size, _Options)),
    ("store_add", Pointer, (Pointer, Text, Size, ctypes.c_int64, _Options, _Out)),
    ("store_compare_and_set", Pointer, (Pointer, Text, Size, Text, Size, Text, Size, _Options, _Ints, _Out)),
    ("store_append", Pointer, (Pointer, Text, Size, Text, Size, _Options, _Out)),
    ("store_delete", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("store_list", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("store_count", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("store_push", Pointer, (Pointer, Text, Size, Text, Size, _Options, _Out)),
    ("store_pop", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("store_length", Pointer, (Pointer, Text, Size, _Options, _Out)),
    ("store_barrier", Pointer, (Pointer, Text, Size, ctypes.c_int64, _Options, _Out)),
    ("store_watch", Pointer, (Pointer, Text, Size, StoreCallback, Pointer, _Out)),
    ("acquire_lease", Pointer, (Pointer, Text, ctypes.c_int32, _Options, _Out)),
    ("lease_held", Int, (Pointer,)),
    ("lease_token", ctypes.c_uint64, (Pointer,)),
    ("lease_result", Pointer, (Pointer, _Out, ctypes.POINTER(Size))),
    ("lease_complete", Pointer, (Pointer, Text, Size)),
    ("lease_fail", Pointer, (Pointer, ctypes.c_int32, Text)),
    ("lease_release", None, (Pointer,)),
    ("lease_free", None, (Pointer,)),
    ("communicator_new", Pointer, (Pointer, Text, Text, _Options, _Out)),
    ("communicator_free", None, (Pointer,)),
    ("communicator_rank", Int, (Pointer,)),
    ("communicator_size", Int, (Pointer,)),
    ("communicator_backend", Text, (Pointer,)),
    ("communicator_all_reduce", Pointer,
     (Pointer, Pointer, Pointer, Size, ctypes.c_int32, ctypes.c_int32, _Options)),
    ("communicator_all_reduce_coalesced", Pointer,
     (Pointer, _Out, ctypes.POINTER(Size), ctypes.POINTER(ctypes.c_int32), Size, ctypes.c_int32, _Options)),
    ("communicator_broadcast", Pointer, (Pointer, Pointer, Size, ctypes.c_int32, Int, _Options)),
    ("communicator_reduce", Pointer,
     (Pointer, Pointer, Pointer, Size, ctypes.c_int32, ctypes.c_int32, Int, _Options)),
    ("communicator_all_gather", Pointer,
     (Pointer, Pointer, Pointer, Size, ctypes.c_int32, _Options)),
    ("communicator_all_gather_uneven", Pointer,
     (Pointer, Pointer, Pointer, ctypes.POINTER(Size), ctypes.c_int32, _Options)),
    ("communicator_reduce_scatter", Pointer,
     (Pointer, Pointer, Pointer, Size, ctypes.c_int32, ctypes.c_int32, _Options)),
    ("communicator_all_to_all", Pointer,
     (Pointer, Pointer, Pointer, Size, ctypes.c_int32, _Options)),
    ("communicator_send", Pointer, (Pointer, Pointer, Size, ctypes.c_int32, Int, _Options)),
    ("communicator_recv", Pointer, (Pointer, Pointer, Size, ctypes.c_int32, Int, _Options)),
    ("communicator_send_recv", Pointer,
     (Pointer, Pointer, Size, Int, Pointer, Size, Int, ctypes.c_int32, _Options)),
    ("communicator_barrier", Pointer, (Pointer, _Options)),
]


def folder() -> str:
    """Returns the folder of the package that holds a wheel's library and programs."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")


def _open() -> ctypes.CDLL:
    inside = os.path.join(folder(), LIBRARY)
    return ctypes.CDLL(inside if os.path.exists(inside) else LIBRARY)


class Library:
    """The functions of muster/c.h, by their names without "muster_". ctypes releases the GIL during a call."""

    def __init__(self) -> None:
        try:
            loaded = _open()
        except OSError as error:
            raise ImportError(
                f"muster: cannot load {LIBRARY}: {error}. Install the wheel, which has it inside, or "
                "Muster itself (tools/install), and name its folder in LD_LIBRARY_PATH if the loader "
                "does not know it") from error
        if not hasattr(loaded, C_API):
            raise ImportError(
                f"muster: the {LIBRARY} that was found is older than this package: it has no "
                f"{C_API}(). Install the library of the package's version")
        for name, result, arguments in _FUNCTIONS:
            function = getattr(loaded, "muster_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"muster/c.h has no function muster_{name}() that this package knows")


_lock = threading.Lock()
_loaded: Dict[str, Library] = {}


def library() -> Library:
    """Returns the library. The first call loads it. ImportError says what is missing. Thread-safe."""
    found: Optional[Library] = _loaded.get(LIBRARY)
    if found is None:
        with _lock:
            found = _loaded.get(LIBRARY)
            if found is None:
                if sys.byteorder != "little" or not sys.platform.startswith("linux"):
                    raise ImportError("muster: runs on little-endian Linux machines only")
                found = _loaded[LIBRARY] = Library()
    return found

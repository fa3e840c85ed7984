"""The GPU memory of this process, as NVML, the driver's management library, reports it."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Iterator, Optional

_MAX_PROCESSES = 1024
_UNKNOWN = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t, version 3."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


@functools.lru_cache(maxsize=None)
def _nvml() -> Optional[ctypes.CDLL]:
    """Returns NVML, which stays loaded, or None if there is none that can be used."""
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        complete = hasattr(library, "nvmlDeviceGetComputeRunningProcesses_v3")
        return library if complete and library.nvmlInit_v2() == 0 else None
    except (OSError, AttributeError):
        return None


def _processes(nvml: ctypes.CDLL) -> Iterator[_Process]:
    """Returns the processes on all GPUs, one entry for each GPU that a process uses."""
    devices = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(devices)) != 0:
        return
    for index in range(devices.value):
        device = ctypes.c_void_p()
        if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
            continue
        found, count = (_Process * _MAX_PROCESSES)(), ctypes.c_uint(_MAX_PROCESSES)
        if nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), found) == 0:
            yield from found[:count.value]


def memory_in_use() -> int:
    """Returns the bytes that this process uses on all GPUs. 0: there is no GPU, the process uses none, or NVML does not
    know the process by its pid, as in containers with pids of their own. Opens no GPU."""
    nvml = _nvml()
    if nvml is None:
        return 0
    return sum(each.used_bytes for each in _processes(nvml) if each.pid == os.getpid() and each.used_bytes != _UNKNOWN)

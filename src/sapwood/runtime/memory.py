"""Memory of this process: its limit, and memory that is given back to the system."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from pathlib import Path

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, version 1


def memory_limit() -> int:
    """Return the memory that this process may use, in bytes: that of the machine, or the limit of the process or its control group."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), resource.getrlimit(resource.RLIMIT_AS)[0]]
    limits += [_read_number(path) for path in CGROUP_LIMITS]
    return min(limit for limit in limits if limit > 0)  # -1 is no limit


def release_memory() -> None:
    """Give memory that is free back to the system: the allocators of C and of Arrow keep some of it."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim is not None:
        trim(0)


def _read_number(path: str) -> int:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return -1

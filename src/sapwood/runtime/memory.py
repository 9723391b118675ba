"""Memory limit of this process."""

from __future__ import annotations

import os
import resource
from pathlib import Path

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, version 1


def memory_limit() -> int:
    """Return the memory that this process may use, in bytes: that of the machine, or the limit of the process or its control group."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), resource.getrlimit(resource.RLIMIT_AS)[0]]
    limits += [_read_number(path) for path in CGROUP_LIMITS]
    return min(limit for limit in limits if limit > 0)  # -1 is no limit


def _read_number(path: str) -> int:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return -1

"""How much memory this process may use."""

from __future__ import annotations

import os
import resource
from pathlib import Path

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # version 2, version 1


def memory_limit() -> int:
    """Return the bytes of memory of the machine, or fewer where the process or its control group is limited."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), resource.getrlimit(resource.RLIMIT_AS)[0]]
    limits += [_read_number(path) for path in CGROUP_LIMITS]
    return min(limit for limit in limits if limit > 0)  # no limit is -1


def _read_number(path: str) -> int:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return -1

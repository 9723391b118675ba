"""How many threads to use. The answer never changes a result, only the time it takes."""

from __future__ import annotations

import os
from pathlib import Path


def available_cpus() -> int:
    """CPUs this process may use: its affinity, within the limit of its control group."""
    try:
        n_cpus = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        n_cpus = os.cpu_count() or 1
    return max(1, min(n_cpus, _cgroup_cpus() or n_cpus))


def _cgroup_cpus() -> int | None:
    """CPUs that the control group's quota allows, rounded up; None without one."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, -(-int(quota) // int(period)))


def resolve_threads(n_jobs: int | None) -> int:
    """Threads for scikit-learn's `n_jobs`: None is all available (at most OMP_NUM_THREADS, if set), -1 all, -2 all but one.

    More than the available CPUs would only get in each other's way, so that is the most.
    """
    n_cpus = available_cpus()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return min(n_cpus, int(limit)) if limit.isdigit() and int(limit) > 0 else n_cpus
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; give a positive number, -1 for all CPUs, or None")
    return min(n_jobs, n_cpus) if n_jobs > 0 else max(1, n_cpus + 1 + n_jobs)

"""Number of threads. It does not change results."""

from __future__ import annotations

import os
from pathlib import Path


def available_cpus() -> int:
    """Return the number of CPUs that this process may use: its CPU affinity, limited by the quota of its control group."""
    try:
        n_cpus = len(os.sched_getaffinity(0))
    except AttributeError:  # not available on this system
        n_cpus = os.cpu_count() or 1
    return max(1, min(n_cpus, _cgroup_cpus() or n_cpus))


def _cgroup_cpus() -> int | None:
    """Return the CPU quota of the control group, rounded up; None if there is none."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else max(1, -(-int(quota) // int(period)))


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's `n_jobs`.

    None means all available CPUs (at most OMP_NUM_THREADS, if set), -1 all, -2 all but one. The number is limited to the available CPUs.
    """
    n_cpus = available_cpus()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return min(n_cpus, int(limit)) if limit.isdigit() and int(limit) > 0 else n_cpus
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use a positive number, -1 for all CPUs, or None")
    return min(n_jobs, n_cpus) if n_jobs > 0 else max(1, n_cpus + 1 + n_jobs)

"""Number of threads. It does not change results."""

from __future__ import annotations

import os
import time
from functools import lru_cache

from sapwood.runtime.cgroups import cgroup_cpus


def available_cpus() -> int:
    """Return the number of CPUs that this process may use: its CPU affinity, limited by the quotas of its control groups."""
    try:
        n_cpus = len(os.sched_getaffinity(0))
    except AttributeError:  # not available on this system
        n_cpus = os.cpu_count() or 1
    return max(1, min(n_cpus, _cpus_of_quotas(int(time.monotonic())) or n_cpus))


@lru_cache(maxsize=1)
def _cpus_of_quotas(second: int) -> int | None:
    """Return the CPUs that quotas allow, read once a second: small predictions take less time than reading them."""
    return cgroup_cpus()


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads for scikit-learn's `n_jobs`.

    None means all available CPUs (at most OMP_NUM_THREADS, if set), -1 all, -2 all but one. The number is limited to the available CPUs.
    """
    if n_jobs == 1:
        return 1
    n_cpus = available_cpus()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
        return min(n_cpus, int(limit)) if limit.isdigit() and int(limit) > 0 else n_cpus
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use a positive number, -1 for all CPUs, or None")
    return min(n_jobs, n_cpus) if n_jobs > 0 else max(1, n_cpus + 1 + n_jobs)

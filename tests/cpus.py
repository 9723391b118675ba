"""Tests that run on one CPU, chosen by the number of the test process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


def stay_on_one_cpu() -> None:
    """Run this thread on one CPU from now on, where the system allows it. Sapwood then starts one thread."""
    if hasattr(os, "sched_setaffinity"):
        cpus = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpus[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % len(cpus)]})


@contextmanager
def one_cpu() -> Iterator[None]:
    """Run this thread on one CPU for a while."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    stay_on_one_cpu()
    try:
        yield
    finally:
        if cpus is not None:
            os.sched_setaffinity(0, cpus)

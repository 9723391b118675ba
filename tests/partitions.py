"""Functions that run in several partitions of the same rows at once, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from sapwood.estimators.partition import fit_partition
from sapwood.runtime.collective import ThreadCollective, thread_collectives
from sapwood.runtime.execution import Execution
from tests.cpus import stay_on_one_cpu

LONGEST = 300.0  # seconds that a partition may take


class CheckedCollective(ThreadCollective):
    """A collective that raises where partitions do not call the same methods in the same order."""

    def finish(self):
        self._meet(None, finish)

    def _meet(self, value, reduce):
        of = (value.shape[reduce is np.concatenate :], value.dtype) if reduce not in (list, finish) else None
        call = reduce.__name__, of

        def read(slots):
            assert all(other == call for other, _ in slots), f"partitions call different methods: {[other for other, _ in slots]}"
            return reduce([value for _, value in slots])

        return super()._meet((call, value), read)


def finish(values):
    """What all partitions call at their end."""


def run(n: int, function: Callable[[Execution], Any], n_threads: int = 1) -> list[Any]:
    """What a function of an Execution returns in each of n partitions.

    Where it raises in one, the others are woken up, and the first error is raised.
    """
    collectives = [CheckedCollective(c.rank, c._exchange) for c in thread_collectives(n)]
    results: list[Any] = [None] * n
    errors: list[BaseException] = []

    def work(collective: CheckedCollective) -> None:
        if n_threads == 1:
            stay_on_one_cpu()  # they wait for each other all the time, which takes half as long on one CPU
        try:
            results[collective.rank] = function(Execution(n_threads, collective))
            collective.finish()
        except threading.BrokenBarrierError:
            pass  # another one has failed
        except BaseException as error:
            errors.append(error)
            collective.abort()

    threads = [threading.Thread(target=work, args=[collective], daemon=True) for collective in collectives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
        if thread.is_alive():
            raise TimeoutError("partitions wait for each other: is there a lock around a call of a collective?")
    if errors:
        raise errors[0]
    return results


# Ends of partitions, as fractions of all rows: uneven, one without rows, one with a single row.
SPLITS = {2: [0.3], 3: [0.45, 0.45], 5: [0.0, 0.001, 0.35, 0.6]}


def slices(n_rows: int, n_partitions: int) -> list[slice]:
    """The rows of each of 2, 3 or 5 partitions."""
    ends = [0, *(int(end * n_rows) for end in SPLITS[n_partitions]), n_rows]
    return [slice(begin, end) for begin, end in pairwise(ends)]


def assert_same_bytes(make: Callable[..., Any], X: np.ndarray, y: np.ndarray) -> None:
    """Assert that fits on one thread, on three threads and in three partitions give the same bytes.

    `make` returns an estimator with the parameters that it is given.
    """
    one = make(n_jobs=1).fit(X, y).to_bytes()
    assert make(n_jobs=3).fit(X, y).to_bytes() == one
    own = slices(len(X), 3)
    for fitted in run(3, lambda e: fit_partition(make(), e, X[own[e.collective.rank]], y[own[e.collective.rank]])):
        assert fitted.to_bytes() == one

"""Where the work of a fit or a prediction runs: threads, and the other partitions of the same rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sapwood.runtime import kernels
from sapwood.runtime.collective import LOCAL, Collective
from sapwood.runtime.threads import resolve_threads, threads_for


@dataclass(frozen=True)
class Execution:
    """Threads of this process, and a collective that joins it with the other partitions of a data set.

    Whatever decides on a model reads numbers that went through `sum`, `max` or `gather`: they are the same in every partition, and the same
    for any number of partitions.
    """

    n_threads: int = 1
    collective: Collective = LOCAL

    @property
    def is_local(self) -> bool:
        """Whether this is the only partition."""
        return self.collective.size == 1

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of integers over the partitions."""
        return self.collective.sum(values)

    def max(self, values: np.ndarray) -> np.ndarray:
        """Maximum over the partitions."""
        return self.collective.max(values)

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Rows of all partitions, in their order."""
        return self.collective.gather(values)

    def total(self, count: int) -> int:
        """Sum of a Python integer of any size over the partitions."""
        return count if self.is_local else sum(self.collective.gather_objects(count))

    def totals(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """The same for several integers."""
        return counts if self.is_local else tuple(map(sum, zip(*self.collective.gather_objects(counts), strict=True)))

    def largest(self, value: float) -> float:
        """Maximum of a number over the partitions; NaN if any is."""
        return value if self.is_local else float(self.max(np.array([value]))[0])

    def any(self, value: bool) -> bool:
        """Whether it holds in any partition."""
        return value if self.is_local else any(self.collective.gather_objects(bool(value)))

    def first_row(self, n_rows: int) -> int:
        """Number of rows in the partitions before this one, of which this one has `n_rows`."""
        return 0 if self.is_local else sum(self.collective.gather_objects(n_rows)[: self.collective.rank])

    def exact_sum(self, values: np.ndarray) -> float:
        """Sum of numbers, (n,) float64, over all partitions, correctly rounded to about 2^-60 of the largest.

        It is a sum of integers, so that neither the order of rows nor their partitions change a bit of it.
        """
        if self.is_local:
            return kernels.exact_sum(values, self.n_threads)
        top = self.largest(float(np.abs(values).max(initial=0.0)))
        if not math.isfinite(top):
            return float(np.sum(self.gather(np.array([values.sum()]))))
        if top == 0:
            return 0.0
        shift = 61 - (math.frexp(top)[1] - 1)
        high, low = self.sum(np.array(kernels.exact_sum_words(values, shift, self.n_threads), dtype=np.int64)).tolist()
        return math.ldexp((high << 32) + low, -shift)

    def exact_mean(self, values: np.ndarray, weight: np.ndarray | None = None) -> float:
        """Weighted mean of numbers over all partitions, by exact sums."""
        if weight is None:
            return self.exact_sum(values) / self.total(len(values))
        return self.exact_sum(values * weight) / self.exact_sum(weight)


SERIAL = Execution()  # one thread, one partition


def local_execution(n_jobs: int | None) -> Execution:
    """Execution of scikit-learn's `n_jobs`: see `resolve_threads`."""
    return Execution(resolve_threads(n_jobs))


def prediction_execution(n_rows: int, n_jobs: int | None) -> Execution:
    """Execution of a prediction of so many rows."""
    n_threads = threads_for(n_rows, n_jobs)
    return SERIAL if n_threads == 1 else Execution(n_threads)

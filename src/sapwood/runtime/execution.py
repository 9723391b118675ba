"""Execution: threads, and the partitions of a data set."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from sapwood.runtime import kernels
from sapwood.runtime.collective import LOCAL, Collective
from sapwood.runtime.threads import resolve_threads

if TYPE_CHECKING:
    from sapwood.device.opencl import Device


@dataclass(frozen=True)
class Execution:
    """Number of threads of this process, the collective of the partitions of the data set, and the device on which trees are grown.

    All values that a model depends on go through `sum`, `max` or `gather`, so that they are the same in every partition and for any number
    of partitions.
    """

    n_threads: int = 1
    collective: Collective = LOCAL
    device: Device | None = None  # None: the threads of this process

    @property
    def is_local(self) -> bool:
        """Whether this is the only partition."""
        return self.collective.size == 1

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of integers over the partitions."""
        return self.collective.sum(values)

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maximum over the partitions."""
        return self.collective.max(values)

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of all partitions, in order."""
        return self.collective.gather(values)

    def total(self, count: int) -> int:
        """Return the sum of a Python integer over the partitions."""
        return count if self.is_local else sum(self.collective.gather_objects(count))

    def totals(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sums of several Python integers over the partitions."""
        return counts if self.is_local else tuple(map(sum, zip(*self.collective.gather_objects(counts), strict=True)))

    def largest(self, value: float) -> float:
        """Return the maximum of a number over the partitions; NaN if one is NaN."""
        return value if self.is_local else float(self.max(np.array([value]))[0])

    def any(self, value: bool) -> bool:
        """Return whether `value` is true in any partition."""
        return value if self.is_local else any(self.collective.gather_objects(bool(value)))

    def first_row(self, n_rows: int) -> int:
        """Return the number of rows in the partitions before this one. `n_rows` is the number of rows of this one."""
        return 0 if self.is_local else sum(self.collective.gather_objects(n_rows)[: self.collective.rank])

    def exact_sum(self, values: np.ndarray) -> float:
        """Return the sum of numbers, (n,) float64, over all partitions, with an error of about 2^-60 of the largest number.

        Numbers are summed as integers, so that the result does not depend on the order of rows or on the partitions.
        """
        return self.exact_sums([values])[0]

    def exact_sums(self, arrays: Iterable[np.ndarray]) -> list[float]:
        """Return the exact sums of several arrays, with one exchange between partitions."""
        if self.is_local:
            return [kernels.exact_sum(values, self.n_threads) for values in arrays]
        arrays = list(arrays)
        tops = self.max(np.array([np.abs(values).max(initial=0.0) for values in arrays])).tolist()
        shifts = [61 - (math.frexp(top)[1] - 1) if 0 < top < math.inf else None for top in tops]
        pairs = zip(arrays, shifts, strict=True)
        own = [(0, 0) if shift is None else kernels.exact_sum_words(values, shift, self.n_threads) for values, shift in pairs]
        words = self.sum(np.array(own, dtype=np.int64).reshape(-1, 2)).tolist()
        sums = [0.0 if shift is None else math.ldexp((high << 32) + low, -shift) for (high, low), shift in zip(words, shifts, strict=True)]
        for i, top in enumerate(tops):
            if not math.isfinite(top):
                sums[i] = float(np.sum(self.gather(np.array([arrays[i].sum()]))))
        return sums

    def exact_mean(self, values: np.ndarray, weight: np.ndarray | None = None) -> float:
        """Return the weighted mean of numbers over all partitions, by exact sums."""
        return self.exact_means([values], weight)[0]

    def exact_means(self, arrays: Sequence[np.ndarray], weight: np.ndarray | None = None) -> list[float]:
        """Return the weighted means of several arrays over the same rows, with one exchange between partitions."""
        if weight is None:
            total: float = self.total(len(arrays[0]))
            sums = self.exact_sums(arrays)
        else:
            *sums, total = self.exact_sums(chain((values * weight for values in arrays), [weight]))
        return [one / total for one in sums]

    def raise_together(self, check: Callable[[], None]) -> None:
        """Call a function in all partitions. If it raises an error in any, all raise the error of the first of them."""
        if self.is_local:
            return check()
        error = None
        try:
            check()
        except Exception as raised:
            raised.add_note(f"in partition {self.collective.rank}; its rows are numbered from 0")
            error = raised
        for raised_there in self.collective.gather_objects(error):
            if raised_there is not None:
                raise raised_there
        return None


SERIAL = Execution()  # one thread, one partition
FEW_ROWS = 16  # fewer rows are predicted by one thread: finding the number of CPUs would take longer


def local_execution(n_jobs: int | None) -> Execution:
    """Return the execution for scikit-learn's `n_jobs`: see `resolve_threads`."""
    return Execution(resolve_threads(n_jobs))


def prediction_execution(n_rows: int, n_jobs: int | None) -> Execution:
    """Return the execution for a prediction of `n_rows` rows."""
    return SERIAL if n_rows < FEW_ROWS else Execution(resolve_threads(n_jobs))

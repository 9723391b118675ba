"""Sums, maxima and concatenations over the partitions of a data set.

A fit may run in several places at once, each with some of the rows: threads of one process, processes, machines. A collective is how they
exchange numbers. Every method is called by all of them, in the same order, and returns the same to each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Collective:
    """The only partition: every method returns what it is given.

    Attributes
    ----------
    rank : number of this partition; rows of a lower rank come first
    size : number of partitions
    """

    rank: int = 0
    size: int = 1

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum of integer arrays of one shape. Integers wrap around as their type does."""
        return values

    def max(self, values: np.ndarray) -> np.ndarray:
        """Largest of each entry."""
        return values

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Concatenation along the first axis, in the order of ranks."""
        return values

    def gather_objects(self, value: T) -> list[T]:
        """One object of each partition, in the order of ranks."""
        return [value]


LOCAL = Collective()


class ThreadCollective(Collective):
    """One of several partitions that are threads of this process."""

    def __init__(self, rank: int, exchange: _Exchange) -> None:
        self.rank, self.size, self._exchange = rank, exchange.size, exchange

    def sum(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(values, lambda parts: np.sum(parts, axis=0, dtype=parts[0].dtype))

    def max(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(values, lambda parts: np.max(parts, axis=0))

    def gather(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(values, np.concatenate)

    def gather_objects(self, value: T) -> list[T]:
        return self._exchange.meet(self.rank, value, list)

    def _reduce(self, values: np.ndarray, reduce: Callable[[Sequence[np.ndarray]], np.ndarray]) -> np.ndarray:
        return self._exchange.meet(self.rank, np.asarray(values), reduce)

    def abort(self) -> None:
        """Wake the other partitions with a BrokenBarrierError: this one has failed."""
        self._exchange.barrier.abort()


class _Exchange:
    """Where the threads put what they have, and take what all have."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size)
        self.slots: list[Any] = [None] * size

    def meet(self, rank: int, value: Any, read: Callable[[list[Any]], T]) -> T:
        """Result of a function of the values of all partitions."""
        self.slots[rank] = value
        self.barrier.wait()
        result = read(self.slots)
        self.barrier.wait()  # nobody overwrites a slot, nor the array in it, before all have read it
        return result


def thread_collectives(size: int) -> list[ThreadCollective]:
    """Collectives of so many partitions that run in threads of this process."""
    exchange = _Exchange(size)
    return [ThreadCollective(rank, exchange) for rank in range(size)]

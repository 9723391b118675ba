"""Collective operations over the partitions of a data set: sum, max, gather.

A fit can run in several threads, processes or machines, each with a partition of the rows. Every method of a collective is called by all
partitions, in the same order, and returns the same result to each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Collective:
    """Collective of a single partition: every method returns its argument.

    Attributes
    ----------
    rank : number of this partition; partitions are in the order of their rows
    size : number of partitions
    """

    rank: int = 0
    size: int = 1

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of integer arrays of the same shape. Integers wrap around on overflow."""
        return values

    def max(self, values: np.ndarray) -> np.ndarray:
        """Return the maximum of each entry."""
        return values

    def gather(self, values: np.ndarray) -> np.ndarray:
        """Return the concatenation along the first axis, in the order of ranks."""
        return values

    def gather_objects(self, value: T) -> list[T]:
        """Return the object of each partition, in the order of ranks."""
        return [value]


LOCAL = Collective()


class ThreadCollective(Collective):
    """Collective of partitions that are threads of this process."""

    def __init__(self, rank: int, exchange: _Exchange) -> None:
        self.rank, self.size, self._exchange = rank, exchange.size, exchange

    def sum(self, values: np.ndarray) -> np.ndarray:
        return self._meet(np.array(values), _sum)  # a copy: the caller may change its array while others still read

    def max(self, values: np.ndarray) -> np.ndarray:
        return self._meet(np.array(values), _max)

    def gather(self, values: np.ndarray) -> np.ndarray:
        return self._meet(np.array(values), np.concatenate)

    def gather_objects(self, value: T) -> list[T]:
        return self._meet(value, list)

    def _meet(self, value: Any, reduce: Callable[[Sequence[Any]], Any]) -> Any:
        return self._exchange.meet(self.rank, value, reduce)

    def abort(self) -> None:
        """Raise BrokenBarrierError in the other partitions, after an error in this one."""
        self._exchange.barrier.abort()


def _sum(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(parts, axis=0, dtype=parts[0].dtype)


def _max(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.max(parts, axis=0)


class _Exchange:
    """Slots through which the threads exchange values."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size)
        self._slots: tuple[list[Any], list[Any]] = ([None] * size, [None] * size)
        self._turns = [0] * size

    def meet(self, rank: int, value: Any, read: Callable[[list[Any]], T]) -> T:
        """Return the result of a function of the values of all partitions."""
        # Two sets of slots by turns: who writes to the first set again has met all others at the second, after they had read the first.
        slots = self._slots[self._turns[rank] % 2]
        self._turns[rank] += 1
        slots[rank] = value
        self.barrier.wait()
        return read(slots)


def thread_collectives(size: int) -> list[ThreadCollective]:
    """Return the collectives of `size` partitions that are threads of this process."""
    exchange = _Exchange(size)
    return [ThreadCollective(rank, exchange) for rank in range(size)]

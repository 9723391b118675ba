"""Samplers: the rows that a tree is grown on.

Random numbers are hashes of the key of the tree and of the row id in the whole data set, so that a sample does not depend on threads, pages
and partitions. Thresholds of gradients are computed from a sample of rows that is drawn in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from sapwood.data.queries import Queries
from sapwood.data.row_range import RowRange
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients

UNIFORM, TOP, VARIANCE, BAYESIAN = range(4)  # numbers in the kernel
THRESHOLD_ROWS = 1 << 16  # rows from which thresholds are computed
THRESHOLD_KEY = 0x2545F4914F6CDD1D
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class RowSampler:
    """Base class of samplers. It draws all rows.

    Order of calls: `bind` to the training rows, then `draw` before each tree.

    Attributes
    ----------
    first_row : id of the first row of this partition
    weights_rows : whether rows get weights, so that hessians are not constant
    headroom : maximum factor of a gradient
    for_splits_only : whether the sample is used to find splits only, and leaf values are computed from all rows
    """

    weights_rows: ClassVar[bool] = False
    for_splits_only: ClassVar[bool] = False

    first_row: int = field(default=0, kw_only=True)

    @property
    def headroom(self) -> float:
        return 1.0

    def bind(self, queries: Queries | None, y: np.ndarray, rows: RowRange | None = None, execution: Execution = SERIAL) -> Self:
        """Return the sampler for the rows of this partition. `rows` is None if it is the only one."""
        return replace(self, first_row=0 if rows is None else rows.first)

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        """Return the rows of this partition to grow on, ascending int64; None for all. Gradients are multiplied by the row weights."""
        return None


def _at_least_one(drawn: np.ndarray, has_first: bool, execution: Execution) -> np.ndarray:
    """Return the drawn rows, or the first row of the data set if no partition has drawn any."""
    return drawn if execution.any(len(drawn) > 0) else np.zeros(int(has_first), dtype=np.int64)


@dataclass(frozen=True)
class Uniform(RowSampler):
    """Sample rows with equal probability for each tree."""

    fraction: float

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        rows = kernels.sample_rows(gradients.n_rows, self.first_row, self.fraction, key, execution.n_threads)
        return _at_least_one(rows, self.first_row == 0 and gradients.n_rows > 0, execution)


@dataclass(frozen=True)
class WholeQueries(RowSampler):
    """Sample whole queries with equal probability."""

    fraction: float
    queries: Queries | None = None

    def bind(self, queries: Queries | None, y: np.ndarray, rows: RowRange | None = None, execution: Execution = SERIAL) -> WholeQueries:
        return replace(super().bind(queries, y, rows, execution), queries=None if queries is None else queries.located(execution))

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        assert self.queries is not None
        drawn = kernels.sample_rows(self.queries.n_queries, self.queries.first, self.fraction, key)
        return self.queries.rows(_at_least_one(drawn, self.queries.first == 0 and self.queries.n_queries > 0, execution))


@dataclass(frozen=True)
class Stratified(RowSampler):
    """Sample the same fraction of rows of each class, at least one row: those with the lowest hashes."""

    fraction: float
    classes: tuple[np.ndarray, ...] = ()  # rows of this partition by class, uint64
    counts: tuple[int, ...] = ()  # number of rows of each class in all partitions

    def bind(self, queries: Queries | None, y: np.ndarray, rows: RowRange | None = None, execution: Execution = SERIAL) -> Stratified:
        bound = super().bind(queries, y, rows, execution)
        order = np.argsort(y, kind="stable")
        ordered = y[order]
        levels = np.unique(execution.gather(np.unique(ordered)))
        classes = tuple(np.split(order.astype(np.uint64), np.searchsorted(ordered, levels[1:])))
        return replace(bound, classes=classes, counts=execution.totals(tuple(map(len, classes))))

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        hashes = kernels.hash_rows(gradients.n_rows, key, self.first_row).astype(np.uint64)
        first, n_drawn = np.uint64(self.first_row), [max(1, round(self.fraction * count)) for count in self.counts]
        drawn = []
        for rows, n in zip(self.classes, n_drawn, strict=True):
            marks = hashes[rows] << np.uint64(32) | (rows + first)  # unique
            drawn.append(np.partition(marks, n - 1)[:n] if n < len(marks) else marks)
        if not execution.is_local:
            drawn = _lowest_of_all(drawn, n_drawn, execution)
        return np.sort((np.concatenate(drawn) & np.uint64(0xFFFFFFFF)) - first).astype(np.int64)


def _lowest_of_all(of_classes: list[np.ndarray], n_drawn: list[int], execution: Execution) -> list[np.ndarray]:
    """Return, for each class, the numbers of this partition that are among the `n_drawn` lowest of all partitions. Numbers are unique."""
    n_classes = len(of_classes)
    sizes = execution.gather(np.array([[len(marks) for marks in of_classes]]))  # (n_partitions, n_classes)
    marks = execution.gather(np.concatenate(of_classes))
    of_mark = np.repeat(np.tile(np.arange(n_classes), len(sizes)), sizes.ravel())
    begin = np.cumsum(sizes.sum(axis=0)) - sizes.sum(axis=0)
    last = marks[np.lexsort((marks, of_mark))][begin + np.array(n_drawn) - 1]
    return [own[own <= most] for own, most in zip(of_classes, last, strict=True)]


class _Weighted(RowSampler):
    """Base class of samplers that multiply gradients by row weights."""

    weights_rows: ClassVar[bool] = True

    def _draw(self, gradients: FixedGradients, sampling: int, a: float, b: float, key: int, execution: Execution) -> np.ndarray | None:
        native = kernels.RowSampling(sampling, a, b, key)
        rows, sums = kernels.sample_gradients(gradients.data, native, first_row=self.first_row, n_threads=execution.n_threads)
        size, gradient, hessian = execution.totals(sums)
        gradients.sums = size, gradient, hessian
        return _at_least_one(rows, self.first_row == 0 and gradients.n_rows > 0, execution)

    def _sample_gradients(self, gradients: FixedGradients, key: int, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and hessians of a sample of the rows of all partitions, drawn with replacement, in any order."""
        pairs = gradients.data.view(np.int32).reshape(-1, 2)
        if gradients.n_total > THRESHOLD_ROWS:
            hashes = kernels.hash_rows(THRESHOLD_ROWS, (key + THRESHOLD_KEY) & MASK).astype(np.int64)
            ids = hashes * gradients.n_total >> 32
            pairs = pairs[ids[RowRange(gradients.n_rows, self.first_row, gradients.n_total).holds(ids)] - self.first_row]
        pairs = execution.gather(pairs)
        return pairs[:, 0].astype(np.float64), pairs[:, 1].view(np.uint32).astype(np.float64)


@dataclass(frozen=True)
class OneSide(_Weighted):
    """Gradient-based one-side sampling, GOSS (Ke et al., 2017): the rows with the largest |gradient| * hessian, and a weighted sample of
    the others.

    Attributes
    ----------
    top : fraction of rows with the largest values
    other : fraction of rows that are sampled from the others
    first_rounds : number of rounds without sampling
    """

    top: float = 0.2
    other: float = 0.1
    first_rounds: int = 0

    @property
    def headroom(self) -> float:
        return (1 - self.top) / self.other

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        if round_ < self.first_rounds:
            return None
        gradient, hessian = self._sample_gradients(gradients, key, execution)
        size = np.abs(gradient) * hessian
        at = min(len(size) - 1, int((1 - self.top) * len(size)))
        threshold = float(np.partition(size, at)[at])
        return self._draw(gradients, TOP, max(threshold, 5e-324), self.other / (1 - self.top), key, execution)


@dataclass(frozen=True)
class MinimalVariance(_Weighted):
    """Minimal variance sampling, MVS (Ibragimov and Gusev, 2019): rows are drawn with a probability that increases with the gradient, and
    weighted by the inverse probability."""

    fraction: float
    for_splits_only: ClassVar[bool] = True

    @property
    def headroom(self) -> float:
        return 16.0

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        gradient, hessian = self._sample_gradients(gradients, key, execution)
        # Sums of integers below 2^53 are exact in any order.
        ratio = float((np.abs(gradient).sum() / max(hessian.sum(), 1.0)) ** 2)
        size = np.sort(np.sqrt(gradient**2 + ratio * hessian**2))[::-1]
        return self._draw(gradients, VARIANCE, ratio, max(_mvs_threshold(size, self.fraction), 5e-324), key, execution)


@dataclass(frozen=True)
class BayesianBootstrap(_Weighted):
    """Bayesian bootstrap: all rows, with weights from an exponential distribution raised to the power `temperature`."""

    temperature: float = 1.0
    for_splits_only: ClassVar[bool] = True

    @property
    def headroom(self) -> float:
        return 32.0

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        self._draw(gradients, BAYESIAN, self.temperature, 1.0, key, execution)
        return None


def _mvs_threshold(size: np.ndarray, fraction: float) -> float:
    """Return t such that the sum of the probabilities min(1, size / t) is a fraction of the rows. Sizes are descending."""
    goal = fraction * len(size)
    rest = np.append(np.cumsum(size[::-1])[::-1], 0.0)  # rest[k] is the sum of size[k:]
    for k in range(math.ceil(goal)):
        threshold = rest[k] / (goal - k)
        if size[k] <= threshold:
            return float(threshold)
    return float(size[min(len(size) - 1, int(goal))])


SAMPLINGS = ("uniform", "goss", "mvs", "bayesian")

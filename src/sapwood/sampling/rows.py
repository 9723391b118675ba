"""Which rows a tree is grown on.

Every choice is a hash of the tree's key and the row's id, which counts through all partitions: threads, pages and workers agree on it.
Thresholds that depend on gradients come from rows chosen in the same way.
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

UNIFORM, TOP, VARIANCE, BAYESIAN = range(4)  # the kernel's numbers
THRESHOLD_ROWS = 1 << 16  # rows that decide on thresholds
THRESHOLD_KEY = 0x2545F4914F6CDD1D
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class RowSampler:
    """All rows. A sampler's life: `bind` to the training rows, then `draw` for each tree, before it is grown.

    Attributes
    ----------
    first_row : id of this partition's first row
    multiplies : whether rows are weighted, so that hessians are never all one
    headroom : the most that a gradient may be multiplied by
    for_splits_only : whether only splits are sought on what is drawn, and leaves get their values from all rows
    """

    weights_rows: ClassVar[bool] = False
    for_splits_only: ClassVar[bool] = False

    first_row: int = field(default=0, kw_only=True)

    @property
    def headroom(self) -> float:
        return 1.0

    def bind(self, queries: Queries | None, y: np.ndarray, rows: RowRange | None = None, execution: Execution = SERIAL) -> Self:
        """The sampler for the rows of this partition; None for `rows`: there is no other."""
        return replace(self, first_row=0 if rows is None else rows.first)

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        """The rows of this partition to grow on, ascending int64, their gradients scaled; None for all."""
        return None


def _at_least_one(drawn: np.ndarray, has_first: bool, execution: Execution) -> np.ndarray:
    """Rows that were drawn; the first row of the data set if no partition has drawn any."""
    return drawn if execution.any(len(drawn) > 0) else np.zeros(int(has_first), dtype=np.int64)


@dataclass(frozen=True)
class Uniform(RowSampler):
    """Every row with the same probability, anew for each tree."""

    share: float

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        rows = kernels.sample_rows(gradients.n_rows, self.first_row, self.share, key, execution.n_threads)
        return _at_least_one(rows, self.first_row == 0 and gradients.n_rows > 0, execution)


@dataclass(frozen=True)
class WholeQueries(RowSampler):
    """Every query with the same probability, with all its rows; drawn by a hash of its number."""

    share: float
    queries: Queries | None = None

    def bind(self, queries: Queries | None, y: np.ndarray, rows: RowRange | None = None, execution: Execution = SERIAL) -> WholeQueries:
        return replace(super().bind(queries, y, rows, execution), queries=None if queries is None else queries.located(execution))

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        assert self.queries is not None
        drawn = kernels.sample_rows(self.queries.n_queries, self.queries.first, self.share, key)
        return self.queries.rows(_at_least_one(drawn, self.queries.first == 0 and self.queries.n_queries > 0, execution))


@dataclass(frozen=True)
class Stratified(RowSampler):
    """The same share of the rows of each class: those with the lowest hashes, at least one."""

    share: float
    classes: tuple[np.ndarray, ...] = ()  # the rows of each class of any partition, ids from the first row on, uint64
    counts: tuple[int, ...] = ()  # the rows of each class in all partitions

    def bind(self, queries: Queries | None, y: np.ndarray, rows: RowRange | None = None, execution: Execution = SERIAL) -> Stratified:
        bound = super().bind(queries, y, rows, execution)
        order = np.argsort(y, kind="stable")
        ordered = y[order]
        levels = np.unique(execution.gather(np.unique(ordered)))
        classes = tuple(np.split(order.astype(np.uint64), np.searchsorted(ordered, levels[1:])))
        return replace(bound, classes=classes, counts=execution.totals(tuple(map(len, classes))))

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        hashes = kernels.hash_rows(gradients.n_rows, key, self.first_row).astype(np.uint64)
        first, wanted = np.uint64(self.first_row), [max(1, round(self.share * count)) for count in self.counts]
        drawn = []
        for rows, n in zip(self.classes, wanted, strict=True):
            marks = hashes[rows] << np.uint64(32) | (rows + first)  # no two are equal
            drawn.append(np.partition(marks, n - 1)[:n] if n < len(marks) else marks)
        if not execution.is_local:
            drawn = _lowest_of_all(drawn, wanted, execution)
        return np.sort((np.concatenate(drawn) & np.uint64(0xFFFFFFFF)) - first).astype(np.int64)


def _lowest_of_all(of_classes: list[np.ndarray], wanted: list[int], execution: Execution) -> list[np.ndarray]:
    """Of each class's numbers, no two of them equal, those that are among the lowest, so many as wanted, of all partitions."""
    n_classes = len(of_classes)
    sizes = execution.gather(np.array([[len(marks) for marks in of_classes]]))  # (n_partitions, n_classes)
    marks = execution.gather(np.concatenate(of_classes))
    of_mark = np.repeat(np.tile(np.arange(n_classes), len(sizes)), sizes.ravel())
    begin = np.cumsum(sizes.sum(axis=0)) - sizes.sum(axis=0)
    last = marks[np.lexsort((marks, of_mark))][begin + np.array(wanted) - 1]
    return [own[own <= most] for own, most in zip(of_classes, last, strict=True)]


class _Weighted(RowSampler):
    weights_rows: ClassVar[bool] = True

    def _draw(self, gradients: FixedGradients, sampling: int, a: float, b: float, key: int, execution: Execution) -> np.ndarray | None:
        rows, sums = kernels.sample_records(gradients.data, sampling, a, b, key, n_threads=execution.n_threads, first_row=self.first_row)
        size, gradient, hessian = execution.totals(sums)
        gradients.sums = size, gradient, hessian
        return _at_least_one(rows, self.first_row == 0 and gradients.n_rows > 0, execution)

    def _look(self, gradients: FixedGradients, key: int, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians of some rows of all partitions, a few of them perhaps twice; in which order depends on the partitions."""
        pairs = gradients.data.view(np.int32).reshape(-1, 2)
        if gradients.n_total > THRESHOLD_ROWS:
            chances = kernels.hash_rows(THRESHOLD_ROWS, (key + THRESHOLD_KEY) & MASK).astype(np.int64)
            ids = chances * gradients.n_total >> 32
            pairs = pairs[ids[RowRange(gradients.n_rows, self.first_row, gradients.n_total).holds(ids)] - self.first_row]
        pairs = execution.gather(pairs)
        return pairs[:, 0].astype(np.float64), pairs[:, 1].view(np.uint32).astype(np.float64)


@dataclass(frozen=True)
class OneSide(_Weighted):
    """Gradient-based one-side sampling (Ke et al., 2017): the rows of the largest |gradient| * hessian, and some others with a weight.

    In the first rounds, whose gradients tell little of what is hard to learn, all rows count.
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
        gradient, hessian = self._look(gradients, key, execution)
        size = np.abs(gradient) * hessian
        at = min(len(size) - 1, int((1 - self.top) * len(size)))
        threshold = float(np.partition(size, at)[at])
        return self._draw(gradients, TOP, max(threshold, 5e-324), self.other / (1 - self.top), key, execution)


@dataclass(frozen=True)
class MinimalVariance(_Weighted):
    """A row with a probability that grows with its gradient, weighted by its inverse: the estimate of split scores that varies least
    (Ibragimov and Gusev, 2019)."""

    share: float
    for_splits_only: ClassVar[bool] = True

    @property
    def headroom(self) -> float:
        return 16.0

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        gradient, hessian = self._look(gradients, key, execution)
        # Sums of integers below 2^53: the order does not change them.
        ratio = float((np.abs(gradient).sum() / max(hessian.sum(), 1.0)) ** 2)
        size = np.sort(np.sqrt(gradient**2 + ratio * hessian**2))[::-1]
        return self._draw(gradients, VARIANCE, ratio, max(_unit(size, self.share), 5e-324), key, execution)


@dataclass(frozen=True)
class BayesianBootstrap(_Weighted):
    """All rows, with weights drawn from an exponential distribution, to the power of a temperature."""

    temperature: float = 1.0
    for_splits_only: ClassVar[bool] = True

    @property
    def headroom(self) -> float:
        return 32.0

    def draw(self, gradients: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        self._draw(gradients, BAYESIAN, self.temperature, 1.0, key, execution)
        return None


def _unit(size: np.ndarray, share: float) -> float:
    """The size, of descending ones, that has probability one, so that the sum of min(1, size / unit) is a share of the rows."""
    goal = share * len(size)
    rest = np.append(np.cumsum(size[::-1])[::-1], 0.0)  # of those from k on
    for k in range(math.ceil(goal)):
        unit = rest[k] / (goal - k)
        if size[k] <= unit:
            return float(unit)
    return float(size[min(len(size) - 1, int(goal))])


SAMPLINGS = ("uniform", "goss", "mvs", "bayesian")

"""Which rows a tree is grown on.

Every choice is a hash of the tree's key and the row's id: threads, pages and workers agree on it. Thresholds that depend on gradients come
from rows chosen in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.queries import Queries
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.gradients import FixedGradients

UNIFORM, TOP, VARIANCE, BAYESIAN = range(4)  # the kernel's numbers
LOOK_ROWS = 1 << 16  # rows that decide on thresholds
LOOK_KEY = 0x2545F4914F6CDD1D
MASK = (1 << 64) - 1


class RowSampler:
    """All rows. A sampler's life: `bind` to the training rows, then `draw` for each tree, before it is grown.

    Attributes
    ----------
    multiplies : whether rows are weighted, so that hessians are never all one
    headroom : the most that a gradient may be multiplied by
    for_splits : whether only splits are sought on what is drawn, and leaves get their values from all rows
    """

    multiplies = False
    headroom: float = 1.0
    for_splits = False

    def bind(self, queries: Queries | None, y: np.ndarray) -> RowSampler:
        """The sampler for certain rows: itself, unless it draws by their queries or classes."""
        return self

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        """The rows to grow on, ascending int64, their records scaled; None for all."""
        return None


@dataclass(frozen=True)
class Uniform(RowSampler):
    """Every row with the same probability, anew for each tree."""

    share: float

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        rows = kernels.sample_rows(records.n_rows, 0, self.share, key, execution.n_threads)
        return rows if len(rows) else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class WholeQueries(RowSampler):
    """Every query with the same probability, with all its rows; drawn by a hash of its number."""

    share: float
    queries: Queries | None = None

    def bind(self, queries: Queries | None, y: np.ndarray) -> WholeQueries:
        return replace(self, queries=queries)

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        assert self.queries is not None
        drawn = kernels.sample_rows(self.queries.n_queries, 0, self.share, key).astype(np.int64)
        return self.queries.rows(drawn if len(drawn) else np.zeros(1, dtype=np.int64))


@dataclass(frozen=True)
class Stratified(RowSampler):
    """The same share of the rows of each class: those with the lowest hashes, at least one."""

    share: float
    classes: tuple[np.ndarray, ...] = ()  # the rows of each, uint64

    def bind(self, queries: Queries | None, y: np.ndarray) -> Stratified:
        order = np.argsort(y, kind="stable").astype(np.uint64)
        return replace(self, classes=tuple(np.split(order, np.flatnonzero(np.diff(np.sort(y))) + 1)))

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        hashes = kernels.hash_rows(records.n_rows, key).astype(np.uint64)
        drawn = []
        for rows in self.classes:
            marks = hashes[rows] << np.uint64(32) | rows  # no two are equal
            n = max(1, round(self.share * len(rows)))
            drawn.append(np.partition(marks, n - 1)[:n] & np.uint64(0xFFFFFFFF))
        return np.sort(np.concatenate(drawn)).astype(np.int64)


class _Weighted(RowSampler):
    multiplies = True

    def _draw(self, records: FixedGradients, sampling: int, a: float, b: float, key: int, execution: Execution) -> np.ndarray | None:
        rows, records.sums = kernels.sample_records(records.data, sampling, a, b, key, execution.n_threads)
        return rows if len(rows) else np.zeros(1, dtype=np.int64)

    def _look(self, records: FixedGradients, key: int) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians of some rows, a few of them perhaps twice."""
        pairs = records.data.view(np.int32).reshape(-1, 2)
        if records.n_rows > LOOK_ROWS:
            chances = kernels.hash_rows(LOOK_ROWS, (key + LOOK_KEY) & MASK).astype(np.int64)
            pairs = pairs[chances * records.n_rows >> 32]
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
    def headroom(self) -> float:  # type: ignore[override]
        return (1 - self.top) / self.other

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        if round_ < self.first_rounds:
            return None
        gradient, hessian = self._look(records, key)
        size = np.abs(gradient) * hessian
        at = min(len(size) - 1, int((1 - self.top) * len(size)))
        threshold = float(np.partition(size, at)[at])
        return self._draw(records, TOP, max(threshold, 5e-324), self.other / (1 - self.top), key, execution)


@dataclass(frozen=True)
class MinimalVariance(_Weighted):
    """A row with a probability that grows with its gradient, weighted by its inverse: the estimate of split scores that varies least
    (Ibragimov and Gusev, 2019)."""

    share: float
    headroom: float = 16.0
    for_splits = True

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        gradient, hessian = self._look(records, key)
        ratio = float((np.abs(gradient).sum() / max(hessian.sum(), 1.0)) ** 2)
        size = np.sort(np.sqrt(gradient**2 + ratio * hessian**2))[::-1]
        return self._draw(records, VARIANCE, ratio, max(_unit(size, self.share), 5e-324), key, execution)


@dataclass(frozen=True)
class BayesianBootstrap(_Weighted):
    """All rows, with weights drawn from an exponential distribution, to the power of a temperature."""

    temperature: float = 1.0
    headroom: float = 32.0
    for_splits = True

    def draw(self, records: FixedGradients, key: int, execution: Execution, round_: int = 0) -> np.ndarray | None:
        self._draw(records, BAYESIAN, self.temperature, 1.0, key, execution)
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

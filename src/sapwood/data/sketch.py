"""Weighted quantiles of more numbers than one would sort at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class _Summary:
    """Some of the values seen, ascending, each with the weight from (above) the one before up to it.

    `error` bounds how far the weight up to a value may be off: what lies between two values kept is counted with the upper one.
    """

    values: np.ndarray  # (n,) float64
    weights: np.ndarray  # (n,) float64
    error: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray) -> Self:
        distinct, group = np.unique(values, return_inverse=True)
        return cls(distinct, np.bincount(group, weights, len(distinct)))

    def merge(self, other: _Summary) -> _Summary:
        values, group = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        weights = np.bincount(group, np.concatenate([self.weights, other.weights]), len(values))
        return _Summary(values, weights, self.error + other.error)

    def prune(self, size: int) -> _Summary:
        """At most 2 * size values: those at which another size-th of the weight is reached, and every heavy one."""
        if len(self.values) <= 2 * size:
            return self
        upto = np.cumsum(self.weights)
        share = upto[-1] / size
        reached = np.floor(upto / share)
        keep = (np.diff(reached, prepend=0.0) > 0) | (self.weights >= share)
        keep[-1] = True
        at = np.flatnonzero(keep)
        between = np.diff(np.concatenate([[0.0], upto[at]])) - self.weights[at]  # what was dropped before each
        return _Summary(self.values[at], np.diff(upto[at], prepend=0.0), self.error + float(between.max()))


class QuantileSketch:
    """A summary of weighted numbers that answers for quantiles, and can be merged with others.

    The numbers come in blocks. Summaries of two blocks are merged into one of four, and so on, each pruned to about 2 * `size` values: a
    level adds at most 1 / size of the weight to the error, so that n blocks have a relative error of at most
    (log2(n) + 1) / size. `error` is the bound that holds for what was really seen, often much less; it is 0 while nothing was dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.data.sketch import QuantileSketch
    >>> sketch = QuantileSketch(size=100)
    >>> for block in np.arange(100_000.0).reshape(20, -1):
    ...     sketch.add(block)
    >>> bool(abs(sketch.quantiles([0.5])[0] - 50_000) <= sketch.error * 100_000)
    True
    """

    def __init__(self, size: int = 1024) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1; got {size}")
        self.size = size
        self.levels: list[_Summary | None] = []  # level k stands for 2^k blocks

    def add(self, values: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Take in numbers; missing ones, and those without weight, do not count."""
        values = np.asarray(values, dtype=np.float64)
        weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
        counts = ~np.isnan(values) & (weights > 0)
        if counts.any():
            self._carry(_Summary.of(values[counts], weights[counts]).prune(self.size), 0)

    def merge(self, other: QuantileSketch) -> None:
        """Take in all that another sketch has seen."""
        for level, summary in enumerate(other.levels):
            if summary is not None:
                self._carry(summary, level)

    def _carry(self, summary: _Summary, level: int) -> None:
        self.levels += [None] * (level + 1 - len(self.levels))
        before = self.levels[level]
        if before is None:
            self.levels[level] = summary
            return
        self.levels[level] = None
        self._carry(before.merge(summary).prune(self.size), level + 1)

    @property
    def summary(self) -> _Summary:
        """All levels in one, not pruned."""
        whole = _Summary(np.empty(0), np.empty(0))
        for summary in self.levels:
            if summary is not None:
                whole = whole.merge(summary)
        return whole

    @property
    def weight(self) -> float:
        return float(self.summary.weights.sum())

    @property
    def error(self) -> float:
        """How far, as a share of the weight, a quantile may be off."""
        whole = self.summary
        return whole.error / float(whole.weights.sum()) if len(whole.values) else 0.0

    def quantiles(self, shares: np.ndarray | list[float]) -> np.ndarray:
        """For each share the least value kept with at least that share of the weight at or below it."""
        whole = self.summary
        if not len(whole.values):
            raise ValueError("the sketch has seen no numbers")
        upto = np.cumsum(whole.weights)
        at = np.searchsorted(upto, np.asarray(shares) * upto[-1] * (1 - 1e-15), side="left")
        return whole.values[np.minimum(at, len(upto) - 1)]

    def cut_points(self, max_bins: int) -> np.ndarray:
        """At most max_bins - 1 cut points: between all values if they are few, or else at quantiles."""
        whole = self.summary
        if len(whole.values) <= max_bins:
            low, high = whole.values[:-1], whole.values[1:]
            with np.errstate(invalid="ignore", over="ignore"):
                middle = low / 2 + high / 2
            return np.where((middle >= low) & (middle < high), middle, low)
        return np.unique(self.quantiles(np.arange(1, max_bins) / max_bins))[: max_bins - 1]

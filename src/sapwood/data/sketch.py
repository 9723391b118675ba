"""Mergeable sketch of weighted quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class _Summary:
    """A subset of the values seen, ascending. The weight of a value includes the dropped values between it and its predecessor.

    `error` bounds the error of the cumulative weight at any value.
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
        """Reduce to at most 2 * size values: one for each 1 / size of the weight, and every value heavier than that."""
        if len(self.values) <= 2 * size:
            return self
        upto = np.cumsum(self.weights)
        step = upto[-1] / size
        reached = np.floor(upto / step)
        keep = (np.diff(reached, prepend=0.0) > 0) | (self.weights >= step)
        keep[-1] = True
        at = np.flatnonzero(keep)
        between = np.diff(np.concatenate([[0.0], upto[at]])) - self.weights[at]  # weight of the dropped values before each
        return _Summary(self.values[at], np.diff(upto[at], prepend=0.0), self.error + float(between.max()))


class QuantileSketch:
    """Mergeable sketch of weighted quantiles.

    Values are added in blocks. The summaries of two blocks are merged, then those of two pairs, and so on; each is pruned to about
    2 * `size` values. A level adds at most 1 / size to the relative error, so that n blocks have a relative error of at most
    (log2(n) + 1) / size. `error` is the bound for the values actually seen, often much smaller; it is 0 while nothing was dropped.

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
        self.levels: list[_Summary | None] = []  # level k summarises 2^k blocks

    def add(self, values: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add values. Missing values and values of weight 0 are ignored."""
        values = np.asarray(values, dtype=np.float64) + 0.0  # no -0.0: which of two zeros a sort puts first differs between CPUs
        weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
        counts = ~np.isnan(values) & (weights > 0)
        if counts.any():
            self._carry(_Summary.of(values[counts], weights[counts]).prune(self.size), 0)

    def merge(self, other: QuantileSketch) -> None:
        """Add all values of another sketch."""
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
        """Merged summary of all levels, not pruned."""
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
        """Bound of the rank error of a quantile, as a fraction of the total weight."""
        whole = self.summary
        return whole.error / float(whole.weights.sum()) if len(whole.values) else 0.0

    def quantiles(self, fractions: np.ndarray | list[float]) -> np.ndarray:
        """Return, for each fraction, the smallest kept value with at least that fraction of the weight at or below it."""
        whole = self.summary
        if not len(whole.values):
            raise ValueError("the sketch is empty: add values first")
        upto = np.cumsum(whole.weights)
        at = np.searchsorted(upto, np.asarray(fractions) * upto[-1] * (1 - 1e-15), side="left")
        return whole.values[np.minimum(at, len(upto) - 1)]

    def cut_points(self, max_bins: int) -> np.ndarray:
        """Return at most max_bins - 1 cut points: between all values if there are at most max_bins, otherwise at quantiles."""
        whole = self.summary
        if len(whole.values) <= max_bins:
            low, high = whole.values[:-1], whole.values[1:]
            with np.errstate(invalid="ignore", over="ignore"):
                middle = low / 2 + high / 2
            return np.where((middle >= low) & (middle < high), middle, low)
        return np.unique(self.quantiles(np.arange(1, max_bins) / max_bins))[: max_bins - 1]

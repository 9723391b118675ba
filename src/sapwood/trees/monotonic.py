"""Bounds of leaf values under monotonic constraints."""

from __future__ import annotations

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.features import TreeFeatures
from sapwood.trees.frontier import Frontier
from sapwood.trees.growth import Grower

FAR = np.iinfo(np.int64).max


class MonotonicBounds:
    """Basic method: the native search bounds the children of a split by the mean of their values. There is nothing else to do.

    Order of calls: `after_splits` after each batch of splits; `finish` after the last one, before leaf values are computed.
    """

    grower: Grower
    frontier: Frontier
    features: TreeFeatures

    def __init__(self, grower: Grower, frontier: Frontier, features: TreeFeatures, monotonic: np.ndarray | None) -> None:
        self.grower, self.frontier, self.features = grower, frontier, features

    def after_splits(self, nodes: list[int], first: int) -> None:
        """Called after nodes were split. Their children are first, first + 1, ..."""

    def finish(self) -> None:
        """Called after the last split."""


class Neighbours(MonotonicBounds):
    """Bounds the value of each leaf by the values of its neighbors, which is less strict than the basic method.

    A leaf is a box: for each feature a range of bins or a set of levels, with or without missing values. Two leaves are neighbors if they
    differ in one monotonic feature and overlap in all others; their values must be in the order of that feature. A split changes the bounds
    of the neighbors of the leaf, whose best splits are searched again.
    """

    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray

    def __init__(self, grower: Grower, frontier: Frontier, features: TreeFeatures, monotonic: np.ndarray | None) -> None:
        super().__init__(grower, frontier, features, monotonic)
        assert monotonic is not None
        self.monotonic = monotonic
        n = len(monotonic)
        self.low, self.high, self.missing = np.zeros((1, n), dtype=np.int64), np.full((1, n), FAR), np.ones((1, n), dtype=bool)
        self.levels: dict[int, np.ndarray] = {}  # by feature that is split by levels: (n_leaves, 8) uint32, bits of the levels in the box
        self.leaves: list[int] = [0]
        self.bounds: dict[int, tuple[float, float]] = {0: (-np.inf, np.inf)}

    def after_splits(self, nodes: list[int], first: int) -> None:
        grown = self.grower.nodes()
        for i, node in enumerate(nodes):
            self._split(node, first + 2 * i, grown)
        values, lower_before, upper_before = grown.step[self.leaves], grown.lower, grown.upper
        lower, upper = self._bounds(values, values)
        new = set(range(first, first + 2 * len(nodes)))
        for leaf, low, high in zip(self.leaves, lower.tolist(), upper.tolist(), strict=True):
            # A new leaf was searched with the bounds of its parent and the value of its sibling.
            before = (lower_before[leaf], upper_before[leaf]) if leaf in new else self.bounds[leaf]
            self.bounds[leaf] = low, high
            if (low, high) != before:
                self.grower.limit(leaf, low, high)
                self.frontier.update_gain(leaf, self.grower.search_again(leaf, self.features.of_node(leaf)))

    def finish(self) -> None:
        """Bound each leaf by the means with its neighbors, since exact leaf values differ slightly from those of the search."""
        values = self.grower.nodes().step[self.leaves]
        middle = (values[:, None] + values[None, :]) / 2
        lower, upper = self._bounds(middle.T, middle)
        for leaf, low, high in zip(self.leaves, lower.tolist(), upper.tolist(), strict=True):
            self.grower.limit(leaf, low, high)

    def _split(self, node: int, left: int, grown: kernels.NodeColumns) -> None:
        """Replace the box of a leaf by those of its children."""
        at = self.leaves.index(node)
        feature, bin_, missing_left = grown.feature[node], grown.bin[node], grown.missing_left[node]
        self.leaves[at] = left
        self.leaves.append(left + 1)
        self.bounds.pop(node)
        self.low = np.vstack([self.low, self.low[at]])
        self.high = np.vstack([self.high, self.high[at]])
        self.missing = np.vstack([self.missing, self.missing[at]])
        self.levels = {f: np.vstack([bits, bits[at]]) for f, bits in self.levels.items()}
        if grown.by_levels[node]:
            left_levels = self.grower.sets()[np.count_nonzero(grown.by_levels[:node])]
            bits = self.levels.setdefault(int(feature), np.full((len(self.leaves), 8), 0xFFFFFFFF, dtype=np.uint32))
            bits[at] &= left_levels
            bits[-1] &= ~left_levels
        else:
            self.high[at, feature] = min(self.high[at, feature], bin_)  # a split that separates missing values may be outside the box
            self.low[-1, feature] = max(self.low[-1, feature], bin_ + 1)
        self.missing[at if not missing_left else -1, feature] = False

    def _bounds(self, below: np.ndarray, above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds, (n_leaves,) each: for leaf i the maximum of below[..., j] over the leaves j that must not be above
        it, and the minimum of above[..., j] over those that must not be below it."""
        n = len(self.leaves)
        empty = self.low > self.high  # holds missing values only
        disjoint = (self.low[:, None] > self.high[None]) | (self.low[None] > self.high[:, None]) | empty[:, None] | empty[None]
        for of_levels, bits in self.levels.items():
            disjoint[:, :, of_levels] = ~(bits[:, None] & bits[None]).any(axis=2)
        apart = disjoint & ~(self.missing[:, None] & self.missing[None])
        n_apart = apart.sum(axis=2)
        under = np.zeros((n, n), dtype=bool)  # [i, j]: the value of i must not be above that of j
        for feature in np.flatnonzero(self.monotonic):
            alone = n_apart - apart[:, :, feature] == 0  # all other features overlap
            before = (self.high[:, None, feature] < self.low[None, :, feature]) & ~empty[:, None, feature] & ~empty[None, :, feature]
            under |= alone & (before if self.monotonic[feature] > 0 else before.T)
        upper = np.where(under, np.broadcast_to(above, (n, n)), np.inf).min(axis=1)
        lower = np.where(under.T, np.broadcast_to(below, (n, n)), -np.inf).max(axis=1)
        return lower, upper


MONOTONIC_METHODS: dict[str, type[MonotonicBounds]] = {"basic": MonotonicBounds, "neighbours": Neighbours}

"""Tree whose splits are on columns of the table, for export to other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sapwood.trees.leaf_models import ConstantLeaves, LeafModel


@dataclass(frozen=True)
class ColumnTree:
    """Tree whose splits are on columns of the table, not on encoded features.

    Values x <= threshold go left; for a category, the codes in `levels` do. Missing values and unseen levels go left if `missing_left`. A
    leaf has column -1.
    """

    column: np.ndarray  # (n_nodes,) int32
    threshold: np.ndarray  # (n_nodes,) float64
    left: np.ndarray  # (n_nodes,) int32
    right: np.ndarray  # (n_nodes,) int32
    missing_left: np.ndarray  # (n_nodes,) bool
    gain: np.ndarray  # (n_nodes,) float64
    count: np.ndarray  # (n_nodes,) int64
    leaves: LeafModel
    levels: dict[int, np.ndarray] = field(default_factory=dict)  # by node: (n_levels,) bool, codes that go left
    cover: np.ndarray | None = None  # (n_nodes,) float64: weight of the training rows; None: their number

    @property
    def weights(self) -> np.ndarray:
        """(n_nodes,) float64: weight of the training rows that reached each node."""
        return self.count.astype(np.float64) if self.cover is None else self.cover

    @property
    def is_leaf(self) -> np.ndarray:
        return self.column < 0

    def take(self, order: Sequence[int]) -> ColumnTree:
        """Return the tree with its nodes in this order. `order` contains the root and all nodes that can be reached from it."""
        number = np.full(len(self.column), -1, dtype=np.int32)
        number[order] = np.arange(len(order))
        leaf = self.is_leaf[order]
        arrays = {name: getattr(self, name)[order] for name in ("column", "threshold", "missing_left", "gain", "count")}
        children = {name: np.where(leaf, -1, number[getattr(self, name)[order]]).astype(np.int32) for name in ("left", "right")}
        levels = {int(number[node]): left for node, left in self.levels.items() if number[node] >= 0}
        cover = None if self.cover is None else self.cover[order]
        return ColumnTree(**arrays, **children, leaves=self.leaves.take(order), levels=levels, cover=cover)

    @property
    def with_missing_right(self) -> ColumnTree:
        """Tree in which missing values go right at splits on categories: children are swapped where they go left."""
        swap = np.array([node in self.levels and bool(self.missing_left[node]) for node in range(len(self.column))])
        return replace(
            self,
            left=np.where(swap, self.right, self.left),
            right=np.where(swap, self.left, self.right),
            missing_left=self.missing_left & ~swap,
            levels={node: ~left if swap[node] else left for node, left in self.levels.items()},
        )

    @classmethod
    def leaf(cls, value: float) -> ColumnTree:
        """Return a tree with one leaf."""
        none, zero = np.array([-1], dtype=np.int32), np.zeros(1)
        leaves = ConstantLeaves(np.array([value]))
        return cls(none, zero, none, none, np.zeros(1, dtype=bool), zero, np.ones(1, dtype=np.int64), leaves)

"""Branches: nodes of a tree whose rows stay together, because a split is ignored where it would leave too few rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.rules import Limits, Rules
from sapwood.trees.tree import Tree


@dataclass(frozen=True)
class Branches:
    """Binary tree of branches, the root first: a branch comes after the one above it.

    Attributes
    ----------
    feature : (n_branches,) feature that divides a branch; -1 where it ends
    left, right : (n_branches,) branches below; -1 where it ends
    sums : (3, n_branches) int64: gradients, hessians, rows
    of_leaf : (n_leaves,) branch that each leaf of the tree is in
    """

    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    sums: np.ndarray
    of_leaf: np.ndarray

    @classmethod
    def of_nodes(cls, tree: Tree, leaves: np.ndarray, sums: np.ndarray) -> Branches:
        """Return branches of one node each. `sums` are those of the leaves, (3, n_leaves) int64."""
        whole, left = np.zeros((3, len(tree.feature)), dtype=np.int64), np.where(tree.feature < 0, -1, tree.left)
        whole[:, leaves] = sums
        for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # a child's index is larger than its parent's
            whole[:, node] = whole[:, tree.left[node]] + whole[:, tree.right[node]]
        return cls(tree.feature, left, tree.right, whole, leaves)

    @classmethod
    def of_levels(cls, features: Sequence[int], sums: np.ndarray, minimum: kernels.LeafMinimum) -> Branches:
        """Return the branches of a symmetric tree whose levels split on these features.

        A branch is divided by a level if both sides have enough rows; otherwise all its rows go on to the next level together. So the
        leaves that differ only in the levels that a branch ignored are in one branch.

        Parameters
        ----------
        sums : (3, n_leaves) int64, of the 2^n_levels leaves from left to right
        minimum : what a leaf must have
        """
        level, left, right, whole, of_leaf = kernels.divide_levels(sums[0], sums[1], sums[2], minimum)
        return cls(np.array([*features, -1])[level], left, right, whole, of_leaf)

    @property
    def groups(self) -> np.ndarray:
        """Number of the branch of each leaf, (n_leaves,) uint32, where only branches that end are counted."""
        return (np.cumsum(self.left < 0, dtype=np.uint32) - np.uint32(1))[self.of_leaf]

    def limits(self, gradients: FixedGradients, rules: Rules) -> Limits:
        """Return the limits of leaf values, computed from the root down. If a feature is monotonic, the two sides of a branch stay on
        their side of the middle of their values."""
        n = len(self.feature)
        lower, upper, anchor, value = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n)

        def values(some: list[int]) -> np.ndarray:
            return rules.leaf_steps(self.sums[:, some], gradients, Limits(lower[some], upper[some], anchor[some]))

        value[[0]] = values([0])
        for branch in np.flatnonzero(self.left >= 0):
            below = [int(self.left[branch]), int(self.right[branch])]
            lower[below], upper[below], anchor[below] = lower[branch], upper[branch], value[branch]
            value[below] = values(below)
            direction = 0 if rules.monotonic is None else int(rules.monotonic[self.feature[branch]])
            if direction:
                low, high = below[::direction]
                upper[low] = lower[high] = min(max(value[below].sum() / 2, lower[branch]), upper[branch])
                value[low], value[high] = min(value[low], upper[low]), max(value[high], lower[high])
        return Limits(lower[self.of_leaf], upper[self.of_leaf], anchor[self.of_leaf])

"""Leaf of each training row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapwood.data.pages import Pages
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.branches import Branches
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.leaf_models import LinearLeaves
from sapwood.trees.rules import Limits, Rules


class LeafAssignment:
    """Leaf of each training row in the current tree. Allocated once in a fit and filled by every tree.

    Parameters
    ----------
    pages : binned rows; None if leaves are constant
    """

    n_rows: int
    pages: Pages | None
    nodes: np.ndarray
    count: np.ndarray
    limits: Limits
    size: int
    memory: np.ndarray

    def __init__(self, n_rows: int, pages: Pages | None = None) -> None:
        self.memory = np.empty(n_rows, dtype=np.uint8)
        self.n_rows, self.pages = n_rows, pages

    def reset(self, nodes: np.ndarray, count: np.ndarray, limits: Limits) -> None:
        """Prepare for a tree whose leaves are these nodes."""
        self.nodes = nodes  # (n_leaves,) node numbers
        self.count = count  # (n_leaves,) number of training rows that the value of the leaf is computed from
        self.limits = limits
        self.groups: np.ndarray | None = None  # (n_leaves,) group of each leaf, if the leaves of a group have the same value
        self.size = 1 if len(nodes) <= 1 << 8 else 2 if len(nodes) <= 1 << 16 else 4
        if len(self.memory) < self.n_rows * self.size:
            self.memory = np.empty(self.n_rows * self.size, dtype=np.uint8)
        self.data: np.ndarray = self.memory[: self.n_rows * self.size]

    def group(self, branches: Branches | None, gradients: FixedGradients, rules: Rules) -> None:
        """Let the leaves of a branch have the same value. None: each leaf has its own value."""
        if branches is None:
            return
        self.groups = branches.groups
        self.count = self.group_sums(self.count)
        if rules.limits_values:
            self.limits = branches.limits(gradients, rules)

    def add_values(self, values: np.ndarray, raw: np.ndarray, execution: Execution) -> None:
        """Add leaf values, (n_leaves,) or (n_leaves, n_outputs), to raw predictions, (n_rows,) or (n_outputs, n_rows)."""
        kernels.add_leaf_values(self.data, self.size, values, raw, execution.n_threads)

    def add_linear(self, leaves: LinearLeaves, raw: np.ndarray, execution: Execution) -> None:
        """Add the predictions of linear leaves, (n_leaves,), to raw predictions, (n_rows,) or (1, n_rows)."""
        assert self.pages is not None
        values = leaves.native(leaves.on(self.pages.binning).arrays())
        for rows, page in self.pages.visit():
            own = self.data[rows.start * self.size : rows.stop * self.size]
            out = raw[..., rows]
            kernels.add_linear_leaves(page=page, leaves=own, leaf_size=self.size, values=values, raw=out, n_threads=execution.n_threads)

    @property
    def of_row(self) -> np.ndarray:
        """Leaf of each row, (n_rows,), as an index into `nodes`."""
        return self.data.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[self.size])

    def by_group(self, of_leaves: Callable[[np.ndarray, int], np.ndarray], of_row: np.ndarray) -> np.ndarray:
        """Return leaf values, (n_leaves, ...), from a function of (leaf of each row, number of leaves). A group is passed as one leaf."""
        if self.groups is None:
            return of_leaves(of_row, len(self.nodes))
        return of_leaves(self.groups[of_row], int(self.groups.max()) + 1)[self.groups]

    def group_max(self, of_leaves: np.ndarray) -> np.ndarray:
        """Return for each leaf the maximum over the leaves of its group, (n_leaves, ...)."""
        if self.groups is None:
            return of_leaves
        most = np.full_like(of_leaves, np.iinfo(of_leaves.dtype).min)
        np.maximum.at(most, self.groups, of_leaves)
        return most[self.groups]

    def group_sums(self, of_leaves: np.ndarray) -> np.ndarray:
        """Return for each leaf the sum over the leaves of its group, (n_leaves, ...)."""
        if self.groups is None:
            return of_leaves
        total = np.zeros_like(of_leaves)
        np.add.at(total, self.groups, of_leaves)
        return total[self.groups]

"""The leaf of each training row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.rules import Limits


class LeafAssignment:
    """Leaf of each training row in the tree grown last. Made once for a fit, filled by every tree."""

    memory: np.ndarray

    def __init__(self, n_rows: int) -> None:
        self.memory = np.empty(n_rows, dtype=np.uint8)
        self.n_rows = n_rows

    def reset(self, nodes: np.ndarray, count: np.ndarray, limits: Limits) -> None:
        """Make room for a tree whose leaves are these nodes."""
        self.nodes = nodes  # (n_leaves,) node numbers
        self.count = count  # (n_leaves,) training rows
        self.limits = limits
        self.groups: np.ndarray | None = None  # (n_leaves,) numbers of groups of leaves that have one value; None: each has its own
        self.size = 1 if len(nodes) <= 1 << 8 else 2 if len(nodes) <= 1 << 16 else 4
        if len(self.memory) < self.n_rows * self.size:
            self.memory = np.empty(self.n_rows * self.size, dtype=np.uint8)
        self.data: np.ndarray = self.memory[: self.n_rows * self.size]

    def add_values(self, values: np.ndarray, raw: np.ndarray, execution: Execution) -> None:
        """Add each row's leaf value, of (n_leaves,) or (n_leaves, n_outputs), to its raw prediction, (n_rows,) or (n_outputs, n_rows)."""
        kernels.add_leaf_values(self.data, self.size, values, raw, execution.n_threads)

    @property
    def of_row(self) -> np.ndarray:
        """(n_rows,): the leaf of each row, counted among `nodes`."""
        return self.data.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[self.size])

    def by_group(self, of_leaves: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
        """(n_leaves, ...) values from a function of (the leaf of each row, number of leaves), asked for groups where leaves form some."""
        if self.groups is None:
            return of_leaves(self.of_row, len(self.nodes))
        return of_leaves(self.groups[self.of_row], int(self.groups.max()) + 1)[self.groups]

    def group_sums(self, of_leaves: np.ndarray) -> np.ndarray:
        """(n_leaves, ...) the sums of each one's group."""
        if self.groups is None:
            return of_leaves
        total = np.zeros_like(of_leaves)
        np.add.at(total, self.groups, of_leaves)
        return total[self.groups]

"""Growing the nodes of a tree on rows in this process, or on several partitions of rows whose sums are added up.

A `kernels.RowPartition` holds rows and knows nothing but them; a `kernels.SplitSearch` holds nodes and histograms and knows no row. Between
them are sums of integers, which add up exactly: the trees of one partition and of many are the same to the last bit.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

HISTOGRAM_BYTES = 1 << 28  # of histograms that are kept; beyond, those of the nodes with the lowest gains are dropped and counted again
Gains = tuple[int, list[float]]  # the first of some nodes, and the gains of their best splits


class Grower(Protocol):
    """The nodes of a growing tree, and the rows they hold. Its life: `constrain` once; for each tree `start`, `advance`, `leaf_sums`."""

    def constrain(self, constraints: kernels.TreeConstraints) -> None:
        """Set the constraints of all trees to come."""

    def start(
        self,
        gradients: np.ndarray,
        format: kernels.HistogramFormat,
        rules: kernels.SplitRules,
        max_depth: int,
        key: int,
        allowed: np.ndarray | None = None,
        sample: np.ndarray | None = None,
    ) -> float:
        """Begin a tree. Returns the gain of the root's best split."""

    def advance(self, nodes: list[int], search: bool, allowed: np.ndarray | None = None) -> Gains:
        """Split nodes; with `search`, find the best splits of their children."""

    def search_again(self, node: int, allowed: np.ndarray | None = None) -> float:
        """Return the gain of a leaf whose limits have changed."""

    def force(self, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        """Make this the split of a node, whatever its gain; False if a child would be empty."""

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        """(3, n_leaves) int64: exact sums of gradients, hessians and rows. Writes the number of its leaf for each row of this process."""

    def nodes(self) -> kernels.NodeColumns: ...

    def grown(self, unit: float) -> kernels.GrownTree: ...

    def sets(self) -> np.ndarray: ...

    def limit(self, node: int, lower: float, upper: float) -> None: ...

    def split_features(self, nodes: list[int]) -> list[int]: ...


class NodeAccess:
    """The part of a Grower that needs no rows: a SplitSearch has it."""

    def __init__(self, search: kernels.SplitSearch, partition: kernels.RowPartition) -> None:
        self.search, self.partition = search, partition
        self.constrain, self.limit, self.split_features = search.constrain, search.limit, search.split_features
        self.nodes, self.grown, self.sets = search.nodes, search.grown, search.sets


class LocalGrower(NodeAccess):
    """Grows on one partition that has all rows: every step is one native call."""

    def start(
        self,
        gradients: np.ndarray,
        format: kernels.HistogramFormat,
        rules: kernels.SplitRules,
        max_depth: int,
        key: int,
        allowed: np.ndarray | None = None,
        sample: np.ndarray | None = None,
    ) -> float:
        return self.search.start(self.partition, gradients, format, rules, max_depth=max_depth, key=key, allowed=allowed, sample=sample)

    def advance(self, nodes: list[int], search: bool, allowed: np.ndarray | None = None) -> Gains:
        return self.search.advance(self.partition, nodes, search, allowed)

    def search_again(self, node: int, allowed: np.ndarray | None = None) -> float:
        return self.search.search_again(self.partition, node, allowed)

    def force(self, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        return self.search.force(self.partition, node, feature, bin, missing_left)

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        return self.partition.leaf_sums(leaves, leaf_of_row, leaf_size)


class SummedGrower(NodeAccess):
    """Grows on one of several partitions: every step sums integers over all of them."""

    def __init__(self, search: kernels.SplitSearch, partition: kernels.RowPartition, execution: Execution, first_row: int = 0) -> None:
        super().__init__(search, partition)
        self.execution, self.first_row = execution, first_row

    def start(
        self,
        gradients: np.ndarray,
        format: kernels.HistogramFormat,
        rules: kernels.SplitRules,
        max_depth: int,
        key: int,
        allowed: np.ndarray | None = None,
        sample: np.ndarray | None = None,
    ) -> float:
        ids = None if sample is None else sample + self.first_row
        sums = self.execution.sum(self.partition.start(gradients, format, key, ids))
        return self._best(self.search.start(sums, format, rules, max_depth, key, allowed))[1][0]

    def advance(self, nodes: list[int], search: bool, allowed: np.ndarray | None = None) -> Gains:
        return self._best(self.search.begin(nodes, search, allowed))

    def search_again(self, node: int, allowed: np.ndarray | None = None) -> float:
        return self._best(self.search.begin_again(node, allowed))[1][0]

    def force(self, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        sums = self.execution.sum(self.partition.split_sums(node, feature, bin, missing_left))
        return self.search.force(node, feature, bin, missing_left, sums)

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        return self.execution.sum(self.partition.leaf_sums(leaves, leaf_of_row, leaf_size))

    def _best(self, batch: kernels.SplitBatch) -> Gains:
        self.search.take(batch, self.execution.sum(self.partition.apply(batch)))
        return self.search.best(batch)


def make_grower(rows: Pages | SortedRows, first_row: int, execution: Execution) -> Grower:
    """Grower of trees on the rows of a partition, whose first row has this id."""
    if isinstance(rows, SortedRows):
        return rows.workspace(execution)
    layout = rows.layout.native
    search = kernels.SplitSearch(layout, execution.n_threads, HISTOGRAM_BYTES)
    partition = kernels.RowPartition(layout, rows.open(first_row), execution.n_threads)
    return LocalGrower(search, partition) if execution.is_local else SummedGrower(search, partition, execution, first_row)

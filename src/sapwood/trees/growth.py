"""Growers: the nodes of a growing tree, on rows of this process or on several partitions of the rows.

A `kernels.RowPartition` holds rows and has no nodes; a `kernels.SplitSearch` holds nodes and histograms and has no rows. They exchange
integer sums, which are exact: trees are the same for any number of partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from sapwood.data.pages import DiskPages, Pages
from sapwood.data.sorted import SortedRows
from sapwood.device.partition import DevicePartition
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.paged_partition import PagedPartition

Gains = tuple[int, list[float]]  # first node, and the gains of the best splits of it and the following nodes


class TreeInput(NamedTuple):
    """Gradients and settings of a tree to grow.

    Attributes
    ----------
    gradients : fixed-point gradients of the rows of this partition: see `FixedGradients.data`
    settings : number format of the histograms; limits of splits, in their units; maximum depth, 0 for no limit; key of the random numbers
    allowed : (n_features,) uint8: features that the root may split on; None for all
    sample : rows of this partition to grow on, ascending int64; None for all
    """

    gradients: np.ndarray
    settings: kernels.TreeSettings
    allowed: np.ndarray | None = None
    sample: np.ndarray | None = None


class Grower(Protocol):
    """Nodes of a growing tree, and their rows. Order of calls: `constrain` once; for each tree `start`, `advance`, `leaf_sums`."""

    def constrain(self, constraints: kernels.TreeConstraints) -> None:
        """Set the constraints of all following trees."""

    def start(self, tree: TreeInput) -> float:
        """Start a tree. Return the gain of the best split of the root."""

    def advance(self, nodes: list[int], search: bool, allowed: np.ndarray | None = None) -> Gains:
        """Split nodes. With `search`, find the best splits of their children."""

    def search_again(self, node: int, allowed: np.ndarray | None = None) -> float:
        """Return the gain of the best split of a leaf whose limits have changed."""

    def force(self, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        """Set the split of a node, regardless of its gain. Return False if a child would be empty."""

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        """Return exact sums of gradients, hessians and rows, (3, n_leaves) int64. Write the leaf of each row of this partition."""

    def nodes(self) -> kernels.NodeColumns: ...

    def grown(self, unit: float) -> kernels.GrownTree: ...

    def sets(self) -> np.ndarray: ...

    def limit(self, node: int, lower: float, upper: float) -> None: ...

    def split_features(self, nodes: list[int]) -> list[int]: ...


class NodeAccess:
    """Methods of a Grower that need no rows, taken from the native search."""

    constrain: Callable[..., None]
    limit: Callable[..., None]
    split_features: Callable[..., list[int]]
    nodes: Callable[[], kernels.NodeColumns]
    grown: Callable[..., kernels.GrownTree]
    sets: Callable[[], np.ndarray]

    def __init__(self, search: kernels.SplitSearch | kernels.SortedTree) -> None:
        self.constrain, self.limit, self.split_features = search.constrain, search.limit, search.split_features
        self.nodes, self.grown, self.sets = search.nodes, search.grown, search.sets


class LocalGrower(NodeAccess):
    """Grower on one partition with all rows. Every step is one native call."""

    search: kernels.SplitSearch
    partition: kernels.RowPartition

    def __init__(self, search: kernels.SplitSearch, partition: kernels.RowPartition) -> None:
        super().__init__(search)
        self.search, self.partition = search, partition

    def start(self, tree: TreeInput) -> float:
        return self.search.start(self.partition, tree.gradients, tree.settings, tree.allowed, tree.sample)

    def advance(self, nodes: list[int], search: bool, allowed: np.ndarray | None = None) -> Gains:
        return self.search.advance(self.partition, nodes, search, allowed)

    def search_again(self, node: int, allowed: np.ndarray | None = None) -> float:
        return self.search.search_again(self.partition, node, allowed)

    def force(self, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        return self.search.force(self.partition, node, feature, bin, missing_left)

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray:
        return self.partition.leaf_sums(leaves, leaf_of_row, leaf_size)


class Partition(Protocol):
    """Rows of a partition, by the node of a growing tree that each is in: `kernels.RowPartition`, pages in files, or rows on a device."""

    def start(self, gradients: np.ndarray, format: kernels.HistogramFormat, key: int, sample: np.ndarray | None = None) -> np.ndarray: ...

    def apply(self, batch: kernels.SplitBatch) -> np.ndarray: ...

    def split_sums(self, node: int, feature: int, bin: int, missing_left: bool) -> np.ndarray: ...

    def leaf_sums(self, leaves: np.ndarray, leaf_of_row: np.ndarray, leaf_size: int) -> np.ndarray: ...


class SummedGrower(NodeAccess):
    """Grower on one of several partitions, on pages in files, or on a device. Every step sums integers over all of them."""

    search: kernels.SplitSearch
    partition: Partition
    execution: Execution
    first_row: int

    def __init__(self, search: kernels.SplitSearch, partition: Partition, execution: Execution, first_row: int = 0) -> None:
        super().__init__(search)
        self.search, self.partition = search, partition
        self.execution, self.first_row = execution, first_row

    def start(self, tree: TreeInput) -> float:
        ids = None if tree.sample is None else tree.sample + self.first_row
        sums = self.execution.sum(self.partition.start(tree.gradients, tree.settings.format, tree.settings.key, ids))
        return self._best(self.search.start(sums, tree.settings, tree.allowed))[1][0]

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


class SortedGrower(NodeAccess):
    """Grower on sorted columns, without histograms."""

    advance: Callable[..., Gains]
    search_again: Callable[..., float]
    force: Callable[..., bool]
    leaf_sums: Callable[..., np.ndarray]

    def __init__(self, search: kernels.SortedTree) -> None:
        super().__init__(search)
        self.search = search
        self.advance, self.search_again, self.force, self.leaf_sums = search.advance, search.search_again, search.force, search.leaf_sums

    def start(self, tree: TreeInput) -> float:
        return self.search.start(tree.gradients, tree.settings, tree.allowed, tree.sample)


def make_grower(rows: Pages | SortedRows, first_row: int, execution: Execution) -> Grower:
    """Return a grower on the rows of a partition. `first_row` is the id of its first row."""
    if isinstance(rows, SortedRows):
        return SortedGrower(rows.native_tree(execution))
    layout = rows.layout.native
    search = kernels.SplitSearch(layout, execution.n_threads, rows.histogram_bytes)
    if execution.device is not None:
        return SummedGrower(search, DevicePartition(rows, first_row, execution.device), execution, first_row)
    if isinstance(rows, DiskPages) and not rows.fit_memory:
        return SummedGrower(search, PagedPartition(rows, first_row, execution.n_threads), execution, first_row)
    partition = kernels.RowPartition(layout, rows.open(first_row), execution.n_threads)
    return LocalGrower(search, partition) if execution.is_local else SummedGrower(search, partition, execution, first_row)

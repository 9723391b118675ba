"""Tree: nodes and leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.leaf_models import LeafModel


@dataclass
class Tree:
    """Nodes of a tree in the order of their creation. The root is first; the index of a child is larger than that of its parent.

    Values x <= threshold go left, and missing values if `missing_left`. A leaf has feature -1. At a split on a category the levels of a set
    go left; `bin` is the index of the set. `leaves` holds the leaf values.
    """

    feature: np.ndarray  # (n_nodes,) int32
    threshold: np.ndarray  # (n_nodes,) float64
    bin: np.ndarray  # (n_nodes,) int32: last bin that goes left
    left: np.ndarray  # (n_nodes,) int32
    right: np.ndarray  # (n_nodes,) int32
    missing_left: np.ndarray  # (n_nodes,) uint8
    gain: np.ndarray  # (n_nodes,) float64: 0 in leaves
    count: np.ndarray  # (n_nodes,) int64: number of training rows
    leaves: LeafModel
    cover: np.ndarray | None = None  # (n_nodes,) float64: weight of the training rows, of imported trees; None: their number
    sets: np.ndarray = field(default_factory=lambda: np.empty((0, 8), dtype=np.uint32))  # (n_sets, 8): 256 bits, one per level

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the arrays with one entry per node."""
        return [own.name for own in fields(cls) if own.name not in ("leaves", "sets", "cover")]

    @property
    def weights(self) -> np.ndarray:
        """(n_nodes,) float64: weight of the training rows that reached each node."""
        return self.count.astype(np.float64) if self.cover is None else self.cover

    def without_splits(self) -> Tree:
        """Return a tree of the root alone, which adds 0."""
        root = np.zeros(1, dtype=np.int64)
        nodes = {name: getattr(self, name)[:1].copy() for name in self.names()}
        nodes["feature"][:] = nodes["left"][:] = nodes["right"][:] = -1
        for name in ("threshold", "bin", "missing_left", "gain"):
            nodes[name][:] = 0
        return Tree(**nodes, leaves=self.leaves.of_steps(1, root, np.zeros(1)), cover=None if self.cover is None else self.cover[:1])

    def native(self) -> kernels.TreeArrays:
        """Return the structure of the tree for the kernels."""
        return native_trees({"begin": np.array([0, len(self.feature)], dtype=np.int64), **vars(self)})


def native_trees(arrays: Mapping[str, np.ndarray]) -> kernels.TreeArrays:
    """Return the structure of trees for the kernels, from the concatenated arrays of their nodes."""
    names = "begin", "feature", "threshold", "bin", "left", "right", "missing_left", "sets"
    return kernels.TreeArrays(**{name: arrays[name] for name in names})

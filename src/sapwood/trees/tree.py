"""A grown tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.leaf_models import LeafModel


@dataclass
class Tree:
    """Nodes in the order they were made, the root first: a child's index is larger than its parent's.

    `x <= threshold` goes left, as does a missing value where `missing_left`. A leaf has feature -1. On a category the levels of a set go
    left: `bin` is the number of the set. The leaves' part of the prediction is in `leaves`.
    """

    feature: np.ndarray  # (n_nodes,) int32
    threshold: np.ndarray  # (n_nodes,) float64
    bin: np.ndarray  # (n_nodes,) int32: the bin that ends at the threshold
    left: np.ndarray  # (n_nodes,) int32
    right: np.ndarray  # (n_nodes,) int32
    missing_left: np.ndarray  # (n_nodes,) uint8
    gain: np.ndarray  # (n_nodes,) float64: 0 in leaves
    count: np.ndarray  # (n_nodes,) int64: training rows
    leaves: LeafModel
    sets: np.ndarray = field(default_factory=lambda: np.empty((0, 8), dtype=np.uint32))  # (n_sets, 8): 256 bits, one for each level

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())

    @classmethod
    def names(cls) -> list[str]:
        """Names of the arrays with an entry for each node."""
        return [own.name for own in fields(cls) if own.name not in ("leaves", "sets")]

    def native(self) -> kernels.TreeArrays:
        """Return the structure as the kernels take it."""
        return native_trees({"begin": np.array([0, len(self.feature)], dtype=np.int64), **vars(self)})


def native_trees(arrays: Mapping[str, np.ndarray]) -> kernels.TreeArrays:
    """Return the structure of trees as the kernels take it, from arrays that hold the nodes of all, end to end."""
    names = "begin", "feature", "threshold", "bin", "left", "right", "missing_left", "sets"
    return kernels.TreeArrays(**{name: arrays[name] for name in names})

"""Prediction of trees, node by node."""

from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    feature: np.ndarray  # -1 in a leaf
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray  # (n_nodes,) or (n_nodes, n_outputs)
    bin: np.ndarray | None = None  # at a split on a category: the index of its set
    sets: np.ndarray | None = None  # (n_sets, 8) uint32


def leaf_of(tree, row, n_levels=None):
    """Return the leaf of a row. `n_levels` is 0 for features that are not categories."""
    node = 0
    while tree.feature[node] >= 0:
        x = float(row[tree.feature[node]])
        if np.isnan(x):
            goes_left = tree.missing_left[node]
        elif n_levels is not None and n_levels[tree.feature[node]]:
            goes_left = tree.sets[tree.bin[node]][int(x) >> 5] >> np.uint32(int(x) & 31) & 1
        else:
            goes_left = x <= tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


def leaves(trees, x, n_levels=None):
    """Return the leaves of rows, (n_rows, n_trees) int32."""
    return np.array([[leaf_of(tree, row, n_levels) for tree in trees] for row in x], dtype=np.int32).reshape(len(x), len(trees))


def add(trees, x, out, first=0, n_levels=None):
    """Add the values of trees to out, (n_rows, n_outputs), in order. `first` is the number of the first tree."""
    reached = leaves(trees, x, n_levels)
    for t, tree in enumerate(trees):
        if tree.value.ndim == 2:
            out += tree.value[reached[:, t]]
            continue
        out[:, (first + t) % out.shape[1]] += tree.value[reached[:, t]]
    return out

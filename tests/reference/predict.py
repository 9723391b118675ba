"""Trees, walked node by node."""

from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    feature: np.ndarray  # -1 in a leaf
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray


def leaf_of(tree, row):
    """The leaf that a row of numbers reaches."""
    node = 0
    while tree.feature[node] >= 0:
        x = float(row[tree.feature[node]])
        goes_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


def leaves(trees, x):
    """(n_rows, n_trees) int32"""
    return np.array([[leaf_of(tree, row) for tree in trees] for row in x], dtype=np.int32).reshape(len(x), len(trees))


def add(trees, x, out, first=0):
    """Add the trees' values to out, (n_rows, n_outputs), one tree after the other; the first of them is tree number `first`."""
    reached = leaves(trees, x)
    for t, tree in enumerate(trees):
        out[:, (first + t) % out.shape[1]] += tree.value[reached[:, t]]
    return out

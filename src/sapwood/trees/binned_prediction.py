"""Prediction of one tree for the rows of training and evaluation sets, which are binned or sorted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.tree import Tree


def add_tree(rows: Pages | SortedRows, tree: Tree, raw: np.ndarray, execution: Execution, factor: float = 1.0) -> None:
    """Add the prediction of a tree, times `factor`, to raw predictions, (n_outputs of the tree, n_rows)."""
    trees, own = tree.native(), tree.leaves.scaled(factor)
    if isinstance(rows, SortedRows):
        leaves = own.native(own.arrays())
        scorer = kernels.Scorer(trees, leaves, rows.table.n_features, len(raw))
        for part, numbers in rows.blocks():
            out = np.ascontiguousarray(raw[:, part].T)
            scorer.add(numbers, 0, 1, out, execution.n_threads)
            raw[:, part] = out.T
    else:
        leaves = own.native(own.on(rows.binning).arrays())
        for own_rows, page in rows.visit():
            kernels.add_tree(page, trees, leaves, rows.binning.kinds, raw[:, own_rows], execution.n_threads)


def leaf_of_rows(rows: Pages | SortedRows, tree: Tree, nodes: np.ndarray, execution: Execution) -> np.ndarray:
    """Return the leaf of each row, (n_rows,) int64, as an index into `nodes`, the leaves of the tree."""
    numbers = ConstantLeaves.of_steps(len(tree.feature), nodes, np.arange(len(nodes)))
    reached = np.zeros((1, rows.n_rows))
    add_tree(rows, replace(tree, leaves=numbers), reached, execution)
    return reached[0].astype(np.int64)

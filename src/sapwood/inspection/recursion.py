"""Partial dependence from the trees alone.

A row goes down each tree. Where a node asks for one of the features in question, it goes where their values say; elsewhere it goes both
ways, in the shares of the training rows that went there. So no table is needed, and one walk serves all.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sapwood.data.columns import Schema
from sapwood.data.frames import array_table
from sapwood.model import Model
from sapwood.trees.tree import Tree


def recursion_of(model: Model, grid: Any, features: np.ndarray, of_means: bool) -> np.ndarray:
    """What `sklearn.inspection` asks for: a grid in the values of the user's table. Where it means to plot means, say that it will not."""
    if of_means and model.link != "identity":
        warnings.warn(
            f"method='recursion' averages raw predictions: here these are linked to means by {model.link!r}; method='brute' averages means",
            stacklevel=4,
        )
    kinds = [model.schema.kind(f) for f in features]
    if all(kind.name in ("number", "bool") for kind in kinds):
        return expected_raw(model, np.asarray(grid, dtype=np.float64), features)
    table = array_table(np.asarray(grid, dtype=object)).match(Schema(len(features), None, dict(enumerate(kinds))))
    return expected_raw(model, np.asarray(table.dense(slice(0, table.n_rows)), dtype=np.float64), features)


def expected_raw(model: Model, points: np.ndarray, features: np.ndarray) -> np.ndarray:
    """(n_outputs, n_points) float64: raw predictions where `features` have the values of `points`, (n_points, len(features))."""
    column_of = {int(feature): column for column, feature in enumerate(features)}
    raw = np.repeat(model.base_score[:, None], len(points), axis=1)
    for t, tree in enumerate(model.trees[: model.n_rounds_used * model.trees_per_round]):
        raw[model.outputs_of(t)] += _expected_value(tree, points, column_of)
    return raw


def _expected_value(tree: Tree, points: np.ndarray, column_of: dict[int, int]) -> Any:
    """(n_outputs of the tree, n_points), or what adds up to it."""
    share: dict[int, Any] = {0: 1.0}  # of each point that reaches a node: a number while all points have the same
    total: Any = 0.0
    for node, feature in enumerate(tree.feature):  # parents come first
        here = share.pop(node)
        if feature < 0:
            total = total + here * tree.value[node].reshape(-1, 1)
            continue
        left, right = tree.left[node], tree.right[node]
        if feature in column_of:
            x = points[:, column_of[feature]]
            part = np.where(np.isnan(x), tree.missing_left[node] != 0, x <= tree.threshold[node]).astype(np.float64)
        else:
            part = _share_of_left(tree.count[left], tree.count[right])
        share[left], share[right] = here * part, here * (1 - part)
    return total


def _share_of_left(left: int, right: int) -> float:
    """Of the training rows; where none came by, half."""
    return float(left / (left + right)) if left + right else 0.5

"""Partial dependence from the trees alone.

Each grid point traverses each tree once. At a node that splits on one of the given features it follows the split. At other nodes it
follows both branches, weighted by the fractions of training rows in each. No table is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np

from sapwood.data.columns import Schema
from sapwood.data.frames import array_table
from sapwood.model import Model
from sapwood.trees.tree import Tree


def recursion_of(model: Model, grid: Any, columns: np.ndarray, of_means: bool) -> np.ndarray:
    """Partial dependence for `sklearn.inspection`, on a grid of values as in the user's table. Warns if the link is not the identity."""
    if of_means and model.link != "identity":
        warnings.warn(
            f"method='recursion' averages raw predictions, before the link {model.link!r}; use method='brute' to average predictions",
            stacklevel=4,
        )
    kinds = [model.schema.kind(c) for c in columns]
    if all(kind.name in ("number", "bool") for kind in kinds):
        return expected_raw(model, np.asarray(grid, dtype=np.float64), columns)
    table = array_table(np.asarray(grid, dtype=object)).match(Schema(len(columns), None, dict(enumerate(kinds))))
    return expected_raw(model, np.asarray(table.dense(slice(0, table.n_rows)), dtype=np.float64), columns)


def torn_feature(model: Model, columns: Collection[int]) -> int | None:
    """Return a feature that combines some of these columns with others, or None. Recursion does not support such a feature."""
    for feature in model.encoding.computed:
        own = model.encoding.columns_of(feature)
        if any(c in columns for c in own) and not all(c in columns for c in own):
            return feature
    return None


def expected_raw(model: Model, points: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Expected raw predictions, (n_outputs, n_points) float64, with the columns set to `points`, (n_points, len(columns))."""
    at = {int(column): i for i, column in enumerate(columns)}
    if (torn := torn_feature(model, at)) is not None:
        names = ", ".join(model.schema.name(c) for c in model.encoding.columns_of(torn))
        raise ValueError(f"method='recursion' needs all columns of the combination {names}, or none: use method='brute'")
    known = {}  # by feature, (n_points,)
    for feature in range(model.n_features):
        own = model.encoding.columns_of(feature)
        if all(c in at for c in own):
            known[feature] = model.encoding.feature(feature, [points[:, at[c]] for c in own])
    raw = np.repeat(model.base_score[:, None], len(points), axis=1)
    for t, tree in enumerate(model.trees[: model.n_rounds_used * model.trees_per_round]):
        raw[model.outputs_of(t)] += _expected_value(tree, known, model.binning.is_category(tree.feature))
    return raw


def _expected_value(tree: Tree, known: dict[int, np.ndarray], by_levels: np.ndarray) -> Any:
    """Expected value of a tree, (n_outputs of the tree, n_points) or broadcastable to it."""
    fraction: dict[int, Any] = {0: 1.0}  # of each point that reaches a node; a scalar while it is equal for all points
    total: Any = 0.0
    part: Any
    weights = tree.weights
    for node, feature in enumerate(tree.feature):  # parents come first
        here = fraction.pop(node)
        if feature < 0:
            total = total + here * tree.leaves.expected(node, known)
            continue
        left, right = tree.left[node], tree.right[node]
        if feature in known:
            part = _goes_left(tree, node, known[feature], by_levels[node]).astype(np.float64)
        else:
            part = _left_fraction(weights[left], weights[right])
        fraction[left], fraction[right] = here * part, here * (1 - part)
    return total


def _goes_left(tree: Tree, node: int, x: np.ndarray, by_levels: bool) -> np.ndarray:
    missing = np.isnan(x)
    if by_levels:
        code = np.where(missing, 0, x).astype(np.uint32)
        known = tree.sets[tree.bin[node]][code >> np.uint32(5)] >> (code & np.uint32(31)) & 1 == 1
    else:
        known = x <= tree.threshold[node]
    return np.where(missing, tree.missing_left[node] != 0, known)


def _left_fraction(left: float, right: float) -> float:
    """Fraction of training rows in the left child; 0.5 if both children are empty."""
    return float(left / (left + right)) if left + right else 0.5

"""The trees as `shap.TreeExplainer` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.model.export.base import Exporter
from sapwood.trees.column_tree import ColumnTree

NO_ROWS = 1e-30
TREE_OUTPUTS = {"identity": "raw_value", "logit": "log_odds"}


class Shap(Exporter):
    """A dict of arrays: `shap.TreeExplainer(model.export("shap"))` explains raw predictions.

    It knows thresholds only: a model that splits categories is refused. `explain` takes any model, and plots of shap take
    `explain(X).to_shap()`.
    """

    name = "shap"

    def make(self) -> dict[str, Any]:
        forest = self.forest
        self.refuse_combinations()
        trees = list(forest.single_output(base_score=False)) if not forest.trees else list(enumerate(forest.column_trees))
        for _, tree in trees:
            if tree.levels:
                column = forest.column_names[int(tree.column[next(iter(tree.levels))])]
                raise self.refuse(f"splits of the category {column!r}", "use explain(X).to_shap(), whose values are those of shap")
        about: dict[str, Any] = {
            "trees": [self._tree(t, tree) for t, tree in trees],
            "base_offset": forest.base_score.copy(),
            "internal_dtype": np.float64,
            "input_dtype": np.float64,
        }
        if forest.link in TREE_OUTPUTS and forest.n_outputs == 1:
            about["tree_output"] = TREE_OUTPUTS[forest.link]
            about["objective"] = {"identity": "squared_error", "logit": "binary_crossentropy"}[forest.link]
        return about

    def to_bytes(self, made: Any) -> bytes:
        raise ValueError("format='shap' is a dict for the process that made it: leave the path away, and save the estimator instead")

    def _tree(self, number: int, tree: ColumnTree) -> dict[str, np.ndarray]:
        n_outputs = self.forest.n_outputs
        values = np.zeros((len(tree.column), n_outputs))
        values[:, self.forest.model.outputs_of(number)] = self.leaf_values(tree)
        left, right = (np.where(tree.is_leaf, -1, child) for child in (tree.left, tree.right))
        return {
            "children_left": left,
            "children_right": right,
            "children_default": np.where(tree.missing_left, left, right),
            "features": tree.column,
            "thresholds": np.where(tree.is_leaf, 0.0, tree.threshold),
            "values": values,
            "node_sample_weight": _weights(tree),
        }


def _weights(tree: ColumnTree) -> np.ndarray:
    """The training rows of each node; next to nothing where there were none, as shap wants all leaves to have some."""
    weights = np.maximum(tree.count.astype(np.float64), NO_ROWS)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:  # children come after their parents
        weights[node] = weights[tree.left[node]] + weights[tree.right[node]]
    return weights

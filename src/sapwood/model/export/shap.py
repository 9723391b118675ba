"""Export for `shap.TreeExplainer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.model.export.base import Exporter
from sapwood.trees.column_tree import ColumnTree

NO_ROWS = 1e-30  # weight of a leaf without rows: shap needs positive weights
TREE_OUTPUTS = {"identity": "raw_value", "logit": "log_odds"}


class Shap(Exporter):
    """Dict of arrays: `shap.TreeExplainer(model.export("shap"))` explains raw predictions.

    Splits on categories are not supported. `explain(X).to_shap()` supports all models.
    """

    name = "shap"

    def make(self) -> dict[str, Any]:
        forest = self.forest
        self.check_no_combinations()
        trees = list(forest.single_output(base_score=False)) if not forest.trees else list(enumerate(forest.column_trees))
        for _, tree in trees:
            if tree.levels:
                column = forest.column_names[int(tree.column[next(iter(tree.levels))])]
                raise self.error(f"splits on the category {column!r}", "use explain(X).to_shap(), which returns the same values")
        exported: dict[str, Any] = {
            "trees": [self._tree(t, tree) for t, tree in trees],
            "base_offset": forest.base_score.copy(),
            "internal_dtype": np.float64,
            "input_dtype": np.float64,
        }
        if forest.link in TREE_OUTPUTS and forest.n_outputs == 1:
            exported["tree_output"] = TREE_OUTPUTS[forest.link]
            exported["objective"] = {"identity": "squared_error", "logit": "binary_crossentropy"}[forest.link]
        return exported

    def to_bytes(self, exported: Any) -> bytes:
        raise ValueError("format='shap' cannot be written to a file: leave path out, and save the estimator instead")

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
    """Return the weights of nodes: training rows, or a tiny positive number for leaves without rows."""
    weights = np.maximum(tree.weights, NO_ROWS)
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:  # children come after their parents
        weights[node] = weights[tree.left[node]] + weights[tree.right[node]]
    return weights

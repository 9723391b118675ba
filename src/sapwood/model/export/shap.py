"""Export for `shap.TreeExplainer`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.model.export.base import Exporter
from sapwood.model.export.code_tree import TooManyNodes, with_code_thresholds
from sapwood.trees.column_tree import ColumnTree

MAX_NODES = 500_000
NO_ROWS = 1e-30  # weight of a leaf without rows: shap needs positive weights
TREE_OUTPUTS = {"identity": "raw_value", "logit": "log_odds"}


class Shap(Exporter):
    """Dict of arrays: `shap.TreeExplainer(model.export("shap"))` explains raw predictions.

    Columns of categories are codes: positions of the levels, and NaN for missing and unseen levels. Splits on sets of levels become several
    splits on codes, with the same values. `explain(X).to_shap()` supports all models.
    """

    name = "shap"

    def make(self) -> dict[str, Any]:
        forest = self.forest
        self.check_no_combinations()
        trees = list(forest.single_output(base_score=False)) if not forest.trees else list(enumerate(forest.column_trees))
        trees = self._by_thresholds(trees)
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

    def _by_thresholds(self, trees: list[tuple[int, ColumnTree]]) -> list[tuple[int, ColumnTree]]:
        """Return the trees with thresholds of codes instead of sets of levels."""
        converted, n_nodes = [], 0
        for number, tree in trees:
            try:
                converted.append((number, with_code_thresholds(tree, MAX_NODES - n_nodes)))
            except TooManyNodes:
                what = f"splits on sets of levels that become more than {MAX_NODES:,} splits on codes"
                raise self.error(what, "use explain(X).to_shap(), which returns the same values") from None
            n_nodes += len(converted[-1][1].column)
        return converted

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

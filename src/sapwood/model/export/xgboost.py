"""Export to XGBoost's JSON format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.losses import RANKING
from sapwood.model.export.base import Exporter
from sapwood.model.export.forest import Forest
from sapwood.trees.column_tree import ColumnTree

NO_PARENT = 2147483647
VERSION = [2, 1, 0]  # the first XGBoost version that reads this format


class XGBoost(Exporter):
    """Content of an XGBoost model file as a dict, for `xgboost.Booster(model_file=...)`.

    XGBoost stores data, thresholds and leaf values as float32. Thresholds are chosen so that float32 values reach the same leaves as in
    Sapwood; XGBoost rounds other values to float32 first. The base score is added to the leaves of the first trees. Categorical columns
    must be passed as codes (feature type "c"): positions in the levels of the model (`model_.schema`), NaN for unseen levels.

    Parameters
    ----------
    raw : whether to export raw predictions, without the link
    """

    name = "xgboost"

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None, raw: bool = False) -> None:
        super().__init__(forest, classes)
        self.raw = raw

    def make(self) -> dict[str, Any]:
        self.check_no_combinations()
        forest = self.forest
        outputs, trees = zip(*forest.single_output(base_score=True), strict=True)
        objective, base_score = ({"name": "reg:squarederror"}, "0") if self.raw else self._objective()
        n_rounds = len(trees) // forest.n_outputs
        classes = forest.n_outputs if objective["name"].startswith("multi:") else 0
        learner = {
            "attributes": {},
            "feature_names": [] if forest.schema.names is None else [*map(str, forest.schema.names)],
            "feature_types": ["c" if forest.schema.kind(c).is_category else "q" for c in range(forest.n_columns)],
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": [round_ * forest.n_outputs for round_ in range(n_rounds + 1)],
                    "tree_info": list(outputs),
                    "trees": [self._tree(number, tree) for number, tree in enumerate(trees)],
                },
            },
            "learner_model_param": {
                "base_score": base_score,
                "boost_from_average": "1",
                "num_class": str(classes),
                "num_feature": str(forest.n_columns),
                "num_target": str(1 if classes else forest.n_outputs),
            },
            "objective": objective,
        }
        return {"learner": learner, "version": VERSION}

    def to_bytes(self, exported: dict[str, Any]) -> bytes:
        return json.dumps(exported).encode()

    def _objective(self) -> tuple[dict[str, Any], str]:
        """Return an objective with the same link, and the base score whose raw value is 0."""
        link, n = self.forest.link, self.forest.n_outputs
        if link == "sorted":
            raise self.error("the link 'sorted' of several quantiles", "use raw=True to export raw predictions")
        if link == "softmax":
            return {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(n)}}, "0"
        if link == "logit":
            return {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}, "0.5"
        if link == "log":
            return {"name": "reg:gamma", "reg_loss_param": {"scale_pos_weight": "1"}}, "1"
        if self.forest.model.loss in RANKING:
            return {"name": "rank:ndcg", "lambdarank_param": {}}, "0"
        return {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}, "0"

    def _tree(self, number: int, tree: ColumnTree) -> dict[str, Any]:
        """Return a tree. XGBoost sends the levels of a set to the right child and all others to the left: children of such splits are
        swapped."""
        tree = tree.with_missing_right
        swap = np.array([node in tree.levels for node in range(len(tree.column))])
        tree = _breadth_first(replace(tree, left=np.where(swap, tree.right, tree.left), right=np.where(swap, tree.left, tree.right)))
        n, leaf, left, right = len(tree.column), tree.is_leaf, tree.left, tree.right
        swap = np.array([node in tree.levels for node in range(n)])
        conditions = np.where(leaf, self.leaf_values(tree)[:, 0], 0.0).astype(np.float32)
        inner = ~leaf & ~swap
        conditions[inner] = first_above(tree.threshold[inner])
        parents = np.full(n, NO_PARENT)
        parents[left[~leaf]] = parents[right[~leaf]] = np.flatnonzero(~leaf)
        nodes = np.flatnonzero(swap).tolist()
        members = [np.flatnonzero(tree.levels[node]) for node in nodes]
        sizes = [len(own) for own in members]
        missing_left = np.where(swap, 1, tree.missing_left)
        return {
            "base_weights": np.where(leaf, conditions, 0).tolist(),
            "categories": [int(code) for own in members for code in own],
            "categories_nodes": nodes,
            "categories_segments": np.cumsum([0, *sizes])[:-1].tolist(),
            "categories_sizes": sizes,
            "default_left": missing_left.astype(int).tolist(),
            "id": number,
            "left_children": np.where(leaf, -1, left).tolist(),
            "loss_changes": tree.gain.astype(np.float32).tolist(),
            "parents": parents.tolist(),
            "right_children": np.where(leaf, -1, right).tolist(),
            "split_conditions": conditions.tolist(),
            "split_indices": np.where(leaf, 0, tree.column).tolist(),
            "split_type": swap.astype(int).tolist(),
            "sum_hessian": tree.weights.astype(np.float32).tolist(),
            "tree_param": {"num_deleted": "0", "num_feature": str(self.forest.n_columns), "num_nodes": str(n), "size_leaf_vector": "1"},
        }


def _breadth_first(tree: ColumnTree) -> ColumnTree:
    """Return a tree with nodes in breadth-first order: XGBoost expects the right child directly after the left one."""
    order = [0]
    for node in order:  # the list grows in the loop
        if tree.column[node] >= 0:
            order += [int(tree.left[node]), int(tree.right[node])]
    return tree.take(order)


def first_above(thresholds: np.ndarray) -> np.ndarray:
    """Return the smallest float32 t above each threshold: for every float32 x, x < t if and only if x <= threshold."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
        below = np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)
        return np.nextafter(below, np.float32(np.inf))

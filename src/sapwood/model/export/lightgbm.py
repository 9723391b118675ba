"""Export to LightGBM's text format."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.losses import RANKING
from sapwood.model.export.base import Exporter
from sapwood.model.export.forest import Forest
from sapwood.trees.column_tree import ColumnTree

CATEGORICAL, DEFAULT_LEFT, MISSING_IS_NAN = 1, 2, 2 << 2  # bits of a decision's type


class LightGbm(Exporter):
    """Text of a LightGBM model file, for `lightgbm.Booster(model_str=...)`.

    The base score is added to the leaves of the first trees. LightGBM reads categorical columns of a pandas frame by their levels. In an
    array, they must be codes: positions in the levels of the model (`model_.schema`), NaN for unseen levels.

    Parameters
    ----------
    raw : whether to export raw predictions, without the link
    """

    name = "lightgbm"

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None, raw: bool = False) -> None:
        super().__init__(forest, classes)
        self.raw = raw

    def make(self) -> str:
        self.check_no_combinations()
        forest, n = self.forest, self.forest.n_outputs
        objective = None if self.raw else self._objective()
        trees = [
            _tree(number, tree.with_missing_right, self.leaf_values(tree)[:, 0])
            for number, (_, tree) in enumerate(forest.single_output(base_score=True))
        ]
        head = {
            "version": "v4",
            "num_class": n,
            "num_tree_per_iteration": n,
            "label_index": 0,
            "max_feature_idx": forest.n_columns - 1,
            **({} if objective is None else {"objective": objective}),
            "feature_names": " ".join(_plain(forest.column_names)),
            "feature_infos": " ".join(self._info(c) for c in range(forest.n_columns)),
            "tree_sizes": " ".join(str(len(tree)) for tree in trees),
        }
        levels = [list(forest.schema.kind(c).levels) for c in forest.schema.categories]
        lines = ["tree", *(f"{key}={value}" for key, value in head.items()), "", "".join(trees) + "end of trees", ""]
        lines += [
            "feature_importances:",
            "",
            "parameters:",
            "end of parameters",
            "",
            f"pandas_categorical:{json.dumps(levels or None)}",
            "",
        ]
        return "\n".join(lines)

    def _objective(self) -> str | None:
        """Return the LightGBM objective with the same link; None for raw predictions."""
        link, n = self.forest.link, self.forest.n_outputs
        if n == 1:
            plain = "lambdarank" if self.forest.model.loss in RANKING else "regression"
            return {"identity": plain, "log": "poisson", "logit": "binary sigmoid:1"}[link]
        if link in ("sorted", "log"):
            raise self.error(f"the link {link!r} of several outputs", "use raw=True to export raw predictions")
        return {"identity": None, "logit": f"multiclassova num_class:{n} sigmoid:1", "softmax": f"multiclass num_class:{n}"}[link]

    def _info(self, column: int) -> str:
        """Return the `feature_infos` entry of a column: its codes, or the range of thresholds."""
        if self.forest.schema.kind(column).is_category:
            return ":".join(map(str, range(-1, self.forest.n_levels(column))))
        cuts = self.forest.model.binning.cuts_of(column)
        cuts = cuts[np.isfinite(cuts)]
        return f"[{cuts[0]!s}:{cuts[-1]!s}]" if len(cuts) else "none"


def _plain(names: list[str]) -> list[str]:
    """Return distinct names, with characters that the format does not support replaced by underscores."""
    out: list[str] = []
    for column, name in enumerate(names):
        plain = re.sub(r'[\s"\\,:\[\]{}\x00-\x1f]', "_", name)
        out.append(plain if plain and plain not in out else f"{plain}_{column}")
    return out


def _tree(number: int, tree: ColumnTree, values: np.ndarray) -> str:
    """Return the text of a tree. LightGBM sends missing categories to the right child."""
    inner, leaf = np.flatnonzero(~tree.is_leaf), np.flatnonzero(tree.is_leaf)
    number_of = np.empty(len(tree.column), dtype=np.int64)  # splits from 0 on, leaves from -1 down
    number_of[inner], number_of[leaf] = np.arange(len(inner)), -1 - np.arange(len(leaf))
    decisions, thresholds, boundaries = [], [], [0]
    words: list[int] = []  # of sets of levels
    for node in inner.tolist():
        if node in tree.levels:
            bits = np.packbits(tree.levels[node], bitorder="little")
            words += np.pad(bits, (0, -len(bits) % 4)).view("<u4").tolist() or [0]
            thresholds.append(str(len(boundaries) - 1))
            boundaries.append(len(words))
            decisions.append(CATEGORICAL)
        else:
            thresholds.append(repr(float(tree.threshold[node])))
            decisions.append(MISSING_IS_NAN | (DEFAULT_LEFT if tree.missing_left[node] else 0))
    fields: dict[str, Any] = {"num_leaves": [len(leaf)], "num_cat": [len(boundaries) - 1]}
    if len(inner):
        fields |= {"split_feature": tree.column[inner], "split_gain": tree.gain[inner], "threshold": thresholds}
        fields |= {"decision_type": decisions, "left_child": number_of[tree.left[inner]], "right_child": number_of[tree.right[inner]]}
    fields["leaf_value"] = [repr(float(value)) for value in values[leaf]]
    if len(inner):
        weight, count = tree.count if tree.cover is None else tree.cover, tree.count
        fields |= {"leaf_weight": weight[leaf], "leaf_count": count[leaf], "internal_value": [0] * len(inner)}
        fields |= {"internal_weight": weight[inner], "internal_count": count[inner]}
    if words:
        fields |= {"cat_boundaries": boundaries, "cat_threshold": words}
    fields |= {"is_linear": [0], "shrinkage": [1]}
    lines = [f"{key}={' '.join(map(str, values))}" for key, values in fields.items()]
    return "\n".join([f"Tree={number}", *lines, "", "", ""])

"""Import of XGBoost models from their JSON format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from sapwood.estimators.targets import MultiLabels
from sapwood.importing.base import ImportedModelError, check_columns, check_outputs, check_sets, in_range, reading_model
from sapwood.importing.builder import build_model, make_schema, rows_and_cover
from sapwood.importing.estimators import as_classifier, as_ranker, as_regressor, loss_name
from sapwood.importing.float32 import below
from sapwood.runtime.float_mode import in_default_float_mode
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.leaf_models import ConstantLeaves

# objective: (kind of estimator, link, loss)
OBJECTIVES = {
    "reg:squarederror": ("regressor", "identity", "squared_error"),
    "reg:linear": ("regressor", "identity", "squared_error"),
    "reg:absoluteerror": ("regressor", "identity", "absolute_error"),
    "reg:pseudohubererror": ("regressor", "identity", None),
    "reg:squaredlogerror": ("regressor", "identity", None),
    "reg:quantileerror": ("regressor", "identity", "quantile"),
    "reg:expectileerror": ("regressor", "identity", "expectile"),
    "reg:logistic": ("regressor", "logit", "log_loss"),
    "count:poisson": ("regressor", "log", "poisson"),
    "reg:gamma": ("regressor", "log", "gamma"),
    "reg:tweedie": ("regressor", "log", "tweedie"),
    "survival:cox": ("regressor", "log", "cox"),
    "survival:aft": ("regressor", "log", "aft"),
    "binary:logistic": ("classifier", "logit", None),
    "multi:softprob": ("classifier", "softmax", None),
    "multi:softmax": ("classifier", "softmax", None),
    "rank:ndcg": ("ranker", "identity", "lambdamart"),
    "rank:map": ("ranker", "identity", "lambdamart"),
    "rank:pairwise": ("ranker", "identity", "pairwise"),
}


FEWEST_CODES = 256  # minimum number of levels if the file does not list them
MAX_CODE = (1 << 20) - 1


@in_default_float_mode
def from_xgboost(model: Any) -> Any:
    """Import an XGBoost model as an estimator.

    XGBoost rounds data to float32 before it compares them with thresholds. Thresholds are adjusted so that every float64 value reaches the
    same leaf. Predictions agree to float32 precision, in which XGBoost adds them up. After early stopping, prediction uses the best rounds
    of a scikit-learn wrapper, but all rounds of a `Booster`, as in XGBoost.

    Parameters
    ----------
    model : xgboost.Booster, XGBClassifier, XGBRegressor, XGBRanker, or path of a model file (JSON; UBJSON if xgboost is installed)

    Returns
    -------
    BoostingClassifier, BoostingRegressor or BoostingRanker
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        path = os.fspath(model)
        with open(path, "rb") as file:
            data = file.read()
        if data[:2].strip()[:1] == b"{" and data[1:2] not in b"LUil":  # in UBJSON, the type of a length follows
            with reading_model("XGBoost"):
                return read_document(json.loads(data), len(data))
        try:
            import xgboost
        except ImportError:
            raise ImportedModelError(f"{path} is not JSON: install xgboost to read its binary files") from None
        booster = xgboost.Booster(model_file=path)
    best = getattr(model, "best_iteration", None) if booster is not model and booster.attr("best_iteration") is not None else None
    with reading_model("XGBoost"):
        data = bytes(booster.save_raw("json"))
        return read_document(json.loads(data), len(data), getattr(model, "classes_", None), best)


def read_document(document: dict[str, Any], n_bytes: int, classes: Any = None, best_iteration: int | None = None) -> Any:
    """Return an estimator from the JSON document of a model file with this number of bytes."""
    try:
        learner = document["learner"]
        name, booster = learner["objective"]["name"], learner["gradient_booster"]
    except (KeyError, TypeError):
        raise ImportedModelError("not an XGBoost model: there is no learner with an objective") from None
    if booster["name"] not in ("gbtree", "dart"):
        raise ImportedModelError(f"booster={booster['name']!r} of XGBoost cannot be imported: only trees (gbtree, dart) are supported")
    if name not in OBJECTIVES:
        raise ImportedModelError(f"objective {name!r} of XGBoost cannot be imported; choose from {', '.join(OBJECTIVES)}")
    what, link, wanted = OBJECTIVES[name]
    about = learner["learner_model_param"]
    n_columns = check_columns(int(about["num_feature"]), n_bytes)
    n_outputs = check_outputs(max(int(about["num_class"]), int(about.get("num_target", 1)), 1), n_bytes)
    forest = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    weights = booster.get("weight_drop") or [1.0] * len(forest["trees"])
    levels, values = _levels(learner, forest, n_columns)
    trees = [_tree(tree, np.float32(weight), levels, n_columns) for tree, weight in zip(forest["trees"], weights, strict=True)]
    shared = int(trees[0].leaves.n_outputs > 1) if trees else 0
    per_round = int(forest["gbtree_model_param"].get("num_parallel_tree", 1) or 1)
    if not shared:
        trees = _in_turn(trees, forest["tree_info"], n_outputs)
    names = learner.get("feature_names") or None
    if link == "logit" and what == "classifier" and n_outputs > 1:
        what = "labels"
    loss = loss_name(link, n_outputs, what == "classifier", wanted)
    best_round = None if best_iteration is None else (best_iteration + 1) * per_round
    made = build_model(trees, make_schema(n_columns, names, values), _base_score(about, link, n_outputs), loss, link, shared, best_round)
    if what == "classifier":
        return as_classifier(made, "xgboost", np.arange(max(2, n_outputs)) if classes is None else classes)
    if what == "labels":
        return as_classifier(made, "xgboost", np.arange(n_outputs), MultiLabels)
    return as_ranker(made, "xgboost") if what == "ranker" else as_regressor(made, "xgboost")


def _base_score(about: dict[str, Any], link: str, n_outputs: int) -> np.ndarray:
    """Return the (n_outputs,) raw base score. The file has it on the scale of predictions, as one number or (from 3.1 on) a list."""
    predicted = np.array([float(number) for number in about["base_score"].strip("[]").split(",")], dtype=np.float64)
    score = np.broadcast_to(predicted, n_outputs)
    if link == "logit":
        return np.log(score) - np.log1p(-score)
    return np.log(score) if link == "log" else score.copy()


def _levels(learner: dict[str, Any], forest: dict[str, Any], n_columns: int) -> tuple[dict[int, int], dict[int, list[Any]]]:
    """Return the number of levels and the levels of each categorical column: those of the file (from 3.1 on, for data frames), or codes.

    A file without levels does not have the number of codes, only the codes in the sets of splits: unused codes are added.
    """
    types = learner.get("feature_types") or []
    categories = [c for c in range(n_columns) if c < len(types) and types[c] == "c"]
    most = dict.fromkeys(categories, 0)
    n_sets = 0
    for tree in forest["trees"]:
        columns = tree["split_indices"]
        for node, members in _sets(tree):
            most[columns[node]], n_sets = max(most[columns[node]], int(members.max(initial=-1)) + 1), n_sets + 1
    known = (forest.get("cats") or {}).get("enc") or []
    values = {c: _values(known[c]) if known else list(range(max(FEWEST_CODES, 2 * most[c]))) for c in categories}
    check_sets(n_sets, max(map(len, values.values()), default=0))
    return {c: len(own) for c, own in values.items()}, values


def _sets(tree: dict[str, Any]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield nodes that split by a set of codes, and the codes that go right."""
    codes = in_range(np.array(tree["categories"], dtype=np.int64), 0, MAX_CODE, "categories")
    for node, begin, size in zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True):
        if not (0 <= node < len(tree["left_children"]) and 0 <= begin <= begin + size <= len(codes)):
            raise ImportedModelError("a set of categories is out of range")
        yield node, codes[begin : begin + size]


def _values(encoded: dict[str, Any]) -> list[Any]:
    """Return the levels of a column: numbers, or strings from their concatenated bytes."""
    if "offsets" not in encoded:
        return list(encoded["values"])
    if any(byte < 0 or byte > 127 for byte in encoded["values"]):
        raise ImportedModelError("levels that are not ASCII cannot be imported: XGBoost's files do not contain them completely")
    data, offsets = bytes(encoded["values"]), encoded["offsets"]
    return [data[a:b].decode() for a, b in pairwise(offsets)]


def _in_turn(trees: list[ColumnTree], outputs: list[int], n_outputs: int) -> list[ColumnTree]:
    """Return the trees with outputs in turn. In the file, the parallel trees of an output (num_parallel_tree) are contiguous."""
    by_output: list[list[ColumnTree]] = [[] for _ in range(n_outputs)]
    for tree, output in zip(trees, in_range(np.array(outputs, dtype=np.int64), 0, n_outputs - 1, "tree_info").tolist(), strict=True):
        by_output[output].append(tree)
    if len({len(trees_of_output) for trees_of_output in by_output}) != 1:
        raise ImportedModelError("outputs have different numbers of trees")
    return [tree for round_ in zip(*by_output, strict=True) for tree in round_]


def _tree(tree: dict[str, Any], weight: np.float32, n_levels: dict[int, int], n_columns: int) -> ColumnTree:
    """Return a tree. In XGBoost, x < threshold goes left (here x <= threshold), and the levels of a set go right (here left)."""
    left, right = (np.array(tree[f"{side}_children"], dtype=np.int32) for side in ("left", "right"))
    n, leaf = len(left), left < 0
    size = int(tree["tree_param"].get("size_leaf_vector", 1) or 1)
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    if size <= 1:
        value = conditions[:, None].copy()
    elif "leaf_weights" in tree:  # the right child of a leaf is the index of the leaf among the leaves
        of_leaves = np.array(tree["leaf_weights"], dtype=np.float32).reshape(-1, size)
        value = of_leaves[in_range(np.where(leaf, right, 0), 0, len(of_leaves) - 1, "right_children")]
    else:
        value = np.array(tree["base_weights"], dtype=np.float32).reshape(n, size)
    missing_left = np.array(tree["default_left"], dtype=bool)
    split_indices = np.where(leaf, 0, np.array(tree["split_indices"], dtype=np.int64))
    column = np.where(leaf, -1, in_range(split_indices, 0, n_columns - 1, "split_indices")).astype(np.int32)
    levels = {}
    for node, members in _sets(tree):
        own = np.ones(n_levels[int(column[node])], dtype=bool)
        own[members] = False
        levels[node] = own
    return ColumnTree(
        column=column,
        threshold=np.where(leaf, 0.0, below(np.where(leaf, np.float32(0), conditions))),
        left=left,
        right=right,
        missing_left=missing_left,
        gain=np.array(tree["loss_changes"], dtype=np.float64),
        leaves=ConstantLeaves(np.where(leaf[:, None], value * weight, np.float32(0)).astype(np.float64)),
        levels=levels,
        **rows_and_cover(np.array(tree["sum_hessian"]), "sum_hessian"),
    )

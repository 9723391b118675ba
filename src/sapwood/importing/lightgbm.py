"""LightGBM's models, by their text."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.estimators.targets import MultiLabels
from sapwood.importing.base import ImportedModelError, whole_model
from sapwood.importing.builder import build_model, make_schema
from sapwood.importing.estimators import as_classifier, as_ranker, as_regressor, loss_name
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.leaf_models import ConstantLeaves

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a decision's type
NO_MISSING, ZERO_IS_MISSING, NAN_IS_MISSING = range(3)
# objective: (what it is here, link, loss)
OBJECTIVES = {
    "regression": ("regressor", "identity", "squared_error"),
    "regression_l1": ("regressor", "identity", "absolute_error"),
    "huber": ("regressor", "identity", "huber"),
    "fair": ("regressor", "identity", None),
    "quantile": ("regressor", "identity", "quantile"),
    "mape": ("regressor", "identity", "mape"),
    "poisson": ("regressor", "log", "poisson"),
    "gamma": ("regressor", "log", "gamma"),
    "tweedie": ("regressor", "log", "tweedie"),
    "cross_entropy": ("regressor", "logit", "log_loss"),
    "binary": ("classifier", "logit", None),
    "multiclass": ("classifier", "softmax", None),
    "multiclassova": ("labels", "logit", None),
    "lambdarank": ("ranker", "identity", "lambdamart"),
    "rank_xendcg": ("ranker", "identity", "xendcg"),
    "custom": ("regressor", "identity", None),
}


def from_lightgbm(model: Any) -> Any:
    """A model of LightGBM as an estimator, for prediction, explanation and export.

    Parameters
    ----------
    model : lightgbm.Booster, LGBMClassifier, LGBMRegressor, LGBMRanker, the path of a model file, or its text

    Returns
    -------
    BoostingClassifier, BoostingRegressor or BoostingRanker
    """
    booster = getattr(model, "booster_", model)
    if hasattr(booster, "model_to_string"):
        text = booster.model_to_string()
    elif isinstance(model, str) and "\n" in model:
        text = model
    else:
        with open(os.fspath(model), encoding="utf-8") as file:
            text = file.read()
    with whole_model("LightGBM"):
        return read_text(text, getattr(model, "classes_", None))


def read_text(text: str, classes: Any = None) -> Any:
    """An estimator from the text of a model file."""
    if not text.startswith("tree"):
        raise ImportedModelError("not a model of LightGBM: its text does not begin with 'tree'")
    head, *blocks = text.split("\nTree=")
    about = _fields(head)
    blocks = [block.partition("\nend of trees")[0] for block in blocks]
    name, settings = _objective(about.get("objective", "custom"))
    what, link, wanted = OBJECTIVES[name]
    n_outputs = int(about["num_tree_per_iteration"])
    n_columns = int(about["max_feature_idx"]) + 1
    levels, names = _levels(about, text, n_columns), about["feature_names"].split(" ")
    trees = [_Text(_fields(block)) for block in blocks]
    zero = any(tree.has_missing(ZERO_IS_MISSING) for tree in trees)
    if zero and (levels or any(tree.has_missing(NAN_IS_MISSING) for tree in trees)):
        raise ImportedModelError("zero_as_missing beside categories, or beside missing values that are NaN, cannot be imported")
    scale = float(settings.get("sigmoid", 1))
    if "average_output" in about:  # a random forest
        scale /= len(trees) / n_outputs
    known = {c: {code: i for i, code in enumerate(own)} for c, own in levels.items()}
    built = [tree.by_columns(scale, known) for tree in trees]
    values = _by_value(text, levels)
    schema = make_schema(n_columns, None if names == [f"Column_{c}" for c in range(n_columns)] else names, values)
    if zero:
        schema = replace(schema, missing_values=frozenset([0.0]))
    loss = loss_name(link, n_outputs, what == "classifier", wanted)
    made = build_model(built, schema, np.zeros(n_outputs), loss, link)
    parameters: dict[str, Any] = {"missing": 0.0} if zero else {}
    if what == "classifier":
        return as_classifier(made, "lightgbm", np.arange(max(2, n_outputs)) if classes is None else classes, **parameters)
    if what == "labels":
        return as_classifier(made, "lightgbm", np.arange(n_outputs), MultiLabels, **parameters)
    return (as_ranker if what == "ranker" else as_regressor)(made, "lightgbm", **parameters)


def _fields(text: str) -> dict[str, str]:
    """The lines `key=value`; a line without a value has an empty one."""
    return {key: value for key, _, value in (line.partition("=") for line in text.splitlines()) if key}


def _objective(text: str) -> tuple[str, dict[str, str]]:
    name, *settings = text.split(" ")
    if name not in OBJECTIVES:
        raise ImportedModelError(f"objective {name!r} of LightGBM cannot be imported; known are {', '.join(OBJECTIVES)}")
    if "sqrt" in settings:
        raise ImportedModelError("LightGBM's reg_sqrt=True cannot be imported: predictions are squares of what trees add up to")
    return name, dict(one.split(":", 1) for one in settings if ":" in one)


def _levels(about: dict[str, str], text: str, n_columns: int) -> dict[int, list[int]]:
    """The codes of each category, ascending."""
    infos = about["feature_infos"].split(" ")
    found = {c: sorted(int(code) for code in info.split(":") if int(code) >= 0) for c, info in enumerate(infos) if info[0] not in "[n"}
    for line in text.splitlines():
        if line.startswith("[categorical_feature: ") and len(line) > 24:
            found |= {int(c): [] for c in line[22:-1].split(",") if int(c) not in found and int(c) < n_columns}
    return dict(sorted(found.items()))


def _by_value(text: str, levels: dict[int, list[int]]) -> dict[int, list[Any]]:
    """Levels of the codes: of a pandas frame LightGBM stores levels by value."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    listed = json.loads(last.partition(":")[2]) if last.startswith("pandas_categorical:") else None
    if not listed:
        return dict(levels)
    if len(listed) != len(levels):
        raise ImportedModelError(
            f"{len(levels)} columns are categories, but pandas_categorical has {len(listed)}: which is which is not known"
        )
    return {c: [own[code] for code in codes if code < len(own)] for (c, codes), own in zip(levels.items(), listed, strict=True)}


class _Text:
    """A tree as LightGBM writes it: splits from 0 on, leaves from -1 down."""

    def __init__(self, fields: dict[str, str]) -> None:
        self.fields = fields
        if fields.get("is_linear", "0") != "0":
            raise ImportedModelError("linear trees (LightGBM's linear_tree=True) cannot be imported: leaves here hold values, not models")
        self.values = self._numbers("leaf_value")
        self.decisions = self._numbers("decision_type").astype(np.int64)

    def _numbers(self, name: str, type_: Any = np.float64) -> np.ndarray:
        return np.array(self.fields.get(name, "").split(), dtype=type_)

    def has_missing(self, kind: int) -> bool:
        numbers = self.decisions[self.decisions & CATEGORICAL == 0]
        return bool((numbers >> 2 & 3 == kind).any())

    def by_columns(self, scale: float, known: dict[int, dict[int, int]]) -> ColumnTree:
        if len(self.values) < 2:
            return ColumnTree.leaf(float(self.values[0]) * scale)
        n, n_leaves = len(self.decisions), len(self.values)
        children = [self._numbers(f"{side}_child", np.int64) for side in ("left", "right")]
        left, right = (np.append(np.where(own >= 0, own, n - 1 - own), np.full(n_leaves, -1)) for own in children)
        column = np.append(self._numbers("split_feature", np.int64), np.full(n_leaves, -1))
        threshold = np.append(self._numbers("threshold"), np.zeros(n_leaves))
        missing = np.where(self.decisions >> 2 & 3 == NO_MISSING, threshold[:n] >= 0, self.decisions & DEFAULT_LEFT > 0)
        by_set = self.decisions & CATEGORICAL > 0
        missing &= ~by_set  # what is missing, or not known, is in no set
        levels = {int(node): self._set(int(threshold[node]), known[int(column[node])]) for node in np.flatnonzero(by_set)}
        return ColumnTree(
            column=column.astype(np.int32),
            threshold=threshold,
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            missing_left=np.append(missing, np.zeros(n_leaves, dtype=bool)),
            gain=np.append(self._numbers("split_gain"), np.zeros(n_leaves)),
            count=np.append(self._numbers("internal_count"), self._numbers("leaf_count")).astype(np.int64),
            leaves=ConstantLeaves(np.append(np.zeros(n), self.values * scale)[:, None]),
            levels=levels,
        )

    def _set(self, number: int, known: dict[int, int]) -> np.ndarray:
        """(n_levels,) bool: which levels go left."""
        begin, end = self._numbers("cat_boundaries", np.int64)[number : number + 2]
        words = self._numbers("cat_threshold", np.uint32)[begin:end]
        codes = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        left = np.zeros(len(known), dtype=bool)
        left[[known[code] for code in codes.tolist()]] = True
        return left

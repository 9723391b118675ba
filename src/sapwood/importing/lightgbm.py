"""Import of LightGBM models from their text format."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.estimators.targets import MultiLabels
from sapwood.importing.base import MAX_ROWS, ImportedModelError, check_outputs, check_sets, in_range, reading_model
from sapwood.importing.builder import build_model, make_schema
from sapwood.importing.estimators import as_classifier, as_ranker, as_regressor, loss_name
from sapwood.runtime.float_mode import in_default_float_mode
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.leaf_models import ConstantLeaves

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of decision_type; the next two are one of:
NO_MISSING, ZERO_IS_MISSING, NAN_IS_MISSING = range(3)
# objective: (kind of estimator, link, loss)
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


@in_default_float_mode
def from_lightgbm(model: Any) -> Any:
    """Import a LightGBM model as an estimator.

    Parameters
    ----------
    model : lightgbm.Booster, LGBMClassifier, LGBMRegressor, LGBMRanker, path of a model file, or its text

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
    with reading_model("LightGBM"):
        return read_text(text, getattr(model, "classes_", None))


def read_text(text: str, classes: Any = None) -> Any:
    """Return an estimator from the text of a model file."""
    if not text.startswith("tree"):
        raise ImportedModelError("not a LightGBM model: the text does not begin with 'tree'")
    head, *blocks = text.split("\nTree=")
    about = _fields(head)
    blocks = [block.partition("\nend of trees")[0] for block in blocks]
    name, settings = _objective(about.get("objective", "custom"))
    what, link, wanted = OBJECTIVES[name]
    n_outputs = check_outputs(int(about["num_tree_per_iteration"]), len(blocks))
    n_columns, names = int(about["max_feature_idx"]) + 1, about["feature_names"].split(" ")
    if not n_columns == len(names) == len(about["feature_infos"].split(" ")):
        raise ImportedModelError(f"max_feature_idx={n_columns - 1} beside {len(names)} feature_names: a part of the model is missing")
    levels = _levels(about, text, n_columns)
    trees = [_Text(_fields(block)) for block in blocks]
    zero = any(tree.has_missing(ZERO_IS_MISSING) for tree in trees)
    if zero and (levels or any(tree.has_missing(NAN_IS_MISSING) for tree in trees)):
        raise ImportedModelError("zero_as_missing cannot be imported in combination with categorical columns or with NaN as missing value")
    scale = float(settings.get("sigmoid", 1))
    if "average_output" in about:  # a random forest
        scale /= len(trees) / n_outputs
    known = {c: {code: i for i, code in enumerate(own)} for c, own in levels.items()}
    check_sets(sum(tree.n_sets for tree in trees), max(map(len, levels.values()), default=0))
    built = [tree.by_columns(scale, known, n_columns) for tree in trees]
    values = _by_value(text, levels)
    schema = make_schema(n_columns, None if names == [f"Column_{c}" for c in range(n_columns)] else names, values)
    if zero:
        schema = replace(schema, missing_values=frozenset([0.0]))
    loss = loss_name(link, n_outputs, what == "classifier", wanted)
    model = build_model(built, schema, np.zeros(n_outputs), loss, link)
    parameters: dict[str, Any] = {"missing": 0.0} if zero else {}
    if what == "classifier":
        return as_classifier(model, "lightgbm", np.arange(max(2, n_outputs)) if classes is None else classes, **parameters)
    if what == "labels":
        return as_classifier(model, "lightgbm", np.arange(n_outputs), MultiLabels, **parameters)
    return (as_ranker if what == "ranker" else as_regressor)(model, "lightgbm", **parameters)


def _fields(text: str) -> dict[str, str]:
    """Return the lines `key=value`. The value of a line without "=" is empty."""
    return {key: value for key, _, value in (line.partition("=") for line in text.splitlines()) if key}


def _objective(text: str) -> tuple[str, dict[str, str]]:
    name, *settings = text.split(" ")
    if name not in OBJECTIVES:
        raise ImportedModelError(f"objective {name!r} of LightGBM cannot be imported; choose from {', '.join(OBJECTIVES)}")
    if "sqrt" in settings:
        raise ImportedModelError("reg_sqrt=True of LightGBM cannot be imported: predictions are squares of the sums of trees")
    return name, dict(setting.split(":", 1) for setting in settings if ":" in setting)


def _levels(about: dict[str, str], text: str, n_columns: int) -> dict[int, list[int]]:
    """Return the codes of each categorical column, ascending."""
    infos = about["feature_infos"].split(" ")
    found = {c: sorted(int(code) for code in info.split(":") if int(code) >= 0) for c, info in enumerate(infos) if info[0] not in "[n"}
    for line in text.splitlines():
        if line.startswith("[categorical_feature: ") and len(line) > 24:
            found |= {int(c): [] for c in line[22:-1].split(",") if int(c) not in found and int(c) < n_columns}
    return dict(sorted(found.items()))


def _by_value(text: str, levels: dict[int, list[int]]) -> dict[int, list[Any]]:
    """Return the levels of the codes. For pandas frames, LightGBM stores the levels; otherwise the codes are the levels."""
    last = text.rstrip().rsplit("\n", 1)[-1]
    listed = json.loads(last.partition(":")[2]) if last.startswith("pandas_categorical:") else None
    if not listed:
        return dict(levels)
    if len(listed) != len(levels):
        raise ImportedModelError(f"{len(levels)} columns are categorical, but pandas_categorical has {len(listed)}: they cannot be matched")
    return {c: [own[code] for code in codes if code < len(own)] for (c, codes), own in zip(levels.items(), listed, strict=True)}


class _Text:
    """Tree in LightGBM's format: splits are numbered 0, 1, ..., leaves -1, -2, ..."""

    def __init__(self, fields: dict[str, str]) -> None:
        self.fields = fields
        if fields.get("is_linear", "0") != "0":
            raise ImportedModelError("linear trees (linear_tree=True of LightGBM) cannot be imported: only constant leaves are supported")
        self.values = self._numbers("leaf_value")
        self.decisions = in_range(self._numbers("decision_type", np.int64), 0, 11, "decision_type")
        self.boundaries = self._numbers("cat_boundaries", np.int64)
        self.words = self._numbers("cat_threshold", np.uint32)

    def _numbers(self, name: str, type_: Any = np.float64, n: int | None = None) -> np.ndarray:
        numbers = np.array(self.fields.get(name, "").split(), dtype=type_)
        if n is not None and len(numbers) != n:
            raise ImportedModelError(f"a tree has {len(numbers)} numbers {name}, and must have {n}")
        return numbers

    @property
    def n_sets(self) -> int:
        return int(np.count_nonzero(self.decisions & CATEGORICAL))

    def has_missing(self, kind: int) -> bool:
        numbers = self.decisions[self.decisions & CATEGORICAL == 0]
        return bool((numbers >> 2 & 3 == kind).any())

    def by_columns(self, scale: float, known: dict[int, dict[int, int]], n_columns: int) -> ColumnTree:
        if len(self.values) < 2:
            return ColumnTree.leaf(float(self.values[0]) * scale)
        n, n_leaves = len(self.decisions), len(self.values)
        if n_leaves != n + 1:
            raise ImportedModelError(f"a tree has {n} splits and {n_leaves} leaves")
        children = [in_range(self._numbers(f"{side}_child", np.int64, n), -n_leaves, n - 1, f"{side}_child") for side in ("left", "right")]
        left, right = (np.append(np.where(own >= 0, own, n - 1 - own), np.full(n_leaves, -1)) for own in children)
        split_feature = in_range(self._numbers("split_feature", np.int64, n), 0, n_columns - 1, "split_feature")
        column = np.append(split_feature, np.full(n_leaves, -1))
        threshold = np.append(self._numbers("threshold", n=n), np.zeros(n_leaves))
        missing = np.where(self.decisions >> 2 & 3 == NO_MISSING, threshold[:n] >= 0, self.decisions & DEFAULT_LEFT > 0)
        by_set = self.decisions & CATEGORICAL > 0
        missing &= ~by_set  # missing and unseen levels are in no set
        levels = {int(node): self._set(int(threshold[node]), known[int(column[node])]) for node in np.flatnonzero(by_set)}
        return ColumnTree(
            column=column.astype(np.int32),
            threshold=threshold,
            left=left.astype(np.int32),
            right=right.astype(np.int32),
            missing_left=np.append(missing, np.zeros(n_leaves, dtype=bool)),
            gain=np.append(self._numbers("split_gain", n=n), np.zeros(n_leaves)),
            count=np.append(self._counts("internal_count", n), self._counts("leaf_count", n_leaves)),
            leaves=ConstantLeaves(np.append(np.zeros(n), self.values * scale)[:, None]),
            levels=levels,
        )

    def _counts(self, name: str, n: int) -> np.ndarray:
        return in_range(self._numbers(name, n=n), 0, MAX_ROWS, name).astype(np.int64)

    def _set(self, number: int, known: dict[int, int]) -> np.ndarray:
        """Return (n_levels,) bool: whether a level goes left."""
        begin, end = in_range(self.boundaries[number : number + 2], 0, len(self.words), "cat_boundaries")
        codes = np.flatnonzero(np.unpackbits(self.words[begin:end].view(np.uint8), bitorder="little"))
        left = np.zeros(len(known), dtype=bool)
        left[[known[code] for code in codes.tolist()]] = True
        return left

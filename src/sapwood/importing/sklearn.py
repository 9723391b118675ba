"""Import of scikit-learn's trees, forests and boosting models."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from sapwood.estimators.targets import ProbabilitySums
from sapwood.importing.base import ImportedModelError
from sapwood.importing.builder import build_model, make_schema
from sapwood.importing.estimators import as_classifier, as_regressor, loss_name
from sapwood.importing.float32 import at_most
from sapwood.runtime.float_mode import in_default_float_mode
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.leaf_models import ConstantLeaves

HISTOGRAMS = HistGradientBoostingClassifier, HistGradientBoostingRegressor
BOOSTED = GradientBoostingClassifier, GradientBoostingRegressor
FORESTS = RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor
TREES = DecisionTreeClassifier, DecisionTreeRegressor
LINKS = {"poisson": "log", "gamma": "log"}  # links of regression losses; identity for others


@in_default_float_mode
def from_sklearn(model: Any) -> Any:
    """Import a fitted scikit-learn model as an estimator.

    Except for HistGradientBoosting*, scikit-learn rounds data to float32 before it compares them with thresholds. Thresholds are adjusted
    so that every float64 value reaches the same leaf.

    Parameters
    ----------
    model : HistGradientBoosting*, GradientBoosting*, RandomForest*, ExtraTrees*, DecisionTree* or ExtraTree* (Classifier or Regressor)

    Returns
    -------
    BoostingClassifier or BoostingRegressor
    """
    check_is_fitted(model)
    if isinstance(model, HISTOGRAMS):
        return _from_histograms(model)
    if isinstance(model, BOOSTED):
        return _from_boosted(model)
    if isinstance(model, FORESTS):
        return _from_forest(model, model.estimators_)
    if isinstance(model, TREES):
        return _from_forest(model, [model])
    raise ImportedModelError(f"{type(model).__name__} cannot be imported; choose a tree, forest or boosting model of scikit-learn")


def _names(model: Any) -> list[str] | None:
    return list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None


def _from_histograms(model: Any) -> Any:
    is_classifier = isinstance(model, HistGradientBoostingClassifier)
    n_outputs, n_columns = model.n_trees_per_iteration_, model.n_features_in_
    link = ("logit" if n_outputs == 1 else "softmax") if is_classifier else LINKS.get(model.loss, "identity")
    order, levels = np.arange(n_columns), {}
    if model._preprocessor is not None:  # categorical columns come first, as codes
        categories = np.flatnonzero(model.is_categorical_)
        order = np.append(categories, np.flatnonzero(~model.is_categorical_))
        found = model._preprocessor.named_transformers_["encoder"].categories_
        levels = {int(c): [v for v in own.tolist() if v is not None and v == v] for c, own in zip(categories, found, strict=True)}
    trees = [_histogram_tree(own, order, levels) for round_ in model._predictors for own in round_]
    loss = loss_name(link, n_outputs, is_classifier, model.loss)
    made = build_model(trees, make_schema(n_columns, _names(model), levels), np.ravel(model._baseline_prediction), loss, link)
    return as_classifier(made, "sklearn", model.classes_) if is_classifier else as_regressor(made, "sklearn")


def _histogram_tree(predictor: Any, order: np.ndarray, known: dict[int, list[Any]]) -> ColumnTree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    column = np.where(leaf, -1, order[np.where(leaf, 0, nodes["feature_idx"])])
    levels = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        levels[node] = np.unpackbits(bits.view(np.uint8), bitorder="little")[: len(known[int(column[node])])].astype(bool)
    return ColumnTree(
        column=column.astype(np.int32),
        threshold=nodes["num_threshold"].astype(np.float64),
        left=nodes["left"].astype(np.int32),
        right=nodes["right"].astype(np.int32),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        gain=np.maximum(nodes["gain"].astype(np.float64), 0.0),
        count=nodes["count"].astype(np.int64),
        leaves=ConstantLeaves(nodes["value"].astype(np.float64)[:, None]),
        levels=levels,
    )


def _from_boosted(model: Any) -> Any:
    is_classifier = isinstance(model, GradientBoostingClassifier)
    if not isinstance(model.init_, DummyClassifier | DummyRegressor | str):
        raise ImportedModelError(f"init={model.init!r} of {type(model).__name__} cannot be imported: only a constant init is supported")
    n_outputs = model.estimators_.shape[1]
    link = ("logit" if n_outputs == 1 else "softmax") if is_classifier else "identity"
    factor = 2.0 if model.loss == "exponential" else 1.0  # the probability is the logistic function of twice the raw prediction
    base_score = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0] * factor
    trees = [_tree(own.tree_, model.learning_rate * own.tree_.value[:, :, 0] * factor) for round_ in model.estimators_ for own in round_]
    loss = loss_name(link, n_outputs, is_classifier, model.loss)
    made = build_model(trees, make_schema(model.n_features_in_, _names(model), {}), base_score, loss, link)
    return as_classifier(made, "sklearn", model.classes_) if is_classifier else as_regressor(made, "sklearn")


def _from_forest(model: Any, members: Any) -> Any:
    """Return an estimator that averages the values of trees, or the class fractions of their leaves."""
    is_classifier = hasattr(model, "classes_")
    if is_classifier and model.n_outputs_ > 1:
        raise ImportedModelError(f"{type(model).__name__} with several outputs cannot be imported: fit one model for each output")
    trees = []
    for own in members:
        value = own.tree_.value[:, 0, :] if is_classifier else own.tree_.value[:, :, 0]
        trees.append(_tree(own.tree_, value / len(members)))
    n_outputs = trees[0].leaves.n_outputs
    schema = make_schema(model.n_features_in_, _names(model), {})
    made = build_model(trees, schema, np.zeros(n_outputs), "squared_error", "identity", shared=int(n_outputs > 1 or is_classifier))
    return as_classifier(made, "sklearn", model.classes_, ProbabilitySums) if is_classifier else as_regressor(made, "sklearn")


def _rows_and_cover(tree: Any) -> dict[str, Any]:
    rows, weight = tree.n_node_samples.astype(np.int64), tree.weighted_n_node_samples
    return {"count": rows, "cover": None if (rows == weight).all() else weight}


def _tree(tree: Any, value: np.ndarray) -> ColumnTree:
    leaf = tree.children_left < 0
    missing = np.asarray(getattr(tree, "missing_go_to_left", np.zeros(len(leaf))), dtype=bool)
    weight, impurity = tree.weighted_n_node_samples, tree.impurity
    lost = weight * impurity
    gain = np.where(leaf, 0.0, lost - lost[tree.children_left] - lost[tree.children_right])
    return ColumnTree(
        column=np.where(leaf, -1, tree.feature).astype(np.int32),
        threshold=np.where(leaf, 0.0, at_most(np.where(leaf, 0.0, tree.threshold))),
        left=tree.children_left.astype(np.int32),
        right=tree.children_right.astype(np.int32),
        missing_left=missing,
        gain=np.maximum(gain, 0.0),
        leaves=ConstantLeaves(value),
        **_rows_and_cover(tree),
    )

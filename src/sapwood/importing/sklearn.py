"""scikit-learn's trees, forests and boosting."""

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
from sapwood.importing.builder import build_model, make_schema, whole_counts
from sapwood.importing.estimators import as_classifier, as_regressor, loss_name
from sapwood.importing.float32 import at_most
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.leaf_models import ConstantLeaves

HISTOGRAMS = HistGradientBoostingClassifier, HistGradientBoostingRegressor
BOOSTED = GradientBoostingClassifier, GradientBoostingRegressor
FORESTS = RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor
TREES = DecisionTreeClassifier, DecisionTreeRegressor
LINKS = {"poisson": "log", "gamma": "log"}  # of losses for numbers; others have none


def from_sklearn(model: Any) -> Any:
    """A fitted model of scikit-learn as an estimator, for prediction, explanation and export.

    Parameters
    ----------
    model : HistGradientBoosting*, GradientBoosting*, RandomForest*, ExtraTrees* (Classifier or Regressor), DecisionTree*, ExtraTree*
        Trees that are not of histograms round data to float32 before they compare them; thresholds are chosen so that every double goes
        the same way.

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
    raise ImportedModelError(f"{type(model).__name__} cannot be imported; give a tree, a forest or a boosted model of scikit-learn")


def _names(model: Any) -> list[str] | None:
    return list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None


def _from_histograms(model: Any) -> Any:
    is_classifier = isinstance(model, HistGradientBoostingClassifier)
    n_outputs, n_columns = model.n_trees_per_iteration_, model.n_features_in_
    link = ("logit" if n_outputs == 1 else "softmax") if is_classifier else LINKS.get(model.loss, "identity")
    order, levels = np.arange(n_columns), {}
    if model._preprocessor is not None:  # categories come first, as codes
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
        raise ImportedModelError(f"init={model.init!r} of {type(model).__name__} cannot be imported: predictions start from another model")
    n_outputs = model.estimators_.shape[1]
    link = ("logit" if n_outputs == 1 else "softmax") if is_classifier else "identity"
    factor = 2.0 if model.loss == "exponential" else 1.0  # its probability is that of twice the raw prediction
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0] * factor
    trees = [_tree(own.tree_, model.learning_rate * own.tree_.value[:, :, 0] * factor) for round_ in model.estimators_ for own in round_]
    loss = loss_name(link, n_outputs, is_classifier, model.loss)
    made = build_model(trees, make_schema(model.n_features_in_, _names(model), {}), start, loss, link)
    return as_classifier(made, "sklearn", model.classes_) if is_classifier else as_regressor(made, "sklearn")


def _from_forest(model: Any, members: Any) -> Any:
    """The mean of the trees' values; of a classifier, of their shares of classes."""
    is_classifier = hasattr(model, "classes_")
    if is_classifier and model.n_outputs_ > 1:
        raise ImportedModelError(f"{type(model).__name__} with several outputs cannot be imported: give one for each")
    trees = []
    for own in members:
        value = own.tree_.value[:, 0, :] if is_classifier else own.tree_.value[:, :, 0]
        trees.append(_tree(own.tree_, value / len(members)))
    n_outputs = trees[0].leaves.n_outputs
    schema = make_schema(model.n_features_in_, _names(model), {})
    made = build_model(trees, schema, np.zeros(n_outputs), "squared_error", "identity", shared=int(n_outputs > 1 or is_classifier))
    return as_classifier(made, "sklearn", model.classes_, ProbabilitySums) if is_classifier else as_regressor(made, "sklearn")


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
        count=whole_counts(weight),
        leaves=ConstantLeaves(value),
    )

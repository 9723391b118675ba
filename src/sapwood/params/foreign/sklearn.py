"""Parameters and methods of scikit-learn: histogram and classic gradient boosting, random forests."""

from __future__ import annotations

from typing import Any

from sapwood.params.foreign.counterpart import (
    CALLBACKS,
    QUANTILE_OR_HUBER,
    ROUNDS,
    SUBSAMPLE,
    Counterpart,
    Library,
    Method,
    fit_argument,
    near,
    none,
    same,
    with_synonyms,
)

SHARED = (  # parameters of the same name and meaning
    "categorical_features",
    "class_weight",
    "early_stopping",
    "init",
    "interaction_cst",
    "l2_regularization",
    "learning_rate",
    "max_bins",
    "max_depth",
    "max_features",
    "max_iter",
    "max_leaf_nodes",
    "min_samples_leaf",
    "monotonic_cst",
    "n_iter_no_change",
    "n_jobs",
    "quantile",
    "random_state",
    "scoring",
    "subsample",
    "tol",
    "validation_fraction",
    "verbose",
    "warm_start",
)
LOSSES: dict[str, dict[str, Any]] = {
    "ls": {"loss": "squared_error"},
    "lad": {"loss": "absolute_error"},
    "deviance": {"loss": "log_loss"},
}

NAMES = with_synonyms(
    {
        "n_estimators": ROUNDS,
        "loss": Counterpart("loss", "with the same value", lambda value: LOSSES.get(value, {"loss": value})),
        **{name: same(name) for name in SHARED},
        **{name: fit_argument(name) for name in ("X_val", "y_val", "sample_weight", "sample_weight_val")},
        "alpha": QUANTILE_OR_HUBER,
        "criterion": none("leave it out: splits are chosen by the gradients of the loss"),
        "min_samples_split": none("leave it out: use min_samples_leaf"),
        "min_weight_fraction_leaf": near("min_hessian", "the sum of hessians instead of a fraction of the weights"),
        "min_impurity_decrease": near("min_gain", "which is not divided by the number of rows"),
        "ccp_alpha": near("min_gain", "or boosting='ordered', which prunes"),
        "bootstrap": near("subsample", "with boosting='forest'"),
        "oob_score": none("there is no counterpart; early stopping and sapwood.cv use rows that were not trained on"),
        "max_samples": SUBSAMPLE,
        "scorer": same("scoring"),
        "monitor": CALLBACKS,
    }
)

METHODS = (
    Method("HistGradientBoostingClassifier", "BoostingClassifier"),
    Method("HistGradientBoostingRegressor", "BoostingRegressor"),
    Method("GradientBoostingClassifier", "BoostingClassifier"),
    Method("RandomForestClassifier", "BoostingClassifier", "with boosting='forest'"),
    *(
        Method(name, name)
        for name in (
            "fit",
            "predict",
            "predict_proba",
            "decision_function",
            "staged_predict",
            "staged_predict_proba",
            "staged_decision_function",
            "score",
            "n_iter_",
            "n_trees_per_iteration_",
            "train_score_",
            "validation_score_",
            "do_early_stopping_",
            "classes_",
            "n_features_in_",
        )
    ),
    Method("GradientBoostingClassifier.apply", "apply"),
    Method("GradientBoostingClassifier.feature_importances_", "feature_importances_"),
    Method("GradientBoostingClassifier.estimators_", "Model.to_json"),
    Method("inspection.permutation_importance", "importances('permutation')", "or scikit-learn's function itself"),
    Method("inspection.partial_dependence", "inspection.partial_dependence", "or scikit-learn's function itself"),
    Method("model_selection.learning_curve", "cv", "scores by round; scikit-learn's function works as well"),
)

LIBRARY = Library("scikit-learn", NAMES, LOSSES, METHODS)

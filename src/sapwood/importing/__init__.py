"""Import of models of LightGBM, XGBoost and scikit-learn. One file per library."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sapwood.importing.base import ImportedModelError
from sapwood.importing.lightgbm import from_lightgbm
from sapwood.importing.sklearn import from_sklearn
from sapwood.importing.xgboost import from_xgboost

IMPORTERS: dict[str, Callable[[Any], Any]] = {"lightgbm": from_lightgbm, "xgboost": from_xgboost, "sklearn": from_sklearn}

__all__ = ["IMPORTERS", "ImportedModelError", "from_lightgbm", "from_sklearn", "from_xgboost", "import_model"]


def import_model(model: Any) -> Any:
    """Import a fitted model of LightGBM, XGBoost or scikit-learn as an estimator with the same predictions.

    The estimator supports SHAP values, saving, plots and export.

    Parameters
    ----------
    model : Booster, fitted estimator, path of a model file of LightGBM or XGBoost, or text of a LightGBM model

    Returns
    -------
    BoostingClassifier, BoostingRegressor or BoostingRanker

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sapwood import import_model
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> float(abs(import_model(forest).predict_proba(X) - forest.predict_proba(X)).max()) < 1e-12
    True
    """
    if isinstance(model, str) and "\n" in model:
        return from_lightgbm(model)
    if isinstance(model, str | os.PathLike):
        with open(model, "rb") as file:
            return (from_lightgbm if file.read(4) == b"tree" else from_xgboost)(model)
    for own in type(model).__mro__:
        library = own.__module__.partition(".")[0]
        if library in IMPORTERS:
            return IMPORTERS[library](model)
    raise ImportedModelError(f"models of {type(model).__module__} cannot be imported; choose from {', '.join(IMPORTERS)}")

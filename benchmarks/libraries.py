"""Compared libraries, with the same parameters.

31 leaves, learning rate 0.1, 255 bins, 100 rounds, at least 20 rows in a leaf, the same L2 (0, the default of
scikit-learn and LightGBM; the defaults of XGBoost and CatBoost are 1 and 3), no early stopping. Other parameters have
the default of the library. XGBoost bounds the hessian of a leaf instead of its rows: for squared error this is the same,
for other losses its default is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

OURS = "sapwood"
LIGHTGBM = "lightgbm"
XGBOOST = "xgboost"


def make_sapwood(task: str, n_jobs: int, seed: int, l2: float = 0.0) -> Any:
    sapwood = importlib.import_module("sapwood")
    kind = sapwood.BoostingRegressor if task == "regression" else sapwood.BoostingClassifier
    return kind(**SKLEARN_NAMES, l2_regularization=l2, n_jobs=n_jobs, random_state=seed)


def make_sklearn(task: str, n_jobs: int, seed: int, l2: float = 0.0) -> Any:
    """scikit-learn's estimator. Its threads are limited by `Library.threads`."""
    ensemble = importlib.import_module("sklearn.ensemble")
    kind = ensemble.HistGradientBoostingRegressor if task == "regression" else ensemble.HistGradientBoostingClassifier
    return kind(**SKLEARN_NAMES, l2_regularization=l2, random_state=seed)


SKLEARN_NAMES = {
    "max_leaf_nodes": 31,
    "learning_rate": 0.1,
    "max_bins": 255,
    "max_iter": 100,
    "min_samples_leaf": 20,
    "early_stopping": False,
}


def make_lightgbm(task: str, n_jobs: int, seed: int, l2: float = 0.0) -> Any:
    lightgbm = importlib.import_module("lightgbm")
    kind = lightgbm.LGBMRegressor if task == "regression" else lightgbm.LGBMClassifier
    return kind(
        num_leaves=31,
        learning_rate=0.1,
        max_bin=255,
        n_estimators=100,
        min_child_samples=20,
        reg_lambda=l2,
        n_jobs=n_jobs,
        random_state=seed,
        verbose=-1,
    )


def make_xgboost(task: str, n_jobs: int, seed: int, l2: float = 0.0) -> Any:
    xgboost = importlib.import_module("xgboost")
    kind = xgboost.XGBRegressor if task == "regression" else xgboost.XGBClassifier
    return kind(
        tree_method="hist",
        grow_policy="lossguide",
        max_leaves=31,
        max_depth=0,
        learning_rate=0.1,
        max_bin=255,
        n_estimators=100,
        reg_lambda=l2,
        min_child_weight=20 if task == "regression" else None,
        n_jobs=n_jobs,
        random_state=seed,
        verbosity=0,
    )


def make_catboost(task: str, n_jobs: int, seed: int, l2: float = 0.0) -> Any:
    catboost = importlib.import_module("catboost")
    kind = catboost.CatBoostRegressor if task == "regression" else catboost.CatBoostClassifier
    return kind(
        grow_policy="Lossguide",
        max_leaves=31,
        learning_rate=0.1,
        border_count=254,
        iterations=100,
        min_data_in_leaf=20,
        l2_leaf_reg=l2,
        boosting_type="Plain",
        bootstrap_type="No",
        random_strength=0,
        allow_writing_files=False,
        thread_count=n_jobs,
        random_seed=seed,
        verbose=False,
    )


@dataclass(frozen=True)
class Library:
    name: str
    title: str
    distribution: str  # name of the package
    make: Callable[..., Any]  # task, n_jobs, seed, l2 -> estimator
    limited_outside: bool = False  # has no n_jobs

    def threads(self, n_jobs: int) -> AbstractContextManager[Any]:
        """Return a context that limits the threads of fit and predict."""
        return threadpool_limits(n_jobs, user_api="openmp") if self.limited_outside else nullcontext()

    def version(self) -> str:
        return version(self.distribution)


LIBRARIES = {
    library.name: library
    for library in (
        Library(OURS, "sapwood", "sapwood", make_sapwood),
        Library(LIGHTGBM, "LightGBM", "lightgbm", make_lightgbm),
        Library(XGBOOST, "XGBoost", "xgboost-cpu", make_xgboost),
        Library("sklearn", "scikit-learn", "scikit-learn", make_sklearn, limited_outside=True),
        Library("catboost", "CatBoost", "catboost", make_catboost),
    )
}


def predict(model: Any, X: np.ndarray, task: str) -> np.ndarray:
    """Return predictions, or probabilities of all classes."""
    return model.predict(X) if task == "regression" else model.predict_proba(X)


def mean_loss(y: np.ndarray, predicted: np.ndarray, task: str) -> float:
    """Return the mean squared error or the log-loss."""
    if task == "regression":
        return float(np.mean((y - predicted) ** 2))
    chosen = predicted[np.arange(len(y)), y].astype(np.float64)
    return float(-np.mean(np.log(np.clip(chosen, 1e-15, 1))))

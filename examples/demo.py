"""Train on the tables that scikit-learn bundles, and print Sapwood's scores next to scikit-learn's.

Both train 50 rounds on one thread, and seconds are CPU time: other programs on the machine do not change the comparison much.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from sapwood import BoostingClassifier, BoostingRegressor

ROUNDS, FOLDS = 50, 3
CLASSES = (BoostingClassifier(max_iter=ROUNDS, n_jobs=1), HistGradientBoostingClassifier(max_iter=ROUNDS))
NUMBERS = (BoostingRegressor(max_iter=ROUNDS, n_jobs=1), HistGradientBoostingRegressor(max_iter=ROUNDS))
TABLES: dict[str, tuple[Callable, tuple[BaseEstimator, BaseEstimator]]] = {
    "breast cancer": (load_breast_cancer, CLASSES),
    "digits": (load_digits, CLASSES),
    "wine": (load_wine, CLASSES),
    "iris": (load_iris, CLASSES),
    "diabetes": (load_diabetes, NUMBERS),
}


def cross_validate(estimator: BaseEstimator, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Mean score (accuracy or R2), mean loss (log-loss or mean squared error) and CPU seconds of fitting, over folds."""
    scores, losses, seconds = [], [], 0.0
    classes = hasattr(estimator, "predict_proba")
    strata = y if classes else np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, strata):
        model = clone(estimator)
        start = time.process_time()
        model.fit(X[train], y[train])
        seconds += time.process_time() - start
        scores.append(model.score(X[test], y[test]))
        loss = log_loss(y[test], model.predict_proba(X[test])) if classes else mean_squared_error(y[test], model.predict(X[test]))
        losses.append(loss)
    return float(np.mean(scores)), float(np.mean(losses)), seconds


def main() -> None:
    print(f"{FOLDS}-fold cross-validation, {ROUNDS} rounds, one thread each, CPU seconds of fitting")
    print("Score is accuracy (diabetes: R2), loss is log-loss (diabetes: squared error)\n")
    print(f"{'table':<15}{'rows x features':>16}   {'score':>8}{'sklearn':>9}   {'loss':>9}{'sklearn':>10}   {'fit s':>7}{'sklearn':>9}")
    for name, (load, estimators) in TABLES.items():
        X, y = load(return_X_y=True)
        with threadpool_limits(1):  # scikit-learn has no n_jobs here
            for estimator in estimators:
                clone(estimator).fit(X[:50], y[:50])  # imports and caches
            (score, loss, seconds), (their_score, their_loss, their_seconds) = (cross_validate(e, X, y) for e in estimators)
        size = f"{X.shape[0]:,} x {X.shape[1]}"
        print(
            f"{name:<15}{size:>16}   {score:>8.4f}{their_score:>9.4f}   {loss:>9.4g}{their_loss:>10.4g}"
            f"   {seconds:>7.2f}{their_seconds:>9.2f}"
        )


if __name__ == "__main__":
    main()

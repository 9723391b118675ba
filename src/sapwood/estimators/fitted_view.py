"""Views of an estimator during training, for scikit-learn's scorers and callbacks."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring

from sapwood.callbacks import Callback
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.scikit_callbacks import ScikitCallbacks

if TYPE_CHECKING:
    from sapwood.estimators.base import BaseBoosting


class Prototype:
    """The estimator that is being fitted. A fit does not change it, but creates views of it with the model trained so far."""

    def __init__(self, estimator: BaseBoosting) -> None:
        self._estimator = estimator
        self.name: str = type(estimator).__name__

    def has_method(self, name: str) -> bool:
        return hasattr(self._estimator, name)

    def scorer(self, scoring: Any) -> Any:
        """Return the scikit-learn scorer for a name or callable."""
        return check_scoring(self._estimator, scoring)

    def view(self, result: FitResult, raw: np.ndarray) -> FittedView:
        """Return a view of the estimator fitted with this result, for rows with these raw predictions, (n_rows, n_outputs)."""
        fitted = copy.copy(self._estimator)
        fitted._store(result)
        return (FittedClassifierView if is_classifier(fitted) else FittedView)(fitted, raw)

    def callbacks(self, result: FitResult, X: Any, y: Any) -> list[Callback]:
        """Return a callback that runs the scikit-learn callbacks of the estimator, if it has any."""
        return [ScikitCallbacks(self._estimator, X, y, result)] if ScikitCallbacks.wanted(self._estimator) else []


class FittedView:
    """Fitted estimator that predicts from known raw predictions, without evaluating trees.

    X of its methods is the output of `rows()`, or some rows of it. Other attributes are those of the estimator.
    """

    def __init__(self, estimator: BaseBoosting, raw: np.ndarray) -> None:
        self._estimator, self._raw = estimator, raw

    def rows(self) -> np.ndarray:
        """Return a (n_rows, n_features) table of row indices, to be passed to scorers as X."""
        return np.broadcast_to(np.arange(len(self._raw))[:, None], (len(self._raw), self._estimator.n_features_in_))

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._estimator._predict_from_raw(self._raw_of(X))

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        return self._estimator._score_predicted(y, self.predict(X), sample_weight)

    def _raw_of(self, X: np.ndarray) -> np.ndarray:
        return self._raw[np.asarray(X)[:, 0]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__sklearn_tags__":  # copy and pickle look these up before __init__
            raise AttributeError(name)
        return getattr(self._estimator, name)


class FittedClassifierView(FittedView):
    """FittedView of a classifier."""

    _estimator: Any

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self._estimator._probabilities(self._raw_of(X))

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return self._estimator._decisions(self._raw_of(X))

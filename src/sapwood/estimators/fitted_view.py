"""Estimators in the middle of training, as scikit-learn's scorers and callbacks see them."""

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
    """Estimator that a fit is for. The fit does not change it: it asks for views of it with what was trained so far."""

    def __init__(self, estimator: BaseBoosting) -> None:
        self._estimator = estimator
        self.name: str = type(estimator).__name__

    def responds(self, method: str) -> bool:
        return hasattr(self._estimator, method)

    def scorer(self, scoring: Any) -> Any:
        """scikit-learn scorer by name, or checked."""
        return check_scoring(self._estimator, scoring)

    def view(self, result: FitResult, raw: np.ndarray) -> FittedView:
        """The estimator as if the fit had ended with this result; raw predictions, (n_rows, n_outputs), are known."""
        fitted = copy.copy(self._estimator)
        fitted._store(result)
        return (FittedClassifierView if is_classifier(fitted) else FittedView)(fitted, raw)

    def callbacks(self, result: FitResult, X: Any, y: Any) -> list[Callback]:
        """Callbacks of scikit-learn that the estimator has."""
        return [ScikitCallbacks(self._estimator, X, y, result)] if ScikitCallbacks.wanted(self._estimator) else []


class FittedView:
    """Fitted estimator that answers from known raw predictions: trees need not be walked again.

    Its X is a table of the numbers of rows, as `rows()` makes it; all else is as in the estimator.
    """

    def __init__(self, estimator: BaseBoosting, raw: np.ndarray) -> None:
        self._estimator, self._raw = estimator, raw

    def rows(self) -> np.ndarray:
        """(n_rows, n_features): what to give to scorers as X."""
        return np.broadcast_to(np.arange(len(self._raw))[:, None], (len(self._raw), self._estimator.n_features_in_))

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self._estimator._predict_from_raw(self._raw_of(X))

    def score(self, X: np.ndarray, y: Any, sample_weight: Any = None) -> float:
        return self._estimator._score_predicted(y, self.predict(X), sample_weight)

    def _raw_of(self, X: np.ndarray) -> np.ndarray:
        return self._raw[np.asarray(X)[:, 0]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__sklearn_tags__":  # copies and pickles ask before there is an estimator
            raise AttributeError(name)
        return getattr(self._estimator, name)


class FittedClassifierView(FittedView):
    """The same for classifiers."""

    _estimator: Any

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self._estimator._probabilities(self._raw_of(X))

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return self._estimator._decisions(self._raw_of(X))

"""Prediction intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, is_regressor
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sapwood.data.checks import check_numbers, check_weights
from sapwood.estimators import BoostingRegressor
from sapwood.uncertainty.conformal import PARAMETERS, BaseConformal
from sapwood.uncertainty.rows import Sample, count_rows
from sapwood.uncertainty.scores import needed_weight, reach


class ConformalRegressor(RegressorMixin, BaseConformal, in_files=True):
    __doc__ = f"""Prediction intervals that cover the truth as often as asked, whatever the data and the estimator.

    An interval is the prediction plus and minus what held-out residuals were. With an estimator of loss="quantile" (its `quantile` is set:
    one is trained for each end) or one that predicts several quantiles, it is their interval, widened or narrowed by as much as held-out
    rows need (conformalised quantile regression): then its width follows the features.

    Parameters
    ----------
    {PARAMETERS}

    Attributes
    ----------
    folds_ : list of Fold
        Estimators, and the scores of rows they did not see; one for method="split".
    n_held_out_ : int
        Rows that scores were learned from; those of weight 0 do not count.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood.uncertainty import ConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> intervals = ConformalRegressor(confidence_level=0.8).fit(X[:300], y[:300]).predict_interval(X[300:])
    >>> intervals.shape
    (142, 2)
    """

    def predict(self, X: Any) -> np.ndarray:
        """(n_rows,) float64: the middle of the predictions of each fold, averaged over folds."""
        check_is_fitted(self)
        return np.mean([self._ends(fold.estimators, X).mean(axis=1) for fold in self.folds_], axis=0)

    def predict_interval(self, X: Any, confidence_level: float | None = None, sample_weight: Any = None) -> np.ndarray:
        """(n_rows, 2) float64: where the targets of new rows lie.

        Parameters
        ----------
        X : new rows
        confidence_level : another than that of the constructor
        sample_weight : weights of these rows, where those of the held-out rows say how many of the rows to come are like each of them; the
            mean of those if None
        """
        level = self._level(confidence_level)
        scores = [fold.scores for fold in self.folds_]
        ends = np.stack([self._ends(fold.estimators, X) for fold in self.folds_])  # (n_folds, n_rows, 2)
        needed = needed_weight(scores, level, check_weights(sample_weight, count_rows(X), "sample_weight"))
        lower, upper = -reach(scores, -ends[:, :, 0], needed), reach(scores, ends[:, :, 1], needed)
        crossed = lower > upper  # an empty interval: quantiles narrowed beyond their middle
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
        return np.column_stack([lower, upper])

    def _ends(self, estimators: list[Any], X: Any) -> np.ndarray:
        """(n_rows, 2): what is predicted before it is widened; for a single prediction both are the same."""
        predicted = np.column_stack([estimator.predict(X) for estimator in estimators])
        return np.column_stack([predicted.min(axis=1), predicted.max(axis=1)])

    def _train(self, sample: Sample) -> list[Any]:
        estimator = self._clone()
        params = estimator.get_params() if hasattr(estimator, "get_params") else {}
        if params.get("loss") != "quantile" or "quantile" not in params or isinstance(params["quantile"], (list, tuple, np.ndarray)):
            return [sample.fit(estimator)]
        outside = (1 - self.confidence_level) / 2
        return [sample.fit(self._clone().set_params(quantile=quantile)) for quantile in (outside, 1 - outside)]

    def _score(self, estimators: list[Any], held: Sample) -> np.ndarray:
        ends = self._ends(estimators, held.X)
        return np.maximum(ends[:, 0] - held.y, held.y - ends[:, 1])

    def _set_fitted_parts(self, estimators: list[Any], arrays: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        super()._set_fitted_parts(estimators, arrays, data)
        if not all(map(is_regressor, estimators)):
            raise ValueError("the estimators must be regressors")

    def _check_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return check_numbers(y if y is None else column_or_1d(y, warn=True), n_rows, name)

    def _default(self) -> Any:
        return BoostingRegressor()

"""Conformal regressor: prediction intervals."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, is_regressor
from sklearn.utils.validation import check_is_fitted, column_or_1d

from sapwood.data.checks import check_numbers, check_weights
from sapwood.estimators import BoostingRegressor
from sapwood.uncertainty.conformal import PARAMETERS, BaseConformal
from sapwood.uncertainty.rows import Sample, count_rows
from sapwood.uncertainty.scores import needed_weight, reach


class ConformalRegressor(RegressorMixin, BaseConformal, in_files=True):
    __doc__ = f"""Prediction intervals that contain the true target with at least the chosen probability, for any data and any estimator.

    An interval is the prediction plus and minus a quantile of the absolute residuals of held-out rows. If the estimator has
    loss="quantile", or predicts several quantiles, the interval between the lowest and highest quantile is widened or narrowed to reach
    the coverage on held-out rows (conformalized quantile regression), so that its width depends on the features. For a single-quantile
    estimator, `quantile` is overridden and one estimator is trained for each end.

    Parameters
    ----------
    {PARAMETERS}
    adaptive : bool, default=False
        Whether to train quantiles for both ends of the interval, so that its width depends on the features (conformalized quantile
        regression). A Sapwood regressor gets `loss="quantile"` and both quantiles in one model.

    Attributes
    ----------
    folds_ : list of Fold
        Fitted estimators with the scores of their held-out rows; one fold for method="split".
    n_held_out_ : int
        Number of held-out rows, without those of weight 0.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood.uncertainty import ConformalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> intervals = ConformalRegressor(confidence_level=0.8).fit(X[:300], y[:300]).predict_interval(X[300:])
    >>> intervals.shape
    (142, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**BaseConformal._parameter_constraints, "adaptive": ["boolean"]}

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "split",
        confidence_level: float = 0.9,
        adaptive: bool = False,
        calibration_size: float | int = 0.25,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            method=method,
            confidence_level=confidence_level,
            calibration_size=calibration_size,
            cv=cv,
            random_state=random_state,
        )
        self.adaptive = adaptive

    def predict(self, X: Any) -> np.ndarray:
        """Return the midpoint of the predictions of each fold, averaged over folds, (n_rows,) float64."""
        check_is_fitted(self)
        return np.mean([self._ends(fold.estimators, X).mean(axis=1) for fold in self.folds_], axis=0)

    def predict_interval(self, X: Any, confidence_level: float | None = None, sample_weight: Any = None) -> np.ndarray:
        """Return prediction intervals, (n_rows, 2) float64: lower and upper end.

        Parameters
        ----------
        X : new rows
        confidence_level : overrides the value of the constructor
        sample_weight : weights of the new rows, if the held-out rows were weighted to correct for covariate shift; if None, each new row
            has the mean weight of the held-out rows
        """
        level = self._level(confidence_level)
        scores = [fold.scores for fold in self.folds_]
        ends = np.stack([self._ends(fold.estimators, X) for fold in self.folds_])  # (n_folds, n_rows, 2)
        needed = needed_weight(scores, level, check_weights(sample_weight, count_rows(X), "sample_weight"))
        lower, upper = -reach(scores, -ends[:, :, 0], needed), reach(scores, ends[:, :, 1], needed)
        crossed = lower > upper  # the interval was narrowed to less than nothing: use its midpoint
        lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
        return np.column_stack([lower, upper])

    def _ends(self, estimators: list[Any], X: Any) -> np.ndarray:
        """Lowest and highest prediction of each row before calibration, (n_rows, 2); equal for a single prediction."""
        predicted = np.column_stack([estimator.predict(X) for estimator in estimators])
        return np.column_stack([predicted.min(axis=1), predicted.max(axis=1)])

    def _train(self, sample: Sample) -> list[Any]:
        estimator, outside = self._clone(), (1 - self.confidence_level) / 2
        if self.adaptive:
            if not isinstance(estimator, BoostingRegressor):
                raise ValueError(
                    f"adaptive=True needs a BoostingRegressor; got {type(estimator).__name__}: give an estimator of quantiles instead"
                )
            return [sample.fit(estimator.set_params(loss="quantile", quantile=[outside, 1 - outside]))]
        params = estimator.get_params() if hasattr(estimator, "get_params") else {}
        if params.get("loss") != "quantile" or "quantile" not in params or isinstance(params["quantile"], (list, tuple, np.ndarray)):
            return [sample.fit(estimator)]
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

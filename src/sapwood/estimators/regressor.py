"""Gradient-boosted trees for regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_weights
from sapwood.data.survival import signed_times
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.survival import BaselineHazard, check_times, cumulative_hazard_of_times
from sapwood.estimators.targets import Numbers
from sapwood.estimators.tasks import Regression
from sapwood.estimators.values import Unsaved
from sapwood.losses import Loss
from sapwood.losses.multi_quantile import MultiQuantileLoss
from sapwood.metrics.concordance import concordance_index, concordance_of_times
from sapwood.model import Model
from sapwood.params.signatures import RegressorSignatures
from sapwood.params.table import REGRESSION_LOSSES, REGRESSOR, LossNames
from sapwood.runtime.execution import prediction_execution

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, Path, Rounds, TableLike


class BoostingRegressor(RegressorSignatures, RegressorMixin, BaseBoosting, parameters=REGRESSOR):
    """Gradient-boosted trees for regression.

    Parameters are documented in the constructor, and at run time in this docstring.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds of training.
    best_iteration_ : int
        Number of rounds that prediction uses.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns, if all are strings.
    is_categorical_ : array of shape (n_features_in_,) of bool, or None
        Which columns are categorical; None if there is none.
    do_early_stopping_ : bool
        Whether training could stop early.
    train_score_, validation_score_ : array of shape (n_iter_ + 1,)
        Scores of early stopping before the first round and after each; empty without early stopping (or without validation rows).
    evals_result_ : dict of set -> metric -> list
        Metrics after each round, on "train" and "validation" with early stopping, and on `eval_sets`.
    baseline_hazard_ : BaselineHazard
        Baseline of loss='cox', after `fit_baseline`.
    provenance_ : dict
        Version of Sapwood, number of training rows, and a hash of all data that the model depends on.
    resolved_params_ : dict
        Values chosen for parameters that were 'auto'. Its attribute `reasons` says why.
    time_limit_reached_ : bool
        Whether `time_limit` ended training.
    feature_importances_ : array of shape (n_features_in_,)
        Fraction of the total gain that each column has.
    model_ : Model
        Trees, bins and encodings.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood import BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(BoostingRegressor().fit(X, y).score(X, y), 1)
    0.7
    """

    _task = Regression
    _n_columns: int
    baseline_hazard_: BaselineHazard

    def predict(self, X: TableLike, *, offset: ArrayLike | None = None, rounds: Rounds = None, path: Path | None = None) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        offset : array-like of shape (n_rows,) or (n_rows, n_outputs), optional
            Initial raw predictions, as in `fit`.
        rounds : int or (first, last), optional
            Number of rounds to use, or a range of rounds with `last` excluded. None: all rounds up to the best one.
        path : path, optional
            Parquet file to which the predictions are written, with the columns "prediction" or "prediction_0", "prediction_1", ... Then
            nothing is returned.

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_outputs) for several outputs or quantiles
            For a stream, such as the result of `sapwood.scan`, an iterator over the arrays of its batches.
        """
        return self._in_batches(lambda X, offset: self._predict_from_raw(self._raw_predict(X, offset, rounds)), X, offset, path)

    def staged_predict(self, X: TableLike, *, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Yield `predict` after each round."""
        return (self._predict_from_raw(raw) for raw in self._staged_raw(X, offset))

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None) -> float:
        """Return R^2 of the predictions; for survival losses the concordance index; for several quantiles the mean D^2 pinball score."""
        check_is_fitted(self)
        X, y, sample_weight, offset = self._with_values(X, y, sample_weight, offset)
        return self._score_predicted(y, self._predict_from_raw(self._raw_predict(X, offset)), sample_weight)

    def fit_baseline(
        self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None
    ) -> BoostingRegressor:
        """Estimate the baseline hazard of loss='cox' (Breslow's estimate), which `predict_survival_function` needs.

        A Cox model predicts hazards relative to each other. The baseline is the hazard over time of a row with raw prediction 0; it is
        estimated from the training rows, or from rows of the population to predict. It is saved with the estimator.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in `fit`.
        """
        check_is_fitted(self)
        if self.model_.loss != "cox":
            raise ValueError(f"fit_baseline is for loss='cox'; the model has the loss {self.model_.loss!r}")
        raw = self._raw_predict(X, offset)[:, 0]
        times, weight = signed_times(y, len(raw), "y"), check_weights(sample_weight, len(raw), "sample_weight")
        self.baseline_hazard_ = BaselineHazard.of(times, raw, weight)
        return self

    def predict_cumulative_hazard(
        self, X: TableLike, times: ArrayLike | None = None, *, offset: ArrayLike | None = None, rounds: Rounds = None
    ) -> np.ndarray:
        """Predict the cumulative hazard until each time, for loss='cox' (after `fit_baseline`) and loss='aft'.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        times : array-like of shape (n_times,), optional
            None, for loss='cox': the times of events of the baseline, `baseline_hazard_.times`.
        offset, rounds
            As in `predict`.

        Returns
        -------
        array of shape (n_rows, n_times)
        """
        check_is_fitted(self)
        loss = self.model_.loss
        if loss == "aft":
            raw = self._raw_predict(X, offset, rounds)[:, 0]
            return cumulative_hazard_of_times(raw, check_times(times, None), self.aft_distribution, self.aft_sigma)
        if loss != "cox":
            raise ValueError(f"survival functions are for loss='cox' and loss='aft'; the model has the loss {loss!r}")
        baseline = getattr(self, "baseline_hazard_", None)
        if baseline is None:
            raise ValueError("loss='cox' predicts relative hazards: call fit_baseline(X, y) first, with the training rows for example")
        raw = self._raw_predict(X, offset, rounds)[:, 0]
        return np.exp(raw)[:, None] * baseline.at(check_times(times, baseline.times))

    def predict_survival_function(
        self, X: TableLike, times: ArrayLike | None = None, *, offset: ArrayLike | None = None, rounds: Rounds = None
    ) -> np.ndarray:
        """Predict the probability that no event happens until each time: exp(-cumulative hazard). Arguments as in
        `predict_cumulative_hazard`.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import BoostingRegressor
        >>> X = np.arange(90.0)[:, None]
        >>> y = np.column_stack([100 - X[:, 0], X[:, 0] % 3 > 0])  # time, whether the event happened
        >>> model = BoostingRegressor(loss="cox").fit(X, y).fit_baseline(X, y)
        >>> model.predict_survival_function(X[:2], times=[10, 50]).shape
        (2, 2)
        """
        return np.exp(-self.predict_cumulative_hazard(X, times, offset=offset, rounds=rounds))

    def _score_predicted(self, y: Any, predicted: np.ndarray, sample_weight: Any) -> float:
        loss = Loss if self._loss_is_undefined else Regression(self._values()).single_loss()
        if isinstance(loss, MultiQuantileLoss):
            columns = zip(loss.levels, predicted.T, strict=True)
            return float(np.mean([d2_pinball_score(y, q, sample_weight=sample_weight, alpha=level) for level, q in columns]))
        if not loss.survival:
            return r2_score(y, predicted, sample_weight=sample_weight)
        return (concordance_index if self.model_.loss == "cox" else concordance_of_times)(y, predicted)

    def _predict_from_raw(self, raw: np.ndarray) -> np.ndarray:
        means = self.model_.apply_link(np.ascontiguousarray(raw), prediction_execution(len(raw), self.n_jobs))
        return means[:, 0] if means.shape[1] == 1 else means

    @property
    def _loss_is_undefined(self) -> bool:
        """Whether the estimator was loaded from a file, and its loss is not defined in this process."""
        return isinstance(self.loss, Unsaved) or (
            isinstance(self.loss, str) and not LossNames(REGRESSION_LOSSES).is_satisfied_by(self.loss)
        )

    def _store(self, result: FitResult) -> None:
        self.__dict__.pop("baseline_hazard_", None)  # of other trees
        super()._store(result)

    def _fitted_attributes(self, result: FitResult) -> dict[str, Any]:
        own = {"_n_columns": result.targets.n_columns} if isinstance(result.targets, Numbers) else {}
        return super()._fitted_attributes(result) | own

    def _fitted_data(self) -> dict[str, Any]:
        baseline = {"baseline": self.baseline_hazard_.to_data()} if hasattr(self, "baseline_hazard_") else {}
        return super()._fitted_data() | {"n_columns": self._n_columns, **baseline}

    def _set_fitted_data(self, data: dict[str, Any], model: Model, init: Any) -> None:
        super()._set_fitted_data(data, model, init)
        self._n_columns = data["n_columns"]
        if "baseline" in data:
            self.baseline_hazard_ = BaselineHazard.from_data(data["baseline"])
        if type(self._n_columns) is not int or self._n_columns < 1:
            raise ValueError(f"n_columns must be an integer >= 1; got {self._n_columns!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

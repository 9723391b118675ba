"""Gradient-boosted trees for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_quantiles
from sapwood.estimators.base import ATTRIBUTES, BaseBoosting
from sapwood.estimators.values import Unsaved
from sapwood.losses import REGRESSION, Loss
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.losses.multi_quantile import MultiQuantileLoss
from sapwood.losses.registry import find_loss
from sapwood.metrics.concordance import concordance_index, concordance_of_times
from sapwood.model.rounds import Rounds
from sapwood.params import table as config
from sapwood.params.table import REGRESSION_LOSSES, LossNames
from sapwood.runtime.execution import prediction_execution
from sapwood.training.warm_start import WarmStart


class BoostingRegressor(RegressorMixin, BaseBoosting, parameters=config.REGRESSOR):
    __doc__ = f"""Gradient-boosted trees for numbers.

    Parameters
    ----------
{config.describe(config.REGRESSOR)}

    Attributes
    ----------
    {ATTRIBUTES}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood import BoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(BoostingRegressor().fit(X, y).score(X, y), 1)
    0.9
    """

    def predict(self, X: Any, *, offset: Any = None, rounds: Rounds = None) -> np.ndarray:
        """(n_rows,) float64: the predicted targets; (n_rows, n_outputs) for a y of several columns, or several quantiles.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        offset : array, optional
            As in `fit`.
        rounds : int or (first, last), optional
            So many rounds of the model, or those from a first up to a last, which is not among them; if not given, those up to the best.
        """
        return self._means(self._raw_predict(X, offset, rounds))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """`predict` after each round."""
        return (self._means(raw) for raw in self._staged_raw(X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """R^2 of the predictions; for survival losses the concordance index; for several quantiles the mean of their D^2 (pinball)."""
        check_is_fitted(self)
        predicted = self.predict(X, offset=offset)
        loss = Loss if self._loss_is_elsewhere else self._find_loss()
        if isinstance(loss, MultiQuantileLoss):
            columns = zip(loss.levels, predicted.T, strict=True)
            return float(np.mean([d2_pinball_score(y, q, sample_weight=sample_weight, alpha=level) for level, q in columns]))
        if not loss.survival:
            return r2_score(y, predicted, sample_weight=sample_weight)
        return (concordance_index if self.model_.loss == "cox" else concordance_of_times)(y, predicted)

    def _means(self, raw: np.ndarray) -> np.ndarray:
        means = self.model_.apply_link(np.ascontiguousarray(raw), prediction_execution(len(raw), self.n_jobs))
        return means[:, 0] if means.shape[1] == 1 else means

    @property
    def _loss_is_elsewhere(self) -> bool:
        """Whether the estimator is from a file, and its loss not known here."""
        return isinstance(self.loss, Unsaved) or (
            isinstance(self.loss, str) and not LossNames(REGRESSION_LOSSES).is_satisfied_by(self.loss)
        )

    def _find_loss(self) -> Any:
        """The loss of one target."""
        if not isinstance(self.quantile, (list, tuple, np.ndarray)):
            return find_loss(self.loss, REGRESSION, self)
        if self.loss != "quantile":
            raise ValueError(f"several quantiles are for loss='quantile'; got quantile={self.quantile!r} and loss={self.loss!r}")
        return MultiQuantileLoss(check_quantiles(self.quantile))

    def _targets(self, y: Any, n_rows: int, start: WarmStart) -> tuple[np.ndarray, Loss]:
        loss = self._find_loss()
        y = loss.read_targets(y, n_rows, "y")
        if y.ndim == 2 and loss.n_outputs == 1 and not loss.survival:
            loss = MultiOutputLoss([self._find_loss() for _ in range(y.shape[1])])
        self._n_columns = y.size // len(y)
        return y, loss

    def _validation_targets(self, y: Any, n_rows: int, name: str = "y_val") -> np.ndarray:
        y = self._find_loss().read_targets(y, n_rows, name)
        if y.size // max(1, len(y)) != self._n_columns:
            raise ValueError(f"{name} has {y.size // len(y)} column(s), but y has {self._n_columns}")
        return y

    def _fitted_data(self) -> dict[str, Any]:
        return super()._fitted_data() | {"n_columns": self._n_columns}

    def _set_fitted_data(self, data: dict[str, Any]) -> None:
        super()._set_fitted_data(data)
        self._n_columns = data["n_columns"]
        if type(self._n_columns) is not int or self._n_columns < 1:
            raise ValueError("n_columns must be at least 1")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _original_targets(self, y: np.ndarray) -> np.ndarray:
        return y

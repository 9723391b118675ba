"""Classifier with calibrated probabilities."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_labels
from sapwood.estimators import BoostingClassifier
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.fit_data import AUTO_EARLY_STOPPING_ROWS
from sapwood.estimators.values import array_to_data
from sapwood.params.constraints import HasMethods, Interval, RealNotInt, StrOptions
from sapwood.uncertainty.calibrators import CALIBRATORS, Calibrator
from sapwood.uncertainty.rows import Sample, draw_seed, hold_out, last_split, note_columns
from sapwood.uncertainty.saving import SavedWrapper, read_classes


class CalibratedClassifier(ClassifierMixin, SavedWrapper, MetaEstimatorMixin, BaseEstimator, in_files=True):
    """Classifier whose probabilities are calibrated on rows that it was not trained on.

    If a Sapwood estimator uses early stopping, the same held-out rows serve as its validation set and as the calibration set.

    Parameters
    ----------
    estimator : classifier, default=None
        `BoostingClassifier()` if None. A `sklearn.frozen.FrozenEstimator` is not refitted: all rows are used for calibration.
    method : "temperature" or "isotonic", default="temperature"
        "temperature" divides raw predictions by one number. A few hundred rows are enough, and the predicted class does not change.
        "isotonic" fits any non-decreasing function of the probabilities. It needs a few thousand rows.
    calibration_size : float or int, default=0.1
        Fraction or number of rows to hold out if `X_cal` is not given.
    cv : splitter, iterable of (train, test) pairs or None, default=None
        Its last split gives the rows to hold out, instead of `calibration_size`, for example to keep groups whole or the order of time.
    random_state : int, RandomState or None, default=None
        Seed for the choice of held-out rows; None is a fixed seed.

    Attributes
    ----------
    classes_ : (n_classes,) array
    estimator_ : the fitted classifier
    calibrator_ : Temperature or Isotonic; a Temperature has the attribute `temperature`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sapwood.uncertainty import CalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> CalibratedClassifier().fit(X, y).predict_proba(X).shape
    (569, 2)
    """

    estimator_: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), None],
        "method": [StrOptions(set(CALIBRATORS))],
        "calibration_size": [Interval(RealNotInt, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }
    classes_: np.ndarray
    calibrator_: Calibrator

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "temperature",
        calibration_size: float | int = 0.1,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_cal: Any = None,
        y_cal: Any = None,
        sample_weight_cal: Any = None,
        groups: Any = None,
    ) -> CalibratedClassifier:
        """Fit the classifier, then calibrate its probabilities on held-out rows.

        Parameters
        ----------
        X, y, sample_weight : training rows; a part of them is held out unless `X_cal` is given
        X_cal, y_cal, sample_weight_cal : optional
            Calibration rows. If given, all rows of X are used for training.
        groups : passed to the splitter `cv`
        """
        self._validate_params()
        if (X_cal is None) != (y_cal is None):
            raise ValueError("X_cal and y_cal must be given together; one of them is None")
        frozen = isinstance(self.estimator, FrozenEstimator)
        if frozen and X_cal is not None:
            raise ValueError("a FrozenEstimator is not refitted: all rows given to fit are used for calibration; do not pass X_cal")
        train = Sample.check(X, y, sample_weight, check_labels)
        held = train
        if X_cal is not None:
            held = Sample.check(X_cal, y_cal, sample_weight_cal, check_labels, "_cal")
        elif not frozen and self.cv is not None:
            train, held = last_split(train, self.cv, groups)
        elif not frozen:
            train, held = hold_out(train, self.calibration_size, train.y, draw_seed(self.random_state))
        estimator = BoostingClassifier() if self.estimator is None else clone(self.estimator)
        validation = {"X_val": held.X, "y_val": held.y, "sample_weight_val": held.weight} if _stops_early(estimator, train.n_rows) else {}
        self.estimator_ = train.fit(estimator, **validation)
        self.classes_ = estimator.classes_
        unknown = np.setdiff1d(held.y, self.classes_)
        if len(unknown):
            raise ValueError(f"held-out rows have classes that the estimator was not fitted on: {unknown.tolist()[:5]}")
        note_columns(self, estimator)
        self.calibrator_ = CALIBRATORS[self.method]().fit(self._raw(held.X), np.searchsorted(self.classes_, held.y), held.weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities of the classes, (n_rows, n_classes) float64."""
        check_is_fitted(self)
        raw = self._raw(X)
        return self.calibrator_.transform(raw) if len(self.classes_) > 1 else np.ones((len(raw), 1))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (n_rows,)."""
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def _raw(self, X: Any) -> np.ndarray:
        """Raw predictions, (n_rows, n_outputs): log-odds of the second of two classes, or one column per class."""
        if hasattr(self.estimator_, "decision_function"):
            raw = np.asarray(self.estimator_.decision_function(X), dtype=np.float64)
            return raw[:, None] if raw.ndim == 1 else raw
        return np.log(np.maximum(self.estimator_.predict_proba(X), np.finfo(np.float64).tiny))

    def _fitted_parts(self) -> tuple[list[Any], dict[str, np.ndarray], dict[str, Any]]:
        return [self.estimator_], self.calibrator_.to_arrays(), {"classes": array_to_data(self.classes_)}

    def _set_fitted_parts(self, estimators: list[Any], arrays: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        (self.estimator_,), self.classes_ = estimators, read_classes(data)
        if not is_classifier(self.estimator_) or not np.array_equal(self.estimator_.classes_, self.classes_):
            raise ValueError("the estimator must be a classifier of the same classes")
        self.calibrator_ = CALIBRATORS[self.method].from_arrays(arrays, len(self.classes_))
        note_columns(self, self.estimator_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(BoostingClassifier() if self.estimator is None else self.estimator).input_tags
        return tags


def _stops_early(estimator: Any, n_rows: int) -> bool:
    """Whether a Sapwood estimator would hold out rows for early stopping, and not train on them afterwards."""
    if not isinstance(estimator, BaseBoosting) or estimator.boosting == "forest":
        return False
    if estimator.validation_split is not None:
        return bool(estimator.early_stopping)
    if estimator.early_stopping == "auto":
        asked = n_rows > AUTO_EARLY_STOPPING_ROWS and (estimator.preset == "classic" or estimator.max_iter != "auto")
    else:
        asked = bool(estimator.early_stopping)
    return asked and estimator.validation_fraction is not None

"""Base class of the conformal regressor and classifier: splits rows into training and held-out rows, and computes scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from sapwood.params.constraints import HasMethods, Interval, RealNotInt, StrOptions
from sapwood.uncertainty.rows import Sample, draw_seed, folds, hold_out, last_split, note_columns
from sapwood.uncertainty.saving import SavedWrapper
from sapwood.uncertainty.scores import Scores

PARAMETERS = """estimator : estimator, default=None
        A Sapwood estimator with default parameters if None. A `sklearn.frozen.FrozenEstimator` is not refitted: all rows are held out.
    method : "split" or "cv+", default="split"
        "split" trains once and computes scores on held-out rows; coverage is at least the confidence level. "cv+" trains once per fold and
        computes scores on all rows; results are tighter for small data. The guaranteed coverage of "cv+" is only about
        1 - 2 * (1 - level), although observed coverage is usually at least the level.
    confidence_level : float, default=0.9
        Minimum probability that the true target is covered. The `predict_*` methods can override it.
    calibration_size : float or int, default=0.25
        Fraction or number of rows to hold out for method="split" if `X_cal` is not given.
    cv : int, splitter or iterable of (train, test) pairs, default=5
        Folds for method="cv+". For method="split" the last split of a splitter or iterable gives the rows to hold out, instead of
        `calibration_size`, for example to keep groups whole or the order of time.
    random_state : int, RandomState or None, default=None
        Seed for the choice of held-out rows; None is a fixed seed."""


@dataclass(frozen=True)
class Fold:
    """Fitted estimators, and the conformity scores of rows that they were not trained on."""

    estimators: list[Any]
    scores: Scores


class BaseConformal(SavedWrapper, MetaEstimatorMixin, BaseEstimator):
    """Base class. `fit` calls `_check_targets`, then `_train` and `_score` for each fold; predictions use `folds_`."""

    n_held_out_: int
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "method": [StrOptions({"split", "cv+"})],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "calibration_size": [Interval(RealNotInt, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }
    folds_: list[Fold]

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "split",
        confidence_level: float = 0.9,
        calibration_size: float | int = 0.25,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.confidence_level = confidence_level
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
    ) -> BaseConformal:
        """Fit the estimators and compute conformity scores on held-out rows.

        Parameters
        ----------
        X, y, sample_weight : training rows; a part of them is held out unless `X_cal` is given
        X_cal, y_cal, sample_weight_cal : optional
            Held-out rows for method="split". If given, all rows of X are used for training. They must be exchangeable with new rows and
            must not be used in training, nor as the validation set of early stopping.
        groups : passed to the splitter `cv`
        """
        self._validate_params()
        if isinstance(self.estimator, FrozenEstimator) and (self.method == "cv+" or X_cal is not None):
            raise ValueError("a FrozenEstimator is not refitted: use method='split' without X_cal; all rows given to fit are held out")
        sample = Sample.check(X, y, sample_weight, self._check_targets)
        seed = draw_seed(self.random_state)
        fitted = [(self._train(train), held) for train, held in self._parts(sample, (X_cal, y_cal, sample_weight_cal), groups, seed)]
        self.folds_ = [Fold(estimators, Scores(self._score(estimators, held), held.weight)) for estimators, held in fitted]
        self.n_held_out_ = sum(len(fold.scores.values) for fold in self.folds_)
        note_columns(self, self.folds_[0].estimators[0])
        return self

    def _parts(self, sample: Sample, given: tuple[Any, Any, Any], groups: Any, seed: int) -> Any:
        X_cal, y_cal, _ = given
        if isinstance(self.estimator, FrozenEstimator):
            return [(sample, sample)]
        if (X_cal is None) != (y_cal is None):
            raise ValueError("X_cal and y_cal must be given together; one of them is None")
        if self.method == "cv+":
            if X_cal is not None:
                raise ValueError("method='cv+' cannot be combined with X_cal and y_cal: use method='split'")
            return folds(sample, self.cv, groups, self._strata(sample) is not None, seed)
        if X_cal is not None:
            return [(sample, Sample.check(*given, self._check_targets, "_cal"))]
        if not isinstance(self.cv, Integral):
            return [last_split(sample, self.cv, groups)]
        return [hold_out(sample, self.calibration_size, self._strata(sample), seed)]

    def _fitted_parts(self) -> tuple[list[Any], dict[str, np.ndarray], dict[str, Any]]:
        arrays: dict[str, np.ndarray] = {}
        for k, fold in enumerate(self.folds_):
            arrays |= {f"scores_{k}": fold.scores.values, f"weights_{k}": fold.scores.weight}
        return [e for fold in self.folds_ for e in fold.estimators], arrays, {"folds": [len(fold.estimators) for fold in self.folds_]}

    def _set_fitted_parts(self, estimators: list[Any], arrays: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        sizes = data["folds"]
        if not isinstance(sizes, list) or not sizes or not all(type(n) is int and n > 0 for n in sizes) or sum(sizes) != len(estimators):
            raise ValueError("the fold sizes do not add up to the number of estimators")
        if len(arrays) != 2 * len(sizes):
            raise ValueError("there are scores for other folds")
        ends = np.cumsum(sizes).tolist()
        self.folds_ = [
            Fold(estimators[end - n : end], Scores.of_file(arrays[f"scores_{k}"], arrays[f"weights_{k}"]))
            for k, (n, end) in enumerate(zip(sizes, ends, strict=True))
        ]
        self.n_held_out_ = sum(len(fold.scores.values) for fold in self.folds_)
        note_columns(self, estimators[0])

    def _clone(self) -> Any:
        return self._default() if self.estimator is None else clone(self.estimator)

    def _level(self, given: float | None) -> float:
        check_is_fitted(self)
        level = self.confidence_level if given is None else given
        if not 0 < level < 1:
            raise ValueError(f"confidence_level must be between 0 and 1; got {level}")
        return level

    def _strata(self, sample: Sample) -> np.ndarray | None:
        return None

    @abstractmethod
    def _default(self) -> Any:
        """Return the estimator to use if none is given."""

    @abstractmethod
    def _check_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray: ...

    @abstractmethod
    def _train(self, sample: Sample) -> list[Any]:
        """Return the fitted estimators of one fold."""

    @abstractmethod
    def _score(self, estimators: list[Any], held: Sample) -> np.ndarray:
        """Return conformity scores, (n_rows,): larger for targets that agree less with the prediction."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._default() if self.estimator is None else self.estimator).input_tags
        return tags

"""What conformal regressors and classifiers share: which rows train, and which are held out to learn scores from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from sapwood.uncertainty.rows import Sample, draw_seed, folds, hold_out, note_columns
from sapwood.uncertainty.saving import SavedWrapper
from sapwood.uncertainty.scores import Scores

PARAMETERS = """estimator : estimator, default=None
        What predicts: ours with its defaults if None. A `sklearn.frozen.FrozenEstimator` is not trained again: all rows are held out.
    method : "split" or "cv+", default="split"
        "split" trains once and learns scores from rows held out: the guarantee is exact. "cv+" trains once for each fold and learns from
        all rows: narrower where rows are few. There the guarantee is weaker than the level (1 - 2 * (1 - level), roughly); what is seen is
        mostly the level itself or more.
    confidence_level : float, default=0.9
        How often the truth is to be covered; `predict_*` may ask for another.
    calibration_size : float or int, default=0.25
        method="split": the share, or the number, of rows held out where none are given.
    cv : int or a splitter, default=5
        method="cv+": folds.
    random_state : int, RandomState or None, default=None
        For the choice of rows; None repeats."""


@dataclass(frozen=True)
class Fold:
    """Estimators that did not see the rows whose scores these are."""

    estimators: list[Any]
    scores: Scores


class BaseConformal(SavedWrapper, MetaEstimatorMixin, BaseEstimator):
    """Life cycle: `_check_targets`, `_train` for each fold, `_score` of its held-out rows; then `folds_` answers for new rows."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "method": [StrOptions({"split", "cv+"})],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "calibration_size": [Interval(RealNotInt, 0, 1, closed="neither"), Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"])],
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
        """Train, and learn from held-out rows how far predictions are off.

        Parameters
        ----------
        X, y, sample_weight : rows to train on, and to hold some out of
        X_cal, y_cal, sample_weight_cal : optional
            method="split": the rows to hold out; then all of X are trained on. They must be like those to come (exchangeable), and have no
            part in training: rows that early stopping watched have one.
        groups : for the splitter `cv`
        """
        self._validate_params()
        if isinstance(self.estimator, FrozenEstimator) and (self.method == "cv+" or X_cal is not None):
            raise ValueError("a FrozenEstimator is not trained: method='split', and no X_cal; all rows given to fit are held out")
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
            raise ValueError("X_cal and y_cal go together: one of them is None")
        if self.method == "cv+":
            if X_cal is not None:
                raise ValueError("method='cv+' holds out each row in turn: X_cal and y_cal are for method='split'")
            return folds(sample, self.cv, groups, self._strata(sample) is not None, seed)
        if X_cal is not None:
            return [(sample, Sample.check(*given, self._check_targets, "_cal"))]
        return [hold_out(sample, self.calibration_size, self._strata(sample), seed)]

    def _fitted_parts(self) -> tuple[list[Any], dict[str, np.ndarray], dict[str, Any]]:
        arrays: dict[str, np.ndarray] = {}
        for k, fold in enumerate(self.folds_):
            arrays |= {f"scores_{k}": fold.scores.values, f"weights_{k}": fold.scores.weight}
        return [e for fold in self.folds_ for e in fold.estimators], arrays, {"folds": [len(fold.estimators) for fold in self.folds_]}

    def _set_fitted_parts(self, estimators: list[Any], arrays: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        sizes = data["folds"]
        if not isinstance(sizes, list) or not sizes or not all(type(n) is int and n > 0 for n in sizes) or sum(sizes) != len(estimators):
            raise ValueError("folds do not cover the estimators")
        if len(arrays) != 2 * len(sizes):
            raise ValueError("there are scores of other folds")
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
        """The estimator where none is given."""

    @abstractmethod
    def _check_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray: ...

    @abstractmethod
    def _train(self, sample: Sample) -> list[Any]:
        """Estimators that answer together."""

    @abstractmethod
    def _score(self, estimators: list[Any], held: Sample) -> np.ndarray:
        """(n_rows,): the larger, the stranger."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._default() if self.estimator is None else self.estimator).input_tags
        return tags

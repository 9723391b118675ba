"""Conformal classifier: prediction sets."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_labels, check_weights
from sapwood.estimators import BoostingClassifier
from sapwood.estimators.values import array_to_data
from sapwood.params.constraints import StrOptions
from sapwood.uncertainty.conformal import PARAMETERS, BaseConformal
from sapwood.uncertainty.rows import Sample, count_rows
from sapwood.uncertainty.saving import read_classes
from sapwood.uncertainty.scores import needed_weight


def least_ambiguous(proba: np.ndarray) -> np.ndarray:
    """LAC score, 1 - probability: the smallest sets on average, but coverage is lower on hard rows."""
    return 1 - proba


def cumulative(proba: np.ndarray) -> np.ndarray:
    """APS score: total probability of the more probable classes, plus a random fraction of the class's own probability.

    Sets are larger where the estimator is uncertain. Without the random fraction, nearly all rows of a good classifier would score close
    to 1 and sets would be far too large. The fraction is a hash of the row's probabilities, so a row has the same set wherever it occurs.
    """
    order = np.argsort(-proba, axis=1, kind="stable")
    falling = np.take_along_axis(proba, order, axis=1)
    sums = np.empty_like(proba)
    np.put_along_axis(sums, order, np.cumsum(falling, axis=1) - falling, axis=1)
    return sums + _draw(proba)[:, None] * proba


def _draw(proba: np.ndarray) -> np.ndarray:
    """Pseudo-random numbers in [0, 1), (n_rows,): a hash (splitmix64) of the bits of each row."""
    drawn = np.zeros(len(proba), dtype=np.uint64)
    for column in np.ascontiguousarray(proba.T).view(np.uint64):
        drawn = (drawn ^ column) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            drawn = (drawn ^ (drawn >> np.uint64(shift))) * np.uint64(factor)
        drawn ^= drawn >> np.uint64(31)
    return (drawn >> np.uint64(11)) * 2.0**-53


CONFORMITY = {"lac": least_ambiguous, "aps": cumulative}


class ConformalClassifier(ClassifierMixin, BaseConformal, in_files=True):
    __doc__ = f"""Prediction sets that contain the true class with at least the chosen probability, for any data and any estimator.

    Parameters
    ----------
    {PARAMETERS}
    conformity : "lac" or "aps", default="lac"
        "lac" (1 - probability) gives the smallest sets on average. "aps" (adaptive prediction sets: cumulative probability of the more
        probable classes) gives sets whose size follows the difficulty of the row.
    allow_empty : bool, default=True
        Whether sets may be empty. True: the coverage is the confidence level, up to 1 / (n_held_out_ + 1), and sets are as small as
        possible; an empty set means that no class conforms. False: the most probable class is always in the set, so that the coverage is
        at least the accuracy of the estimator.

    Attributes
    ----------
    classes_ : (n_classes,) array
    folds_ : list of Fold
        Fitted estimators with the scores of their held-out rows; one fold for method="split".
    n_held_out_ : int
        Number of held-out rows, without those of weight 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sapwood.uncertainty import ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ConformalClassifier().fit(X, y).predict_set(X).shape
    (150, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseConformal._parameter_constraints,
        "conformity": [StrOptions(set(CONFORMITY))],
        "allow_empty": ["boolean"],
    }
    classes_: np.ndarray

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "split",
        confidence_level: float = 0.9,
        conformity: str = "lac",
        allow_empty: bool = True,
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
        self.conformity = conformity
        self.allow_empty = allow_empty

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the estimators, averaged over folds, (n_rows, n_classes) float64."""
        check_is_fitted(self)
        return np.mean([self._probabilities(fold.estimators, X) for fold in self.folds_], axis=0)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (n_rows,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_set(self, X: Any, confidence_level: float | None = None, sample_weight: Any = None) -> np.ndarray:
        """Return prediction sets, (n_rows, n_classes) bool, in the order of `classes_`.

        Parameters
        ----------
        X : new rows
        confidence_level : overrides the value of the constructor
        sample_weight : weights of the new rows, if the held-out rows were weighted to correct for covariate shift; if None, each new row
            has the mean weight of the held-out rows
        """
        level = self._level(confidence_level)
        proba = [self._probabilities(fold.estimators, X) for fold in self.folds_]
        weight = check_weights(sample_weight, count_rows(X), "sample_weight")
        needed = needed_weight([fold.scores for fold in self.folds_], level, weight)
        score = CONFORMITY[self.conformity]
        below = sum(fold.scores.below(score(p)) for fold, p in zip(self.folds_, proba, strict=True))
        sets = below < needed[:, None]
        if not self.allow_empty:
            sets[np.arange(len(sets)), np.mean(proba, axis=0).argmax(axis=1)] = True
        return sets

    def _probabilities(self, estimators: list[Any], X: Any) -> np.ndarray:
        """Probabilities, (n_rows, n_classes); 0 for classes that the estimator was not fitted on."""
        (estimator,) = estimators
        own = estimator.predict_proba(X)
        proba = np.zeros((len(own), len(self.classes_)))
        proba[:, np.searchsorted(self.classes_, estimator.classes_)] = own
        return proba

    def _train(self, sample: Sample) -> list[Any]:
        return [sample.fit(self._clone())]

    def _score(self, estimators: list[Any], held: Sample) -> np.ndarray:
        scores = CONFORMITY[self.conformity](self._probabilities(estimators, held.X))
        return scores[np.arange(len(scores)), np.searchsorted(self.classes_, held.y)]

    def _check_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        y = check_labels(y, n_rows, name)
        if name == "y":
            self.classes_ = self.estimator.classes_ if isinstance(self.estimator, FrozenEstimator) else np.unique(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"{name} has classes that the estimator was not fitted on: {unknown.tolist()[:5]}")
        return y

    def _fitted_parts(self) -> tuple[list[Any], dict[str, np.ndarray], dict[str, Any]]:
        estimators, arrays, data = super()._fitted_parts()
        return estimators, arrays, data | {"classes": array_to_data(self.classes_)}

    def _set_fitted_parts(self, estimators: list[Any], arrays: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        super()._set_fitted_parts(estimators, arrays, data)
        self.classes_ = read_classes(data)
        if any(len(fold.estimators) != 1 for fold in self.folds_):
            raise ValueError("each fold must have one classifier")
        for estimator in estimators:
            if not is_classifier(estimator) or not np.isin(estimator.classes_, self.classes_).all():
                raise ValueError("the estimators must be classifiers of these classes")

    def _strata(self, sample: Sample) -> np.ndarray | None:
        return sample.y

    def _default(self) -> Any:
        return BoostingClassifier()

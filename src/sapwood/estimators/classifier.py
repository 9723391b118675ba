"""Gradient-boosted trees for classification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_labels
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.targets import KINDS, ClassLabels, MultiLabels
from sapwood.estimators.tasks import Classification
from sapwood.estimators.values import array_from_data, array_to_data
from sapwood.model import Model
from sapwood.model.export import ExportError
from sapwood.params.signatures import ClassifierSignatures, FitArguments
from sapwood.params.table import CLASSIFIER
from sapwood.runtime.execution import prediction_execution
from sapwood.training.warm_start import WarmStart

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, Path, Rounds, TableLike


class BoostingClassifier(ClassifierSignatures, ClassifierMixin, BaseBoosting, parameters=CLASSIFIER):
    """Gradient-boosted trees for classification.

    Parameters are documented in the constructor, and at run time in this docstring.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels.
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
    >>> from sklearn.datasets import load_iris
    >>> from sapwood import BoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(BoostingClassifier().fit(X, y).score(X, y), 1)
    1.0
    """

    _task = Classification
    classes_: np.ndarray
    _kind: ClassLabels

    def predict(
        self,
        X: TableLike,
        *,
        offset: ArrayLike | None = None,
        rounds: Rounds = None,
        early_exit: float | None = None,
        path: Path | None = None,
    ) -> np.ndarray:
        """Predict classes.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        offset : array-like of shape (n_rows,) or (n_rows, n_classes), optional
            Initial raw predictions, as in `fit`.
        rounds : int or (first, last), optional
            Number of rounds to use, or a range of rounds with `last` excluded. None: all rounds up to the best one.
        early_exit : float, optional
            Stop adding rounds to a row once the raw prediction of its class exceeds that of every other class by this margin, which is
            checked every ten rounds. Faster if most rows are easy; the larger the margin, the closer to the full prediction.
        path : path, optional
            Parquet file to which the classes are written, with the column "prediction", or "prediction_0", "prediction_1", ... for
            several labels. Then nothing is returned.

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_labels) of 0 and 1 for multilabel classification
            For a stream, such as the result of `sapwood.scan`, an iterator over the arrays of its batches.
        """

        def predict(X: Any, offset: Any) -> np.ndarray:
            return self._predict_from_raw(self._raw_predict(X, offset, rounds, early_exit))

        return self._in_batches(predict, X, offset, path)

    def predict_proba(
        self,
        X: TableLike,
        *,
        offset: ArrayLike | None = None,
        rounds: Rounds = None,
        early_exit: float | None = None,
        path: Path | None = None,
    ) -> np.ndarray:
        """Predict the (n_rows, n_classes) probabilities of the classes, or of each label. Arguments as in `predict`; the columns of a file
        are "probability_" and the class."""

        def predict(X: Any, offset: Any) -> np.ndarray:
            return self._probabilities(self._raw_predict(X, offset, rounds, early_exit))

        return self._in_batches(predict, X, offset, path, lambda n: [f"probability_{label}" for label in self.classes_.tolist()])

    def decision_function(
        self, X: TableLike, *, offset: ArrayLike | None = None, rounds: Rounds = None, early_exit: float | None = None
    ) -> np.ndarray:
        """Return raw predictions: (n_rows,) log-odds for two classes, otherwise (n_rows, n_classes). Arguments as in `predict`."""
        return self._decisions(self._raw_predict(X, offset, rounds, early_exit))

    def staged_predict(self, X: TableLike, *, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Yield `predict` after each round."""
        return (self._predict_from_raw(raw) for raw in self._staged_raw(X, offset))

    def staged_predict_proba(self, X: TableLike, *, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Yield `predict_proba` after each round."""
        return (self._probabilities(raw) for raw in self._staged_raw(X, offset))

    def staged_decision_function(self, X: TableLike, *, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        """Yield `decision_function` after each round."""
        return (self._decisions(raw) for raw in self._staged_raw(X, offset))

    def score(self, X: TableLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, offset: ArrayLike | None = None) -> float:
        """Return the accuracy of the predictions; for multilabel classification the subset accuracy."""
        check_is_fitted(self)
        X, y, sample_weight, offset = self._with_values(X, y, sample_weight, offset)
        return self._score_predicted(y, self._predict_from_raw(self._raw_predict(X, offset)), sample_weight)

    def _score_predicted(self, y: Any, predicted: np.ndarray, sample_weight: Any) -> float:
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    @property
    def multilabel_(self) -> bool:
        """Whether this is multilabel classification: `predict` returns a matrix, and the probabilities of a row need not add up to 1."""
        check_is_fitted(self)
        return isinstance(self._kind, MultiLabels)

    @property
    def _export_classes(self) -> list[Any] | None:
        if len(self.classes_) == 1 and not self.multilabel_:
            raise ExportError(f"a classifier with one class cannot be exported; y had only {self.classes_.tolist()[0]!r}")
        return None if self.multilabel_ else self.classes_.tolist()

    def _predict_from_raw(self, raw: np.ndarray) -> np.ndarray:
        return self._kind.most_probable(raw)

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        execution = prediction_execution(len(raw), self.n_jobs)
        return self._kind.probabilities(self.model_.apply_link(raw, execution), execution)

    def _decisions(self, raw: np.ndarray) -> np.ndarray:
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _warm_start(self, method: str, arguments: FitArguments) -> WarmStart:
        start = super()._warm_start(method, arguments)
        if (classes := arguments.classes) is None:
            return start
        targets = ClassLabels(np.unique(check_labels(classes, len(np.asarray(classes)), "classes")))
        known = start.targets
        if known is not None and not (type(known) is ClassLabels and np.array_equal(known.classes, targets.classes)):
            raise ValueError(
                f"classes={targets.classes.tolist()} differ from those of the first call of partial_fit: {known.classes.tolist()}"
            )
        return replace(start, targets=targets)

    @property
    def _known_targets(self) -> ClassLabels:
        return self._kind

    def _fitted_attributes(self, result: FitResult) -> dict[str, Any]:
        own = {"_kind": result.targets, "classes_": result.targets.classes} if isinstance(result.targets, ClassLabels) else {}
        return super()._fitted_attributes(result) | own

    def _fitted_data(self) -> dict[str, Any]:
        kind = next(name for name, cls in KINDS.items() if type(self._kind) is cls)
        return super()._fitted_data() | {"targets": kind, "classes": array_to_data(self.classes_)}

    def _set_fitted_data(self, data: dict[str, Any], model: Model, init: Any) -> None:
        super()._set_fitted_data(data, model, init)
        classes = array_from_data(data["classes"])
        if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
            raise ValueError("classes must be a list of distinct labels")
        self._kind, self.classes_ = KINDS[data["targets"]](classes), classes
        if (self._kind.n_outputs, self._kind.link) != (self.model_.n_outputs, self.model_.link):
            raise ValueError(f"the outputs and the link of the model do not match its {len(classes)} classes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

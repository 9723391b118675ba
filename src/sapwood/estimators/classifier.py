"""Gradient-boosted trees for classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sapwood import config
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.classes import Classes, LabelSets, read_classes
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.model.rounds import Rounds
from sapwood.threads import threads_for


class BoostingClassifier(ClassifierMixin, BaseBoosting, parameters=config.CLASSIFIER):
    __doc__ = f"""Gradient-boosted trees for classes.

    Parameters
    ----------
{config.describe(config.CLASSIFIER)}

    Attributes
    ----------
    classes_ : (n_classes,) array
    n_iter_ : int
        Rounds of training.
    best_iteration_ : int
        Rounds that prediction uses.
    train_score_, validation_score_ : (n_iter_ + 1,) arrays
        Scores before the first round and after each; empty without early stopping (or without validation rows).
    evals_result_ : dict of set -> metric -> list
        What was measured after each round, on "train" and "validation" where early stopping watches, and on `eval_sets`.
    feature_importances_ : (n_features,) array
    model_ : Model

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sapwood import BoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(BoostingClassifier().fit(X, y).score(X, y), 1)
    1.0
    """

    classes_: np.ndarray
    _kind: Classes

    def predict(self, X: Any, *, offset: Any = None, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """(n_rows,): the most probable class of each row; for several labels (n_rows, n_labels) of 0 and 1.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        offset : array, optional
            As in `fit`.
        rounds : int or (first, last), optional
            So many rounds of the model, or those from a first up to a last, which is not among them; if not given, those up to the best.
        early_exit : float, optional
            A row takes no more rounds once its class leads the next by so much in raw predictions (asked every ten rounds): faster where
            most rows are easy, and near the full answer if the lead is large.
        """
        return self._most_probable(self._raw_predict(X, offset, rounds, early_exit))

    def predict_proba(self, X: Any, *, offset: Any = None, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """(n_rows, n_classes) float64: the probability of each class, or of each label to be there. Arguments as in `predict`."""
        return self._probabilities(self._raw_predict(X, offset, rounds, early_exit))

    def decision_function(self, X: Any, *, offset: Any = None, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """Raw predictions: (n_rows,) log-odds for two classes, else (n_rows, n_classes). Arguments as in `predict`."""
        return self._decisions(self._raw_predict(X, offset, rounds, early_exit))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """`predict` after each round."""
        return (self._most_probable(raw) for raw in self._staged_raw(X, offset))

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """`predict_proba` after each round."""
        return (self._probabilities(raw) for raw in self._staged_raw(X, offset))

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """`decision_function` after each round."""
        return (self._decisions(raw) for raw in self._staged_raw(X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """The share of rows whose class is predicted; of several labels, all must be."""
        return float(accuracy_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    @property
    def multilabel_(self) -> bool:
        """Whether y was a matrix of labels: `predict` then gives one, and each column of probabilities is of its own."""
        check_is_fitted(self)
        return isinstance(self._kind, LabelSets)

    def _most_probable(self, raw: np.ndarray) -> np.ndarray:
        return self._kind.most_probable(raw)

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        return self._kind.probabilities(self.model_.apply_link(np.ascontiguousarray(raw), threads_for(len(raw), self.n_jobs)))

    def _decisions(self, raw: np.ndarray) -> np.ndarray:
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _targets(self, y: Any, n_rows: int, previous: Model | None) -> tuple[np.ndarray, Loss]:
        kind = read_classes(y, n_rows)
        if previous is not None and not (type(kind) is type(self._kind) and np.array_equal(kind.classes, self.classes_)):
            raise ValueError(f"warm_start goes on with the classes {self.classes_.tolist()}, but y has {kind.classes.tolist()}")
        self._kind, self.classes_ = kind, kind.classes
        return kind.encode(y, n_rows, "y"), kind.make_loss(self.loss, self)

    def _validation_targets(self, y: Any, n_rows: int, name: str = "y_val") -> np.ndarray:
        return self._kind.encode(y, n_rows, name)

    @property
    def _has_strata(self) -> bool:
        return type(self._kind) is Classes

    def _original_targets(self, y: np.ndarray) -> np.ndarray:
        return self._kind.decode(y)

    def _weights(self, weight: Any, y: np.ndarray, n_rows: int, name: str) -> np.ndarray | None:
        weight = super()._weights(weight, y, n_rows, name)
        if self.class_weight is None:
            return weight
        by_class = self._kind.row_weights(self.class_weight, y)
        return by_class if weight is None else weight * by_class

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

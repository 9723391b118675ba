"""Gradient-boosted trees for classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_sample_weight

from sapwood import config
from sapwood.checks import check_labels
from sapwood.estimators.base import BaseBoosting
from sapwood.losses import MORE_CLASSES, TWO_CLASSES, Loss
from sapwood.losses.registry import find_loss
from sapwood.model import Model
from sapwood.threads import resolve_threads


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

    def predict(self, X: Any) -> np.ndarray:
        """(n_rows,): the most probable class of each row."""
        return self._most_probable(self._raw_predict(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n_rows, n_classes) float64: the probability of each class."""
        return self._probabilities(self._raw_predict(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Raw predictions: (n_rows,) log-odds for two classes, else (n_rows, n_classes)."""
        return self._decisions(self._raw_predict(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after each round."""
        return (self._most_probable(raw) for raw in self._staged_raw(X))

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """`predict_proba` after each round."""
        return (self._probabilities(raw) for raw in self._staged_raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """`decision_function` after each round."""
        return (self._decisions(raw) for raw in self._staged_raw(X))

    def _most_probable(self, raw: np.ndarray) -> np.ndarray:
        if len(self.classes_) <= 2:
            return self.classes_[(raw[:, 0] > 0).astype(np.intp) if len(self.classes_) == 2 else np.zeros(len(raw), dtype=np.intp)]
        return self.classes_[raw.argmax(axis=1)]

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 1:
            return np.ones((len(raw), 1))
        linked = self.model_.apply_link(np.ascontiguousarray(raw), resolve_threads(self.n_jobs))
        return linked if linked.shape[1] > 1 else np.column_stack([1 - linked, linked])

    def _decisions(self, raw: np.ndarray) -> np.ndarray:
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _targets(self, y: Any, n_rows: int, previous: Model | None) -> tuple[np.ndarray, Loss]:
        y = check_labels(y, n_rows, "y")
        classes, encoded = np.unique(y, return_inverse=True)
        if previous is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(f"warm_start goes on with the classes {self.classes_.tolist()}, but y has {classes.tolist()}")
        if str(self.loss) == "binary_crossentropy" and len(classes) > 2:
            raise ValueError(f"loss='binary_crossentropy' is for two classes; y has {len(classes)}: use 'log_loss'")
        if str(self.loss) == "categorical_crossentropy" and len(classes) <= 2:
            raise ValueError(f"loss='categorical_crossentropy' is for more than two classes; y has {len(classes)}: use 'log_loss'")
        self.classes_ = classes
        n_outputs = len(classes) if len(classes) > 2 else 1
        table, link = (TWO_CLASSES, "logit") if n_outputs == 1 else (MORE_CLASSES, "softmax")
        loss = find_loss(self.loss, table, self, n_outputs, link)
        if loss.n_outputs != n_outputs or loss.link != link:
            raise ValueError(
                f"loss={self.loss!r} has {loss.n_outputs} output(s) and the link {loss.link!r}; for {len(classes)} classes "
                f"BoostingClassifier needs {n_outputs} and {link!r}"
            )
        return encoded.astype(np.float64), loss

    def _validation_targets(self, y: Any, n_rows: int, name: str = "y_val") -> np.ndarray:
        y = check_labels(y, n_rows, name)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"{name} has classes that y does not have: {unknown.tolist()[:5]}")
        return np.searchsorted(self.classes_, y).astype(np.float64)

    def _original_targets(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y.astype(np.intp)]

    def _weights(self, weight: Any, y: np.ndarray, n_rows: int, name: str) -> np.ndarray | None:
        weight = super()._weights(weight, y, n_rows, name)
        if self.class_weight is None:
            return weight
        by_class = compute_sample_weight(self.class_weight, self._original_targets(y))
        return by_class if weight is None else weight * by_class

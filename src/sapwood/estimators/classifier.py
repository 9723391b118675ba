"""Gradient-boosted trees for classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sapwood.callbacks import Callback
from sapwood.data.checks import check_labels
from sapwood.estimators.base import ATTRIBUTES, BaseBoosting
from sapwood.estimators.inputs import FitInput, FitOptions
from sapwood.estimators.targets import KINDS, ClassLabels, MultiLabels, read_classes
from sapwood.estimators.values import array_from_data, array_to_data
from sapwood.estimators.warm_start import warm_start_of_partial_fit
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.model.export import ExportError
from sapwood.model.rounds import Rounds
from sapwood.params import table as config
from sapwood.runtime.execution import Execution, prediction_execution
from sapwood.training.boosting import Rows
from sapwood.training.checkpoint import Checkpoint
from sapwood.training.warm_start import WarmStart


class BoostingClassifier(ClassifierMixin, BaseBoosting, parameters=config.CLASSIFIER):
    __doc__ = f"""Gradient-boosted trees for classes.

    Parameters
    ----------
{config.describe(config.CLASSIFIER)}

    Attributes
    ----------
    classes_ : (n_classes,) array
    {ATTRIBUTES}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sapwood import BoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(BoostingClassifier().fit(X, y).score(X, y), 1)
    1.0
    """

    classes_: np.ndarray
    _kind: ClassLabels

    def partial_fit(  # type: ignore[override]  # as scikit-learn has it
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        eval_sets: Any = None,
        eval_metric: Any = None,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> BoostingClassifier:
        """Train on more rows: see `BoostingRegressor.partial_fit`.

        Parameters
        ----------
        classes : array of shape (n_classes,), optional
            All classes that there will ever be, for the first call; without, those of its y. One without rows there counts as half a row
            for the constant that training starts from.
        X, y, sample_weight, ... : as for `fit`, without `init_model`: it goes on from the estimator's own model
        """
        start = warm_start_of_partial_fit(self)
        if classes is not None:
            named = ClassLabels(np.unique(check_labels(classes, len(classes), "classes")))
            if start.targets is not None and not (
                type(start.targets) is ClassLabels and np.array_equal(start.targets.classes, named.classes)
            ):
                raise ValueError(
                    f"classes={named.classes.tolist()} are not those of the first call of partial_fit: {start.targets.classes.tolist()}"
                )
            start = replace(start, targets=named)
        validation = FitInput(X_val, y_val, sample_weight_val, suffix="_val", offset=offset_val)
        watching = FitOptions(groups, eval_sets, eval_metric, callbacks or (), checkpoint)
        self._fit_anew(FitInput(X, y, sample_weight, offset=offset), validation, watching, start)
        return self

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
        return isinstance(self._kind, MultiLabels)

    @property
    def _export_classes(self) -> list[Any] | None:
        if len(self.classes_) == 1 and not self.multilabel_:
            raise ExportError(f"y had one class only: {self.classes_.tolist()[0]!r}; there is nothing to export")
        return None if self.multilabel_ else self.classes_.tolist()

    def _most_probable(self, raw: np.ndarray) -> np.ndarray:
        return self._kind.most_probable(raw)

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        return self._kind.probabilities(self.model_.apply_link(np.ascontiguousarray(raw), prediction_execution(len(raw), self.n_jobs)))

    def _decisions(self, raw: np.ndarray) -> np.ndarray:
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _targets(self, y: Any, n_rows: int, start: WarmStart) -> tuple[np.ndarray, Loss]:
        kind: ClassLabels = start.targets or read_classes(y, n_rows)
        if start.targets is not None and (start.how == "warm_start" or type(kind) is ClassLabels):
            given = read_classes(y, n_rows)
            # Only `warm_start` is for the same rows: new ones need not have every class.
            known = np.isin(given.classes, kind.classes).all() and (start.how != "warm_start" or len(given.classes) == len(kind.classes))
            if type(given) is not type(kind) or not known:
                raise ValueError(f"{start.how} goes on with the classes {kind.classes.tolist()}, but y has {given.classes.tolist()}")
        self._kind, self.classes_ = kind, kind.classes
        return kind.encode(y, n_rows, "y"), kind.make_loss(self.loss, self)

    @property
    def _known_targets(self) -> ClassLabels:
        return self._kind

    def _first_model(self, rows: Rows, loss: Loss, shared: int, execution: Execution) -> Model | None:
        """Where a class has no rows yet, half a row stands for it: the logarithm of nothing is no start."""
        if type(self._kind) is not ClassLabels or len(self.classes_) == 1:
            return None
        absent = np.flatnonzero(np.bincount(rows.y.astype(np.intp), minlength=len(self.classes_)) == 0)
        if not len(absent):
            return None
        y, half = np.append(rows.y, absent), np.full(len(absent), 0.5)
        weight = np.append(np.ones(len(rows.y)) if rows.weight is None else rows.weight, half)
        offset = None if rows.offset is None else np.hstack([rows.offset, np.zeros((loss.n_outputs, len(absent)))])
        base_score = loss.start(y, weight, offset, execution)
        return Model(rows.pages.binning, base_score, loss.name, loss.link, shared=shared)

    def _validation_targets(self, y: Any, n_rows: int, name: str = "y_val") -> np.ndarray:
        return self._kind.encode(y, n_rows, name)

    @property
    def _has_strata(self) -> bool:
        return type(self._kind) is ClassLabels

    def _original_targets(self, y: np.ndarray) -> np.ndarray:
        return self._kind.decode(y)

    def _weights(self, weight: Any, y: np.ndarray, n_rows: int, name: str) -> np.ndarray | None:
        weight = super()._weights(weight, y, n_rows, name)
        if self.class_weight is None:
            return weight
        by_class = self._kind.row_weights(self.class_weight, y)
        return by_class if weight is None else weight * by_class

    def _fitted_data(self) -> dict[str, Any]:
        kind = next(name for name, cls in KINDS.items() if type(self._kind) is cls)
        return super()._fitted_data() | {"targets": kind, "classes": array_to_data(self.classes_)}

    def _set_fitted_data(self, data: dict[str, Any]) -> None:
        super()._set_fitted_data(data)
        classes = array_from_data(data["classes"])
        if classes.ndim != 1 or not len(classes) or len(set(classes.tolist())) < len(classes):
            raise ValueError("classes must be a list, and differ")
        self._kind, self.classes_ = KINDS[data["targets"]](classes), classes
        if (self._kind.n_outputs, self._kind.link) != (self.model_.n_outputs, self.model_.link):
            raise ValueError("the model is of another number of classes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

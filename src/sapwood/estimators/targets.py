"""Kinds of targets: numbers, relevances, class labels, multilabel indicators, soft labels."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import compute_sample_weight

from sapwood.data.checks import check_finite, check_labels, check_length, check_numbers, float_array, read_labels, refuse_mask, shape_of
from sapwood.data.dataset import BinnedDataset
from sapwood.losses import BINARY, MULTICLASS, SOFT_LABELS, Loss
from sapwood.losses.multilabel import MultiLabelLoss
from sapwood.losses.registry import find_loss
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

MANY_ROWS = 20  # with more rows, nearly as many classes as rows are probably a mistake
SUM_TOLERANCE = 1e-6  # tolerance of the sum of the probabilities of a row
PSEUDO_COUNT = 0.5  # rows of a class without rows: log(0) is undefined


class Targets(ABC):
    """Base class of the kinds of targets. The targets of evaluation sets must be of the kind of the training targets."""

    has_strata: ClassVar[bool] = False  # whether splits are stratified by the targets

    @abstractmethod
    def encode(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        """Check targets and return them as the loss uses them; the first axis is rows."""

    def decode(self, encoded: np.ndarray) -> np.ndarray:
        """Return encoded targets in the form that the user passed."""
        return encoded

    def united(self, targets: Sequence[Any]) -> Any:
        """Return the targets of all partitions from those of each."""
        return self

    def base_score(self, rows: BinnedDataset, loss: Loss, execution: Execution) -> np.ndarray:
        """Return the (n_outputs,) float64 base score of a new model."""
        return loss.base_score_with_offset(rows.y, rows.weight, rows.offset, execution)


class Numbers(Targets):
    """Targets of a regressor: numbers, survival times, or several columns.

    Attributes
    ----------
    column_loss : loss of one column
    loss : loss of all columns
    """

    n_columns: int
    column_loss: Loss
    loss: Loss

    def __init__(self, n_columns: int, column_loss: Loss, loss: Loss) -> None:
        self.n_columns, self.column_loss, self.loss = n_columns, column_loss, loss

    def encode(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        y = self.column_loss.read_targets(y, n_rows, name)
        n_columns = 1 if y.ndim == 1 else y.shape[1]
        if n_columns != self.n_columns:
            raise ValueError(f"{name} has {n_columns} column(s), but y has {self.n_columns}")
        return y


class Relevances(Targets):
    """Targets of a ranker: the relevance of each row for its query."""

    def encode(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        return check_numbers(y, n_rows, name)


class ClassLabels(Targets):
    """Class labels of any type, one per row.

    Made by `of(y)` from the training targets. `most_probable` and `probabilities` convert (n_rows, n_outputs) predictions.
    """

    table: dict[str, type[Loss]]
    more: dict[str, type[Loss]]
    table, more = BINARY, MULTICLASS
    has_strata = True

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = classes

    @classmethod
    def of(cls, y: Any, n_rows: int) -> ClassLabels:
        y = check_labels(y, n_rows, "y")
        classes = np.unique(y)
        if y.dtype.kind in "biu" and len(y) > MANY_ROWS and len(classes) > len(y) / 2:  # for other types scikit-learn warns
            warnings.warn(f"y has {len(classes)} classes in {len(y)} rows. Use BoostingRegressor for numeric targets.", stacklevel=2)
        return cls(classes)

    @property
    def n_outputs(self) -> int:
        return len(self.classes) if len(self.classes) > 2 else 1

    @property
    def link(self) -> str:
        return "logit" if self.n_outputs == 1 else "softmax"

    def encode(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        y = read_labels(y, n_rows, name)
        codes = np.searchsorted(self.classes, y) if y.dtype == self.classes.dtype else None
        if codes is None or not (self.classes.take(codes, mode="clip") == y).all():
            unknown = np.setdiff1d(y, self.classes)
            if len(unknown):
                raise ValueError(f"{name} has classes that y does not have: {unknown.tolist()[:5]}")
            codes = np.searchsorted(self.classes, y)
        return codes.astype(np.float64)

    def decode(self, encoded: np.ndarray) -> np.ndarray:
        return self.classes[encoded.astype(np.intp)]

    def make_loss(self, choice: Any, settings: Any) -> Loss:
        for prefix, valid, n_classes in (
            ("binary", len(self.classes) <= 2, "two"),
            ("categorical", len(self.classes) > 2, "more than two"),
        ):
            if isinstance(choice, str) and choice == f"{prefix}_crossentropy" and not valid:
                raise ValueError(f"loss={choice!r} is for {n_classes} classes; y has {len(self.classes)}: use 'log_loss'")
        table, link = self.table if self.n_outputs == 1 else self.more, self.link
        loss = find_loss(choice, table, settings, self.n_outputs, link)
        if loss.n_outputs != self.n_outputs or loss.link != link:
            raise ValueError(
                f"loss={choice!r} has {loss.n_outputs} output(s) and the link {loss.link!r}; for {len(self.classes)} classes "
                f"BoostingClassifier needs {self.n_outputs} and {link!r}"
            )
        return loss

    def united(self, targets: Sequence[ClassLabels]) -> ClassLabels:
        kinds = {type(labels) for labels in targets if len(labels.classes)} or {type(self)}
        kind = next(iter(kinds)) if len(kinds) == 1 else SoftLabels  # soft labels of 0 and 1 look like class labels in some partitions
        if kind is not ClassLabels:
            return kind(self.classes)
        return kind(np.unique(np.concatenate([labels.classes for labels in targets if len(labels.classes)])))

    def base_score(self, rows: BinnedDataset, loss: Loss, execution: Execution) -> np.ndarray:
        """Return the base score. A class without rows gets a pseudo-count."""
        absent = self._absent(rows, execution)
        if not len(absent):
            return super().base_score(rows, loss, execution)
        absent = absent[: len(absent) if execution.collective.rank == 0 else 0]  # counted in one partition only
        y, count = np.append(rows.y, absent), np.full(len(absent), PSEUDO_COUNT)
        weight = np.append(np.ones(len(rows.y)) if rows.weight is None else rows.weight, count)
        offset = None if rows.offset is None else np.hstack([rows.offset, np.zeros((loss.n_outputs, len(absent)))])
        return loss.base_score_with_offset(y, weight, offset, execution)

    def _absent(self, rows: BinnedDataset, execution: Execution) -> np.ndarray:
        """Return the codes of the classes without rows."""
        if not self.has_strata or len(self.classes) == 1:
            return np.array([], dtype=np.intp)
        return np.flatnonzero(execution.sum(np.bincount(rows.y.astype(np.intp), minlength=len(self.classes))) == 0)

    def most_probable(self, raw: np.ndarray) -> np.ndarray:
        """Return the most probable class of each row."""
        if len(self.classes) <= 2:
            return self.classes[(raw[:, 0] > 0).astype(np.intp) if len(self.classes) == 2 else np.zeros(len(raw), dtype=np.intp)]
        return self.classes[raw.argmax(axis=1)]

    def probabilities(self, linked: np.ndarray, execution: Execution) -> np.ndarray:
        """Return the (n_rows, n_classes) probabilities from the output of the inverse link."""
        if len(self.classes) == 1:
            return np.ones((len(linked), 1))
        if linked.shape[1] > 1:
            return linked
        probabilities = np.empty((len(linked), 2))
        kernels.fill_two_classes(linked, probabilities, execution.n_threads)
        return probabilities

    def row_weights(self, class_weight: Any, encoded: np.ndarray) -> np.ndarray:
        return compute_sample_weight(class_weight, self.decode(encoded))


class MultiLabels(ClassLabels):
    """Multilabel targets: y is an (n_rows, n_labels) indicator matrix of 0 and 1."""

    has_strata = False

    @classmethod
    def of(cls, y: Any, n_rows: int) -> MultiLabels:
        return cls(np.arange(shape_of(y)[1]))

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    @property
    def link(self) -> str:
        return "logit"

    def encode(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        matrix = _matrix(y, n_rows, name, len(self.classes))
        if not is_indicator(matrix):
            row = int(np.argmax(~np.isin(matrix, (0, 1)).all(axis=1)))
            raise ValueError(f"{name} must contain only 0 and 1, as y does; got {matrix[row].tolist()} in row {row}")
        return matrix

    def decode(self, encoded: np.ndarray) -> np.ndarray:
        return encoded.astype(np.int64)

    def make_loss(self, choice: Any, settings: Any) -> Loss:
        return MultiLabelLoss([ClassLabels(np.array([0, 1])).make_loss(choice, settings) for _ in self.classes])

    def most_probable(self, raw: np.ndarray) -> np.ndarray:
        return (raw > 0).astype(np.int64)

    def probabilities(self, linked: np.ndarray, execution: Execution) -> np.ndarray:
        return linked


class SoftLabels(ClassLabels):
    """Soft labels: y is an (n_rows, n_classes) matrix of probabilities whose rows add up to 1."""

    more = SOFT_LABELS
    has_strata = False

    @classmethod
    def of(cls, y: Any, n_rows: int) -> SoftLabels:
        names = getattr(y, "columns", None)
        return cls(np.arange(shape_of(y)[1]) if names is None else np.array(list(names)))

    def encode(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        probabilities = _matrix(y, n_rows, name, len(self.classes))
        invalid = (probabilities < 0).any(axis=1) | (np.abs(probabilities.sum(axis=1) - 1) > SUM_TOLERANCE)
        if invalid.any():
            row = int(np.argmax(invalid))
            raise ValueError(
                f"{name} with several columns must be multilabel indicators (0 or 1), or probabilities of classes whose rows add up to 1; "
                f"got {probabilities[row].tolist()} in row {row}"
            )
        return probabilities[:, 1].copy() if self.n_outputs == 1 else probabilities

    def decode(self, encoded: np.ndarray) -> np.ndarray:
        return encoded if encoded.ndim == 2 else np.column_stack([1 - encoded, encoded])

    def row_weights(self, class_weight: Any, encoded: np.ndarray) -> np.ndarray:
        probabilities = self.decode(encoded)
        if class_weight == "balanced":
            return probabilities @ (len(probabilities) / (len(self.classes) * probabilities.sum(axis=0)))
        unknown = set(class_weight) - set(self.classes.tolist())
        if unknown:
            raise ValueError(f"class_weight has classes that y does not have: {sorted(unknown, key=str)[:5]}")
        return probabilities @ np.array([class_weight.get(label, 1.0) for label in self.classes.tolist()])


def read_classes(y: Any, n_rows: int) -> ClassLabels:
    """Return the kind of a classifier's targets, with the classes."""
    shape = shape_of(y)
    if len(shape) == 2 and shape[1] > 1:
        return (MultiLabels if is_indicator(_matrix(y, n_rows, "y")) else SoftLabels).of(y, n_rows)
    return ClassLabels.of(y, n_rows)


def is_indicator(matrix: np.ndarray) -> bool:
    return bool(np.isin(matrix, (0, 1)).all())


def _matrix(y: Any, n_rows: int, name: str, n_columns: int | None = None) -> np.ndarray:
    refuse_mask(y, name)
    try:
        matrix = float_array(y, n_rows, name)
    except ValueError as error:
        raise ValueError(f"{name} with several columns must be numeric: {error}") from None
    check_finite(matrix.min(axis=1, initial=0) + matrix.max(axis=1, initial=0), name)
    check_length(matrix, n_rows, name)
    if n_columns is not None and matrix.shape[1] != n_columns:
        raise ValueError(f"{name} has {matrix.shape[1]} columns, but y has {n_columns}")
    return matrix


class ProbabilitySums(ClassLabels):
    """Class labels of an imported model whose trees add up probabilities, such as a forest."""

    has_strata = False

    @property
    def n_outputs(self) -> int:
        return len(self.classes)

    @property
    def link(self) -> str:
        return "identity"

    def make_loss(self, choice: Any, settings: Any) -> Loss:
        raise ValueError("an imported model whose trees add up probabilities, such as a forest, cannot be trained further: fit a new model")

    def most_probable(self, raw: np.ndarray) -> np.ndarray:
        return self.classes[raw.argmax(axis=1)]

    def probabilities(self, linked: np.ndarray, execution: Execution) -> np.ndarray:
        return linked


# Names in files of estimators.
KINDS: dict[str, type[ClassLabels]] = {"labels": ClassLabels, "label sets": MultiLabels, "shares": SoftLabels, "votes": ProbabilitySums}

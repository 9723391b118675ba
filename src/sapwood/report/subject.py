"""The subject of a report: a model, and rows with predictions and targets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import check_length, check_numbers, check_weights
from sapwood.data.columns import Kind
from sapwood.data.dataset import Dataset
from sapwood.data.queries import Queries
from sapwood.data.reading import Source, read_table
from sapwood.data.survival import signed_times, time_bounds
from sapwood.data.tables import ArrayTable, Table
from sapwood.encoding.calendar import LAST
from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.targets import ClassLabels, MultiLabels, SoftLabels
from sapwood.losses import RANKING
from sapwood.model import Model
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution, local_execution
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

BINARY, MULTICLASS, MULTILABEL = "binary", "multiclass", "multilabel"
REGRESSION, QUANTILES, MULTI_OUTPUT = "regression", "quantiles", "multi-output"
RANK, SURVIVAL = "ranking", "survival"
TASK_NAMES = {
    BINARY: "binary classification",
    MULTICLASS: "multiclass classification",
    MULTILABEL: "multilabel classification",
    REGRESSION: "regression",
    QUANTILES: "quantile regression",
    MULTI_OUTPUT: "regression with several outputs",
    RANK: "ranking",
    SURVIVAL: "survival analysis",
}
SEED = 0  # of sampled rows: a report of the same model and rows is the same


@dataclass(frozen=True)
class Evaluated:
    """Rows with predictions and targets: the input of metrics.

    Attributes
    ----------
    y : targets: class numbers, numbers, relevances, signed times or time bounds; with several outputs (n_rows, n_outputs). None: unknown
    predicted : predictions of the same form: class numbers, numbers or scores
    proba : (n_rows, n_classes) probabilities of a classifier
    weight : (n_rows,) weights of rows
    queries : queries of a ranking task
    """

    y: Any
    predicted: np.ndarray
    proba: np.ndarray | None = None
    weight: np.ndarray | None = None
    queries: Queries | None = None

    @property
    def n_rows(self) -> int:
        return len(self.predicted)

    @property
    def n_units(self) -> int:
        """Number of units that are drawn for confidence intervals: queries of a ranking task, otherwise rows."""
        return self.n_rows if self.queries is None else self.queries.n_queries

    def take(self, units: np.ndarray) -> Evaluated:
        """Return some rows, or for ranking the rows of some queries."""
        queries, rows = None, units
        if self.queries is not None:
            rows = self.queries.rows(units)
            queries = Queries(np.concatenate([[0], np.cumsum(self.queries.sizes[units])]).astype(np.int64))
        return Evaluated(
            None if self.y is None else self.y[rows],
            self.predicted[rows],
            None if self.proba is None else self.proba[rows],
            None if self.weight is None else self.weight[rows],
            queries,
        )


@dataclass(frozen=True)
class ReportColumn:
    """Values of a column as numbers (codes of a category), with its kind."""

    name: str
    kind: Kind
    values: np.ndarray  # (n_rows,) float64; missing: NaN, for a category -1

    @property
    def missing(self) -> np.ndarray:
        return self.values < 0 if self.kind.is_category else np.isnan(self.values)

    def text(self, value: float) -> str:
        """Return a value as text, in the units of the column."""
        return format_value(value, self.kind)


def format_value(value: float, kind: Kind) -> str:
    """Return a value of a column as text: a level, a date, or a number."""
    if kind.is_category:
        return str(kind.levels[int(value)]) if 0 <= value < len(kind.levels) else "missing"
    if value != value:
        return "missing"
    if kind.name == "bool":
        return "true" if value else "false"
    if kind.name == "datetime" and abs(value) < LAST:
        return str(np.datetime64(int(value), "us").astype("datetime64[s]")).replace("T", " ").removesuffix(" 00:00:00")
    if kind.name in ("datetime", "duration"):
        return f"{value / 1e6:,.6g} s"
    return f"{value:,.6g}" if abs(value) >= 1e4 else f"{value:.4g}"


class Subject:
    """A model and the rows of a report.

    Attributes
    ----------
    given : model as passed by the user, perhaps a wrapper of `sapwood.uncertainty`
    estimator : fitted Sapwood estimator; None for a `Model`
    model : trees
    task : kind of prediction, a key of TASK_NAMES
    table : the rows, with the columns of the model
    labels : names of the outputs: classes, quantiles, targets
    rows : predictions and targets
    raw : (n_rows, n_outputs) raw predictions of the trees
    """

    def __init__(
        self, given: Any, X: Any, y: Any = None, sample_weight: Any = None, qid: Any = None, group: Any = None, offset: Any = None
    ) -> None:
        self.given = given
        trained = unwrap(given)
        self.estimator: BaseBoosting | None = None if isinstance(trained, Model) else trained
        self.model: Model = trained if isinstance(trained, Model) else trained.model_
        self.execution: Execution = local_execution(None if self.estimator is None else self.estimator.n_jobs)
        self.task: str = find_task(trained)
        source = Source(X)
        self.X = X
        reader = "Model" if self.estimator is None else type(self.estimator).__name__
        self.table: Table = read_table(source, self.model.schema, None if self.estimator is None else reader)
        self.raw: np.ndarray = self.model.predict_raw(self.table, self.execution)
        initial = None if self.estimator is None else self.estimator._initial_raw(source, offset, len(self.raw))
        if initial is not None:
            self.raw = self.raw + initial
        self.classes: list[Any] = self._classes()
        weight = check_weights(sample_weight, len(self.raw), "sample_weight")
        queries = None
        if self.task == RANK and (y is not None or qid is not None or group is not None):
            queries = Queries.of(group, qid, len(self.raw))
        self.rows: Evaluated = replace(self._predicted(), y=None if y is None else self._targets(y), weight=weight, queries=queries)
        self.encoded_y: np.ndarray | None = self._encoded if y is not None else None

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        names = self.model.schema.names
        return [str(names[c]) if names else f"column {c}" for c in range(self.model.encoding.n_columns)]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the outputs of the trees."""
        if self.task == BINARY:
            return [str(self.classes[-1])]
        if self.classes:
            return [str(one) for one in self.classes]
        if self.task == QUANTILES:
            levels = getattr(self.estimator, "quantile", None)
            if isinstance(levels, list | tuple | np.ndarray) and len(levels) == self.model.n_outputs:
                return [f"quantile {level:g}" for level in sorted(levels)]
        return ["prediction"] if self.model.n_outputs == 1 else [f"output {k}" for k in range(self.model.n_outputs)]

    @cached_property
    def gains(self) -> np.ndarray:
        """(n_columns,) fractions of the total gain."""
        gains = self.model.importances("gain")
        top = gains.max(initial=0.0)
        return gains / top / (gains / top).sum() if top > 0 else gains

    @cached_property
    def by_importance(self) -> list[int]:
        """Columns that splits or leaves use, the most important first."""
        used = self.model.importances("split") > 0
        return [int(c) for c in np.argsort(-self.gains, kind="stable") if used[c]]

    @cached_property
    def is_training_data(self) -> bool:
        """Whether rows and targets are those that the model was trained on."""
        if self.estimator is None or self.encoded_y is None or self.estimator._digest is None:
            return False
        data = Dataset(self.table, self.encoded_y, self.rows.weight, self.rows.queries)
        return data.fingerprint(execution=self.execution).digest == self.estimator._digest

    def column(self, c: int) -> ReportColumn:
        return ReportColumn(self.names[c], self.model.schema.kind(c), self.table.column(c).astype(np.float64))

    def sample_rows(self, n: int) -> np.ndarray:
        """Return the numbers of at most n rows, drawn without replacement; ascending."""
        return sample_rows(self.n_rows, n)

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as numbers, (n, n_columns) float64."""
        out = np.empty((len(rows), self.table.n_features))
        for first, last in self.table.feature_blocks(self.table.n_features):
            out[:, first:last] = self.table.sample(rows, first, last)
        return out

    def predict_raw(self, values: np.ndarray) -> np.ndarray:
        """Return the (n, n_outputs) raw predictions of the trees for rows of numbers."""
        return self.model.predict_raw(ArrayTable(values), self.execution)

    def _classes(self) -> list[Any]:
        if self.task not in (BINARY, MULTICLASS, MULTILABEL):
            return []
        if self.estimator is None:
            return list(range(2 if self.task == BINARY else self.model.n_outputs))
        return list(self.estimator.classes_.tolist())

    def _predicted(self) -> Evaluated:
        proba = None
        if self.classes:
            proba = self._probabilities()
            if self.task == MULTILABEL:
                return Evaluated(None, (proba > 0.5).astype(np.int64), proba)
            return Evaluated(None, proba.argmax(axis=1), proba)
        if isinstance(self.given, ConformalRegressor):
            return Evaluated(None, np.asarray(self.given.predict(self.X), dtype=np.float64))
        predicted = self.raw.copy() if self.task == RANK else self.model.apply_link(self.raw.copy(), self.execution)
        return Evaluated(None, predicted[:, 0] if predicted.shape[1] == 1 else predicted)

    def _probabilities(self) -> np.ndarray:
        if isinstance(self.given, CalibratedClassifier | ConformalClassifier):
            return np.asarray(self.given.predict_proba(self.X))
        if isinstance(self.estimator, BoostingClassifier):
            return self.estimator._probabilities(self.raw.copy())
        linked = self.model.apply_link(self.raw.copy(), self.execution)
        return np.column_stack([1 - linked, linked]) if linked.shape[1] == 1 and self.task == BINARY else linked

    def _targets(self, y: Any) -> np.ndarray:
        """Return targets in the form of `Evaluated.y`, and remember them in the form of the fit."""
        n = self.n_rows
        if self.classes:
            kind = getattr(self.estimator, "_kind", None) or ClassLabels(np.array(self.classes))
            if isinstance(kind, SoftLabels) and not isinstance(kind, MultiLabels) and np.ndim(y) == 1:
                kind = ClassLabels(kind.classes)
            self._encoded = kind.encode(y, n, "y")
            if isinstance(kind, SoftLabels):
                return np.asarray(kind.decode(self._encoded)).argmax(axis=1)
            return self._encoded.astype(np.int64)
        if self.task == SURVIVAL:
            self._encoded = (signed_times if self.model.loss == "cox" else time_bounds)(y, n, "y")
        elif self.task == MULTI_OUTPUT:
            self._encoded = np.asarray(y, dtype=np.float64)
            check_length(self._encoded, n, "y")
            if self._encoded.shape != (n, self.model.n_outputs):
                raise ValueError(f"y must have {self.model.n_outputs} columns, one for each output; got the shape {self._encoded.shape}")
        else:
            self._encoded = check_numbers(y, n, "y")
        return self._encoded


def sample_rows(n_rows: int, n: int) -> np.ndarray:
    """Return the numbers of at most n of n_rows rows, drawn without replacement; ascending."""
    if n_rows <= n:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(SEED).choice(n_rows, n, replace=False))


def unwrap(model: Any) -> Any:
    """Return the Sapwood estimator of a wrapper, or the given estimator or `Model`."""
    inner = model
    if isinstance(inner, FrozenEstimator):
        inner = inner.estimator
    if isinstance(inner, CalibratedClassifier | ConformalClassifier | ConformalRegressor):
        check_is_fitted(inner)
        inner = inner.estimator_ if isinstance(inner, CalibratedClassifier) else inner.folds_[0].estimators[0]
        return unwrap(inner)
    if isinstance(inner, BaseBoosting):
        check_is_fitted(inner)
    elif not isinstance(inner, Model):
        hint = ": pass its last step and the transformed table" if hasattr(model, "steps") else ""
        raise TypeError(f"a report needs a fitted Sapwood estimator or Model; got {type(model).__name__}{hint}")
    return inner


def find_task(trained: Any) -> str:
    """Return the task of an estimator or a model."""
    model = trained if isinstance(trained, Model) else trained.model_
    if isinstance(trained, BoostingClassifier):
        if trained.multilabel_:
            return MULTILABEL
        return BINARY if len(trained.classes_) == 2 else MULTICLASS
    if isinstance(trained, BoostingRanker) or model.loss in RANKING:
        return RANK
    if model.loss in ("cox", "aft"):
        return SURVIVAL
    if model.link == "sorted":
        return QUANTILES
    if not isinstance(trained, BoostingRegressor) and model.link in ("logit", "softmax"):
        return (BINARY if model.n_outputs == 1 else MULTILABEL) if model.link == "logit" else MULTICLASS
    return REGRESSION if model.n_outputs == 1 else MULTI_OUTPUT


def quietly(function: Any, *args: Any) -> float:
    """Return a metric; NaN where it is not defined, such as the ROC AUC of a single class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(function(*args))
        except (ValueError, ZeroDivisionError, FloatingPointError):
            return float("nan")

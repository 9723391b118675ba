"""Names for the types of arguments, for annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from sapwood.metrics import Metric

__all__ = [
    "ArrayLike",
    "Columns",
    "EvalMetric",
    "EvalSet",
    "EvalSets",
    "GradientFunction",
    "Path",
    "Predictor",
    "RandomState",
    "ReportOptions",
    "Rounds",
    "Scorer",
    "Splitter",
    "TableLike",
]

TableLike: TypeAlias = Any
"""Rows and columns: an array, a data frame that narwhals or Arrow's C stream can read, a scipy sparse matrix, a list of rows, a
list of dicts, or a dict for one row."""

Columns: TypeAlias = str | int | type | slice | Callable[[Any], Any] | Sequence[Any] | np.ndarray
"""Columns by name, position, dtype, slice, mask, callable of the table, or a list of these."""

Path: TypeAlias = str | PathLike[str]
Rounds: TypeAlias = int | tuple[int, int] | None
"""Number of rounds, or the range (first, last) with last excluded; None for all up to the best one."""

RandomState: TypeAlias = int | np.random.RandomState | None
Scorer: TypeAlias = Callable[..., float]
"""scikit-learn scorer: (estimator, X, y) -> float, higher is better."""

GradientFunction: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(y, raw) -> (gradient, hessian)."""

EvalSet: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""(X, y), (X, y, sample_weight), (X, y, sample_weight, offset), or a mapping from arguments of `fit` to values."""

EvalSets: TypeAlias = Mapping[str, EvalSet] | Sequence[EvalSet] | None
EvalMetric: TypeAlias = "str | Metric | Callable[..., float] | Sequence[str | Metric | Callable[..., float]] | None"


class Predictor(Protocol):
    """Estimator with `fit` and `predict`."""

    def fit(self, X: Any, y: Any, /) -> Any: ...

    def predict(self, X: Any, /) -> Any: ...


class Splitter(Protocol):
    """scikit-learn's cross-validation splitter."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any] | Iterable[Any]: ...

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int: ...


class ReportOptions(TypedDict, total=False):
    """Keyword arguments of `sapwood.report.write_report`, which documents them."""

    sample_weight: ArrayLike | None
    reference: TableLike | None
    slice_by: Any
    sensitive: Any
    title: str | None
    notes: Mapping[str, str] | None
    qid: ArrayLike | None
    group: ArrayLike | None
    offset: ArrayLike | None

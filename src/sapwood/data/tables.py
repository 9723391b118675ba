"""Anything with rows, read as numbers.

A `Table` gives two-dimensional blocks of itself that the kernels read directly, in the caller's own type where it can: no copy of the
whole is made.
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

ROWS_AT_ONCE = 65536  # rows of a type the kernels do not read, converted at a time


class Table:
    """Rows and columns of numbers.

    Attributes
    ----------
    n_rows, n_features : int
    """

    n_rows: int
    n_features: int

    def runs(self, most: int) -> list[tuple[int, int]]:
        """Ranges of at most `most` features that lie side by side."""
        raise TypeError(f"{type(self).__name__} does not say how its features lie")

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        """Rows of the features [first, last), which lie side by side, as a 2-D array that the kernels read."""
        raise TypeError(f"{type(self).__name__} does not say how it is read")

    @property
    def readable(self) -> bool:
        """Whether the kernels read it as it is."""
        return False

    def row_blocks(self) -> list[slice]:
        """Slices of rows that `read` may convert at a time."""
        step = max(1, self.n_rows) if self.readable else ROWS_AT_ONCE
        return [slice(start, min(start + step, self.n_rows)) for start in range(0, self.n_rows, step)]

    def dense(self, rows: slice) -> np.ndarray:
        """Rows of all features as one 2-D array that the kernels read."""
        runs = self.runs(self.n_features)
        if len(runs) == 1:
            return self.read(rows, 0, self.n_features)
        block = np.empty((rows.stop - rows.start, self.n_features))
        for first, last in runs:
            block[:, first:last] = self.read(rows, first, last)
        return block


def _is_readable(array: np.ndarray) -> bool:
    size = array.dtype.itemsize
    return (
        array.dtype.kind in "biuf"
        and array.dtype.isnative
        and (array.dtype.kind != "f" or size in (4, 8))
        and array.flags.aligned
        and all(stride % size == 0 and stride >= 0 for stride in array.strides)
    )


class ArrayTable(Table):
    """A two-dimensional NumPy array of any numeric type and layout."""

    def __init__(self, array: np.ndarray) -> None:
        if array.dtype.kind not in "biuf":
            raise ValueError(f"X has dtype {array.dtype}, which is not a number: turn its values into numbers")
        self.array = array
        self.n_rows, self.n_features = array.shape
        self._readable = _is_readable(array)

    @property
    def readable(self) -> bool:
        return self._readable

    def runs(self, most: int) -> list[tuple[int, int]]:
        return [(first, min(first + most, self.n_features)) for first in range(0, self.n_features, most)]

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        block = self.array[rows, first:last]
        return block if self._readable else block.astype(np.float64)


class FrameTable(Table):
    """A data frame: one array a column."""

    def __init__(self, columns: list[np.ndarray]) -> None:
        self.columns = [c if _is_readable(c) else c.astype(np.float64) for c in columns]
        self.n_rows, self.n_features = len(columns[0]), len(columns)

    def runs(self, most: int) -> list[tuple[int, int]]:
        return [(feature, feature + 1) for feature in range(self.n_features)]

    def read(self, rows: slice | np.ndarray, first: int, last: int) -> np.ndarray:
        return self.columns[first][rows, None]


def is_frame(X: Any) -> bool:
    """Whether X is a data frame that narwhals knows (pandas, polars, pyarrow, ...)."""
    if isinstance(X, np.ndarray | list | tuple):
        return False
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy frame ({type(X).__module__}.{type(X).__name__}): call .collect() before fit or predict")
    return isinstance(frame, nw.DataFrame)


def _read_column(name: str, series: nw.Series) -> np.ndarray:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        if dtype.is_decimal() or series.null_count() > 0:
            series = series.cast(nw.Float64)
        values = series.to_numpy()
        if values.dtype.kind in "biuf":
            return values
        if values.dtype.kind != "c":
            return values.astype(np.float64)
    fixes = {
        nw.String: "encode it as numbers (e.g. with sklearn.preprocessing.OrdinalEncoder)",
        nw.Categorical: "encode it as numbers (e.g. its codes)",
        nw.Enum: "encode it as numbers (e.g. its codes)",
        nw.Datetime: "turn it into a number (e.g. seconds since a date)",
        nw.Date: "turn it into a number (e.g. days since a date)",
        nw.Duration: "turn it into a number (e.g. seconds)",
    }
    fix = next((text for kind, text in fixes.items() if isinstance(dtype, kind)), "turn it into numbers or drop it")
    raise ValueError(
        f"Column {name!r} has dtype {series.to_native().dtype if hasattr(series.to_native(), 'dtype') else dtype}, "
        f"which is not a number: {fix}"
    )


def frame_table(X: Any) -> FrameTable:
    """The columns of a data frame as arrays; an error names the first column that is not made of numbers."""
    frame = nw.from_native(X, eager_only=True)
    columns = [_read_column(series.name, series) for series in frame.iter_columns()]
    return FrameTable(columns)


def check_order(X: Any, names: np.ndarray) -> None:
    """Raise if X has these columns in another order."""
    given = nw.from_native(X, eager_only=True).columns
    moved = [f"- {now!r} where {then!r} was" for now, then in zip(given, names, strict=False) if now != then]
    if moved and len(given) == len(names) and set(given) == set(names):
        raise ValueError(
            "The feature names should match those that were passed during fit.\n"
            "Feature names must be in the same order as they were in fit.\n" + "\n".join(moved[:10])
        )


def check_duplicate_names(X: Any) -> None:
    """Raise if two columns have the same name (narwhals itself refuses such a frame, less kindly)."""
    names = [str(name) for name in (X.column_names if hasattr(X, "column_names") else X.columns)]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise ValueError(f"Column names must be unique; these come more than once: {', '.join(map(repr, repeated))}")

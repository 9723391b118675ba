"""Single rows of data frames, and rows as dicts.

`read_row` reads a single row value by value, since reading it by column takes a hundred times as long as its trees. If it does not support
a row, `read_table` reads it, with the same result, or raises an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sapwood.data.columns import Kind, Schema
from sapwood.data.frames import column_name, read_array
from sapwood.data.tables import ArrayTable, FrameTable

MISSING_CODE = -1.0


def read_row(X: Any, schema: Schema) -> ArrayTable | None:
    """Return one row with names (a dict, or a frame of pandas or polars) as numbers, with codes for categories; None if it is not plain."""
    names = schema.text_names
    if names is None or schema.missing_values or schema.sparse_missing:
        return None
    opened = _open(X, not schema.kinds)
    if opened is None:
        return None
    given, values = opened
    order = None if given == names else _order(given, names)
    if len(given) != len(names) or (given != names and order is None):
        return None
    if isinstance(values, np.ndarray):
        return ArrayTable(values if order is None else values[:, order])
    if order is not None:
        values = [values[at] for at in order]
    try:
        numbers = [as_number(value, schema.kind(f)) for f, value in enumerate(values)] if schema.kinds else list(map(_plain, values))
        return ArrayTable(np.array([numbers], dtype=np.float64))
    except (TypeError, OverflowError):  # not a plain value
        return None


def _open(X: Any, numbers: bool) -> tuple[list[Any], np.ndarray | Sequence[Any]] | None:
    """Return the names and values of a single row; None if X is something else. `numbers`: whether all features are numbers."""
    kind = type(X)
    if kind is dict:
        return list(X), list(X.values())
    library = kind.__module__.partition(".")[0]
    if kind.__name__ != "DataFrame":
        return None
    if library == "polars" and X.height == 1:
        return X.columns, X.row(0)
    if library == "pandas" and len(X) == 1:
        if not numbers:
            return X.columns.tolist(), X.iloc[0].tolist()
        array = X.to_numpy()
        return (X.columns.tolist(), array) if array.dtype.kind in "fiub" else None
    return None


def _order(given: list[Any], names: list[str]) -> list[int] | None:
    at = {name: i for i, name in enumerate(given)}
    return [at[name] for name in names] if len(at) == len(names) and all(name in at for name in names) else None


def as_number(value: Any, kind: Kind) -> float:
    """Return a value as a number, as in a column of this kind. Raises TypeError if the whole column is needed."""
    if kind.name in ("number", "bool"):
        return _plain(value)
    if not kind.is_category:
        raise TypeError("datetimes are read by column")
    if value is None or value != value:
        return MISSING_CODE
    if not kind.levels:
        raise TypeError("the category has no levels")
    if type(value) is not str:
        _plain(value)
    if kind.level_type is not (str if type(value) is str else float):
        raise TypeError("levels of another type")
    return kind.codes.get(value, MISSING_CODE)


def _plain(value: Any) -> float:
    """Return a number, a bool or None as a float. Raises TypeError for other types, such as strings, which `float` accepts."""
    if type(value) is float:
        return value
    if value is None:
        return np.nan
    if isinstance(value, (int, float, np.floating, np.integer, np.bool_)):
        return float(value)
    raise TypeError(f"{type(value).__name__} is not a plain number")


def as_dicts(X: Any) -> list[Mapping[Any, Any]] | None:
    """Return the rows of a dict (one row) or of a list of dicts; None if X is something else."""
    if isinstance(X, Mapping) and not sparse.issparse(X):  # SciPy's DOK format is a dict, too
        X = [X]
    if not isinstance(X, list | tuple) or not X or not isinstance(X[0], Mapping):
        return None
    for i, row in enumerate(X):
        if not isinstance(row, Mapping):
            raise TypeError(f"X is a list of dicts, but row {i} is {type(row).__name__}")
    return list(X)


def dicts_table(rows: Sequence[Mapping[Any, Any]], missing_values: frozenset[Any] = frozenset()) -> FrameTable:
    """Return rows as a table with a column for each name. A name that is not in a row is missing there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise ValueError("Found array with 0 feature(s) (all dicts in X are empty) while a minimum of 1 is required.")
    columns = []
    for name in names:
        values = np.empty(len(rows), dtype=object)
        values[:] = [row.get(name) for row in rows]
        for row, value in enumerate(values):
            if isinstance(value, list | tuple | np.ndarray | Mapping):
                raise ValueError(
                    f"X as a dict is one row: the value of {name!r} in row {row} must be a number, text or a date, not "
                    f"{type(value).__name__}; give a list of dicts, or a data frame"
                )
        column = read_array(values, repr(name))
        columns.append(column.without(missing_values) if missing_values else column)
    return FrameTable(columns, [column_name(name) for name in names])

"""Columns of a table that hold targets, weights and other values of rows, selected by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sapwood.data.reading import Source
from sapwood.data.stream_table import inspect_stream

LISTED = 20  # maximum number of column names in an error message


def names_columns(value: Any, columns: Sequence[Any] | None, n_rows: int | None) -> bool:
    """Whether an argument of `fit` is the name of a column, or a list of names.

    A list of as many strings as X has rows is a list of labels. `n_rows` is None if the number of rows is not known.
    """
    if isinstance(value, str):
        return True
    if not isinstance(value, list | tuple) or not value or columns is None or len(value) == n_rows:
        return False
    return all(isinstance(name, str) and name in columns for name in value)


def take_columns(X: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return X without the columns that arguments name, and the values of these arguments by argument.

    Parameters
    ----------
    X : a table of any kind, or a Source
    given : arguments with one value per row; those that are not names are not in the result
    """
    if not any(isinstance(value, str | list | tuple) for value in given.values()):
        return X, {}
    source = Source.of(X)
    columns, n_rows = _columns(source)
    named = {argument: value for argument, value in given.items() if names_columns(value, columns, n_rows)}
    if not named:
        return X, {}
    for argument, value in named.items():
        check_names(argument, value, columns)
    gone = {name for value in named.values() for name in ([value] if isinstance(value, str) else value)}
    if source.rows is not None:
        kept: Any = [{name: value for name, value in row.items() if name not in gone} for row in source.rows]
        return kept, {argument: _of_rows(source.rows, value) for argument, value in named.items()}
    if source.stream is not None:
        inspected = inspect_stream(source.stream, sorted(gone))
        return inspected, {argument: _of_frame(inspected.values, value) for argument, value in named.items()}
    frame = source.frame
    assert frame is not None
    values = {argument: _of_frame(frame, value) for argument, value in named.items()}
    return frame.drop(list(gone)).to_native(), values


def check_names(argument: str, value: Any, columns: Sequence[Any] | None) -> None:
    """Raise a ValueError if X has no column of this name."""
    if columns is None:
        raise ValueError(f"{argument}={value!r} is the name of a column, but X has no column names: give an array, or a data frame as X")
    for name in [value] if isinstance(value, str) else value:
        if name not in columns:
            more = f" and {len(columns) - LISTED} more" if len(columns) > LISTED else ""
            raise ValueError(f"{argument}={name!r} is not a column of X, whose columns are {', '.join(map(repr, columns[:LISTED]))}{more}")


def _columns(source: Source) -> tuple[list[Any] | None, int | None]:
    """Return the column names of a table, None if it has none; and the number of rows, None if that is not needed."""
    if source.stream is not None:
        return None if source.stream.names is None else list(source.stream.names), None
    if source.rows is not None:
        return list(dict.fromkeys(name for row in source.rows for name in row)), len(source.rows)
    return (None, None) if source.frame is None else (list(source.frame.columns), len(source.frame))


def _of_rows(rows: Sequence[Mapping[Any, Any]], names: Any) -> Any:
    if isinstance(names, str):
        return [row.get(names) for row in rows]
    return np.array([[row.get(name) for name in names] for row in rows])


def _of_frame(columns: Any, names: Any) -> np.ndarray:
    """Return the values of columns. `columns` is a data frame, or a dict of arrays."""

    def values(name: str) -> np.ndarray:
        column = columns[name]
        return column if isinstance(column, np.ndarray) else column.to_numpy()

    return values(names) if isinstance(names, str) else np.column_stack([values(name) for name in names])

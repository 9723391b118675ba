"""Rows of a worker: pieces of tables are joined, columns are taken by name, queries are made whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sapwood.data.named_columns import take_columns
from sapwood.runtime.execution import Execution

ROW_ARGUMENTS = ("X", "y", "sample_weight", "offset", "qid", "groups")  # arguments of `fit` with a value for each row
RowSet = dict[str, Any]  # argument -> values of rows, or the name of a column of X


class LazyPiece(ABC):
    """Rows that a worker reads itself."""

    @abstractmethod
    def read(self) -> Any:
        """Return the rows."""


@dataclass(frozen=True)
class ParquetFile(LazyPiece):
    """A Parquet file that a worker reads itself. The path may be a URI that pyarrow knows, such as "s3://bucket/part.parquet"."""

    path: str

    def read(self) -> Any:
        from pyarrow import parquet

        return parquet.read_table(self.path)


def n_rows(values: Any) -> int:
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def take(values: Any, rows: slice) -> Any:
    """Return a contiguous range of rows of a table or an array."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if hasattr(values, "num_rows"):  # pyarrow.Table
        first, last, _ = rows.indices(values.num_rows)
        return values.slice(first, last - first)
    return values[rows]


def join(pieces: Sequence[Any]) -> Any:
    """Return the rows of several pieces of one table or array, which have the same type and columns."""
    if len(pieces) == 1:
        return pieces[0]
    first = pieces[0]
    if any(map(sparse.issparse, pieces)):
        return sparse.vstack(pieces, format="csr")
    if isinstance(first, np.ma.MaskedArray):
        return np.ma.concatenate(pieces)
    if isinstance(first, np.ndarray):
        return np.concatenate(pieces)
    if isinstance(first, list):
        return [row for piece in pieces for row in piece]
    if hasattr(first, "iloc"):
        return _join_pandas(pieces)
    if hasattr(first, "column_names"):  # pyarrow.Table
        import pyarrow as pa

        return pa.concat_tables(pieces, promote_options="permissive")
    if type(first).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        return pa.chunked_array([chunk for piece in pieces for chunk in getattr(piece, "chunks", [piece])])
    if type(first).__module__.partition(".")[0] == "polars":
        import polars as pl

        return pl.concat(pieces, how="vertical_relaxed")
    raise TypeError(f"partitions of type {type(first).__name__} are not supported: use NumPy, SciPy, pandas, polars or Arrow")


def _join_pandas(pieces: Sequence[Any]) -> Any:
    """Return the rows of several pandas objects. Categorical columns get the categories of all pieces; pandas would make them strings."""
    import pandas as pd
    from pandas.api.types import union_categoricals

    def with_union(columns: Sequence[Any]) -> list[Any]:
        categories = [column.dtype.categories for column in columns]
        if all(one.equals(categories[0]) for one in categories):
            return list(columns)
        union = union_categoricals(columns, sort_categories=True).categories
        return [column.cat.set_categories(union) for column in columns]

    if pieces[0].ndim == 1:
        return pd.concat(with_union(pieces) if isinstance(pieces[0].dtype, pd.CategoricalDtype) else list(pieces))
    pieces = list(pieces)
    for position, dtype in enumerate(pieces[0].dtypes):
        if isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered:
            name = pieces[0].columns[position]
            columns = with_union([piece[name] for piece in pieces])
            pieces = [piece.copy(deep=False) for piece in pieces]
            for piece, column in zip(pieces, columns, strict=True):
                piece[name] = column
    return pd.concat(pieces)


def is_column_name(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value))


def read_rows(pieces: Mapping[str, Any], what: str) -> RowSet:
    """Return the rows of this worker.

    Parameters
    ----------
    pieces : argument -> list of pieces, or the name of a column of X
    what : name of the data set, for error messages
    """
    loaded = {name: given if is_column_name(given) else [_load(piece) for piece in given] for name, given in pieces.items()}
    tables = loaded["X"]
    for name, given in loaded.items():
        if not is_column_name(given):
            for i, (table, piece) in enumerate(zip(tables, given, strict=True)):
                if n_rows(table) != n_rows(piece):
                    raise ValueError(
                        f"{name} of {what} has {n_rows(piece)} rows in a partition where X has {n_rows(table)} (number {i} here)"
                    )
    if not tables:
        return {name: given if is_column_name(given) else None for name, given in loaded.items()}
    return {name: given if is_column_name(given) else join(given) for name, given in loaded.items()}


def _load(piece: Any) -> Any:
    return piece.read() if isinstance(piece, LazyPiece) else piece


def complete_rows(rows: RowSet, what: str, execution: Execution) -> RowSet:
    """Return the rows of this worker as arguments of `fit`: a worker without rows gets an empty table; columns are taken by name.

    Called by every worker.
    """
    if not execution.is_local:
        own = None if rows["X"] is None else {name: v if is_column_name(v) else take(v, slice(0)) for name, v in rows.items()}
        if rows["X"] is None:
            rows = next(empty for empty in execution.collective.gather_objects(own) if empty is not None)
        else:
            execution.collective.gather_objects(own)
    rows = take_named(rows, what)
    return rows if rows.get("qid") is None else whole_queries(rows, execution)


def take_named(rows: RowSet, what: str) -> RowSet:
    """Return the rows with the values of columns in the place of their names. X loses these columns."""
    named = {argument: value for argument, value in rows.items() if argument != "X" and is_column_name(value)}
    names = {argument: [value] if isinstance(value, str) else value for argument, value in named.items()}
    single = {f"{argument}[{i}] of {what}": name for argument, of in names.items() for i, name in enumerate(of)}
    X, values = take_columns(rows["X"], single)
    taken = {**rows, "X": X}
    for argument, value in named.items():
        columns = [values[f"{argument}[{i}] of {what}"] for i in range(len(names[argument]))]
        taken[argument] = columns[0] if isinstance(value, str) else np.column_stack(columns)
    return taken


def whole_queries(rows: RowSet, execution: Execution) -> RowSet:
    """Return the rows of this worker with all rows of its last query, and without those of a query that begins in a worker before it.

    Rows of a query must be contiguous. Called by every worker.
    """
    if execution.is_local:
        return rows
    qid = np.asarray(rows["qid"])
    edges = execution.collective.gather_objects((len(qid), qid[:1].tolist(), qid[-1:].tolist()))
    rank, last_before = execution.collective.rank, None
    continues = []  # whether the first query of each worker begins in a worker before it
    for count, first, last in edges:
        continues.append(count > 0 and last_before is not None and first == last_before)
        last_before = last if count else last_before
    head = 0
    if continues[rank]:
        other = np.flatnonzero(qid != qid[0])
        head = int(other[0]) if len(other) else len(qid)
    heads = execution.collective.gather_objects({name: take(values, slice(head)) for name, values in rows.items()} if head else None)
    sizes = [count - (0 if moved is None else n_rows(moved["qid"])) for (count, _, _), moved in zip(edges, heads, strict=True)]
    added = []
    if sizes[rank]:
        for moved, size in zip(heads[rank + 1 :], sizes[rank + 1 :], strict=True):
            if moved is not None:
                added.append(moved)
            if size:
                break
    return {name: join([take(values, slice(head, None)), *(one[name] for one in added)]) for name, values in rows.items()}

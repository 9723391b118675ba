"""From what users have to a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sapwood.data.columns import Schema
from sapwood.data.frames import array_table, column_name, frame_table, open_frame
from sapwood.data.sparse import SparseTable, sparse_frame
from sapwood.data.tables import ArrayTable, Table


def plain_array(X: Any, schema: Schema) -> ArrayTable | None:
    """X as a table where there is nothing to ask or to change: an array of numbers for a model of numbers. One row is often all there is,
    and reading it should not take longer than its trees."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "fiub" or X.shape[1] != schema.n_features:
        return None
    return None if schema.kinds or schema.absent or not len(X) else ArrayTable(X)


def read_table(X: Any, schema: Schema) -> Table:
    """X with the features of a schema."""
    table: Table | None = plain_array(X, schema)
    if table is not None:
        return table
    table = read_any(X, schema.absent, schema.sparse_missing)
    if table.n_rows == 0:
        raise ValueError("X has no rows; a minimum of 1 is required")
    if table.n_features != schema.n_features and not (table.schema.names and schema.names):  # names tell more of what is wrong
        raise ValueError(f"X has {table.n_features} features, but the model expects {schema.n_features}")
    return table.match(schema)


def read_any(X: Any, absent: frozenset[Any], sparse_missing: bool) -> Table:
    """X as it is. `absent` are the values that mean missing, besides those that always do."""
    numbers = frozenset(value for value in absent if not isinstance(value, str))
    if sparse.issparse(X):
        return SparseTable(X, sparse_missing, numbers)
    frame = open_frame(X)
    if frame is not None:
        if 0 in frame.shape:
            what = "feature(s)" if frame.shape[1] == 0 else "sample(s)"
            raise ValueError(f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required.")
        table = sparse_frame(frame.to_native(), [column_name(name) for name in frame.columns], numbers)
        return frame_table(frame, absent) if table is None else table
    array = filled(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must have rows and columns; got an array of shape {array.shape}")
    return array_table(array, absent)


def filled(X: np.ma.MaskedArray) -> np.ndarray:
    """What is masked is missing."""
    return np.ma.filled(X.astype(np.float64), np.nan)

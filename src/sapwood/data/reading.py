"""From what users have to a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from sapwood.data.columns import Schema
from sapwood.data.frames import array_table, column_name, frame_table, open_frame
from sapwood.data.rows import as_dicts, dicts_table, read_row
from sapwood.data.sparse import SparseTable, sparse_frame
from sapwood.data.sparse_formats import check_sparse
from sapwood.data.tables import ArrayTable, Table

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


class Source:
    """A user's table; if it is a data frame, it is opened once."""

    def __init__(self, X: Any) -> None:
        self.X = X

    @classmethod
    def of(cls, X: Any) -> Source:
        return X if isinstance(X, Source) else cls(X)

    @cached_property
    def frame(self) -> nw.DataFrame | None:
        """The data frame as narwhals sees it; None if it is something else."""
        return None if self.rows is not None else open_frame(self.X)

    @cached_property
    def rows(self) -> list[Mapping[Any, Any]] | None:
        """Rows, if X is a dict or a list of dicts."""
        return as_dicts(self.X)

    @property
    def has_names(self) -> bool:
        return self.frame is not None or self.rows is not None


def read_table(X: Any, schema: Schema, reader: str | None = None, allow_empty: bool = False) -> Table:
    """X (or a Source) with the features of a schema.

    `reader` is the name of the estimator that reads it; as scikit-learn wants it, an estimator warns if only one of both tables has names.
    """
    source, named = Source.of(X), schema.text_names is not None
    if named and (row := read_row(source.X, schema)) is not None:
        return row
    if not (named and reader) and (plain := plain_array(source.X, schema)) is not None:
        return plain
    if reader and named and not source.has_names:
        warnings.warn(f"X does not have valid feature names, but {reader} was fitted with feature names", stacklevel=4)
    table = read_any(source, schema.absent, schema.sparse_missing, reader, allow_empty)
    if table.n_features != schema.n_features and not (table.schema.names and schema.names):  # names tell more of what is wrong
        raise ValueError(f"X has {table.n_features} features, but {reader or 'Model'} is expecting {schema.n_features} features as input.")
    if reader and schema.names is None and source.has_names:
        warnings.warn(f"X has feature names, but {reader} was fitted without feature names", stacklevel=4)
    return table.match(schema)


def plain_array(X: Any, schema: Schema) -> ArrayTable | None:
    """X as a table where nothing has to be checked or changed: an array of numbers for a model of numbers. Reading a single row should not
    take longer than its trees."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "fiub" or X.shape[1] != schema.n_features:
        return None
    return None if schema.kinds or schema.absent or not len(X) else ArrayTable(X)


def read_any(X: Any, absent: frozenset[Any], sparse_missing: bool, reader: str | None = None, allow_empty: bool = False) -> Table:
    """X (or a Source) as it is. `absent` are the values that mean missing, besides those that always do; with `allow_empty` it may have no
    rows."""
    source = Source.of(X)
    frame, array = source.frame, source.X
    numbers = frozenset(value for value in absent if not isinstance(value, str))
    if frame is not None:
        if 0 in frame.shape[int(allow_empty) :]:
            what = "feature(s)" if frame.shape[1] == 0 else "sample(s)"
            raise ValueError(f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required.")
        table = sparse_frame(frame.to_native(), [column_name(name) for name in frame.columns], numbers)
        return frame_table(frame, absent) if table is None else table
    if source.rows is not None:
        return dicts_table(source.rows, absent)
    if isinstance(array, np.ma.MaskedArray):
        array = filled(array)
    if sparse.issparse(array):
        array = check_sparse(array)
    if not _is_sound(array) and not (allow_empty and _is_empty(array)):
        own = isinstance(array, np.ndarray) and array.dtype.kind in "OmM" and array.ndim == 2
        dtype = None if own or sparse.issparse(array) else "numeric"
        array = check_array(array, accept_sparse=True, dtype=dtype, ensure_all_finite=False, estimator=reader, input_name="X")
    return SparseTable(array, sparse_missing, numbers) if sparse.issparse(array) else array_table(array, absent)


def _is_sound(X: Any) -> bool:
    """Whether this is a table of numbers that scikit-learn would find nothing wrong with: its checks take longer than a small fit."""
    plain = type(X) is np.ndarray or sparse.issparse(X)
    return plain and X.ndim == 2 and X.dtype.kind in "fiub" and min(X.shape) > 0


def _is_empty(X: Any) -> bool:
    """Whether this is a table of numbers without rows."""
    return (type(X) is np.ndarray or sparse.issparse(X)) and X.ndim == 2 and X.dtype.kind in "fiub" and X.shape[0] == 0


def filled(X: np.ma.MaskedArray) -> np.ndarray:
    """Array with NaN for masked entries."""
    return np.ma.filled(X.astype(np.float64), np.nan)

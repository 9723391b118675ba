"""Reading of arrays, data frames and sparse matrices as tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from sapwood.data.checks import refuse_iterator
from sapwood.data.columns import Schema
from sapwood.data.frames import array_table, column_name, frame_table, open_frame
from sapwood.data.rows import as_dicts, dicts_table, read_row
from sapwood.data.sparse import SparseTable, sparse_frame
from sapwood.data.sparse_formats import check_sparse
from sapwood.data.stored_table import StoredTable
from sapwood.data.stream_table import InspectedStream, StreamTable, inspect_stream
from sapwood.data.streams import Stream, open_stream
from sapwood.data.tables import ArrayTable, Table
from sapwood.runtime.caching import cached_property

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


class Source:
    """Table of the user. A data frame or stream is opened only once.

    Parameters
    ----------
    X : table of any kind
    folder : folder in which a stream that can be read only once is stored; None for the default of `tempfile`
    """

    def __init__(self, X: Any, folder: str | None = None) -> None:
        self.X, self.folder = X, folder

    @classmethod
    def of(cls, X: Any) -> Source:
        return X if isinstance(X, Source) else cls(X)

    @cached_property
    def frame(self) -> nw.DataFrame | None:
        """Data frame, or the first rows of a stream, as a narwhals DataFrame; None if X is not a data frame."""
        return None if self.rows is not None or isinstance(self.X, StoredTable) else open_frame(self.head)

    @cached_property
    def stream(self) -> Stream | None:
        """Stream, if X is read in batches."""
        return self.X.stream if isinstance(self.X, InspectedStream) else open_stream(self.X, self.folder)

    @cached_property
    def inspected(self) -> InspectedStream | None:
        """Stream after its first pass."""
        if isinstance(self.X, InspectedStream):
            return self.X
        return None if self.stream is None else inspect_stream(self.stream)

    @cached_property
    def head(self) -> Any:
        """X, or the first rows of a stream."""
        return self.X if self.stream is None else next(self.stream.batches(self.inspected.names if self.inspected else None))

    @cached_property
    def rows(self) -> list[Mapping[Any, Any]] | None:
        """Rows, if X is a dict or a list of dicts."""
        return as_dicts(self.X)

    @property
    def has_names(self) -> bool:
        return self.frame is not None or self.rows is not None


def read_table(X: Any, schema: Schema, reader: str | None = None, allow_empty: bool = False) -> Table:
    """Return X (or a Source) as a table with the features of a schema.

    `reader` is the name of the estimator that reads X. As in scikit-learn, an estimator warns if only one of the two tables has names.
    """
    source, named = Source.of(X), schema.text_names is not None
    if named and (row := read_row(source.X, schema)) is not None:
        return row
    if not (named and reader) and (plain := plain_array(source.X, schema)) is not None:
        return plain
    if reader and named and not source.has_names:
        warnings.warn(f"X does not have valid feature names, but {reader} was fitted with feature names", stacklevel=4)
    table = read_any(source, schema.missing_values, schema.sparse_missing, reader, allow_empty)
    if table.n_features != schema.n_features and not (table.schema.names and schema.names):  # otherwise the names give a better error
        raise ValueError(f"X has {table.n_features} features, but {reader or 'Model'} is expecting {schema.n_features} features as input.")
    if reader and schema.names is None and source.has_names:
        warnings.warn(f"X has feature names, but {reader} was fitted without feature names", stacklevel=4)
    return table.match(schema)


def plain_array(X: Any, schema: Schema) -> ArrayTable | None:
    """Return a numeric array as a table if all features are numbers, without further checks; else None. Makes the prediction of a single
    row fast."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "fiub" or X.shape[1] != schema.n_features:
        return None
    return None if schema.kinds or schema.missing_values or not len(X) else ArrayTable(X)


def read_any(X: Any, missing_values: frozenset[Any], sparse_missing: bool, reader: str | None = None, allow_empty: bool = False) -> Table:
    """Return X (or a Source) as a table with its own features. `missing_values` are replaced by missing. With `allow_empty`, X may have no
    rows."""
    source = Source.of(X)
    if isinstance(source.X, StoredTable):
        return source.X
    if source.inspected is not None:
        return StreamTable(source.inspected, missing_values, sparse_missing)
    frame, array = source.frame, source.X
    numbers = frozenset(value for value in missing_values if not isinstance(value, str))
    if frame is not None:
        if 0 in frame.shape[int(allow_empty) :]:
            what = "feature(s)" if frame.shape[1] == 0 else "sample(s)"
            raise ValueError(f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required.")
        table = sparse_frame(frame.to_native(), [column_name(name) for name in frame.columns], numbers)
        return frame_table(frame, missing_values) if table is None else table
    refuse_iterator(array, "X")
    if source.rows is not None:
        return dicts_table(source.rows, missing_values)
    if isinstance(array, np.ma.MaskedArray):
        array = filled(array)
    if sparse.issparse(array):
        array = check_sparse(array)
    if not _is_valid(array) and not (allow_empty and _is_empty(array)):
        own = isinstance(array, np.ndarray) and array.dtype.kind in "OmM" and array.ndim == 2
        dtype = None if own or sparse.issparse(array) else "numeric"
        array = check_array(array, accept_sparse=True, dtype=dtype, ensure_all_finite=False, estimator=reader, input_name="X")
    return SparseTable(array, sparse_missing, numbers) if sparse.issparse(array) else array_table(array, missing_values)


def _is_valid(X: Any) -> bool:
    """Whether X is a numeric table that passes the checks of scikit-learn, which take longer than a small fit."""
    plain = type(X) is np.ndarray or sparse.issparse(X)
    return plain and X.ndim == 2 and X.dtype.kind in "fiub" and min(X.shape) > 0


def _is_empty(X: Any) -> bool:
    """Whether X is a numeric table without rows."""
    return (type(X) is np.ndarray or sparse.issparse(X)) and X.ndim == 2 and X.dtype.kind in "fiub" and X.shape[0] == 0


def filled(X: np.ma.MaskedArray) -> np.ndarray:
    """Return an array with NaN for masked entries."""
    return np.ma.filled(X.astype(np.float64), np.nan)

"""Recognition of streams among the tables of users."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from sapwood.data.streams.base import Stream
from sapwood.data.streams.sources import DatasetStream, FrameStream, LazyFrameStream, SpilledStream, relation_batches

NO_STREAMS = (np.ndarray, Mapping, str, bytes, set, frozenset)


def open_stream(X: Any, folder: str | None = None) -> Stream | None:
    """Return X as a stream; None if it is a table in memory.

    Streams are the results of `sapwood.scan`, data sets and record batch readers of pyarrow, polars' lazy frames, relations of duckdb, and
    iterables of data frames, record batches or arrays. Those that can be read only once are written to a temporary file in `folder`.
    """
    if isinstance(X, Stream):
        return X
    if isinstance(X, NO_STREAMS):
        return None
    library, name = type(X).__module__.partition(".")[0], type(X).__name__
    if library == "polars":
        return LazyFrameStream(X) if name == "LazyFrame" else None
    if name == "DuckDBPyRelation":
        return SpilledStream(relation_batches(X), folder)
    if library == "pyarrow":
        return _open_arrow(X, folder)
    if hasattr(X, "shape") or hasattr(X, "__array__") or not isinstance(X, Iterable):
        return None
    if isinstance(X, Iterator):
        return _open_iterator(X, folder)
    first = X[0] if isinstance(X, list | tuple) and X else next(iter(X), None)
    return FrameStream(X, first) if is_batch(first) else None


def is_stream(X: Any) -> bool:
    """Whether X is a stream. Nothing is read from one that can be read only once."""
    return is_read_once(X) or open_stream(X) is not None


def is_read_once(X: Any) -> bool:
    """Whether X is stored in a file when it is opened, because it can be read only once. An iterator of anything counts."""
    return isinstance(X, Iterator) or type(X).__name__ in ("RecordBatchReader", "DuckDBPyRelation")


def _open_arrow(X: Any, folder: str | None) -> Stream | None:
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(X, datasets.Dataset):
        return DatasetStream(X)
    if isinstance(X, sys.modules["pyarrow"].RecordBatchReader):
        return SpilledStream(iter(X), folder)
    return None


def _open_iterator(X: Iterator[Any], folder: str | None) -> Stream | None:
    """Return a stream of an iterator of tables. The first item of any other iterator is lost: it can be read only once."""
    first = next(X, None)
    return SpilledStream(chain([first], X), folder) if is_batch(first) else None


def is_batch(value: Any) -> bool:
    """Whether a value is a table of rows: a data frame, a record batch, an array of two dimensions or a sparse matrix."""
    if isinstance(value, np.ndarray):
        return value.ndim == 2
    if sparse.issparse(value):
        return True
    module = type(value).__module__.partition(".")[0]
    if module == "pyarrow":
        return type(value).__name__ in ("RecordBatch", "Table")
    return type(value).__name__ == "DataFrame" and hasattr(value, "columns")

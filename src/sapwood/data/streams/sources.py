"""Streams of data sets, queries and iterables of tables."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np
from scipy import sparse

from sapwood.data.streams.base import Stream, batch_rows
from sapwood.data.streams.files import FileStream, require_arrow


class DatasetStream(Stream):
    """Stream of a `pyarrow.dataset.Dataset`."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.names = tuple(dataset.schema.names)
        self.n_columns = len(self.names)

    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        import pyarrow as pa

        wanted = list(self.names or ()) if names is None else list(names)
        options = {"batch_size": self.n_batch_rows, "batch_readahead": 1, "fragment_readahead": 1}
        for batch in self.dataset.to_batches(columns=wanted, **options):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def count(self) -> int | None:
        return int(self.dataset.count_rows())

    def empty(self) -> Any:
        return self.dataset.schema.empty_table()


class LazyFrameStream(Stream):
    """Stream of a polars `LazyFrame`. The query runs once for each pass."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.names = tuple(frame.collect_schema().names())
        self.n_columns = len(self.names)

    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        frame, n = self.frame if names is None else self.frame.select(list(names)), self.n_batch_rows
        if hasattr(frame, "collect_batches"):
            yield from (batch for batch in frame.collect_batches(chunk_size=n, maintain_order=True) if len(batch))
            return
        start = 0
        while len(batch := frame.slice(start, n).collect()):
            start += n
            yield batch

    def count(self) -> int | None:
        import polars as pl

        return int(self.frame.select(pl.len()).collect().item())

    def empty(self) -> Any:
        return self.frame.head(0).collect()


class FrameStream(Stream):
    """Stream of an iterable of tables: data frames, record batches, arrays or sparse matrices. `first` is the first of them."""

    def __init__(self, tables: Iterable[Any], first: Any) -> None:
        self.tables = tables
        self.names = table_names(first)
        self.n_columns = len(self.names) if self.names is not None else first.shape[1]

    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        for table in self.tables:
            if table.shape[0] if hasattr(table, "shape") else table.num_rows:
                yield select_columns(table, self.names, names)

    def count(self) -> int | None:
        if not isinstance(self.tables, list | tuple):
            return None
        return sum(table.shape[0] if hasattr(table, "shape") else table.num_rows for table in self.tables)


class SpilledStream(FileStream):
    """Stream of tables that can be read only once: they are written to temporary files, Arrow streams.

    Parameters
    ----------
    tables : iterator of data frames or record batches
    folder : folder of the files; None for the default of `tempfile`
    """

    def __init__(self, tables: Iterator[Any], folder: str | None = None) -> None:
        self.folder: str = tempfile.mkdtemp(prefix="sapwood-stream-", dir=folder)
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        try:
            self.n_rows, files = spill(tables, self.folder)
            super().__init__([(path, "arrow stream") for path in files])
        except BaseException:
            self._remove()
            raise

    def count(self) -> int | None:
        return self.n_rows


def spill(tables: Iterator[Any], folder: str) -> tuple[int, list[str]]:
    """Write tables to Arrow streams and return the number of rows and the files. An error of the disk names the folder."""
    pa = require_arrow("a stream that can be read only once")
    files: list[str] = []
    n_rows, schema = 0, None
    with ExitStack() as opened:
        try:
            for table in tables:
                for batch in as_record_batches(table):
                    if schema is None or not batch.schema.equals(schema):  # a column without values may have another type
                        schema, path = batch.schema, os.path.join(folder, f"{len(files)}.arrows")
                        files.append(path)
                        opened.close()
                        writer = opened.enter_context(pa.ipc.new_stream(opened.enter_context(pa.OSFile(path, "wb")), schema))
                    writer.write_batch(batch)
                    n_rows += batch.num_rows
            opened.close()
        except OSError as error:
            with suppress(OSError):
                opened.close()
            raise OSError(error.errno, f"cannot store the rows of X: {error.strerror or error}", folder) from error
    if not files:
        raise ValueError("X is a stream without rows")
    return n_rows, files


def relation_batches(relation: Any) -> Iterator[Any]:
    """Yield the record batches of a relation of duckdb. Its query may give another order each time, and blocks the connection."""
    require_arrow("a relation of duckdb")
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    yield from reader(batch_rows(len(relation.columns)))


def as_record_batches(table: Any) -> list[Any]:
    """Return a table of any library as Arrow record batches."""
    pa = require_arrow("a stream that can be read only once")
    if isinstance(table, pa.RecordBatch):
        return [table]
    if type(table).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(table, preserve_index=False).to_batches()
    if isinstance(table, np.ndarray) or sparse.issparse(table):
        raise TypeError("a generator of arrays can be read only once: make a list of it, or give data frames or record batches")
    return pa.table(table).to_batches()


def table_names(table: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame or record batch; None for an array."""
    if isinstance(table, np.ndarray) or sparse.issparse(table):
        return None
    if hasattr(table, "schema") and hasattr(table.schema, "names"):
        names = table.schema.names
        return tuple(names() if callable(names) else names)
    return tuple(table.columns)


def select_columns(table: Any, all_names: tuple[str, ...] | None, names: Sequence[str] | None) -> Any:
    """Return some columns of a data frame or record batch, as a table that can be read."""
    if all_names is None:
        return table
    own, wanted = table_names(table), all_names if names is None else tuple(names)
    if own is None or set(own) != set(all_names):
        raise ValueError(f"all tables of a stream must have the columns of the first one, {list(all_names)}; got {list(own or ())}")
    if type(table).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        return (pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table).select(list(wanted))
    return table if own == wanted else table[list(wanted)]

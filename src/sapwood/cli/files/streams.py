"""Large files as a table that is read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sapwood.cli.errors import CommandError
from sapwood.cli.files.arrow import arrow_schema, parquet_schema, stream_arrow, stream_parquet
from sapwood.cli.files.csv import csv_schemas, stream_csv
from sapwood.cli.files.paths import Reading
from sapwood.data.streams import Stream


class Files(Stream):
    """Rows of files with the same columns, one file after the other. The types of the columns are those that all files have in common.

    The types of CSV files are found in a first pass.
    """

    names: tuple[str, ...]
    n_columns: int
    paths: list[str]
    formats: list[str]
    reading: Reading
    types: dict[str, pa.DataType]

    def __init__(self, paths: Sequence[str], reading: Reading) -> None:
        formats = [reading.format_of(path) for path in paths]
        csv_files = [path for path, format_ in zip(paths, formats, strict=True) if format_ == "csv"]
        of_csv = dict(zip(csv_files, csv_schemas(csv_files, reading), strict=True))
        others: dict[str, Callable[[str], pa.Schema]] = {"parquet": parquet_schema, "arrow": arrow_schema}
        schemas = [of_csv[path] if format_ == "csv" else others[format_](path) for path, format_ in zip(paths, formats, strict=True)]
        self.paths, self.formats, self.reading = list(paths), formats, reading
        self.schema: pa.Schema = _unify(paths, schemas)
        self.types = {field.name: field.type for schema in of_csv.values() for field in schema}
        self.names = tuple(self.schema.names)
        self.n_columns = len(self.names)

    def batches(self, names: Sequence[str] | None) -> Iterator[pa.Table]:
        wanted = list(self.schema.names if names is None else names)
        schema = pa.schema([self.schema.field(name) for name in wanted])
        for path, format_ in zip(self.paths, self.formats, strict=True):
            if format_ == "csv":
                tables = stream_csv(path, self.reading, {name: self.types[name] for name in wanted}, wanted)
            else:
                tables = (stream_parquet if format_ == "parquet" else stream_arrow)(path, wanted)
            for table in tables:
                yield table.select(wanted).cast(schema)

    def empty(self) -> pa.Table:
        return self.schema.empty_table()


class StoredRows(Stream):
    """Some columns and some rows of a stream.

    Parameters
    ----------
    stream : the stream
    names : columns
    rows : (number of rows of the stream,) bool: which rows
    """

    names: tuple[str, ...]
    n_columns: int
    n_rows: int
    stream: Stream
    rows: np.ndarray

    def __init__(self, stream: Stream, names: Sequence[str], rows: np.ndarray) -> None:
        self.stream, self.names, self.rows = stream, tuple(names), rows
        self.n_columns, self.n_rows = len(self.names), int(np.count_nonzero(rows))

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_columns

    def batches(self, names: Sequence[str] | None) -> Iterator[pa.Table]:
        start = 0
        for table in self.stream.batches(list(self.names) if names is None else list(names)):
            own = self.rows[start : start + table.num_rows]
            start += table.num_rows
            if own.any():
                yield table if own.all() else table.filter(pa.array(own))

    def count(self) -> int:
        return self.n_rows

    def empty(self) -> Any:
        return self.stream.empty().select(list(self.names))  # type: ignore[union-attr]

    def take(self, positions: np.ndarray) -> StoredRows:
        """Return the stream of the rows at these positions, in the order of the stream."""
        rows = np.zeros(len(self.rows), dtype=bool)
        rows[np.flatnonzero(self.rows)[positions]] = True
        return StoredRows(self.stream, self.names, rows)

    def head(self, n_rows: int) -> pa.Table:
        """Return the first rows."""
        tables, n_read = [], 0
        for table in self.batches(None):
            tables.append(table.slice(0, n_rows - n_read))
            n_read += tables[-1].num_rows
            if n_read == n_rows:
                break
        return pa.concat_tables(tables)

    def table(self) -> pa.Table:
        """Return all rows, in memory."""
        return pa.concat_tables(self.batches(None))


def _unify(paths: Sequence[str], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the schema of the rows of all files."""
    first = schemas[0].names
    for path, schema in zip(paths, schemas, strict=True):
        if twice := [name for name in schema.names if schema.names.count(name) > 1]:
            raise CommandError(f"{path}: the column {twice[0]!r} occurs twice")
        if different := set(first) ^ set(schema.names):
            name = sorted(different)[0]
            where, other = (path, paths[0]) if name in first else (paths[0], path)
            raise CommandError(f"{where} has no column {name!r}, but {other} has")
    try:
        return pa.unify_schemas([schema.remove_metadata() for schema in schemas], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise CommandError(f"the files have columns of different types: {error}") from None

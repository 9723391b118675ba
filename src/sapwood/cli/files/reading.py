"""Reading of tables from files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from sapwood.cli.errors import CommandError
from sapwood.cli.files.arrow import arrow_columns, parquet_columns, read_arrow, read_parquet
from sapwood.cli.files.csv import csv_columns, read_csv_files
from sapwood.cli.files.paths import Reading, expand
from sapwood.cli.files.sparse import SparseTable, read_svmlight
from sapwood.cli.files.streams import Files

LARGE = 1 << 26  # bytes of files that are read in batches
READERS: dict[str, Callable[[str], pa.Table]] = {"parquet": read_parquet, "arrow": read_arrow}


def read_tables(paths: Sequence[str], reading: Reading, n_columns: int | None = None) -> pa.Table | SparseTable:
    """Read files as one table. Columns are matched by name. `n_columns`: of svmlight files."""
    files = expand(paths)
    formats = {path: reading.format_of(path) for path in files}
    if "svmlight" in formats.values():
        if other := [path for path in files if formats[path] != "svmlight"]:
            raise CommandError(f"{other[0]}: svmlight files cannot be combined with other formats")
        return read_svmlight(files, reading, n_columns)
    csv_files = [path for path in files if formats[path] == "csv"]
    tables = dict(zip(csv_files, read_csv_files(csv_files, reading), strict=True))
    tables |= {path: READERS[formats[path]](path) for path in files if formats[path] != "csv"}
    for path, table in tables.items():
        if twice := [name for name in table.column_names if table.column_names.count(name) > 1]:
            raise CommandError(f"{path}: the column {twice[0]!r} occurs twice")
    ordered = [tables[path] for path in files]
    return ordered[0] if len(ordered) == 1 else _concatenate(files, ordered)


def open_tables(paths: Sequence[str], reading: Reading, n_columns: int | None = None) -> pa.Table | SparseTable | Files:
    """Return files as one table, as `read_tables` does; large files as a table that is read in batches."""
    files = expand(paths)
    is_large = sum(map(os.path.getsize, files)) > LARGE and all(map(os.path.isfile, files))
    if not is_large or "svmlight" in map(reading.format_of, files):
        return read_tables(paths, reading, n_columns)
    return Files(files, reading)


def _concatenate(files: Sequence[str], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of tables with the same columns."""
    first = tables[0].column_names
    for path, table in zip(files, tables, strict=True):
        if different := set(first) ^ set(table.column_names):
            name = sorted(different)[0]
            where, other = (path, files[0]) if name in first else (files[0], path)
            raise CommandError(f"{where} has no column {name!r}, but {other} has")
    try:
        return pa.concat_tables([table.select(first) for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise CommandError(f"the files have columns of different types: {error}") from None


def columns_of(path: str, reading: Reading) -> list[str]:
    """Return the names of the columns of a file, without reading its rows."""
    readers: dict[str, Callable[[str], Any]] = {"parquet": parquet_columns, "arrow": arrow_columns}
    format_ = reading.format_of(path)
    return csv_columns(path, reading) if format_ == "csv" else readers[format_](path)

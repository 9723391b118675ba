"""Writing of tables: CSV on stdout, or files that are complete or not there."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.csv

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import format_by_name
from sapwood.cli.output import plain


class Writer(Protocol):
    """Writes tables with the same columns."""

    def write(self, columns: Mapping[str, Any]) -> None: ...


@contextmanager
def open_writer(path: Path | None, json: bool = False) -> Iterator[Writer]:
    """Open a writer: of CSV, or of JSON lines, on stdout; or of a file, whose name it gets when it is complete."""
    if path is None:
        yield JsonLines() if json else CsvWriter(sys.stdout.buffer)
        sys.stdout.flush()
        return
    format_ = format_by_name(str(path))
    if format_ == "svmlight":
        raise CommandError(f"--output {path}: tables are written as .csv, .parquet or .arrow")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as stream:
            writer = CsvWriter(stream) if format_ == "csv" else ArrowWriter(stream, format_)
            yield writer
            writer.close()
        os.replace(part, path)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


class CsvWriter:
    """CSV. Names and values are quoted if they need it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._begun = stream, False

    def write(self, columns: Mapping[str, Any]) -> None:
        if not self._begun:
            header = io.StringIO()
            csv.writer(header, lineterminator="\n").writerow(columns)
            self._stream.write(header.getvalue().encode())
            self._begun = True
        buffer = io.BytesIO()
        pyarrow.csv.write_csv(pa.table(dict(columns)), buffer, pyarrow.csv.WriteOptions(include_header=False))
        self._stream.write(buffer.getbuffer())

    def close(self) -> None:
        """End the file; there is nothing to do."""


class JsonLines:
    """JSON lines on stdout: one object per row."""

    def write(self, columns: Mapping[str, Any]) -> None:
        table = pa.table(dict(columns))
        for row in table.to_pylist():
            sys.stdout.write(json.dumps(plain(row), ensure_ascii=False, allow_nan=False) + "\n")


class ArrowWriter:
    """Parquet or Arrow file."""

    def __init__(self, stream: BinaryIO, format: str) -> None:
        self._stream, self._format = stream, format
        self._writer: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        table = pa.table(dict(columns))
        if self._writer is None:
            from pyarrow import parquet

            open_file = parquet.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
            self._writer = open_file(self._stream, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is None:
            raise CommandError("there are no rows to write")
        self._writer.close()

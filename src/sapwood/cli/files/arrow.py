"""Parquet and Arrow files."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import STDIN

ROWS = 1 << 16  # of a batch


def read_parquet(path: str) -> pa.Table:
    from pyarrow import parquet

    try:
        return parquet.read_table(_source(path))
    except pa.ArrowInvalid as error:
        raise CommandError(f"{path}: not a Parquet file: {error}") from None


def read_arrow(path: str) -> pa.Table:
    with _open_arrow(path) as reader:
        return reader.read_all()


def stream_parquet(path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(_source(path)) as file:
            for batch in file.iter_batches(ROWS, columns=list(columns)):
                yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        raise CommandError(f"{path}: not a Parquet file: {error}") from None


def stream_arrow(path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    with _open_arrow(path) as reader:
        batches = reader if isinstance(reader, pa.RecordBatchStreamReader) else map(reader.get_batch, range(reader.num_record_batches))
        for batch in batches:
            yield pa.Table.from_batches([batch]).select(list(columns))


def parquet_columns(path: str) -> list[str]:
    return list(parquet_schema(path).names)


def parquet_schema(path: str) -> pa.Schema:
    from pyarrow import parquet

    try:
        return parquet.read_schema(path)
    except pa.ArrowInvalid as error:
        raise CommandError(f"{path}: not a Parquet file: {error}") from None


def arrow_columns(path: str) -> list[str]:
    return list(arrow_schema(path).names)


def arrow_schema(path: str) -> pa.Schema:
    with _open_arrow(path) as reader:
        return reader.schema


def _open_arrow(path: str) -> Any:
    """Open an Arrow file (Feather) or an Arrow stream."""
    source = _source(path)
    if path != STDIN:
        try:
            return pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source = pa.OSFile(path, "rb")
    try:
        return pa.ipc.open_stream(source)
    except pa.ArrowInvalid as error:
        raise CommandError(f"{path}: not an Arrow file or stream: {error}") from None


def _source(path: str) -> Any:
    return pa.BufferReader(sys.stdin.buffer.read()) if path == STDIN else path

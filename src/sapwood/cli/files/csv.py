"""CSV files, read by Arrow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import STDIN, Reading

BLOCK, STREAM_BLOCK = 1 << 24, 1 << 22  # bytes that are parsed at once; a line must be shorter
KINDS = [  # of values, in the order in which Arrow tries them
    pa.null(), pa.int64(), pa.bool_(), pa.float64(), pa.date32(), pa.time32("s"), pa.timestamp("s"), pa.timestamp("ns"), pa.string(),
]  # fmt: skip
_CONVERSION = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+).*?: invalid value '(.*?)'")


def read_csv_files(paths: Sequence[str], reading: Reading) -> list[pa.Table]:
    """Read CSV files. A column whose types differ between files is read as numbers if all are numbers, and as text otherwise."""
    tables = [_read(path, reading, {}) for path in paths]
    types: dict[str, pa.DataType] = {}
    for table in tables:
        for field in table.schema:
            known = types.setdefault(field.name, field.type)
            types[field.name] = _common(known, field.type)
    for index, table in enumerate(tables):
        different = {field.name: types[field.name] for field in table.schema if field.type != types[field.name]}
        if not different:
            continue
        if paths[index] == STDIN or any(pa.types.is_string(type_) for type_ in different.values()):
            if paths[index] == STDIN:
                name = next(iter(different))
                raise CommandError(f"the column {name!r} has other types in stdin than in the files: write stdin to a file first")
            tables[index] = _read(paths[index], reading, different)
        else:
            tables[index] = table.cast(pa.schema([field.with_type(types[field.name]) for field in table.schema]))
    return tables


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type of a column whose values have two types."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    numbers = all(pa.types.is_integer(type_) or pa.types.is_floating(type_) for type_ in (one, other))
    times = all(pa.types.is_timestamp(type_) or pa.types.is_date(type_) for type_ in (one, other))
    return pa.float64() if numbers else pa.timestamp("ns") if times else pa.string()


def _read(path: str, reading: Reading, types: Mapping[str, pa.DataType]) -> pa.Table:
    try:
        return csv.read_csv(_source(path), *_options(path, reading, types))
    except pa.ArrowInvalid as error:
        raise CommandError(_explain(path, reading, error)) from None


def stream_csv(path: str, reading: Reading, types: Mapping[str, pa.DataType], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield tables of some rows each, with the given types."""
    read, parse, convert = _options(path, reading, types, columns)
    read.block_size = STREAM_BLOCK
    try:
        with csv.open_csv(_source(path), read, parse, convert) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
    except pa.ArrowInvalid as error:
        raise CommandError(_explain(path, reading, error)) from None
    except pa.ArrowKeyError as error:
        raise CommandError(f"{path}: {error}") from None


def csv_schemas(paths: Sequence[str], reading: Reading) -> list[pa.Schema]:
    """Return the names and the types of the columns of each file, in a pass over all rows in batches.

    The types are those of `csv.read_csv`: the first kind of value, in the order of KINDS, that all values of a column have, in all files.
    """
    types: dict[str, pa.DataType] = {}
    while True:
        try:
            return _schemas_with(paths, reading, types)
        except _OtherKind as found:
            types[found.name] = KINDS[KINDS.index(found.type) + 1]


class _OtherKind(Exception):
    """A value of a column does not have the type that the column has so far."""

    def __init__(self, name: str, type: pa.DataType) -> None:
        super().__init__(name)
        self.name, self.type = name, type


def _schemas_with(paths: Sequence[str], reading: Reading, types: dict[str, pa.DataType]) -> list[pa.Schema]:
    """Return the schema of each file; those types that are not given are added. Raises _OtherKind."""
    names: list[list[str]] = []
    for path in paths:
        read, parse, convert = _options(path, reading, types)
        read.block_size = STREAM_BLOCK
        schema = None
        try:
            with csv.open_csv(path, read, parse, convert) as reader:
                schema = reader.schema
                names.append(schema.names)
                for field in schema:
                    types.setdefault(field.name, field.type)
                for _ in reader:
                    pass
        except pa.ArrowInvalid as error:
            found = _CONVERSION.search(str(error))
            if found is None:
                raise CommandError(_explain(path, reading, error)) from None
            name = (schema.names if schema is not None else _header(path, reading))[int(found[1])]
            raise _OtherKind(name, types[name]) from None
    return [pa.schema([(name, types[name]) for name in own]) for own in names]


def _header(path: str, reading: Reading) -> list[str]:
    """Return the names of the columns without converting values."""
    read, parse, _ = _options(path, reading, {})
    read.block_size = STREAM_BLOCK
    with csv.open_csv(path, read, parse) as reader:
        return list(reader.schema.names)


def csv_columns(path: str, reading: Reading) -> list[str]:
    """Return the names of the columns."""
    try:
        with csv.open_csv(_source(path), *_options(path, reading, {})) as reader:
            return list(reader.schema.names)
    except pa.ArrowInvalid as error:
        raise CommandError(_explain(path, reading, error)) from None


def _source(path: str) -> Any:
    return sys.stdin.buffer if path == STDIN else path


def _options(
    path: str, reading: Reading, types: Mapping[str, pa.DataType], columns: Sequence[str] | None = None
) -> tuple[csv.ReadOptions, csv.ParseOptions, csv.ConvertOptions]:
    delimiter = reading.delimiter or ("\t" if ".tsv" in Path(path).suffixes else ",")
    if len(delimiter) != 1:
        raise CommandError(f"--delimiter must be one character; got {delimiter!r}")
    nulls = [*csv.ConvertOptions().null_values, *(reading.null or [])]
    convert = csv.ConvertOptions(
        column_types=dict(types), null_values=nulls, strings_can_be_null=True, include_columns=None if columns is None else list(columns)
    )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    return csv.ReadOptions(block_size=BLOCK), parse, convert


def _explain(path: str, reading: Reading, error: pa.ArrowInvalid) -> str:
    """Return the message of an error with the file, and the line or the column."""
    text, name = str(error), "stdin" if path == STDIN else path
    if "Expected" in text and "columns, got" in text:
        return f"{name}: {_broken_line(path, reading) or text.partition(':')[2].strip()}"
    if found := _CONVERSION.search(text):
        column = f"column {int(found[1]) + 1}"
        if path != STDIN:
            names = csv_columns(path, reading)
            column = f"the column {names[int(found[1])]!r}"
        return f"{name}: {column} must be {found[3]}; got {found[4]!r}"
    if "Empty CSV file" in text:
        return f"{name}: the file is empty"
    return f"{name}: {text}"


def _broken_line(path: str, reading: Reading) -> str | None:
    """Return where a line has too many or too few values; None for stdin, which cannot be read again."""
    if path == STDIN:
        return None
    broken: list[Any] = []
    read, parse, convert = _options(path, reading, {})

    def remember(row: Any) -> str:
        broken.append(row)
        return "error"

    parse.invalid_row_handler = remember
    read.use_threads = False
    with suppress(pa.ArrowInvalid):
        csv.read_csv(path, read, parse, convert)
    if not broken:
        return None
    row = broken[0]
    text = row.text if len(row.text) <= 60 else row.text[:57] + "..."
    return f"line {row.number} has {row.actual_columns} values, but the header has {row.expected_columns} columns: {text!r}"

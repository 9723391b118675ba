"""Streams of Parquet, CSV and Arrow files."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sapwood.data.streams.base import Stream

Path = str | os.PathLike[str]
SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow stream",
}
BUFFER_BYTES = 1 << 20  # of a column of a Parquet file


def scan(files: Path | Iterable[Path], *, format: str | None = None) -> FileStream:
    """Return a table of files that is read in batches: X of `fit`, `predict` and of evaluation sets, for data larger than memory.

    Files are read in the given order; those of a pattern or a folder in the order of their names. All must have the same columns.
    Needs pyarrow (extra "arrow").

    Parameters
    ----------
    files : path, pattern such as "folder/*.parquet", folder, or list of these
    format : {"parquet", "csv", "arrow"}, optional
        None: by the end of the file names.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> import sapwood
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for part in range(3):
    ...     pd.DataFrame({"x": range(100), "y": range(100)}).to_parquet(folder / f"{part}.parquet")
    >>> model = sapwood.BoostingRegressor().fit(sapwood.scan(folder / "*.parquet"), "y")
    >>> sum(len(batch) for batch in model.predict(sapwood.scan(folder)))
    300
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is unknown; choose from {', '.join(map(repr, FORMATS))}")
    paths = [path for item in ([files] if isinstance(files, str | os.PathLike) else files) for path in _expand(os.fspath(item))]
    if not paths:
        raise FileNotFoundError("scan got an empty list of files")
    return FileStream([(path, format or _format_of(path)) for path in paths])


def _expand(pattern: str) -> list[str]:
    """Return the files of a path, pattern or folder."""
    if os.path.isdir(pattern):
        found = [entry.path for entry in os.scandir(pattern) if entry.is_file() and _suffix(entry.name)]
    elif os.path.exists(pattern):
        return [pattern]
    else:
        found = [path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    if not found:
        raise FileNotFoundError(f"no file matches {pattern!r}")
    return sorted(found)


def _suffix(path: str) -> str | None:
    return next((suffix for suffix in SUFFIXES if path.lower().endswith(suffix)), None)


def _format_of(path: str) -> str:
    suffix = _suffix(path)
    if suffix is None:
        raise ValueError(f"the format of {path!r} is not known by its name: give format='parquet', 'csv' or 'arrow'")
    return SUFFIXES[suffix]


def require_arrow(what: str) -> Any:
    """Return the module pyarrow. Raises ImportError that names the extra."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"{what} needs pyarrow: pip install 'sapwood[arrow]'") from None
    return pyarrow


class FileStream(Stream):
    """Files of the same columns, read one after the other. Create it with `sapwood.scan`."""

    def __init__(self, files: Sequence[tuple[str, str]]) -> None:
        require_arrow("reading files")
        self.files: list[tuple[str, str]] = list(files)
        self.schema: Any = self._format(0).schema(self.files[0][0])
        self.names = tuple(self.schema.names)
        self.n_columns = len(self.names)
        self._columns: dict[str, None] = dict.fromkeys(self.names)

    def __repr__(self) -> str:
        first, more = self.files[0][0], len(self.files) - 1
        return f"FileStream({first!r}{f' and {more} more' if more else ''})"

    def _format(self, file: int) -> FileFormat:
        return FORMATS[self.files[file][1]]

    def batches(self, names: Sequence[str] | None) -> Iterator[Any]:
        import pyarrow as pa

        wanted = list(self.names or ()) if names is None else list(names)
        for i, (path, _) in enumerate(self.files):
            if i:
                self._check_columns(path, self._format(i).schema(path))
            for batch in self._format(i).read(path, wanted, self.n_batch_rows, self.schema):
                yield pa.Table.from_batches([batch]).select(wanted)

    def _check_columns(self, path: str, schema: Any) -> None:
        if set(schema.names) != set(self._columns):
            different = sorted(set(schema.names) ^ set(self._columns))
            raise ValueError(
                f"{path!r} and {self.files[0][0]!r} must have the same columns; only one has {', '.join(map(repr, different))}"
            )

    def count(self) -> int | None:
        for i, (path, _) in enumerate(self.files[1:], 1):
            self._check_columns(path, self._format(i).schema(path))
        counts = [self._format(i).count(path) for i, (path, _) in enumerate(self.files)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def empty(self) -> Any | None:
        return self.schema.empty_table()


@dataclass(frozen=True)
class FileFormat:
    """Functions that read a format.

    Attributes
    ----------
    schema : path -> Arrow schema
    count : path -> number of rows; None if that takes as long as reading them
    read : (path, columns, rows of a batch, schema of the first file) -> record batches
    """

    schema: Callable[[str], Any]
    count: Callable[[str], int | None]
    read: Callable[[str, list[str], int, Any], Iterator[Any]]


def _open_parquet(path: str) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES)


def _parquet_schema(path: str) -> Any:
    with _open_parquet(path) as file:
        return file.schema_arrow


def _parquet_count(path: str) -> int:
    with _open_parquet(path) as file:
        return file.metadata.num_rows


def _read_parquet(path: str, columns: list[str], n_rows: int, schema: Any) -> Iterator[Any]:
    with _open_parquet(path) as file:
        yield from file.iter_batches(batch_size=n_rows, columns=columns, use_threads=False)


def _csv_schema(path: str) -> Any:
    import pyarrow.csv as pc

    with pc.open_csv(path) as reader:
        return reader.schema


def _read_csv(path: str, columns: list[str], n_rows: int, schema: Any) -> Iterator[Any]:
    import pyarrow.csv as pc

    options = pc.ConvertOptions(include_columns=columns, column_types={name: schema.field(name).type for name in columns})
    with pc.open_csv(path, convert_options=options) as reader:
        for batch in reader:
            yield from _slices(batch, n_rows)


def _arrow_schema(path: str) -> Any:
    import pyarrow as pa

    with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def _arrow_count(path: str) -> int | None:
    import pyarrow as pa

    with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
        return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))


def _read_arrow(path: str, columns: list[str], n_rows: int, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(path) as file, pa.ipc.open_file(file) as reader:
        for i in range(reader.num_record_batches):
            yield from _slices(reader.get_batch(i).select(columns), n_rows)


def _stream_schema(path: str) -> Any:
    import pyarrow as pa

    with pa.OSFile(path) as file, pa.ipc.open_stream(file) as reader:
        return reader.schema


def _read_stream(path: str, columns: list[str], n_rows: int, schema: Any) -> Iterator[Any]:
    import pyarrow as pa

    with pa.OSFile(path) as file, pa.ipc.open_stream(file) as reader:
        for batch in reader:
            yield from _slices(batch.select(columns), n_rows)


def _slices(batch: Any, n_rows: int) -> Iterator[Any]:
    """Yield the rows of a record batch in batches of at most n_rows."""
    for start in range(0, batch.num_rows, n_rows):
        yield batch.slice(start, n_rows)


FORMATS = {
    "parquet": FileFormat(_parquet_schema, _parquet_count, _read_parquet),
    "csv": FileFormat(_csv_schema, lambda path: None, _read_csv),
    "arrow": FileFormat(_arrow_schema, _arrow_count, _read_arrow),
    "arrow stream": FileFormat(_stream_schema, lambda path: None, _read_stream),
}

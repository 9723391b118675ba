"""Batches of the rows of files, for prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from sapwood.cli.errors import CommandError
from sapwood.cli.files.arrow import stream_arrow, stream_parquet
from sapwood.cli.files.csv import stream_csv
from sapwood.cli.files.paths import STDIN, Reading, expand
from sapwood.cli.files.reading import columns_of
from sapwood.cli.files.sparse import read_svmlight
from sapwood.cli.models import feature_names
from sapwood.data.columns import Kind


def batches(paths: Sequence[str], reading: Reading, estimator: Any, others: Sequence[str]) -> Iterator[tuple[Any, pa.Table | None]]:
    """Yield the features of some rows, and a table of other columns (None for svmlight files)."""
    names, schema = feature_names(estimator), estimator.model_.schema
    files = expand(paths)
    for path in files:
        format_ = reading.format_of(path)
        if format_ == "svmlight":
            yield read_svmlight([path], reading, estimator.n_features_in_).X, None
            continue
        own = names if names is not None else _by_position(path, reading, estimator)
        wanted = list(dict.fromkeys([*own, *others]))
        if path != STDIN:
            _check_columns(path, columns_of(path, reading), wanted)
        if format_ == "csv":
            types = {name: type_ for k, name in enumerate(own) if (type_ := _type(schema.kind(k))) is not None}
            tables = stream_csv(path, reading, types, wanted)
        else:
            tables = (stream_parquet if format_ == "parquet" else stream_arrow)(path, wanted)
        for table in tables:
            X: Any = table.select(own)
            yield X if names is not None else _matrix(X), table.select(list(others))


def _check_columns(path: str, known: Sequence[str], wanted: Sequence[str]) -> None:
    if missing := [name for name in wanted if name not in known]:
        listed = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
        raise CommandError(f"{path} has no column {missing[0]!r}; its columns are {listed}")


def _by_position(path: str, reading: Reading, estimator: Any) -> list[str]:
    """Return the columns of a file for a model that knows no names."""
    if path == STDIN:
        raise CommandError("the model has no column names: columns of stdin cannot be matched; write them to a file")
    known = columns_of(path, reading)
    if len(known) != estimator.n_features_in_:
        raise CommandError(f"{path} has {len(known)} columns, but the model needs {estimator.n_features_in_} (by position)")
    return known


def _matrix(table: pa.Table) -> Any:
    import numpy as np

    return np.column_stack([column.cast(pa.float64()).to_numpy() for column in table.columns])


def _type(kind: Kind) -> pa.DataType | None:
    """Return the type of a column in CSV files; None to infer it."""
    if kind.is_category:
        if kind.level_type is str:
            return pa.string()
        return pa.float64() if kind.level_type is float else None
    times = pa.timestamp("us", kind.zone) if kind.name == "datetime" else None
    return {"number": pa.float64(), "bool": pa.bool_()}.get(kind.name, times)

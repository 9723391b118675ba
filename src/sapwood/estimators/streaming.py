"""Streams as X: what cannot be combined with them, and predictions in batches."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sapwood.data.named_columns import take_columns
from sapwood.data.streams import Stream, is_stream, open_stream
from sapwood.data.streams.files import require_arrow
from sapwood.data.tables import match_names
from sapwood.estimators.inputs import FitCall
from sapwood.estimators.saving import SavedEstimator
from sapwood.model import Model
from sapwood.params.signatures import CommonParameters

Path = str | os.PathLike[str]


def check_streams(p: CommonParameters, call: FitCall) -> None:
    """Raise a ValueError for parameters that cannot be combined with a stream, before it is read."""
    reasons = {
        f"tree_method={p.tree_method!r}": (
            p.tree_method in ("exact", "approx"),
            "sorting needs all rows in memory; use tree_method='hist'",
        ),
        f"max_bins={p.max_bins!r}": (
            isinstance(p.max_bins, int) and p.max_bins > 255,
            "a page stores a bin in a byte; use at most 255",
        ),
        f"init={p.init!r}": (not _predicts_streams(p.init), "it must be fitted, and a Sapwood model or estimator; give an offset instead"),
    }
    for what, (clash, reason) in reasons.items():
        if clash and any(is_stream(inputs.X) for inputs in (call.train, call.validation)):
            raise ValueError(f"{what} cannot be combined with a stream as X: {reason}")


def _predicts_streams(init: Any) -> bool:
    if init is None or isinstance(init, Model):
        return True
    try:
        check_is_fitted(init)
    except NotFittedError:
        return False
    return isinstance(init, SavedEstimator)


def prediction_names(n: int) -> list[str]:
    """Return the names of the columns of n predictions of a row."""
    return ["prediction"] if n == 1 else [f"prediction_{k}" for k in range(n)]


def predict_in_batches(
    predict: Callable[[Any, Any], np.ndarray],
    X: Any,
    offset: Any,
    path: Path | None,
    columns: list[str] | None,
    names: Callable[[int], list[str]],
) -> Any:
    """Return the predictions of a table, or an iterator over those of the batches of a stream. With a path, write them to a Parquet file.

    Parameters
    ----------
    predict : function (table, offset) -> array of shape (n_rows,) or (n_rows, n_outputs)
    offset : one value for each row of X, or the name of a column of a stream
    columns : columns that the model uses; None if they have no names. Other columns of a stream are not read
    names : function (number of outputs) -> names of the columns of the file
    """
    stream = open_stream(X)
    if stream is None and path is None:
        return predict(X, offset)
    predicted = iter([predict(X, offset)]) if stream is None else _batches(predict, stream, offset, columns)
    return predicted if path is None else write_parquet(predicted, path, names)


def _batches(predict: Callable[[Any, Any], np.ndarray], stream: Stream, offset: Any, columns: list[str] | None) -> Iterator[np.ndarray]:
    start, wanted = 0, None
    if stream.names is not None and columns is not None:
        match_names([name for name in stream.names if name in set(columns)], columns)
        wanted = columns + ([offset] if isinstance(offset, str) else [])
    for batch in stream.batches(wanted):
        n_rows = batch.shape[0]
        if isinstance(offset, str):
            batch, values = take_columns(batch, {"offset": offset})
            own = values["offset"]
        else:
            own = offset if offset is None else np.asarray(offset)[start : start + n_rows]
        yield predict(batch, own)
        start += n_rows


def write_parquet(predicted: Iterator[np.ndarray], path: Path, names: Callable[[int], list[str]]) -> None:
    """Write predictions to a Parquet file. It appears when it is complete; an error or interrupt leaves no file behind."""
    pa = require_arrow("writing predictions to a file")
    import pyarrow.parquet as pq

    path = os.fspath(path)
    beside, writer = f"{path}.{secrets.token_hex(4)}.part", None
    try:
        for values in predicted:
            columns = list(values.T) if values.ndim == 2 else [values]
            table = pa.table(dict(zip(names(len(columns)), columns, strict=True)))
            writer = writer or pq.ParquetWriter(beside, table.schema)
            writer.write_table(table)
        if writer is None:
            raise ValueError("X is a stream without rows")
        writer.close()
        os.replace(beside, path)
    except OSError as error:
        raise OSError(error.errno, f"cannot write the predictions: {error.strerror or error}", path) from error
    finally:
        with suppress(Exception):
            if writer is not None:
                writer.close()
        with suppress(FileNotFoundError):
            os.unlink(beside)

"""Dask collections: as lists of pieces, and as results of predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Future

from sapwood.cluster.rows import ParquetFile

EXPECTED = "a Dask DataFrame, Series or Array, a list of Delayed or Future objects, or a list of paths of Parquet files"


def is_collection(value: Any) -> bool:
    """Whether a value is a Dask collection, or a list of delayed tables, futures or files."""
    if isinstance(value, da.Array | dd.DataFrame | dd.Series | Delayed | Future):
        return True
    return (
        isinstance(value, list | tuple) and bool(value) and (_are_paths(value) or all(isinstance(one, Delayed | Future) for one in value))
    )


def _are_paths(value: Sequence[Any]) -> bool:
    return all(isinstance(one, str | PathLike) for one in value)


def split(collections: dict[str, Any], suffix: str) -> dict[str, list[Any]]:
    """Return the pieces of the collections of a data set: Delayed, Future or ParquetFile objects."""
    table = collections["X"]
    if isinstance(table, da.Array):
        if table.ndim != 2:
            raise ValueError(f"X{suffix} must have two dimensions; got {table.ndim}")
        table = collections["X"] = table.rechunk({1: -1})
        for name, other in collections.items():
            if isinstance(other, da.Array) and not np.isnan([*table.chunks[0], *other.chunks[0]]).any():
                collections[name] = other.rechunk({0: table.chunks[0], **({1: -1} if other.ndim > 1 else {})})
    return {name: pieces(value, f"{name}{suffix}") for name, value in collections.items()}


def pieces(value: Any, name: str) -> list[Any]:
    """Return the pieces of a collection, in the order of the rows."""
    if isinstance(value, da.Array):
        return list(value.to_delayed().ravel())
    if isinstance(value, dd.DataFrame | dd.Series):
        return list(value.to_delayed())
    if isinstance(value, Delayed | Future):
        return [value]
    if not is_collection(value):
        raise TypeError(f"{name} must be {EXPECTED}; got {type(value).__name__}")
    return [ParquetFile(fspath(one)) for one in value] if _are_paths(value) else list(value)


def predict_lazily(predict: Callable[..., np.ndarray], sample: np.ndarray, X: Any, offset: Any = None) -> da.Array:
    """Return the predictions of each piece of a collection as a lazy array, with the type and the columns of `sample`."""
    run, model = delayed(_predict), delayed(predict)
    tables = pieces(X.rechunk({1: -1}) if isinstance(X, da.Array) else X, "X")
    offsets = [None] * len(tables) if offset is None else pieces(offset, "offset")
    parts = [run(model, *pair) for pair in zip(tables, offsets, strict=True)]
    lengths = X.chunks[0] if isinstance(X, da.Array) else [np.nan] * len(parts)
    blocks = [da.from_delayed(part, (length, *sample.shape[1:]), sample.dtype) for part, length in zip(parts, lengths, strict=True)]
    return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)


def _predict(predict: Callable[..., np.ndarray], piece: Any, offset: Any) -> np.ndarray:
    return predict(piece.read() if isinstance(piece, ParquetFile) else piece, offset)

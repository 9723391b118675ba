"""Ray collections: as lists of pieces, and as results of predictions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
import ray

from sapwood.cluster.rows import LazyPiece, ParquetFile
from sapwood.ray.engine import RayBlock

if TYPE_CHECKING:
    import ray.data

PREDICTIONS = "predictions"  # column of the predictions of a Dataset
EXPECTED = "a ray.data.Dataset, a list of paths of Parquet files, or a list of references to tables in Ray's object store"


def is_dataset(value: Any) -> bool:
    """Whether a value is a Ray Dataset. Does not import Ray Data: workers have no use for it."""
    data = sys.modules.get("ray.data")
    return data is not None and isinstance(value, data.Dataset)


def is_collection(value: Any) -> bool:
    """Whether a value is a Ray Dataset, or a list of files or references."""
    if is_dataset(value):
        return True
    kinds = (str, PathLike), (ray.ObjectRef,)
    return isinstance(value, list) and bool(value) and any(all(isinstance(one, kind) for one in value) for kind in kinds)


def split(collections: dict[str, Any], suffix: str) -> dict[str, list[Any]]:
    """Return the pieces of the collections of a data set: RayBlock or ParquetFile objects."""
    return {name: pieces(value, f"{name}{suffix}") for name, value in collections.items()}


def pieces(value: Any, name: str) -> list[LazyPiece]:
    """Return the pieces of a collection, in the order of the rows."""
    if not is_collection(value):
        raise TypeError(f"{name} must be {EXPECTED}; got {type(value).__name__}")
    if is_dataset(value):
        with _in_order(value):
            return [RayBlock(ref) for ref in value.to_arrow_refs()]
    return [RayBlock(one) if isinstance(one, ray.ObjectRef) else ParquetFile(fspath(one)) for one in value]


@contextmanager
def _in_order(dataset: ray.data.Dataset) -> Iterator[None]:
    """Let Ray Data keep the order of blocks: by default, blocks are in the order in which they were computed."""
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        yield
    finally:
        options.preserve_order = before


def predict_lazily(predict: Callable[..., np.ndarray], X: Any, offset: Any = None) -> Any:
    """Return the predictions of a collection: a Dataset with the column "predictions"; for a list of references, a list of references."""
    if is_dataset(X):
        return X.map_batches(_BatchPredictor(predict, offset), batch_format="pyarrow", batch_size=None)
    run, model = ray.remote(_predict), ray.put(predict)
    offsets = [None] * len(X) if offset is None else pieces(offset, "offset")
    return [run.remote(model, *pair) for pair in zip(pieces(X, "X"), offsets, strict=True)]


def _predict(predict: Callable[..., np.ndarray], piece: LazyPiece, offset: LazyPiece | None) -> np.ndarray:
    return predict(piece.read(), None if offset is None else offset.read())


class _BatchPredictor:
    """Function of a batch of a Dataset. The offset is the name of a column."""

    def __init__(self, predict: Callable[..., np.ndarray], offset: str | None) -> None:
        self.predict, self.offset = predict, offset

    def __call__(self, batch: Any) -> dict[str, np.ndarray]:
        offset = None if self.offset is None else batch[self.offset].to_numpy()
        return {PREDICTIONS: self.predict(batch, offset)}

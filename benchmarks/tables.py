"""Real tables as float32 matrices, from a folder whose `tables.py` has `load(name) -> frame, target, info`."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sapwood.data.queries import Queries


def has_tables(folder: Path) -> bool:
    return (folder / "tables.py").is_file()


def load_covtype(folder: Path, two_classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return X (581012, 54) float32 and y: the seven classes from 0 on, or the second class against the rest."""
    X, y = _load(folder, "covtype")
    return X, (y == 2).astype(np.int64) if two_classes else y.astype(np.int64) - 1


def load_classes(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X float32, with codes of categories, and y: classes from 0 on."""
    X, y = _load(folder, name)
    return X, np.unique(y, return_inverse=True)[1].astype(np.int64)


def load_outputs(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X float32, y with several columns, and a mask of the test rows."""
    frame, y, info = load_frame(folder, name)
    return frame.to_numpy(dtype=np.float32), y.to_numpy(dtype=np.float64), np.asarray(info["split"]) == "test"


def load_flights(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return X (3000000, 7) float32, with codes of airports, and y: the delay in minutes."""
    X, y = _load(folder, "flights_3m")
    return X, y.astype(np.float64)


def load_survival(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X float32, with codes of categories, and y: times, negative if censored."""
    X, y = _load(folder, name)
    return X, np.where(y[:, 1] > 0, y[:, 0], -y[:, 0]).astype(np.float64)


def load_queries(folder: Path) -> tuple[np.ndarray, np.ndarray, Queries]:
    """Return the ranking table: X float32, relevances, and queries. Both of its files have a query 1."""
    frame, y, info = load_frame(folder, "lambdarank_lgb")
    names = np.array([f"{part} {query}" for part, query in zip(info["split"], info["group"], strict=True)])
    return frame.to_numpy(dtype=np.float32), np.asarray(y).astype(np.int64), Queries.from_qid(names, len(names))


@lru_cache(maxsize=1)  # one at a time: they are large
def _load(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    frame, y, info = load_frame(folder, name)
    X = np.empty(frame.shape, dtype=np.float32)
    for i, column in enumerate(frame):
        X[:, i] = frame[column].cat.codes if column in info["cat"] else frame[column]
    return X, np.asarray(y)


def load_frame(folder: Path, name: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return the unchanged table: frame, target and information."""
    spec = importlib.util.spec_from_file_location("tables_of_folder", folder / "tables.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(name)

"""Which rows train and which test: seeded, stratified for classes, whole queries for ranking.

The training rows of a smaller size are the first ones of the larger; the test rows are the same for all sizes.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.quality.tables import Table
from benchmarks.quality.tasks import CLASSES, RANKING

FULL = "full"
SIZES = ("500", "2000", FULL)
MOST_TRAIN = MOST_TEST = 30_000
TRAIN_FRACTION = 0.75  # of tables with fewer rows than both together
LEAST_RATIO = 1.25  # of the full size to a cut one: otherwise the cut one says nothing new


@dataclass(frozen=True)
class Split:
    train: Table
    test: Table


def draw(table: Table, size: str, split: int) -> Split:
    """The rows of one split, the training rows cut to a size."""
    rng = np.random.default_rng([zlib.crc32(table.name.encode()), split])
    n_rows = len(table.y)
    n_full = full_size(n_rows)
    n_train = n_full if size == FULL else min(int(size), n_full)
    if table.task == RANKING:
        train, test = _whole_queries(table, n_full, n_train, rng)
    else:
        order = _stratified(table.y, rng) if table.task in CLASSES else rng.permutation(n_rows)
        train, test = order[:n_train], order[n_full : n_full + MOST_TEST]
    return _known_classes(table.take(train), table.take(test)) if table.task in CLASSES else Split(table.take(train), table.take(test))


def full_size(n_rows: int) -> int:
    return min(MOST_TRAIN, int(TRAIN_FRACTION * n_rows))


def sizes_of(n_rows: int, sizes: tuple[str, ...] = SIZES) -> list[str]:
    """Of the sizes, those that a table of so many rows has."""
    return [size for size in sizes if size == FULL or LEAST_RATIO * int(size) <= full_size(n_rows)]


def _stratified(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An order of the rows in which every stretch has the classes in their proportions, to about a row."""
    order = rng.permutation(len(y))
    place = np.empty(len(y))
    for label in np.unique(y):
        rows = order[y[order] == label]
        place[rows] = (np.arange(len(rows)) + rng.random()) / len(rows)
    return np.argsort(place, kind="stable")


def _whole_queries(table: Table, n_full: int, n_train: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    assert table.query is not None
    sizes = np.bincount(table.query)
    queries = rng.permutation(np.flatnonzero(sizes))
    before = np.cumsum(sizes[queries]) - sizes[queries]  # rows of the queries that come first
    train = queries[before + sizes[queries] <= n_train]
    test = queries[(before >= n_full) & (before < n_full + MOST_TEST)]
    return _rows_of(table.query, train), _rows_of(table.query, test)


def _rows_of(query: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(np.isin(query, chosen))
    return rows[np.argsort(query[rows], kind="stable")]


def _known_classes(train: Table, test: Table) -> Split:
    """Without test rows of classes that no training row has, and the classes numbered anew."""
    classes, y = np.unique(train.y, return_inverse=True)
    test = test.take(np.flatnonzero(np.isin(test.y, classes)))
    return Split(replace(train, y=y.astype(np.int64)), replace(test, y=np.searchsorted(classes, test.y)))

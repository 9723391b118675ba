"""Workloads: each draws training and test rows from a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification

from benchmarks.higgs import make_higgs
from benchmarks.images import make_images
from benchmarks.tables import has_tables, load_covtype, load_flights

FEWEST_ROWS = 200  # minimum after scaling down


@dataclass(frozen=True)
class Split:
    X: np.ndarray  # (n_rows, n_features) float32
    y: np.ndarray  # (n_rows,) int64 classes from 0, or float64
    X_test: np.ndarray
    y_test: np.ndarray


Source = Callable[[int, int, int], Split]  # seed, n_train, n_test -> rows


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    task: str  # "binary", "multiclass" or "regression"
    n_train: int
    n_test: int
    source: Source
    tiny: bool = False  # a fit takes well under a second: repeat it more often
    huge: bool = False  # only with --full, or by name

    def draw(self, seed: int, scale: float = 1.0, most: int | None = None) -> Split:
        """Draw rows. `scale` reduces all sizes for a trial run, `most` bounds the training rows."""
        n_train, n_test = (max(min(n, FEWEST_ROWS), int(n * scale)) for n in (self.n_train, self.n_test))
        return self.source(seed, n_train if most is None else min(n_train, most), n_test)


def fresh(make: Callable[[int, int], tuple[np.ndarray, np.ndarray]]) -> Source:
    """Return a source that generates any number of rows."""

    def draw(seed: int, n_train: int, n_test: int) -> Split:
        return Split(*make(n_train, 2 * seed), *make(n_test, 2 * seed + 1))

    return draw


def shuffled(load: Callable[[], tuple[np.ndarray, np.ndarray]]) -> Source:
    """Return a source that samples the rows of a table."""

    def draw(seed: int, n_train: int, n_test: int) -> Split:
        X, y = load()
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:n_train], order[len(y) - n_test :]
        return Split(X[train], y[train], X[test], y[test])

    return draw


def load_cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X.astype(np.float32), y.astype(np.int64)


def make_small() -> tuple[np.ndarray, np.ndarray]:
    """Return a workload of 2,000 training rows and 10,000 test rows."""
    X, y = make_classification(12_000, 20, n_informative=8, n_redundant=4, flip_y=0.05, random_state=0)
    return X.astype(np.float32), y.astype(np.int64)


GENERATED = (
    Workload("breast-cancer", "breast cancer, 569 x 30", "binary", 455, 114, shuffled(load_cancer), tiny=True),
    Workload("small", "2,000 x 20", "binary", 2_000, 10_000, shuffled(make_small), tiny=True),
    Workload("higgs-10k", "HIGGS-shaped, 10k x 28", "binary", 10_000, 200_000, fresh(make_higgs), tiny=True),
    Workload("higgs-100k", "HIGGS-shaped, 100k x 28", "binary", 100_000, 200_000, fresh(make_higgs)),
    Workload("higgs-1m", "HIGGS-shaped, 1M x 28", "binary", 1_000_000, 200_000, fresh(make_higgs)),
    Workload("higgs-8.8m", "HIGGS-shaped, 8.8M x 28", "binary", 8_800_000, 200_000, fresh(make_higgs), huge=True),
    Workload("wide", "images, 60k x 784", "binary", 60_000, 10_000, fresh(make_images)),
)


def _real(folder: Path) -> tuple[Workload, ...]:
    two, seven = (shuffled(partial(load_covtype, folder, two_classes=t)) for t in (True, False))
    flights = shuffled(partial(load_flights, folder))
    return (
        Workload("covtype-2", "covtype, 581k x 54, 2 classes", "binary", 464_809, 116_203, two),
        Workload("covtype-7", "covtype, 581k x 54, 7 classes", "multiclass", 464_809, 116_203, seven),
        Workload("flights", "flights, 3M x 7, regression", "regression", 2_400_000, 600_000, flights),
    )


NAMED = {workload.name: workload for workload in (*GENERATED, *_real(Path()))}
TITLES = {name: workload.title for name, workload in NAMED.items()}


def find_workloads(folder: Path) -> list[Workload]:
    """Return all available workloads. Workloads on real tables need their folder."""
    return [*GENERATED, *(_real(folder) if has_tables(folder) else ())]

"""Rows to train on, and rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from sapwood.data.checks import check_weights
from sapwood.data.frames import open_frame
from sapwood.sampling import held_out

Targets = Callable[[Any, int, str], np.ndarray]  # (y, n_rows, name) -> y, checked


@dataclass(frozen=True)
class Sample:
    """Rows of a table with targets and weights, checked."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    @classmethod
    def check(cls, X: Any, y: Any, weight: Any, check_targets: Targets, suffix: str = "") -> Sample:
        """What `fit` was given, less rows of weight 0; the names of its arguments end with the suffix."""
        if open_frame(X) is None:
            X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        n_rows = count_rows(X)
        sample = cls(X, check_targets(y, n_rows, f"y{suffix}"), check_weights(weight, n_rows, f"sample_weight{suffix}"))
        return sample if sample.weight is None or sample.weight.all() else sample.take(np.flatnonzero(sample.weight))

    def take(self, rows: np.ndarray) -> Sample:
        """Some of the rows, in the table's own type."""
        frame = open_frame(self.X)
        X = _safe_indexing(self.X, rows) if frame is None else frame[rows].to_native()
        return Sample(X, self.y[rows], None if self.weight is None else self.weight[rows])

    def fit(self, estimator: Any, **more: Any) -> Any:
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        return estimator.fit(self.X, self.y, **weights, **more)

    @property
    def n_rows(self) -> int:
        return len(self.y)


def count_rows(X: Any) -> int:
    frame = open_frame(X)
    return _num_samples(X) if frame is None else frame.shape[0]


def draw_seed(random_state: Any) -> int:
    """What the choice of rows is drawn from; None repeats."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(1 << 31))


def note_columns(of: Any, estimator: Any) -> None:
    """What scikit-learn wants to know of the columns is that of an estimator within."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(of, name, getattr(estimator, name))


def hold_out(sample: Sample, size: float | int, strata: np.ndarray | None, seed: int) -> tuple[Sample, Sample]:
    """Rows to train on, and a share (or number) of the rows that is held out; both in the order of the table."""
    rows = np.arange(sample.n_rows)
    n_held = size if isinstance(size, Integral) else math.ceil(size * len(rows))
    if n_held >= len(rows):
        raise ValueError(f"calibration_size={size} cannot be held out of n_samples={len(rows)} rows: none would be left to train on")
    try:
        classes = None if strata is None else np.unique(strata, return_inverse=True)[1]
        train, held = held_out.hold_out(rows, n_held, classes, seed)
    except ValueError:  # classes of few rows; one of each is trained on
        first = np.unique(sample.y if strata is None else strata, return_index=True)[1]
        if n_held > len(rows) - len(first):
            raise ValueError(
                f"calibration_size={size} cannot be held out of n_samples={len(rows)} rows: one of each class is to train on"
            ) from None
        held = check_random_state(seed).choice(np.setdiff1d(rows, first), n_held, replace=False)
        train = np.setdiff1d(rows, held)
    return sample.take(train), sample.take(np.sort(held))


def folds(sample: Sample, cv: Any, groups: Any, classifier: bool, seed: int) -> Iterator[tuple[Sample, Sample]]:
    """For each fold the rows to train on, and those held out: each row is held out once."""
    if isinstance(cv, int):
        if sample.n_rows < cv:
            raise ValueError(f"cv={cv} folds need as many rows; got n_samples={sample.n_rows}")
        rare = classifier and np.unique(sample.y, return_counts=True)[1].min() < cv
        cv = (StratifiedKFold if classifier and not rare else KFold)(cv, shuffle=True, random_state=seed)
    splits = list(check_cv(cv, sample.y, classifier=classifier).split(sample.X, sample.y, groups))
    times = np.bincount(np.concatenate([held for _, held in splits]), minlength=sample.n_rows)
    if (times != 1).any():
        row = int(np.argmax(times != 1))
        raise ValueError(f"cv={cv!r} must hold out every row once; row {row} is held out {times[row]} times")
    for train, held in splits:
        yield sample.take(train), sample.take(held)

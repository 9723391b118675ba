"""Training rows and held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from sapwood.data import selection
from sapwood.data.checks import check_weights
from sapwood.data.frames import open_frame
from sapwood.data.rows import as_dicts
from sapwood.data.selection import take_rows
from sapwood.data.sparse_formats import check_sparse
from sapwood.sampling import held_out

Targets = Callable[[Any, int, str], np.ndarray]  # (y, n_rows, name) -> y, checked


@dataclass(frozen=True)
class Sample:
    """Rows of a table with checked targets and weights.

    Attributes
    ----------
    X, y, weight : of the rows
    given : the sample before rows of weight 0 were dropped, and the numbers of the rows that were kept; None if all were
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    given: tuple[Sample, np.ndarray] | None = None

    @classmethod
    def check(cls, X: Any, y: Any, weight: Any, check_targets: Targets, suffix: str = "") -> Sample:
        """Check the arguments of `fit` and drop rows of weight 0. `suffix` is the end of the argument names in error messages."""
        if (rows := as_dicts(X)) is not None:
            X = rows
        elif open_frame(X) is None:
            X = sparse.csr_array(check_sparse(X)) if sparse.issparse(X) else np.asarray(X)
        n_rows = count_rows(X)
        sample = cls(X, check_targets(y, n_rows, f"y{suffix}"), check_weights(weight, n_rows, f"sample_weight{suffix}"))
        if sample.weight is None or sample.weight.all():
            return sample
        kept = np.flatnonzero(sample.weight)
        return replace(sample.take(kept), given=(sample, kept))

    def splits(self, cv: Any, groups: Any, classifier: bool = False) -> list[tuple[np.ndarray, np.ndarray]]:
        """Splits of a splitter or iterable, which count the rows as they were given, as numbers of the rows here."""
        whole, kept = (self, np.arange(self.n_rows)) if self.given is None else self.given
        pairs = check_cv(cv, whole.y, classifier=classifier).split(whole.X, whole.y, groups)
        every = np.arange(whole.n_rows)
        return [
            (np.searchsorted(kept, np.intersect1d(kept, every[a])), np.searchsorted(kept, np.intersect1d(kept, every[b]))) for a, b in pairs
        ]

    def take(self, rows: np.ndarray) -> Sample:
        """Return some of the rows, as a table of the same type."""
        return Sample(take_rows(self.X, rows), self.y[rows], None if self.weight is None else self.weight[rows])

    def fit(self, estimator: Any, **more: Any) -> Any:
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        return estimator.fit(self.X, self.y, **weights, **more)

    @property
    def n_rows(self) -> int:
        return len(self.y)


def count_rows(X: Any) -> int:
    if (rows := as_dicts(X)) is not None:
        return len(rows)
    return selection.count_rows(X)


def draw_seed(random_state: Any) -> int:
    """Return the seed for the choice of rows; 0 if `random_state` is None."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(1 << 31))


def note_columns(of: Any, estimator: Any) -> None:
    """Copy the column attributes that scikit-learn defines from a wrapped estimator."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(of, name, getattr(estimator, name))


def hold_out(sample: Sample, size: float | int, strata: np.ndarray | None, seed: int) -> tuple[Sample, Sample]:
    """Split into training rows and held-out rows (`size` is a fraction or a number), both in the order of the table."""
    rows = np.arange(sample.n_rows)
    n_held = size if isinstance(size, Integral) else math.ceil(size * len(rows))
    if n_held >= len(rows):
        raise ValueError(f"calibration_size={size} cannot be held out of n_samples={len(rows)} rows: no row would be left for training")
    try:
        classes = None if strata is None else np.unique(strata, return_inverse=True)[1]
        train, held = held_out.hold_out(rows, n_held, classes, seed)
    except ValueError:  # rare classes: keep one row of each for training
        first = np.unique(sample.y if strata is None else strata, return_index=True)[1]
        if n_held > len(rows) - len(first):
            raise ValueError(
                f"calibration_size={size} cannot be held out of n_samples={len(rows)} rows: one row of each class is needed for training"
            ) from None
        held = check_random_state(seed).choice(np.setdiff1d(rows, first), n_held, replace=False)
        train = np.setdiff1d(rows, held)
    return sample.take(train), sample.take(np.sort(held))


def last_split(sample: Sample, cv: Any, groups: Any) -> tuple[Sample, Sample]:
    """Split into training rows and held-out rows by the last split of a splitter or iterable: for time series, the latest rows."""
    train, held = sample.splits(cv, groups)[-1]
    if np.intersect1d(train, held).size or not len(train) or not len(held):
        raise ValueError(f"cv={cv!r} must give training rows and other rows to hold out; got {len(train)} and {len(held)}, or overlaps")
    return sample.take(train), sample.take(held)


def folds(sample: Sample, cv: Any, groups: Any, classifier: bool, seed: int) -> Iterator[tuple[Sample, Sample]]:
    """Yield training rows and held-out rows of each fold. Each row is held out exactly once."""
    if isinstance(cv, int):
        if sample.n_rows < cv:
            raise ValueError(f"cv={cv} needs at least {cv} rows; got n_samples={sample.n_rows}")
        rare = classifier and np.unique(sample.y, return_counts=True)[1].min() < cv
        cv = (StratifiedKFold if classifier and not rare else KFold)(cv, shuffle=True, random_state=seed)
        sample = replace(sample, given=None)  # the splitter is our own, and need not see the rows of weight 0
    splits = sample.splits(cv, groups, classifier)
    times = np.bincount(np.concatenate([held for _, held in splits]), minlength=sample.n_rows)
    if (times != 1).any():
        row = int(np.argmax(times != 1))
        raise ValueError(f"cv={cv!r} must hold out every row exactly once; row {row} is held out {times[row]} times")
    for train, held in splits:
        yield sample.take(train), sample.take(held)

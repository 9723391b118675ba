"""Fits that are the same on a cluster and in one process: estimators, tables and arguments, small enough to fit in a second."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.callbacks import LearningRate

N = 2_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 6)).round(2)
X[RNG.random(X.shape) < 0.03] = np.nan
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 - np.nan_to_num(X[:, 2] * X[:, 3])
NOISY = SIGNAL + RNG.normal(size=N)
ORDER = np.argsort(np.digitize(NOISY, [-0.5, 0.5, 2.0]), kind="stable")
CLASSES = np.sort(np.digitize(NOISY, [-0.5, 0.5, 2.0]))  # the first partitions have a single class
WEIGHT = RNG.integers(0, 4, N).astype(np.float64)
QID = np.sort(RNG.integers(0, 120, N))  # queries begin in one partition and end in another
FRAME = pd.DataFrame(X[ORDER], columns=list("abcdef")).assign(
    text=[f"level {k}" for k in CLASSES * 7 + np.arange(N) % 7],
    few=pd.Categorical(np.where(np.arange(N) % 5, "x", None)),
    many=[f"id {k}" for k in (np.arange(N) * 7919) % 200],
    when=pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(N), "h"),
)
SPARSE = sparse.csr_array(np.where(np.abs(np.nan_to_num(RNG.normal(size=(N, 30)))) > 1.6, 1.5, 0.0))
SMALL = {"max_iter": 4, "max_leaf_nodes": 8, "min_samples_leaf": 10}


@dataclass(frozen=True)
class Case:
    """A fit: `rows` have a value for each row of X; `validation` and `eval_sets` are tuples (X, y)."""

    estimator: Any
    X: Any
    y: Any
    rows: dict[str, Any] = field(default_factory=dict)
    validation: tuple[Any, Any] | None = None
    eval_sets: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


CASES = {
    "regression": Case(BoostingRegressor(**SMALL), X, NOISY),
    "weights": Case(BoostingRegressor(loss="absolute_error", **SMALL), X, NOISY, {"sample_weight": WEIGHT, "offset": SIGNAL / 2}),
    "two classes": Case(BoostingClassifier(**SMALL), X[ORDER], (CLASSES > 1).astype(int)),
    "classes": Case(BoostingClassifier(class_weight="balanced", **SMALL), X[ORDER], CLASSES),
    "vector leaves": Case(BoostingClassifier(multi_strategy="multi_output_tree", **SMALL), X[ORDER], CLASSES),
    "categories": Case(BoostingClassifier(datetime_features="auto", **SMALL), FRAME, CLASSES),
    "target statistics": Case(BoostingRegressor(categorical_encoding="target", **SMALL), FRAME, NOISY),
    "sampling": Case(BoostingRegressor(**SMALL | {"sampling": "goss", "learning_rate": 1.0}), X, NOISY),
    "subsample": Case(BoostingRegressor(subsample=0.4, max_features=0.5, **SMALL), X, NOISY),
    "early stopping": Case(
        BoostingRegressor(early_stopping=True, n_iter_no_change=2, **SMALL | {"max_iter": 12, "learning_rate": 0.8}), X, NOISY
    ),
    "evaluation sets": Case(
        BoostingRegressor(n_iter_no_change=2, **SMALL | {"max_iter": 10}),
        X,
        NOISY,
        validation=(X[:300], NOISY[:300]),
        eval_sets={"again": (X[:700], NOISY[:700])},
        options={"eval_metric": ["rmse", "mae"], "callbacks": [LearningRate(lambda k: 0.5)]},
    ),
    "ranking": Case(BoostingRanker(**SMALL), X, np.clip(np.digitize(NOISY, [-0.5, 0.5, 2.0]), 0, 3), {"qid": QID}),
    "sparse": Case(BoostingRegressor(**SMALL), SPARSE, np.asarray(SPARSE.sum(axis=1)).ravel() + NOISY),
    "dart": Case(BoostingRegressor(boosting="dart", drop_rate=0.5, skip_drop=0.0, **SMALL), X, NOISY),
    "symmetric": Case(BoostingRegressor(grow_policy="symmetric", **SMALL), X, NOISY),
    "linear leaves": Case(BoostingRegressor(leaf_model="linear", **SMALL), X, NOISY),
    "ordered": Case(BoostingRegressor(boosting="ordered", **SMALL), X, NOISY),
    "folds": Case(BoostingRegressor(validation_folds=3, n_iter_no_change=2, **SMALL), X, NOISY),
}

# Ends of partitions, as fractions of the rows: uneven, some without rows, some with a few.
SPLITS = {"even": [0.25, 0.5, 0.75], "uneven": [0.0, 0.001, 0.35, 0.35, 0.6, 0.61], "one": []}


def cut(values: Any, split: str) -> list[Any]:
    """The pieces of a table or an array."""
    n_rows = values.shape[0]
    ends = [0, *(int(end * n_rows) for end in SPLITS[split]), n_rows]
    pieces = [slice(first, last) for first, last in pairwise(ends)]
    return [values.iloc[rows] if hasattr(values, "iloc") else values[rows] for rows in pieces]


def expected(case: Case) -> bytes:
    """The bytes of a fit in one process, which is done once."""
    name = next(name for name, one in CASES.items() if one is case)
    if name not in _EXPECTED:
        _EXPECTED[name] = _fit(case)
    return _EXPECTED[name]


_EXPECTED: dict[str, bytes] = {}


def _fit(case: Case) -> bytes:
    more = {} if case.validation is None else {"X_val": case.validation[0], "y_val": case.validation[1]}
    more |= {"eval_sets": case.eval_sets} if case.eval_sets else {}
    return clone(case.estimator).fit(case.X, case.y, **case.rows, **more, **case.options).to_bytes()

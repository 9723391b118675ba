"""Comparison of libraries on a table, with the same settings."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.cli.errors import CommandError

if TYPE_CHECKING:
    from sapwood.cli.roles import Data

LEARNING_RATE, MAX_BINS, MIN_ROWS = 0.1, 255, 20


class Comparison:
    """Rows divided for training and test, and the settings of all libraries."""

    classes: bool
    rounds: int
    leaves: int
    threads: int
    train: tuple[Any, np.ndarray]
    test: tuple[Any, np.ndarray]
    metric: str

    def __init__(self, rows: Data, classes: bool, rounds: int, leaves: int, threads: int | None, seed: int) -> None:
        from sklearn.model_selection import train_test_split

        from sapwood.runtime.threads import available_cpus

        self.classes, self.rounds, self.leaves = classes, rounds, leaves
        self.threads = threads or available_cpus()
        if rows.y.ndim != 1:
            raise CommandError("bench compares one target")
        y = rows.y
        if classes:
            y = np.unique(y.astype(str) if y.dtype.kind in "Ob" else y, return_inverse=True)[1]
        chosen, held_out = train_test_split(np.arange(rows.n_rows), test_size=0.2, random_state=seed, stratify=y if classes else None)
        X = _frame(rows.X)
        self.train, self.test = ((_take(X, part), y[part]) for part in (np.sort(chosen), np.sort(held_out)))
        self.metric = "log_loss" if classes else "rmse"

    def run(self, names: Sequence[str], repeat: int, say: Callable[[str], object]) -> dict[str, dict[str, Any]]:
        """Return times and scores by library. Libraries take turns."""
        found: dict[str, dict[str, Any]] = {}
        for turn in range(repeat):
            for name in names:
                if turn == 0:
                    say(name)
                one = self._run(name)
                best = found.setdefault(name, one)
                found[name] = best | {key: min(best[key], one[key]) for key in one if key.endswith("seconds")}
        return found

    def _run(self, name: str) -> dict[str, Any]:
        X, y = self.train
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = LIBRARIES[name](self)
            wall, cpu = time.perf_counter(), time.process_time()
            estimator.fit(X, y)
            fit = {"fit_seconds": time.perf_counter() - wall, "fit_cpu_seconds": time.process_time() - cpu}
            wall = time.perf_counter()
            predicted = estimator.predict_proba(self.test[0]) if self.classes else estimator.predict(self.test[0])
            seconds = time.perf_counter() - wall
        return {"version": version_of(name), **fit, "predict_seconds": seconds, "score": self._score(np.asarray(predicted))}

    def _score(self, predicted: np.ndarray) -> float:
        from sapwood.metrics import find_metric

        metric = find_metric(self.metric)
        assert metric is not None
        return metric(self.test[1], predicted)


def _frame(X: Any) -> Any:
    """Return a pandas frame with categories instead of text, which all libraries read; sparse matrices as they are."""
    if not hasattr(X, "column_names"):
        return X
    import pandas as pd
    import pyarrow as pa

    frame = X.to_pandas()
    for name, field in zip(frame.columns, X.schema, strict=True):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type) or pa.types.is_dictionary(field.type):
            frame[name] = frame[name].astype("category")
        elif pa.types.is_temporal(field.type):
            frame[name] = pd.to_datetime(frame[name]).astype("int64") / 1e9
        elif pa.types.is_boolean(field.type):
            frame[name] = frame[name].astype("float64")
    frame.columns = [f"column_{k}" for k in range(frame.shape[1])]  # some libraries refuse some names
    return frame


def _take(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _sapwood(c: Comparison) -> Any:
    from sapwood.estimators import BoostingClassifier, BoostingRegressor

    cls: Any = BoostingClassifier if c.classes else BoostingRegressor
    return cls(max_iter=c.rounds, max_leaf_nodes=c.leaves, learning_rate=LEARNING_RATE, early_stopping=False, n_jobs=c.threads)


def _lightgbm(c: Comparison) -> Any:
    import lightgbm

    cls = lightgbm.LGBMClassifier if c.classes else lightgbm.LGBMRegressor
    return cls(
        n_estimators=c.rounds, num_leaves=c.leaves, learning_rate=LEARNING_RATE, max_bin=MAX_BINS, min_child_samples=MIN_ROWS,
        n_jobs=c.threads, verbose=-1,
    )  # fmt: skip


def _xgboost(c: Comparison) -> Any:
    import xgboost

    cls = xgboost.XGBClassifier if c.classes else xgboost.XGBRegressor
    return cls(
        n_estimators=c.rounds, max_leaves=c.leaves, max_depth=0, grow_policy="lossguide", learning_rate=LEARNING_RATE, max_bin=MAX_BINS,
        tree_method="hist", enable_categorical=True, n_jobs=c.threads, verbosity=0,
    )  # fmt: skip


def _sklearn(c: Comparison) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    cls = HistGradientBoostingClassifier if c.classes else HistGradientBoostingRegressor
    return cls(
        max_iter=c.rounds, max_leaf_nodes=c.leaves, learning_rate=LEARNING_RATE, early_stopping=False, categorical_features="from_dtype"
    )


def _catboost(c: Comparison) -> Any:
    return CatBoost(c)


class CatBoost:
    """CatBoost, which needs text instead of categories."""

    model: Any
    names: list[str]

    def __init__(self, c: Comparison) -> None:
        import catboost

        cls = catboost.CatBoostClassifier if c.classes else catboost.CatBoostRegressor
        settings = {"iterations": c.rounds, "learning_rate": LEARNING_RATE, "border_count": MAX_BINS, "thread_count": c.threads}
        self.model = cls(**settings, verbose=False, allow_writing_files=False)

    def fit(self, X: Any, y: Any) -> None:
        self.names = [name for name in X.columns if str(X[name].dtype) == "category"] if hasattr(X, "columns") else []
        self.model.fit(self._read(X), y, cat_features=self.names or None)

    def _read(self, X: Any) -> Any:
        return X.assign(**{name: X[name].astype(str).fillna("") for name in self.names}) if self.names else X

    def predict(self, X: Any) -> Any:
        return self.model.predict(self._read(X))

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(self._read(X))


LIBRARIES: dict[str, Callable[[Comparison], Any]] = {
    "sapwood": _sapwood, "lightgbm": _lightgbm, "xgboost": _xgboost, "sklearn": _sklearn, "catboost": _catboost,
}  # fmt: skip


def installed() -> list[str]:
    """Return the libraries that are installed, and pandas, which the others need for tables."""
    return [name for name in LIBRARIES if importlib.util.find_spec(name) is not None]


def version_of(name: str) -> str:
    return str(importlib.import_module(name).__version__)

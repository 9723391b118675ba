"""One small model of every kind that a report supports, with rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

N = 240
ROUNDS = {"max_iter": 8, "min_samples_leaf": 5, "max_leaf_nodes": 8, "n_jobs": 1, "random_state": 0}


def mixed_table(n: int = N, seed: int = 0) -> pd.DataFrame:
    """A table with numbers, missing values, categories, bools, datetimes and durations."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    size[::9] = np.nan
    begin = np.datetime64("2024-01-01") + rng.integers(0, 400 * 86400, n).astype("timedelta64[s]")
    return pd.DataFrame(
        {
            "size": size,
            "count": rng.integers(0, 7, n),
            "color": pd.Categorical(rng.choice(["red", "green", "blue", None], n)),
            "town": rng.choice([f"town {i}" for i in range(30)], n),
            "member": rng.random(n) < 0.4,
            "begin": begin,
            "waited": rng.integers(1, 5000, n).astype("timedelta64[s]"),
            "noise": rng.normal(size=n),
        }
    )


def target(X: pd.DataFrame) -> np.ndarray:
    """A function of several columns, with noise."""
    size, rng = X["size"].fillna(-0.5).to_numpy(), np.random.default_rng(1)
    effect = (
        size
        + 0.4 * X["count"].to_numpy() * (X["color"] == "red").to_numpy()
        + X["member"].to_numpy()
        + (X["begin"].dt.month > 6).to_numpy()
    )
    return effect + 0.3 * rng.normal(size=len(X))


def regression(**params: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    return BoostingRegressor(**ROUNDS, **params).fit(X, target(X)), X, target(X), {}


def positive(loss: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    y = np.round(np.exp(target(X) / 2)) + (loss == "gamma")
    return BoostingRegressor(loss=loss, **ROUNDS).fit(X, y), X, y, {}


def classes(n_classes: int, **params: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    codes = np.searchsorted(np.quantile(target(X), np.linspace(0, 1, n_classes + 1)[1:-1]), target(X))
    y = np.array([f"class {code}" for code in codes])
    return BoostingClassifier(**ROUNDS, **params).fit(X, y), X, y, {}


def multilabel() -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    y = np.column_stack([target(X) > 1, X["member"], X["noise"] > 0]).astype(int)
    return BoostingClassifier(**ROUNDS).fit(X, y), X, y, {}


def soft_labels() -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    y = np.exp(np.column_stack([target(X), X["noise"], np.zeros(N)]))
    y /= y.sum(axis=1, keepdims=True)
    return BoostingClassifier(**ROUNDS).fit(X, y), X, y, {}


def several_outputs(**params: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    y = np.column_stack([target(X), X["noise"], X["count"]])
    return BoostingRegressor(**ROUNDS, **params).fit(X, y), X, y, {}


def ranking() -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    y, qid = np.digitize(target(X), [0, 1, 2]), np.repeat(np.arange(N // 12), 12)
    return BoostingRanker(**ROUNDS).fit(X, y, qid=qid), X, y, {"qid": qid}


def survival(loss: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    X = mixed_table()
    time, event = np.exp(1 - target(X) / 2), np.random.default_rng(2).random(N) < 0.7
    y = np.where(event, time, -time)
    return BoostingRegressor(loss=loss, **ROUNDS).fit(X, y), X, y, {}


def bare_model() -> tuple[Any, Any, Any, dict[str, Any]]:
    estimator, X, y, rest = regression()
    return estimator.model_, X, y, rest


def nameless() -> tuple[Any, Any, Any, dict[str, Any]]:
    X = np.random.default_rng(0).normal(size=(N, 3))
    return BoostingRegressor(**ROUNDS, missing=-999).fit(X, X[:, 0]), X, X[:, 0], {}


def with_init() -> tuple[Any, Any, Any, dict[str, Any]]:
    X = np.random.default_rng(0).normal(size=(N, 3))
    first = BoostingRegressor(**ROUNDS).fit(X, X[:, 0])
    return BoostingRegressor(**ROUNDS, init=first).fit(X, X[:, 0] + X[:, 1]), X, X[:, 0] + X[:, 1], {}


def one_class() -> tuple[Any, Any, Any, dict[str, Any]]:
    X = np.random.default_rng(0).normal(size=(N, 3))
    return BoostingClassifier(**ROUNDS).fit(X, np.ones(N)), X, np.ones(N), {}


def wrapped(wrapper: Any, n_classes: int) -> tuple[Any, Any, Any, dict[str, Any]]:
    if n_classes:
        estimator, X, y, rest = classes(n_classes)
    else:
        estimator, X, y, rest = regression()
    return wrapper(estimator).fit(X, y), X, y, rest


KINDS: dict[str, Callable[[], tuple[Any, Any, Any, dict[str, Any]]]] = {
    "regression": regression,
    "absolute error": lambda: regression(loss="absolute_error"),
    "quantile": lambda: regression(loss="quantile", quantile=0.8),
    "quantiles": lambda: regression(loss="quantile", quantile=[0.1, 0.5, 0.9]),
    "linear leaves": lambda: regression(leaf_model="linear"),
    "calendar": lambda: regression(
        datetime_features=["year", "quarter", "month", "week", "day", "dayofyear", "weekday", "hour", "minute", "second"]
    ),
    "cross features": lambda: regression(
        cross_features=[("product", "size", "count"), ("difference", "size", "noise"), ("centered", "count", "color")]
    ),
    "combined categories": lambda: regression(max_combination=2, categorical_encoding="target"),
    "poisson": lambda: positive("poisson"),
    "gamma": lambda: positive("gamma"),
    "binary": lambda: classes(2),
    "multiclass": lambda: classes(4),
    "multilabel": multilabel,
    "soft labels": soft_labels,
    "several outputs": several_outputs,
    "shared trees": lambda: several_outputs(multi_strategy="multi_output_tree"),
    "ranking": ranking,
    "cox": lambda: survival("cox"),
    "aft": lambda: survival("aft"),
    "model": bare_model,
    "nameless": nameless,
    "init": with_init,
    "one class": one_class,
    "calibrated": lambda: wrapped(CalibratedClassifier, 2),
    "conformal classes": lambda: wrapped(ConformalClassifier, 3),
    "conformal": lambda: wrapped(ConformalRegressor, 0),
}

"""One small model of every kind, and rows to compare its predictions on."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

N_ROWS = 300
FEW = {"max_iter": 6, "max_leaf_nodes": 8, "min_samples_leaf": 5}


def numbers(n_rows=N_ROWS):
    """Missing values, zeros of both signs, and columns of few values: thresholds are among them or halfway between."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, 5))
    x[:, 1] = rng.integers(-3, 4, n_rows)
    x[:, 2] = np.round(x[:, 2], 1)
    x[rng.random(x.shape) < 0.1] = np.nan
    x[::17, 0], x[::19, 1] = 0.0, -0.0
    return x


def target(x):
    whole = np.nan_to_num(x)
    return whole[:, 0] + np.abs(whole[:, 1]) * whole[:, 2] + np.isnan(x[:, 3]) + np.random.default_rng(1).normal(size=len(x)) / 4


def unseen(x):
    """Rows that the model has not learnt from: values at its thresholds, just beside them, and far away."""
    rng = np.random.default_rng(2)
    rows = numbers(200)[rng.permutation(200)] + rng.choice([0.0, 0.0, 0.5, 1e-9], (200, 5))
    rows[:2] = 0.0
    rows[2:4] = np.nan
    rows[4], rows[5] = 1e30, -1e30
    return rows


def at_thresholds(model, rows):
    """The rows, with some values put exactly on thresholds and on their neighbours."""
    rows = rows.copy()
    for tree in model.trees[:3]:
        for f, t in zip(tree.feature, tree.threshold, strict=True):
            if f >= 0 and np.isfinite(t):
                rows[7:10, f] = t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf)
    return rows


def frame(n_rows=N_ROWS, seed=0, more=()):
    rng = np.random.default_rng(seed)
    color = rng.choice(["red", "green", "blé", 'a "b"?', *more], n_rows).astype(object)
    color[rng.random(n_rows) < 0.1] = None
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "color": pd.Categorical(color),
            "kind": pd.Categorical(rng.choice([3, 10, 7, 2], n_rows)),
            "town": pd.Categorical(rng.integers(0, 40, n_rows).astype(str)),
        }
    )


def frame_target(x):
    size, town = np.nan_to_num(x["size"].to_numpy()), x["town"].astype(int).to_numpy()
    color = x["color"].astype(object).map({"red": 1.0, "green": 2.0}).fillna(0.0).to_numpy(dtype=float)
    return size + color * (x["kind"].astype(int).to_numpy() > 5) + np.sin(town)


def _fit_numbers(estimator, make_y=lambda y: y, **arguments):
    x = numbers()
    return estimator.set_params(**FEW).fit(x, make_y(target(x)), **arguments)


def _fit_frame(**parameters):
    x = frame()
    return BoostingRegressor(**FEW, **parameters).fit(x, frame_target(x))


def _classes(n):
    return lambda y: np.array(["low", "middle", "high", "top"])[np.digitize(y, np.quantile(y, np.arange(1, n) / n))]


MAKERS = {
    "squares": lambda: _fit_numbers(BoostingRegressor()),
    "exact": lambda: _fit_numbers(BoostingRegressor(tree_method="exact")),
    "symmetric": lambda: _fit_numbers(BoostingRegressor(grow_policy="symmetric", max_depth=3)),
    "dart": lambda: _fit_numbers(BoostingRegressor(boosting="dart")),
    "one leaf": lambda: _fit_numbers(BoostingRegressor(min_gain=1e9)),
    "poisson": lambda: _fit_numbers(BoostingRegressor(loss="poisson"), lambda y: np.round(np.abs(y))),
    "shares": lambda: _fit_numbers(BoostingRegressor(loss="log_loss"), lambda y: (y > 0).astype(float)),
    "quantiles": lambda: _fit_numbers(BoostingRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9])),
    "two outputs": lambda: _fit_numbers(BoostingRegressor(multi_strategy="multi_output_tree"), lambda y: np.column_stack([y, -y * y])),
    "a tree an output": lambda: _fit_numbers(
        BoostingRegressor(multi_strategy="one_output_per_tree"), lambda y: np.column_stack([y, -y * y])
    ),
    "two classes": lambda: _fit_numbers(BoostingClassifier(), _classes(2)),
    "four classes": lambda: _fit_numbers(BoostingClassifier(multi_strategy="multi_output_tree"), _classes(4)),
    "a tree a class": lambda: _fit_numbers(
        BoostingClassifier(multi_strategy="one_output_per_tree"), lambda y: np.digitize(y, [-1, 1]) * 10
    ),
    "labels": lambda: _fit_numbers(BoostingClassifier(), lambda y: np.column_stack([y > 0, y > 1]).astype(int)),
    "best round": lambda: _fit_numbers(BoostingClassifier(early_stopping=True, n_iter_no_change=2, learning_rate=1.0), _classes(2)),
    "ranker": lambda: _fit_numbers(BoostingRanker(), lambda y: np.digitize(y, [0, 1, 2]), group=[30] * 10),
    "sets of levels": lambda: _fit_frame(categorical_encoding="partition"),
    "one level": lambda: _fit_frame(categorical_encoding="onehot"),
    "means of levels": lambda: _fit_frame(categorical_encoding="target"),
    "counts": lambda: _fit_frame(categorical_encoding="count"),
    "combinations": lambda: _fit_frame(categorical_encoding="target", max_combination=2),
}
FRAMES = ("sets of levels", "one level", "means of levels", "counts", "combinations")


@cache
def fitted(kind):
    return MAKERS[kind]()


@cache
def rows(kind):
    """What our estimator is asked."""
    if kind in FRAMES:
        return frame(200, seed=5, more=["purple"])
    return at_thresholds(fitted(kind).model_, unseen(numbers()))


def matrix(kind):
    """The same as numbers: of a category its codes, NaN for what is missing or was not seen."""
    x = rows(kind)
    if isinstance(x, np.ndarray):
        return x
    estimator = fitted(kind)
    table = estimator._table(x, estimator.model_.schema)
    out = np.column_stack([table.read(slice(None), c, c + 1)[:, 0].astype(float) for c in range(table.n_features)])
    for c in estimator.model_.schema.categories:
        out[out[:, c] < 0, c] = np.nan
    return out


def raw(kind):
    estimator = fitted(kind)
    return estimator._raw_predict(rows(kind))


def linked(kind):
    """(n_rows, n_outputs)."""
    return fitted(kind).model_.apply_link(np.ascontiguousarray(raw(kind)), 1)

"""One small model of every kind, and rows to compare its predictions on."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data.reading import read_table
from sapwood.runtime.execution import SERIAL

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
            if 0 <= f < rows.shape[1] and np.isfinite(t):
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


def codes(n_rows=N_ROWS, seed=3):
    """An array, two columns of which are categories of numbers."""
    rng = np.random.default_rng(seed)
    x = numbers(n_rows)
    x[:, 1] = rng.choice([-3, 0, 2.5, 7, np.nan], n_rows)
    x[:, 4] = rng.integers(0, 12, n_rows)
    return x


def dates(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 500, n_rows), unit="h")
    return pd.DataFrame(
        {
            "when": pd.Series(days).where(rng.random(n_rows) > 0.1),
            "member": rng.random(n_rows) < 0.5,
            "count": rng.integers(0, 9, n_rows),
        }
    )


def towns(n_rows=N_ROWS, seed=0):
    """More levels than bins of a byte."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"town": pd.Categorical([f"t{i}" for i in rng.integers(0, 400, n_rows)]), "size": rng.normal(size=n_rows)})


def _town_number(x):
    return x["town"].astype(str).str[1:].astype(int).to_numpy()


def _fit_codes():
    x = codes()
    y = np.nan_to_num(x[:, 1]) ** 2 + x[:, 4] % 3 + np.nan_to_num(x[:, 0])
    return BoostingRegressor(**FEW, categorical_features=[1, 4]).fit(x, y)


def _fit_dates():
    x = dates()
    return BoostingRegressor(**FEW).fit(x, x["when"].dt.day_of_week.fillna(9) + x["member"] * x["count"])


def moments(n_rows=N_ROWS, seed=0, zone=None):
    """Far apart, and with microseconds."""
    rng = np.random.default_rng(seed)
    when = pd.Series(pd.to_datetime(rng.integers(-(10**15), 4 * 10**15, n_rows), unit="us"))
    when = when if zone is None else when.dt.tz_localize(zone)
    return pd.DataFrame({"size": rng.normal(size=n_rows), "when": when.where(rng.random(n_rows) > 0.1)})


ALL_PARTS = ["year", "quarter", "month", "week", "day", "dayofyear", "weekday", "hour", "minute", "second"]


def _fit_moments(zone=None):
    x = moments(600, zone=zone)
    y = (
        x["when"].dt.day_of_week.fillna(3)
        + x["when"].dt.hour.fillna(0) / 9
        + x["when"].dt.day.fillna(0) % 3
        + x["when"].dt.month.fillna(0) % 5
    )
    return BoostingRegressor(max_iter=30, max_leaf_nodes=12, min_samples_leaf=2, datetime_features=ALL_PARTS).fit(x, y)


def _fit_towns(encoding):
    x = towns(1000)
    return BoostingClassifier(**FEW, categorical_encoding=encoding).fit(x, np.sin(_town_number(x)) + x["size"] > 0)


def _fit_numbers(estimator, make_y=lambda y: y, **arguments):
    x = numbers()
    return estimator.set_params(**FEW).fit(x, make_y(target(x)), **arguments)


def _fit_deep():
    x = frame(1000)
    return BoostingRegressor(max_iter=4, max_leaf_nodes=100, min_samples_leaf=1, min_samples_level=1).fit(x, frame_target(x))


CROSSES = [("product", 1, 2), ("difference", 2, 0)]


def _fit_centered():
    x = frame(1000)
    y = x["size"] - x.groupby(["color"], observed=True)["size"].transform("mean").fillna(0)
    crosses = [("centered", "size", column) for column in ("color", "kind", "town")]
    return BoostingRegressor(max_iter=20, max_leaf_nodes=12, cross_features=crosses).fit(x, y.fillna(0) + frame_target(x))


def _fit_frame(**parameters):
    x = frame()
    return BoostingRegressor(**FEW, **parameters).fit(x, frame_target(x))


def _classes(n):
    return lambda y: np.array(["low", "middle", "high", "top"])[np.digitize(y, np.quantile(y, np.arange(1, n) / n))]


MAKERS = {
    "squares": lambda: _fit_numbers(BoostingRegressor()),
    "exact": lambda: _fit_numbers(BoostingRegressor(tree_method="exact")),
    "symmetric": lambda: _fit_numbers(BoostingRegressor(grow_policy="symmetric", max_depth=3)),
    "own missing values": lambda: _fit_numbers(BoostingRegressor(missing=[0, -3, 99])),
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
    "deep sets of levels": lambda: _fit_deep(),
    "one level": lambda: _fit_frame(categorical_encoding="onehot"),
    "means of levels": lambda: _fit_frame(categorical_encoding="target"),
    "counts": lambda: _fit_frame(categorical_encoding="count"),
    "an array with categories": _fit_codes,
    "dates and bools": _fit_dates,
    "calendar": _fit_moments,
    "calendar ahead of UTC": lambda: _fit_moments("+05:30"),
    "cross features": lambda: _fit_numbers(BoostingRegressor(cross_features=CROSSES)),
    "cross features and own missing values": lambda: _fit_numbers(BoostingRegressor(cross_features=CROSSES, missing=[0, -3, 99])),
    "numbers centered by category": lambda: _fit_centered(),
    "many levels": lambda: _fit_towns("partition"),
    "means of many levels": lambda: _fit_towns("auto"),
    "combinations": lambda: _fit_frame(categorical_encoding="target", max_combination=2),
}
LINEAR_MAKERS = {  # formats whose leaves are numbers refuse them
    "linear leaves": lambda: _fit_numbers(BoostingRegressor(leaf_model="linear")),
    "linear leaves and own missing values": lambda: _fit_numbers(BoostingRegressor(leaf_model="linear", missing=[0, -3, 99])),
    "linear leaves of two classes": lambda: _fit_numbers(BoostingClassifier(leaf_model="linear", grow_policy="symmetric"), _classes(2)),
    "linear leaves of four classes": lambda: _fit_numbers(
        BoostingClassifier(leaf_model="linear", multi_strategy="one_output_per_tree"), _classes(4)
    ),
    "linear leaves and means of levels": lambda: _fit_frame(leaf_model="linear", categorical_encoding="target"),
}
NEW_ROWS = {
    "an array with categories": lambda: codes(200, seed=4) + [0, 0, 0, 0, 3],  # levels that were not there
    "dates and bools": lambda: dates(200, seed=5),
    "calendar": lambda: moments(300, seed=5),
    "calendar ahead of UTC": lambda: moments(300, seed=5, zone="+05:30"),
    "many levels": lambda: towns(300, seed=5),
    "means of many levels": lambda: towns(300, seed=5),
}
CALENDARS = ("calendar", "calendar ahead of UTC")
CROSSED = ("cross features", "cross features and own missing values", "numbers centered by category")
CATEGORIES = (
    "deep sets of levels",
    "sets of levels",
    "one level",
    "means of levels",
    "counts",
    "an array with categories",
    "many levels",
    "means of many levels",
    "combinations",
    "numbers centered by category",
    "linear leaves and means of levels",
)


@cache
def fitted(kind):
    return (MAKERS | LINEAR_MAKERS)[kind]()


@cache
def rows(kind):
    """What our estimator is asked."""
    if kind in NEW_ROWS:
        return NEW_ROWS[kind]()
    if kind in CATEGORIES:
        return frame(200, seed=5, more=["purple"])
    return at_thresholds(fitted(kind).model_, unseen(numbers()))


def matrix(kind):
    """The same as numbers: of a category its codes, NaN for what is missing or was not seen."""
    x = rows(kind)
    estimator = fitted(kind)
    if kind.endswith("own missing values"):
        return x
    table = read_table(x, estimator.model_.schema)
    out = np.column_stack([table.read(slice(None), c, c + 1)[:, 0].astype(float) for c in range(table.n_features)])
    for c in estimator.model_.schema.categories:
        out[out[:, c] < 0, c] = np.nan
    return out


def raw(kind):
    estimator = fitted(kind)
    return estimator._raw_predict(rows(kind))


def linked(kind):
    """(n_rows, n_outputs)."""
    return fitted(kind).model_.apply_link(np.ascontiguousarray(raw(kind)), SERIAL)

"""A small model of each kind, with rows to predict: for golden files, mutations and plain readers."""

import numpy as np
import pandas as pd

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

PARTS = ["year", "quarter", "month", "week", "day", "dayofyear", "weekday", "hour", "minute", "second"]
CROSSES = [("product", "size", "late"), ("difference", "size", "late"), ("centered", "size", "town"), ("centered", "size", "zone")]
SMALL = {"max_iter": 3, "max_leaf_nodes": 5, "min_samples_leaf": 5}


def numbers(n_rows=160):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n_rows, 3)).round(1)
    x[::7, 1] = np.nan
    x[3, 0], x[4, 0] = np.inf, -np.inf
    y = np.nan_to_num(x, posinf=3, neginf=-3).sum(axis=1) + rng.normal(size=n_rows).round(2)
    return x, y


def frame(n_rows=160):
    """Columns of any kind; the last category has more levels than rows show twice."""
    x, y = numbers(n_rows)
    towns = np.array(["Ulm", "Köln", "Bonn", None, 'x, "y"'], dtype=object)[np.arange(n_rows) % 5]
    table = pd.DataFrame({"size": x[:, 0], "town": towns, "zone": np.arange(n_rows) % 11 * 0.5, "late": np.arange(n_rows) % 2 == 0})
    table["zone"] = table["zone"].replace(5.0, np.inf).astype("category")
    table["when"] = pd.Timestamp("2024-03-01", tz="Europe/Berlin") + pd.to_timedelta(np.arange(n_rows) * 37, "h")
    return table, y + 2 * (towns == "Ulm") + np.arange(n_rows) % 11 // 4


def regressor(x, y, **parameters):
    return BoostingRegressor(**(SMALL | parameters)).fit(x, y)


def make(name):
    """An estimator of a kind, and rows."""
    x, y = numbers()
    table, of_table = frame()
    two = np.column_stack([y, -y + x[:, 2]])
    three = np.digitize(y, [-1.0, 1.0])
    queries = np.repeat(np.arange(16), 10)
    kinds = {
        "numbers": lambda: (regressor(x, y, missing=-0.5), x),
        "categories": lambda: (regressor(table, of_table, cat_l2=0.0, cat_smooth=0.0, min_samples_level=1), table),
        "encoded": lambda: (
            regressor(table, of_table, categorical_encoding={"town": ["target", "count"], "zone": ["onehot", "target"]}, max_combination=2),
            table,
        ),
        "shared": lambda: (BoostingClassifier(**SMALL, shared_trees=2).fit(x, np.array(["a", "b", "ç"])[three]), x),
        "a tree a class": lambda: (BoostingClassifier(**SMALL, multi_strategy="one_output_per_tree").fit(x, three), x),
        "several outputs": lambda: (regressor(x, two, multi_strategy="one_output_per_tree"), x),
        "quantiles": lambda: (regressor(x, y, loss="quantile", quantile=[0.2, 0.8]), x),
        "symmetric": lambda: (regressor(x, y, grow_policy="symmetric", max_leaf_nodes=8), x),
        "two classes": lambda: (BoostingClassifier(**SMALL, early_stopping=True, validation_fraction=0.3).fit(x, y > 0), x),
        "labels": lambda: (BoostingClassifier(**SMALL).fit(x, np.column_stack([y > 0, three > 1]).astype(int)), x),
        "poisson": lambda: (regressor(x, np.exp(y / 2), loss="poisson", init=regressor(x, np.exp(y / 2), loss="gamma")), x),
        "ranking": lambda: (BoostingRanker(**SMALL).fit(x, three, qid=queries), x),
        "calendar": lambda: (
            regressor(table[["when", "size"]], np.arange(160) // 5 % 7 + 0.0, datetime_features=PARTS, max_iter=12),
            table[["when", "size"]],
        ),
        "crosses": lambda: (
            regressor(table, of_table * table["size"].clip(-3, 3), cross_features=CROSSES, max_iter=12),
            table,
        ),
        "linear": lambda: (regressor(x, y, leaf_model="linear", linear_l2=1.0, min_samples_leaf=20), x),
        "linear classes": lambda: (
            BoostingClassifier(**SMALL, leaf_model="linear", linear_l2=1.0, multi_strategy="one_output_per_tree").fit(table, three),
            table,
        ),
        "no splits": lambda: (regressor(x, y, min_samples_leaf=100), x),
    }
    return kinds[name]()


KINDS = [
    "numbers",
    "categories",
    "encoded",
    "shared",
    "a tree a class",
    "several outputs",
    "quantiles",
    "symmetric",
    "two classes",
    "labels",
]
KINDS += ["poisson", "ranking", "calendar", "crosses", "no splits", "linear", "linear classes"]


def as_rows(x):
    """As lists of plain values, for the readers of files: of times, microseconds."""
    if not isinstance(x, pd.DataFrame):
        return x.tolist()
    table = x.assign(when=(x["when"] - pd.Timestamp("1970-01-01", tz="UTC")) // pd.Timedelta("1us"))
    return [[None if value is None or value != value else value for value in row] for row in table.astype(object).to_numpy().tolist()]

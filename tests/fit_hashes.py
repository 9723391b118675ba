"""Hashes of many fits: proof that a change of the source changes no byte of any model, saved estimator or prediction.

    python tests/fit_hashes.py                   compare with tests/fit_hashes.json; exit status 1 if any fit differs
    python tests/fit_hashes.py --only exact      the same for the fits whose name contains "exact" (or matches it as a shell pattern)
    python tests/fit_hashes.py --write           record the hashes of the installed Sapwood

`FITS` is the registry. A fit is an estimator class, its parameters, data and a way to train; everything uses the public API only. All data
come from seeded generators and are rounded, so that they do not depend on how a CPU computes logarithms. Parameters and targets avoid
matrix products for the same reason.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GroupShuffleSplit, KFold, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, FeatureSpec, Loss, merge, register_loss
from sapwood.callbacks import EarlyStopping, LearningRate

RECORD = Path(__file__).with_suffix(".json")
DIGITS = 12  # of a hash that are kept
N_TEST = 150  # rows of every table that are not trained on
DEFAULTS = {"max_iter": 6, "random_state": 3, "n_jobs": 2}
Parameters = dict[str, Any]


# Data


@dataclass(frozen=True)
class Data:
    """Arguments of `fit` with a row for each training row, then for each test row."""

    arguments: dict[str, Any]
    n_train: int

    def rows(self, first: int, last: int | None) -> dict[str, Any]:
        """The arguments of `fit` for some of the rows."""
        return {name: take(values, first, last) for name, values in self.arguments.items()}

    @property
    def train(self) -> dict[str, Any]:
        return self.rows(0, self.n_train)

    @property
    def halves(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The training rows in two parts."""
        return self.rows(0, self.n_train // 2), self.rows(self.n_train // 2, self.n_train)

    @property
    def test(self) -> dict[str, Any]:
        return self.rows(self.n_train, None)

    @property
    def validation(self) -> dict[str, Any]:
        """The test rows as the arguments of `fit` that end with _val."""
        return {f"{name}_val": values for name, values in self.test.items()}


def take(values: Any, first: int, last: int | None) -> Any:
    """Rows of an array or a frame."""
    if isinstance(values, pd.DataFrame | pd.Series):
        return values.iloc[first:last]
    if isinstance(values, pa.Table):
        return values.slice(first, None if last is None else last - first)
    return values[first:last]


def numbers(n_rows: int, n_features: int, decimals: int = 2) -> np.ndarray:
    """A table of normal numbers; column 3 holds few integers, column 4 is mostly zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).round(decimals)
    if n_features > 4:
        X[:, 3] = rng.integers(0, 7, n_rows)
        X[:, 4] = np.where(rng.random(n_rows) < 0.7, 0.0, X[:, 4])
    return X


def signal_of(X: np.ndarray) -> np.ndarray:
    """What targets depend on: additions and multiplications only."""
    return np.where(X[:, 0] > 0, X[:, 0], 0.3 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + (0.2 * X[:, 3] if X.shape[1] > 3 else 0.0)


def noisy(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (signal + 0.3 * rng.normal(size=len(signal))).round(3)


def positive(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.gamma(2.0, np.clip(1 + signal, 0.1, 8)).round(3) + 0.01


def time_bounds(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Lower and upper bounds: equal, apart, without an upper one, without a lower one."""
    time_, kind = positive(signal, rng), rng.integers(0, 4, len(signal))
    return np.column_stack([np.choose(kind, [time_, 0.5 * time_, time_, 0 * time_]), np.choose(kind, [time_, time_, np.inf, time_])])


def events(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    y = np.zeros(len(signal), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(len(signal)) < 0.7, positive(signal, rng)
    return y


def soft_labels(n_classes: int, signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Fractions of classes, multiples of 1/8."""
    counts = np.zeros((len(signal), n_classes))
    for _ in range(8):
        counts[np.arange(len(signal)), np.clip(np.digitize(noisy(signal, rng), [0.3, 1.0]), 0, n_classes - 1)] += 1
    return counts / 8


def three_outputs(signal: np.ndarray, rng: np.random.Generator, missing: float = 0.0) -> np.ndarray:
    y = np.column_stack([noisy(signal, rng), noisy(-2 * signal, rng), noisy(0 * signal, rng)])
    y[rng.random(y.shape) < missing] = np.nan
    return y


TARGETS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "number": noisy,
    "number of 3 quantiles": noisy,
    "heavy tail": lambda signal, rng: noisy(signal, rng) * rng.integers(1, 1000, len(signal)) ** 2,
    "count": lambda signal, rng: rng.poisson(np.clip(1 + signal, 0.1, 8)).astype(float),
    "positive": positive,
    "zero or positive": lambda signal, rng: np.where(rng.random(len(signal)) < 0.3, 0.0, positive(signal, rng)),
    "fraction": lambda signal, rng: np.clip(0.5 + 0.2 * noisy(signal, rng), 0, 1).round(3),
    "signed time": lambda signal, rng: positive(signal, rng) * np.where(rng.random(len(signal)) < 0.7, 1, -1),
    "time and event": lambda signal, rng: np.column_stack([positive(signal, rng), rng.random(len(signal)) < 0.7]),
    "event record": events,
    "time bounds": time_bounds,
    "3 outputs": three_outputs,
    "3 outputs, some missing": lambda signal, rng: three_outputs(signal, rng, 0.2),
    "3 counts": lambda signal, rng: np.column_stack([rng.poisson(np.clip(1 + k * signal, 0.1, 8)) for k in (-1, 0, 1)]),
    "2 classes": lambda signal, rng: (noisy(signal, rng) > 0.5).astype(int),
    "2 floats": lambda signal, rng: np.where(noisy(signal, rng) > 0.5, 2.0, -1.0),
    "3 objects": lambda signal, rng: np.array(["low", "mid", "top"], dtype=object)[np.digitize(noisy(signal, rng), [0.2, 1.2])],
    "2 texts": lambda signal, rng: np.array(["no", "yes"])[(noisy(signal, rng) > 0.5).astype(int)],
    "3 classes": lambda signal, rng: np.digitize(noisy(signal, rng), [0.2, 1.2]),
    "5 classes": lambda signal, rng: np.digitize(noisy(signal, rng), [0, 0.4, 0.8, 1.4]) * 10,
    "12 classes": lambda signal, rng: np.digitize(noisy(signal, rng), np.arange(11) / 5),
    "1 class": lambda signal, rng: np.full(len(signal), 7),
    "3 labels": lambda signal, rng: (three_outputs(signal, rng) > 0.4).astype(int),
    "2 soft labels": lambda signal, rng: soft_labels(2, signal, rng),
    "3 soft labels": lambda signal, rng: soft_labels(3, signal, rng),
    "relevance": lambda signal, rng: np.digitize(noisy(signal, rng), [0.2, 0.8, 1.6]),
}
# Of targets that have more than one.
N_OUTPUTS = {"number of 3 quantiles": 3, "3 outputs": 3, "3 classes": 3, "3 labels": 3, "3 soft labels": 3}


@cache
def table(
    target: str = "number",
    n_rows: int = 500,
    n_features: int = 6,
    *,
    missing: float = 0.05,
    weights: str = "",
    offset: float = 0.0,
    one_hot: int = 0,
    thin: int = 0,
    form: str = "",
    decimals: int = 2,
) -> Data:
    """A table of numbers with a target.

    Parameters
    ----------
    missing : fraction of missing values
    weights : "repeats": 0, 0.5, 1 and 1.5; "fractions": all different and small
    offset : size of the offsets
    one_hot : columns of which exactly one is 1 in each row, placed after the others
    thin : columns that are mostly zero, placed after those
    form : a name of `FORMS`, what X is converted to
    decimals : of the numbers
    """
    rng = np.random.default_rng(1)
    n = n_rows + N_TEST
    X = numbers(n, n_features, decimals)
    signal = signal_of(X)
    if one_hot:
        level = rng.choice(one_hot, n, p=np.arange(1, one_hot + 1) / sum(range(1, one_hot + 1)))
        signal = signal + (level % 3 == 0)
        X = np.column_stack([X, np.eye(one_hot)[level]])
    if thin:
        few = np.where(rng.random((n, thin)) < 0.1, rng.integers(-3, 9, (n, thin)), 0.0)
        signal = signal + 0.3 * few[:, 0]
        X = np.column_stack([X, few])
    arguments: dict[str, Any] = {"X": X, "y": TARGETS[target](signal, rng)}
    X[:, :n_features][rng.random((n, n_features)) < missing] = np.nan
    if weights:
        arguments["sample_weight"] = rng.integers(0, 4, n) / 2 if weights == "repeats" else rng.integers(1, 1000, n) / 2**20
    if target == "relevance":
        arguments["qid"] = np.repeat(np.arange(n), 1 + np.arange(n) % 17)[:n]
        arguments["qid"][n_rows:] += n  # no query is in both parts
    if offset:
        n_outputs = N_OUTPUTS.get(target, 1)
        of_rows = (offset * rng.normal(size=(n, n_outputs))).round(2)
        arguments["offset"] = of_rows if n_outputs > 1 else of_rows[:, 0]
    if form:
        arguments["X"] = FORMS[form](X)
    return Data(arguments, n_rows)


def with_duplicates(X: np.ndarray) -> sparse.csr_array:
    """Each entry in two halves, which add up."""
    rows, columns = np.nonzero(X)
    halves = np.repeat(X[rows, columns] / 2, 2)
    begin = np.concatenate([[0], np.cumsum(2 * np.count_nonzero(X, axis=1))])
    return sparse.csr_array((halves, np.repeat(columns, 2), begin), shape=X.shape)


@cache
def clashing(n_rows: int, thin: int, form: str = "") -> Data:
    """Columns that exclude each other in all even rows, the sample that decides on bundles, but not in all odd ones."""
    rng, n = np.random.default_rng(8), n_rows + N_TEST
    level = rng.integers(0, 4, n)
    X = np.column_stack([numbers(n, 1)[:, 0], np.eye(4)[level], rng.random((n, thin)) < 0.05])
    X[1::1000, 1:3] = 1.0
    y = noisy(X[:, 0] + X[:, 1] - X[:, 2] * X[:, 3] + 0.5 * X[:, -1], rng)
    return Data({"X": FORMS[form](X) if form else X, "y": y}, n_rows)


# What a table of numbers may be converted to.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "columns first": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "big endian": lambda X: X.astype(">f8"),
    "int64": lambda X: np.nan_to_num(10 * X).astype(np.int64),
    "int8": lambda X: np.nan_to_num(10 * X).astype(np.int8),
    "uint16": lambda X: np.abs(np.nan_to_num(10 * X)).astype(np.uint16),
    "bool": lambda X: X > 0,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "masked": lambda X: np.ma.masked_array(X, mask=np.arange(X.size).reshape(X.shape) % 11 == 0),
    "infinite": lambda X: np.where(X > 1.8, np.inf, np.where(X < -1.9, -np.inf, X)),
    "minus nine missing": lambda X: np.nan_to_num(X, nan=-9.0),
    "pandas": lambda X: pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]),
    "pandas float32": lambda X: pd.DataFrame(X.astype(np.float32)),
    "pandas nullable": lambda X: pd.DataFrame({f"x{i}": pd.array(x, dtype="Float64") for i, x in enumerate(X.T)}),
    "pandas arrow": lambda X: pd.DataFrame({f"x{i}": pd.array(x, dtype="float64[pyarrow]") for i, x in enumerate(X.T)}),
    "polars": lambda X: pl.DataFrame({f"x{i}": pl.Series(x).fill_nan(None) for i, x in enumerate(X.T)}),
    "polars float32": lambda X: pl.DataFrame({f"x{i}": x.astype(np.float32) for i, x in enumerate(X.T)}),
    "pyarrow": lambda X: pa.table({f"x{i}": pa.array(x, from_pandas=True) for i, x in enumerate(X.T)}),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo matrix": lambda X: sparse.coo_matrix(X).tocsr(),
    "csr with duplicates": with_duplicates,
    "csr float32": lambda X: sparse.csr_array(X.astype(np.float32)),
    "csr int": lambda X: sparse.csr_array(np.nan_to_num(X).astype(np.int32)),
    "pandas sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csc_matrix(X), columns=[f"x{i}" for i in range(X.shape[1])]),
}


SIZES = ["S", "M", "L", "XL"]


@cache
def mixed_columns(n: int) -> dict[str, Any]:
    """Columns of numbers, bools, text, categories and times; None is missing. "plate" has more than 255 levels; "signal" is no feature."""
    rng = np.random.default_rng(5)
    age, count = rng.normal(40, 12, n).round(1), rng.integers(0, 50, n)
    city, street = rng.integers(0, 14, n) ** 2 // 14, rng.integers(0, 20, n) * rng.integers(0, 20, n)
    size, flag = rng.integers(0, 4, n), rng.random(n) < 0.4
    when = np.datetime64("2023-01-01", "us") + 1_000_000 * rng.integers(0, 2 * 365 * 86_400, n)
    took = 1_000_000 * rng.integers(0, 10_000, n).astype("timedelta64[us]")
    plate = rng.integers(0, 420, n)
    signal = 0.02 * age + 0.3 * (city % 3) + 0.1 * (street % 5) * flag + 0.2 * size + 0.01 * count + 0.4 * (plate % 2) - 1.3

    def some(values: Any) -> list[Any]:
        """About 1 in 12 is missing."""
        return [None if gone else value for value, gone in zip(values, rng.random(n) < 0.08, strict=True)]

    return {
        "signal": signal,
        "age": age,
        "count": some(count.tolist()),
        "flag": some(flag.tolist()),
        "city": some([f"city {c}" for c in city]),
        "street": [f"street {s}" for s in street],
        "plate": [f"{p:03}" for p in plate],
        "size": some(SIZES[s] for s in size),
        "when": when,
        "took": took,
    }


def pandas_frame(columns: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame({"age": columns["age"], "count": pd.array(columns["count"], dtype="Int64")})
    frame["flag"] = pd.array(columns["flag"], dtype="boolean")
    frame["city"] = pd.Series(columns["city"], dtype=object)
    frame["street"] = pd.Series(columns["street"], dtype="category")
    frame["size"] = pd.Categorical(columns["size"], categories=SIZES, ordered=True)
    frame["plate"], frame["when"], frame["took"] = columns["plate"], columns["when"], columns["took"]
    return frame


def polars_frame(columns: dict[str, Any]) -> pl.DataFrame:
    types = {"city": pl.String, "street": pl.Categorical, "size": pl.Enum(SIZES)}
    return pl.DataFrame({name: pl.Series(values, dtype=types.get(name)) for name, values in columns.items()})


def python_frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Columns of Python objects: dates, times of day, decimals, bools, texts and None."""
    moments = columns["when"].tolist()
    objects = {
        "age": [Decimal(str(age)) for age in columns["age"].tolist()],
        "flag": columns["flag"],
        "city": columns["city"],
        "date": [moment.date() for moment in moments],
        "time": [moment.time() for moment in moments],
        "zoned": [moment.replace(tzinfo=datetime.UTC) for moment in moments],
        "took": columns["took"].tolist(),
    }
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in objects.items()})


def other_polars_frame(columns: dict[str, Any]) -> pl.DataFrame:
    frame = polars_frame(columns)
    return frame.select(
        pl.col("age").cast(pl.Decimal(10, 1)),
        pl.col("count").cast(pl.UInt8),
        pl.col("flag"),
        pl.col("city").cast(pl.Categorical),
        pl.col("when").cast(pl.Date).alias("date"),
        pl.col("when").dt.time().alias("time"),
        pl.col("when").dt.replace_time_zone("UTC").alias("zoned"),
        pl.col("took"),
    )


def arrow_table(columns: dict[str, Any]) -> pa.Table:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(arrays | {"street": arrays["street"].dictionary_encode()})


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pandas_frame,
    "pandas text": lambda columns: pandas_frame(columns).astype({"city": "str", "street": "str", "size": "str"}),
    "pandas arrow text": lambda columns: pandas_frame(columns).astype({"city": "string[pyarrow]", "street": "string[pyarrow]"}),
    "pandas zone": lambda columns: pandas_frame(columns).assign(when=pd.to_datetime(columns["when"], utc=True).tz_convert("Europe/Berlin")),
    "pandas nanoseconds": lambda columns: pandas_frame(columns).astype({"when": "datetime64[ns]", "took": "timedelta64[ns]"}),
    "pandas objects": python_frame,
    "polars": polars_frame,
    "polars other types": other_polars_frame,
    "pyarrow": arrow_table,
    "objects": lambda columns: np.array([columns["age"].tolist(), columns["count"], columns["city"], columns["plate"]], dtype=object).T,
}


@cache
def mixed(frame: str = "pandas", target: str = "number", n_rows: int = 500, weights: bool = False) -> Data:
    """A frame of numbers, bools, text, categories and times; some test rows have unseen levels."""
    rng = np.random.default_rng(6)
    columns = dict(mixed_columns(n_rows + N_TEST))
    y = TARGETS[target](columns.pop("signal"), rng)
    columns["city"] = columns["city"][:-3] + ["elsewhere"] * 3
    arguments = {"X": FRAMES[frame](columns), "y": y}
    if weights:
        arguments["sample_weight"] = rng.integers(0, 4, n_rows + N_TEST) / 2
    return Data(arguments, n_rows)


# Losses of users' own


class Cauchy(Loss):
    """A loss in NumPy. The value is not the true one, which has a logarithm; early stopping needs only something that falls."""

    exact_hessian = False

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return (raw - y) ** 2 / (1 + (raw - y) ** 2)

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hessian = 1 / (1 + (raw - y) ** 2)
        return (raw - y) * hessian, hessian


class Cubic(Loss):
    """The loss that is registered."""

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        return np.abs(raw - y) * (raw - y) ** 2 / 3

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (raw - y) * np.abs(raw - y), 2 * np.abs(raw - y)


def squared(y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A function as a loss."""
    return raw - y, np.ones(len(y))


def rational_odds(y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A function for two classes, without logarithms."""
    return 0.5 * (1 + raw / (1 + np.abs(raw))) - y, np.full(len(y), 0.25)


def rational_classes(y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A function for more than two classes, without logarithms."""
    hit = y[:, None] == np.arange(raw.shape[1])
    return 0.5 * (1 + raw / (1 + np.abs(raw))) - hit, np.full(raw.shape, 0.25)


# Ways to train


def fit(estimator: Any, data: Data) -> Any:
    return estimator.fit(**data.train)


def fit_with(**more: Any) -> Callable[[Any, Data], Any]:
    """`fit` with more arguments; one that is a function is called first, so that each fit has its own."""
    return lambda estimator, data: estimator.fit(**data.train, **{name: made() if callable(made) else made for name, made in more.items()})


def fit_validated(estimator: Any, data: Data) -> Any:
    return estimator.fit(**data.train, **data.validation)


def fit_evaluated(estimator: Any, data: Data) -> Any:
    return estimator.fit(**data.train, eval_sets={"test": data.test, "half": data.halves[0]})


def fit_measured(*metrics: Any) -> Callable[[Any, Data], Any]:
    """With an evaluation set and metrics."""
    return lambda estimator, data: estimator.fit(**data.train, eval_sets=[data.test], eval_metric=list(metrics))


def warm_start(estimator: Any, data: Data) -> Any:
    n_rounds = estimator.max_iter
    estimator.set_params(warm_start=True, max_iter=n_rounds // 2).fit(**data.train)
    return estimator.set_params(max_iter=n_rounds).fit(**data.train)


def partial_fit(estimator: Any, data: Data) -> Any:
    for half in data.halves:
        estimator.partial_fit(**half)
    return estimator


def init_model(estimator: Any, data: Data) -> Any:
    first, second = data.halves
    return estimator.fit(**second, init_model=clone(estimator).fit(**first))


def init_model_alone(estimator: Any, data: Data) -> Any:
    """From a `Model`."""
    first, second = data.halves
    return estimator.fit(**second, init_model=clone(estimator).fit(**first).model_)


def refit(decay: float) -> Callable[[Any, Data], Any]:
    def train(estimator: Any, data: Data) -> Any:
        first, second = data.halves
        return estimator.fit(**first).refit(**second, decay=decay)

    return train


def merged(weights: Any) -> Callable[[Any, Data], Any]:
    """One model from one of each half."""
    return lambda estimator, data: merge([clone(estimator).fit(**half) for half in data.halves], weights)


# The registry


@dataclass(frozen=True)
class Fit:
    """A fit, from which the hashes are taken."""

    estimator: type
    data: Callable[[], Data]
    parameters: Parameters = field(default_factory=dict)
    train: Callable[[Any, Data], Any] = fit
    thorough: bool = False  # whether all kinds of predictions are hashed

    def hashes(self) -> str:
        """Three: of the model's bytes, of the saved estimator's ("-" if it cannot be saved), and of predictions. No fit may warn."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data = self.data()
            fitted = self.train(self.estimator(**DEFAULTS | self.parameters), data)
            try:
                saved = digest(fitted.to_bytes())
            except UserWarning:  # a parameter such as a function cannot be saved
                saved = "-"
            predicted = [*predictions(fitted, data), *(other_predictions(fitted, data) if self.thorough else [])]
            return f"{digest(fitted.model_.to_bytes())} {saved} {digest(*predicted)}"


def predictions(fitted: Any, data: Data) -> Iterator[bytes]:
    """For all test rows at once, and for each of three alone."""
    test = data.test
    for first, last in ((0, None), (0, 1), (1, 2), (2, 3)):
        given = {name: take(test[name], first, last) for name in ("X", "offset") if name in test}
        if isinstance(fitted, BoostingClassifier):
            yield fitted.predict_proba(**given).tobytes()
            yield repr(fitted.predict(**given).tolist()).encode()
        else:
            yield fitted.predict(**given).tobytes()


def other_predictions(fitted: Any, data: Data) -> Iterator[bytes]:
    """Leaves, stages, parts of the rounds, Shapley values and importances; and what the saved estimator predicts."""
    given = {name: take(values, 0, 40) for name, values in data.test.items() if name in ("X", "offset")}
    yield fitted.apply(given["X"]).tobytes()
    yield from (stage.tobytes() for stage in fitted.staged_predict(**given))
    for rounds in (0, 2, (1, 4)):
        yield fitted.predict(**given, rounds=rounds).tobytes()
    yield fitted.explain(**given).values.tobytes()
    yield fitted.importances("gain").tobytes() + fitted.importances("cover").tobytes()
    if isinstance(fitted, BoostingClassifier):
        yield fitted.decision_function(**given).tobytes()
        if "offset" not in given and fitted.init is None:
            yield fitted.predict_proba(**given, early_exit=0.5).tobytes()
    yield from predictions(type(fitted).from_bytes(fitted.to_bytes()), data)


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:DIGITS]


FITS: dict[str, Fit] = {}


def add(
    name: str, estimator: type, data: Callable[[], Data], parameters: Parameters | None = None, train: Callable[[Any, Data], Any] = fit
) -> None:
    assert name not in FITS, name
    FITS[name] = Fit(estimator, data, parameters or {}, train)


def add_variant(name: str, of: str, **changes: Any) -> None:
    """A fit that is registered already, with changes."""
    assert name not in FITS, name
    FITS[name] = replace(FITS[of], **changes)


def regress(name: str, parameters: Parameters | None = None, train: Callable[[Any, Data], Any] = fit, **data: Any) -> None:
    add(name, BoostingRegressor, lambda: table(**data), parameters, train)


def classify(
    name: str, parameters: Parameters | None = None, train: Callable[[Any, Data], Any] = fit, target: str = "2 classes", **data: Any
) -> None:
    add(name, BoostingClassifier, lambda: table(target, **data), parameters, train)


def rank(name: str, parameters: Parameters | None = None, train: Callable[[Any, Data], Any] = fit, **data: Any) -> None:
    add(name, BoostingRanker, lambda: table("relevance", **data), parameters, train)


# Every loss in every variant

# Name: estimator, target, parameters.
LOSSES: dict[str, tuple[type, str, Parameters]] = {
    "squared_error": (BoostingRegressor, "number", {}),
    "absolute_error": (BoostingRegressor, "number", {"loss": "absolute_error"}),
    "huber": (BoostingRegressor, "number", {"loss": "huber", "huber_delta": 0.3}),
    "median": (BoostingRegressor, "number", {"loss": "quantile"}),
    "quantile 0.9": (BoostingRegressor, "number", {"loss": "quantile", "quantile": 0.9}),
    "three quantiles": (BoostingRegressor, "number of 3 quantiles", {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]}),
    "expectile": (BoostingRegressor, "number", {"loss": "expectile", "expectile": 0.8}),
    "log_cosh": (BoostingRegressor, "number", {"loss": "log_cosh"}),
    "mape": (BoostingRegressor, "number", {"loss": "mape"}),
    "poisson": (BoostingRegressor, "count", {"loss": "poisson"}),
    "gamma": (BoostingRegressor, "positive", {"loss": "gamma"}),
    "tweedie 1.2": (BoostingRegressor, "zero or positive", {"loss": "tweedie", "tweedie_power": 1.2}),
    "tweedie 1.8": (BoostingRegressor, "zero or positive", {"loss": "tweedie", "tweedie_power": 1.8}),
    "log_loss of fractions": (BoostingRegressor, "fraction", {"loss": "log_loss"}),
    "cox": (BoostingRegressor, "signed time", {"loss": "cox"}),
    "aft normal": (BoostingRegressor, "time bounds", {"loss": "aft"}),
    "aft logistic": (BoostingRegressor, "time bounds", {"loss": "aft", "aft_distribution": "logistic", "aft_sigma": 0.7}),
    "aft extreme": (BoostingRegressor, "time bounds", {"loss": "aft", "aft_distribution": "extreme"}),
    "three outputs": (BoostingRegressor, "3 outputs", {}),
    "three outputs absolute_error": (BoostingRegressor, "3 outputs", {"loss": "absolute_error"}),
    "own loss": (BoostingRegressor, "number", {"loss": Cauchy}),
    "function": (BoostingRegressor, "number", {"loss": squared, "scoring": "r2"}),
    "two classes": (BoostingClassifier, "2 classes", {}),
    "two classes focal": (BoostingClassifier, "2 classes", {"loss": "focal"}),
    "three classes": (BoostingClassifier, "3 classes", {}),
    "three classes focal": (BoostingClassifier, "3 classes", {"loss": "focal", "focal_gamma": 1.5}),
    "three labels": (BoostingClassifier, "3 labels", {}),
    "two soft labels": (BoostingClassifier, "2 soft labels", {}),
    "three soft labels": (BoostingClassifier, "3 soft labels", {}),
    "lambdamart ndcg": (BoostingRanker, "relevance", {}),
    "lambdamart map": (BoostingRanker, "relevance", {"rank_metric": "map"}),
    "lambdamart mrr": (BoostingRanker, "relevance", {"rank_metric": "mrr"}),
    "pairwise": (BoostingRanker, "relevance", {"loss": "pairwise"}),
    "xendcg": (BoostingRanker, "relevance", {"loss": "xendcg"}),
}
# Name: parameters, data, way to train.
VARIANTS: dict[str, tuple[Parameters, Parameters, Callable[[Any, Data], Any]]] = {
    "leafwise": ({}, {}, fit),
    "depthwise": ({"grow_policy": "depthwise"}, {}, fit),
    "symmetric": ({"grow_policy": "symmetric"}, {}, fit),
    "weights": ({}, {"weights": "repeats"}, fit),
    "offset": ({}, {"offset": 0.3}, fit),
    "subsample": ({"subsample": 0.6}, {}, fit),
    "goss": ({"sampling": "goss", "learning_rate": 0.5}, {}, fit),
    "mvs": ({"sampling": "mvs", "subsample": 0.5}, {}, fit),
    "bayesian": ({"sampling": "bayesian"}, {}, fit),
    "ordered": ({"boosting": "ordered"}, {}, fit),
    "dart": ({"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.2}, {}, fit),
    "forest": ({"boosting": "forest", "subsample": 0.5}, {}, fit),
    "exact": ({"tree_method": "exact"}, {}, fit),
    "line_search": ({"step": "line_search"}, {}, fit),
    "early stopping": ({"early_stopping": True, "max_iter": 20, "n_iter_no_change": 2, "learning_rate": 0.5}, {}, fit),
    "evaluation sets": ({}, {"weights": "fractions"}, fit_evaluated),
    "warm start": ({}, {}, warm_start),
    "partial_fit": ({}, {}, partial_fit),
    "refit": ({}, {}, refit(0.5)),
}
REFUSED = {
    ("cox", "ordered"),
    ("lambdamart ndcg", "ordered"),
    ("lambdamart map", "ordered"),
    ("lambdamart mrr", "ordered"),
    ("pairwise", "ordered"),
    ("xendcg", "ordered"),
    ("lambdamart ndcg", "line_search"),
    ("lambdamart map", "line_search"),
    ("lambdamart mrr", "line_search"),
    ("pairwise", "line_search"),
    ("xendcg", "line_search"),
    ("function", "line_search"),
    ("function", "evaluation sets"),
}


def add_losses() -> None:
    for loss, (estimator, target, own) in LOSSES.items():
        for variant, (parameters, data, train) in VARIANTS.items():
            if (loss, variant) not in REFUSED:

                def make(target: str = target, data: Parameters = data) -> Data:
                    return table(target, **data)

                add(f"loss / {loss} / {variant}", estimator, make, own | parameters, train)
    regress("loss / cox / time and event", {"loss": "cox"}, target="time and event")
    regress("loss / cox / event record", {"loss": "cox"}, target="event record")
    regress("loss / aft / signed time", {"loss": "aft"}, target="signed time")
    regress("loss / aft / event record", {"loss": "aft"}, target="event record")
    regress("loss / heavy tail", target="heavy tail")
    regress("loss / heavy tail / huber", {"loss": "huber"}, target="heavy tail")
    regress("loss / own / instance", {"loss": Cauchy()}, weights="repeats")
    regress("loss / own / early stopping by loss", {"loss": Cauchy, "early_stopping": True})
    regress("loss / own / three outputs", {"loss": Cauchy}, target="3 outputs")
    classify("loss / function / two classes", {"loss": rational_odds})
    classify("loss / function / three classes", {"loss": rational_classes}, target="3 classes")
    register_and_fit = fit_registered("fit_hashes_cubic", Cubic)
    regress("loss / registered", {"loss": "fit_hashes_cubic"}, register_and_fit)
    regress("loss / registered / depthwise", {"loss": "fit_hashes_cubic", "grow_policy": "depthwise"}, register_and_fit, weights="repeats")
    regress("loss / quantile 0", {"loss": "quantile", "quantile": 0.0})
    regress("loss / quantile 1", {"loss": "quantile", "quantile": 1})
    regress("loss / many quantiles", {"loss": "quantile", "quantile": np.arange(1, 10) / 10})
    regress("loss / old name", {"loss": "least_squares"})
    for power in (1.01, 1.5, 1.99):
        regress(f"loss / tweedie {power}", {"loss": "tweedie", "tweedie_power": power}, target="zero or positive")
    for gamma in (0.0, 0.5, 5.0):
        classify(f"loss / focal {gamma}", {"loss": "focal", "focal_gamma": gamma})
    rank("loss / lambdamart / truncation", {"lambdarank_truncation": 3})
    rank("loss / lambdamart / not normalized", {"lambdarank_norm": False})
    rank("loss / lambdamart / label_gain", {"label_gain": [0, 1, 2, 5]})
    rank("loss / lambdamart / label_gain and ndcg", {"label_gain": [0, 1, 2, 5], "early_stopping": True, "scoring": "ndcg@5"})
    rank("loss / lambdamart / early stopping by ndcg", {"early_stopping": True, "scoring": "ndcg@3", "max_iter": 15})
    add("loss / lambdamart / group", BoostingRanker, lambda: table("relevance", 510), train=fit_by_group)


def fit_registered(name: str, loss: Any) -> Callable[[Any, Data], Any]:
    def train(estimator: Any, data: Data) -> Any:
        register_loss(name, loss)
        return fit(estimator, data)

    return train


def fit_by_group(estimator: Any, data: Data) -> Any:
    """Queries of ten rows, given by their sizes."""
    given = data.train
    del given["qid"]
    return estimator.fit(**given, group=np.full(len(given["y"]) // 10, 10))


# Groups of fits that each look at one part


def add_classes() -> None:
    for target in ("2 texts", "2 floats", "3 objects", "3 classes", "5 classes", "12 classes", "1 class"):
        classify(f"classes / {target}", target=target)
    for name, given in {"balanced": "balanced", "dict": {0: 2.0, 1: 0.5}}.items():
        classify(f"classes / class_weight {name}", {"class_weight": given})
        classify(f"classes / class_weight {name} and weights", {"class_weight": given}, weights="repeats")
    classify("classes / class_weight of soft labels", {"class_weight": {0: 2.0, 2: 0.5}}, target="3 soft labels")
    classify("classes / bool", target="2 classes", form="bool")
    for strategy in ("one_output_per_tree", "multi_output_tree"):
        for policy in ("leafwise", "depthwise", "symmetric"):
            given = {"multi_strategy": strategy, "grow_policy": policy}
            classify(f"outputs / 5 classes / {strategy} {policy}", given, target="5 classes")
            classify(f"outputs / 3 labels / {strategy} {policy}", given, target="3 labels")
            regress(f"outputs / 3 outputs / {strategy} {policy}", given, target="3 outputs")
            regress(f"outputs / 3 counts / {strategy} {policy}", given | {"loss": "poisson"}, target="3 counts")
        given = {"multi_strategy": strategy}
        regress(f"outputs / some missing / {strategy}", given, target="3 outputs, some missing")
        regress(f"outputs / some missing / {strategy} weights", given, target="3 outputs, some missing", weights="repeats")
        regress(f"outputs / some missing / {strategy} subsample", given | {"subsample": 0.5}, target="3 outputs, some missing")
        regress(f"outputs / some missing / {strategy} absolute_error", given | {"loss": "absolute_error"}, target="3 outputs, some missing")
        regress(f"outputs / quantiles / {strategy}", given | {"loss": "quantile", "quantile": [0.2, 0.8]})
        for extra in ({"sampling": "goss", "learning_rate": 0.5}, {"sampling": "mvs", "subsample": 0.5}, {"boosting": "ordered"}):
            classify(f"outputs / 5 classes / {strategy} {extra}", given | extra, target="5 classes")
        classify(f"outputs / 5 classes / {strategy} exact", given | {"tree_method": "exact"}, target="5 classes")
        classify(f"outputs / 5 classes / {strategy} dart", given | {"boosting": "dart", "skip_drop": 0.0}, target="5 classes")
    for shared in (1, 2, 3, 7):
        classify(f"outputs / shared_trees {shared}", {"shared_trees": shared}, target="5 classes")
        classify(f"outputs / shared_trees {shared} line_search", {"shared_trees": shared, "step": "line_search"}, target="3 classes")


def add_sampling() -> None:
    for policy in ("leafwise", "depthwise", "symmetric"):
        for name, given in {
            "features of a node": {"max_features": 0.4},
            "features of a level": {"max_features_level": 0.5},
            "features of a tree": {"max_features_tree": 0.5},
            "all three": {"max_features": 0.8, "max_features_level": 0.7, "max_features_tree": 0.6},
            "rows and features": {"subsample": 0.5, "max_features": 0.5},
        }.items():
            regress(f"sampling / {name} / {policy}", given | {"grow_policy": policy}, n_features=12)
            classify(f"sampling / {name} / {policy} classes", given | {"grow_policy": policy}, target="3 classes", n_features=12)
        for fraction in (0.1, 0.3, 0.9):
            regress(f"sampling / subsample {fraction} / {policy}", {"subsample": fraction, "grow_policy": policy}, n_rows=1500)
        for top, other in ((0.1, 0.1), (0.5, 0.3)):
            given = {"sampling": "goss", "goss_top": top, "goss_other": other, "learning_rate": 0.5, "grow_policy": policy}
            classify(f"sampling / goss {top} {other} / {policy}", given, n_rows=1500)
        classify(f"sampling / mvs / {policy}", {"sampling": "mvs", "subsample": 0.3, "grow_policy": policy}, n_rows=1500)
    for temperature in (0.0, 0.5, 2.0):
        regress(f"sampling / bayesian {temperature}", {"sampling": "bayesian", "bagging_temperature": temperature})
    for target in ("2 classes", "5 classes"):
        classify(f"sampling / stratified / {target}", {"stratified": True, "subsample": 0.3}, target=target, n_rows=1000)
        classify(
            f"sampling / stratified / {target} weights",
            {"stratified": True, "subsample": 0.3},
            target=target,
            n_rows=1000,
            weights="repeats",
        )
    for loss in ("lambdamart", "pairwise", "xendcg"):
        rank(f"sampling / queries / {loss}", {"loss": loss, "sampling_unit": "query", "subsample": 0.5}, n_rows=1000)
    rank("sampling / queries / weights", {"sampling_unit": "query", "subsample": 0.5}, n_rows=1000, weights="repeats")
    rank("sampling / rows of queries", {"subsample": 0.5}, n_rows=1000)
    for seed in (None, 0, 1, 2**31 - 1):
        regress(f"sampling / random_state {seed}", {"random_state": seed, "subsample": 0.5, "max_features": 0.5})


def add_categories() -> None:
    for encoding in ("auto", "onehot", "partition", "target", "count"):
        for policy in ("leafwise", "depthwise", "symmetric"):
            given = {"categorical_encoding": encoding, "grow_policy": policy}
            add(f"categories / {encoding} / {policy}", BoostingRegressor, mixed, given)
            add(f"categories / {encoding} / {policy} two classes", BoostingClassifier, lambda: mixed(target="2 classes"), given)
        given = {"categorical_encoding": encoding}
        add(f"categories / {encoding} / three classes", BoostingClassifier, lambda: mixed(target="3 classes"), given)
        add(f"categories / {encoding} / three outputs", BoostingRegressor, lambda: mixed(target="3 outputs"), given)
        add(f"categories / {encoding} / poisson", BoostingRegressor, lambda: mixed(target="count"), given | {"loss": "poisson"})
        add(f"categories / {encoding} / weights", BoostingRegressor, lambda: mixed(weights=True), given)
        add(f"categories / {encoding} / subsample", BoostingRegressor, mixed, given | {"subsample": 0.5, "max_features": 0.6})
        add(f"categories / {encoding} / early stopping", BoostingRegressor, mixed, given | {"early_stopping": True})
        add(f"categories / {encoding} / validation rows", BoostingRegressor, mixed, given, fit_validated)
        add(f"categories / {encoding} / many rows", BoostingClassifier, lambda: mixed(target="3 classes", n_rows=3000), given)
        add(f"categories / {encoding} / partial_fit", BoostingRegressor, mixed, given, partial_fit)
        add(f"categories / {encoding} / warm start", BoostingRegressor, mixed, given, warm_start)
        add(f"categories / {encoding} / init_model", BoostingRegressor, mixed, given, init_model)
        add(f"categories / {encoding} / refit", BoostingRegressor, mixed, given, refit(0.3))
        add(f"categories / {encoding} / ordered", BoostingRegressor, mixed, given | {"boosting": "ordered"})
        add(f"categories / {encoding} / extra_trees", BoostingRegressor, mixed, given | {"extra_trees": True})
        add(f"categories / {encoding} / monotonic", BoostingRegressor, mixed, given | {"monotonic_cst": {"age": 1}})
        neighbours = {"monotonic_cst": {"age": 1}, "monotonic_method": "neighbours"}
        add(f"categories / {encoding} / monotonic neighbours", BoostingRegressor, mixed, given | neighbours)
        add(f"categories / {encoding} / interactions", BoostingRegressor, mixed, given | {"interaction_cst": [["age", "city"], ["street"]]})
    for loss, (estimator, target, own) in LOSSES.items():
        if estimator is not BoostingRanker:
            given = own | {"categorical_encoding": ["target", "partition"]}
            add(f"categories / target and partition / {loss}", estimator, lambda target=target: mixed(target=target), given)
    for method in ("exact", "approx"):
        for encoding in ("auto", "target", "count", ["target", "count"]):
            given = {"tree_method": method, "categorical_encoding": encoding}
            add(f"categories / {method} / {encoding}", BoostingRegressor, mixed, given)
    for name, given in {
        "list": {"categorical_encoding": ["partition", "target"]},
        "list of three": {"categorical_encoding": ["onehot", "count", "target"]},
        "dict": {"categorical_encoding": {"city": "onehot", "street": ["target", "count"]}},
        "pairs": {"categorical_encoding": "target", "max_combination": 2},
        "triples": {"categorical_encoding": "target", "max_combination": 3},
        "pairs beside partition": {"max_combination": 2},
        "permutations": {"categorical_encoding": "target", "target_permutations": 3},
        "prior": {"categorical_encoding": "target", "target_prior": 10.0},
        "smoothing": {"cat_smooth": 1.0, "cat_l2": 0.0, "min_samples_level": 1},
        "few bins": {"max_bins": 8},
        "few bins onehot": {"max_bins": 8, "categorical_encoding": "onehot"},
        "many bins": {"max_bins": 300},
        "bins of a column": {"max_bins": {"street": 10, "age": 5}},
        "feature weights": {"feature_weights": {"street": 0.2, "city": 2.0}},
        "feature_spec": {"feature_spec": FeatureSpec({"city": {"encoding": "onehot"}, "age": {"weight": 0.5, "max_bins": 9}})},
        "missing text": {"missing": ["city 3", 4]},
        "numbers as categories": {"categorical_features": ["count", "city", "street", "plate", "size"]},
        "chosen by type": {"categorical_features": [str, int]},
    }.items():
        add(f"categories / {name}", BoostingRegressor, mixed, given)
        add(f"categories / {name} / three classes", BoostingClassifier, lambda: mixed(target="3 classes"), given)
    for given in ([3], ["a", "b"], [False, False, False, True, True, False]):
        columns, form = {"categorical_features": given}, "pandas" if isinstance(given[0], str) else ""
        columns = {"categorical_features": ["x3", "x4"]} if form else columns
        for encoding in ("auto", "onehot", "target"):
            regress(f"categories / of an array / {given} {encoding}", columns | {"categorical_encoding": encoding}, form=form)


def add_frames() -> None:
    for form in FORMS:
        given = {"missing": -9.0} if form == "minus nine missing" else {}
        regress(f"frames / {form} / regression", given, form=form)
        classify(f"frames / {form} / classes", given | {"grow_policy": "depthwise"}, form=form, target="3 classes")
    for frame in FRAMES:
        for target in ("number", "2 classes", "3 classes"):
            estimator = BoostingRegressor if target == "number" else BoostingClassifier
            add(f"frames / mixed {frame} / {target}", estimator, lambda frame=frame, target=target: mixed(frame, target))
        add(f"frames / mixed {frame} / partial_fit", BoostingRegressor, lambda frame=frame: mixed(frame), train=partial_fit)
    for frame in ("pandas", "pandas zone", "polars", "pyarrow"):
        for parts in ("auto", ["month", "weekday", "hour"], {"when": ["year", "quarter", "week", "day", "dayofyear", "minute", "second"]}):
            given = {"datetime_features": parts}
            add(f"frames / dates / {frame} {parts}", BoostingRegressor, lambda frame=frame: mixed(frame), given)
        given = {"datetime_features": "auto"}
        add(
            f"frames / dates / {frame} depthwise", BoostingRegressor, lambda frame=frame: mixed(frame), given | {"grow_policy": "depthwise"}
        )
        add(f"frames / dates / {frame} exact", BoostingRegressor, lambda frame=frame: mixed(frame), given | {"tree_method": "exact"})
        add(f"frames / dates / {frame} warm start", BoostingRegressor, lambda frame=frame: mixed(frame), given, warm_start)
        add(f"frames / dates / {frame} partial_fit", BoostingRegressor, lambda frame=frame: mixed(frame), given, partial_fit)
    for missing in (0.0, 0.3, 0.9):
        regress(f"frames / missing {missing}", missing=missing)
        classify(f"frames / missing {missing} / exact", {"tree_method": "exact"}, missing=missing)
    regress("frames / several missing values", {"missing": [0, 1]})
    regress("frames / names in another order", train=reordered, form="pandas")
    regress("frames / sparse names in another order", train=reordered, form="pandas sparse")


def reordered(estimator: Any, data: Data) -> Any:
    """Trained on the columns in reverse order; test rows have them in the first order."""
    given = data.train
    return estimator.fit(**given | {"X": given["X"].iloc[:, ::-1]})


def add_sparse() -> None:
    for form in ("csr", "csc", "coo matrix", "csr float32", "csr int", "pandas sparse"):
        for absent in ("zero", "missing"):
            given, data = {"sparse_absent": absent}, {"form": form, "one_hot": 12, "thin": 20, "n_rows": 2500}
            regress(f"sparse / {form} / {absent}", given, **data)
            classify(f"sparse / {form} / {absent} classes", given, target="3 classes", **data)
    data = {"form": "csr", "one_hot": 12, "thin": 20, "n_rows": 2500}
    for name, given in {
        "depthwise": {"grow_policy": "depthwise"},
        "symmetric": {"grow_policy": "symmetric"},
        "subsample": {"subsample": 0.4},
        "exact": {"tree_method": "exact"},
        "approx": {"tree_method": "approx", "max_bins": 20},
        "many bins": {"max_bins": 300},
        "few bins": {"max_bins": 4, "min_rows_in_bin": 30},
        "bin sample": {"bin_sample_rows": 300},
        "bin sketch": {"bin_sample_rows": None},
        "early stopping": {"early_stopping": True},
        "ordered": {"boosting": "ordered"},
        "dart": {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.5},
        "some features": {"max_features": 0.3},
        "extra_trees": {"extra_trees": True},
        "zero means missing": {"missing": 0},
    }.items():
        regress(f"sparse / {name}", given, **data)
        regress(f"sparse / {name} / weights", given, **data, weights="repeats")
    regress("sparse / validation rows", train=fit_validated, **data)
    regress("sparse / partial_fit", train=partial_fit, **data)
    regress("sparse / warm start", train=warm_start, **data)
    regress("sparse / refit", train=refit(0.5), **data)
    classify("sparse / wide", n_rows=2100, n_features=5, thin=300, form="csr")
    classify("sparse / wide / depthwise", {"grow_policy": "depthwise"}, n_rows=2100, n_features=5, thin=300, form="csr", target="3 classes")


def add_storage() -> None:
    """Bundles of mutually exclusive columns, row lists, several groups of columns."""
    layouts = {
        "bundle": {"one_hot": 12},
        "bundle and row lists": {"one_hot": 12, "thin": 20},
        "row lists": {"thin": 30},
        "two bundles": {"one_hot": 40, "thin": 3},
        "wide": {"n_features": 70, "missing": 0.0},
        "wide with missing": {"n_features": 130},
        "wide bundle and row lists": {"n_features": 66, "one_hot": 12, "thin": 20},
    }
    for layout, data in layouts.items():
        for name, given in {
            "leafwise": {},
            "depthwise": {"grow_policy": "depthwise"},
            "symmetric": {"grow_policy": "symmetric"},
            "subsample": {"subsample": 0.4, "max_features": 0.5},
            "small leaves": {"max_leaf_nodes": None, "min_samples_leaf": 2, "max_iter": 2},
            "early stopping": {"early_stopping": True},
            "extra_trees": {"extra_trees": True},
        }.items():
            given = {"max_iter": 4} | given
            regress(f"storage / {layout} / {name}", given, n_rows=2200, **data)
            classify(f"storage / {layout} / {name} classes", given, n_rows=2200, target="2 classes", **data)
        regress(f"storage / {layout} / weights", n_rows=2200, weights="repeats", **data)
        classify(f"storage / {layout} / five classes", n_rows=2200, target="5 classes", **data)
        classify(f"storage / {layout} / ordered", {"boosting": "ordered"}, n_rows=2200, **data)
        regress(f"storage / {layout} / partial_fit", train=partial_fit, n_rows=2200, **data)
        regress(f"storage / {layout} / pandas", n_rows=2200, form="pandas", **data)
    few = {"max_iter": 1, "early_stopping": False}
    for thin in (0, 9):
        add(f"storage / clash / {thin} thin columns", BoostingRegressor, lambda thin=thin: clashing(1 << 19, thin), few)
        add(f"storage / clash / {thin} thin columns, csr", BoostingRegressor, lambda thin=thin: clashing(300_000, thin, "csr"), few)


def add_modes() -> None:
    for policy in ("leafwise", "depthwise", "symmetric"):
        for boosting in ("ordered", "dart", "forest"):
            given = {"boosting": boosting, "grow_policy": policy, "subsample": 0.7}
            regress(f"modes / {boosting} / {policy}", given)
            classify(f"modes / {boosting} / {policy} weights", given, target="3 classes", weights="repeats")
    for name, given in {
        "dart / max_drop": {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.9, "max_drop": 2, "max_iter": 12},
        "dart / never skip": {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.9, "max_drop": None, "max_iter": 12},
        "dart / early stopping": {"boosting": "dart", "skip_drop": 0.0, "early_stopping": True, "max_iter": 20, "learning_rate": 0.8},
        "dart / exact": {"boosting": "dart", "skip_drop": 0.0, "tree_method": "exact"},
        "ordered / permutations": {"boosting": "ordered", "boosting_permutations": 2},
        "ordered / one permutation": {"boosting": "ordered", "boosting_permutations": 1},
        "ordered / early stopping": {"boosting": "ordered", "early_stopping": True, "max_iter": 20},
        "ordered / exact": {"boosting": "ordered", "tree_method": "exact"},
        "ordered / goss": {"boosting": "ordered", "sampling": "goss", "learning_rate": 0.5},
        "ordered / mvs": {"boosting": "ordered", "sampling": "mvs", "subsample": 0.5},
        "forest / features": {"boosting": "forest", "max_features": 0.4},
        "forest / goss": {"boosting": "forest", "sampling": "goss"},
        "forest / bayesian": {"boosting": "forest", "sampling": "bayesian"},
        "forest / exact": {"boosting": "forest", "subsample": 0.5, "tree_method": "exact"},
        "line_search / depthwise": {"step": "line_search", "grow_policy": "depthwise"},
        "line_search / dart": {"step": "line_search", "boosting": "dart", "skip_drop": 0.0},
        "line_search / forest": {"step": "line_search", "boosting": "forest", "subsample": 0.5},
        "line_search / subsample": {"step": "line_search", "subsample": 0.5},
        "line_search / bayesian": {"step": "line_search", "sampling": "bayesian"},
    }.items():
        regress(f"modes / {name}", given)
        classify(f"modes / {name} / three classes", given, target="3 classes")
        regress(f"modes / {name} / poisson", given | {"loss": "poisson"}, target="count", weights="repeats")
    for method in ("exact", "approx", "approx local", "bins above 255"):
        given = {
            "exact": {"tree_method": "exact"},
            "approx": {"tree_method": "approx", "max_bins": 20},
            "approx local": {"tree_method": "approx", "approx_proposal": "local", "max_bins": 12},
            "bins above 255": {"max_bins": 260},
        }[method]
        for policy in ("leafwise", "depthwise"):
            regress(f"methods / {method} / {policy}", given | {"grow_policy": policy}, n_rows=900)
            classify(f"methods / {method} / {policy} classes", given | {"grow_policy": policy}, n_rows=900, target="3 classes")
        for name, more in {
            "subsample": {"subsample": 0.5},
            "goss": {"sampling": "goss", "learning_rate": 0.5},
            "some features": {"max_features": 0.5},
            "monotonic": {"monotonic_cst": [1, 0, 0, 1, 0, 0]},
            "neighbours": {"monotonic_cst": [1, 0, 0, 1, 0, 0], "monotonic_method": "neighbours"},
            "pairwise": {"interaction_cst": "pairwise"},
            "small leaves": {"max_leaf_nodes": None, "min_samples_leaf": 1, "max_iter": 3},
            "max_depth": {"max_depth": 3},
            "forced splits": {"forced_splits": {"feature": 1, "threshold": 0.3}},
            "path_smooth": {"path_smooth": 5.0},
            "score_noise": {"score_noise": 0.5},
            "feature weights": {"feature_weights": [1, 2, 0.1, 1, 1, 0]},
            "early stopping": {"early_stopping": True},
        }.items():
            regress(f"methods / {method} / {name}", given | more, n_rows=900)
        regress(f"methods / {method} / weights", given, n_rows=900, weights="repeats")
        regress(f"methods / {method} / absolute_error", given | {"loss": "absolute_error"}, n_rows=900)
        regress(f"methods / {method} / validation rows", given, fit_validated, n_rows=900)
        regress(f"methods / {method} / warm start", given, warm_start, n_rows=900)
        regress(f"methods / {method} / refit", given, refit(0.5), n_rows=900)
        rank(f"methods / {method} / ranking", given, n_rows=900)
    regress("methods / auto", {"tree_method": "auto"})


def add_tree_shapes() -> None:
    shapes: dict[str, Parameters] = {
        "learning_rate": {"learning_rate": 0.7},
        "two leaves": {"max_leaf_nodes": 2},
        "any number of leaves": {"max_leaf_nodes": None},
        "max_depth 1": {"max_depth": 1},
        "max_depth 4": {"max_depth": 4, "max_leaf_nodes": None},
        "small leaves": {"min_samples_leaf": 1},
        "large leaves": {"min_samples_leaf": 100},
        "l2": {"l2_regularization": 5.0},
        "l1": {"l1_regularization": 5.0},
        "l1 and l2": {"l1_regularization": 2.0, "l2_regularization": 2.0},
        "min_gain": {"min_gain": 10.0},
        "min_hessian": {"min_hessian": 25.0},
        "max_step": {"max_step": 0.4},
        "path_smooth": {"path_smooth": 20.0},
        "extra_trees": {"extra_trees": True},
        "score_noise": {"score_noise": 0.8},
        "feature weights": {"feature_weights": [1, 0.5, 2, 0, 1, 1]},
        "monotonic": {"monotonic_cst": [1, 0, 0, 1, -1, 0]},
        "monotonic and l1": {"monotonic_cst": [1, 0, 0, 1, -1, 0], "l1_regularization": 1.0, "path_smooth": 3.0},
        "pairwise": {"interaction_cst": "pairwise"},
        "no_interactions": {"interaction_cst": "no_interactions"},
        "groups": {"interaction_cst": [[0, 1], [1, 2, 3], [4]]},
        "groups and some features": {"interaction_cst": [[0, 1], [1, 2, 3], [4, 5]], "max_features": 0.5},
        "everything": {
            "l1_regularization": 0.5,
            "l2_regularization": 0.5,
            "path_smooth": 2.0,
            "score_noise": 0.1,
            "max_features": 0.8,
            "subsample": 0.8,
            "max_step": 1.0,
            "monotonic_cst": {0: 1},
        },
    }
    for name, given in shapes.items():
        for policy in ("leafwise", "depthwise", "symmetric"):
            regress(f"shape / {name} / {policy}", given | {"grow_policy": policy})
            classify(f"shape / {name} / {policy} classes", given | {"grow_policy": policy}, weights="repeats")
        regress(f"shape / {name} / absolute_error", given | {"loss": "absolute_error"})
        if name not in ("path_smooth", "everything") and "monotonic" not in name:
            classify(f"shape / {name} / five classes", given, target="5 classes")
    for name, given in {
        "neighbours": {"monotonic_cst": [1, 0, 0, 1, -1, 0], "monotonic_method": "neighbours"},
        "neighbours small leaves": {"monotonic_cst": [1, 0, 0, 1, -1, 0], "monotonic_method": "neighbours", "min_samples_leaf": 2},
        "forced split": {"forced_splits": {"feature": 1, "threshold": 0.3}},
        "forced splits": {
            "forced_splits": {"feature": 1, "threshold": 0.3, "left": {"feature": 0, "threshold": 0.0, "missing_left": True}}
        },
        "forced splits as text": {"forced_splits": '{"feature": 2, "threshold": -0.5, "right": {"feature": 2, "threshold": 0.5}}'},
        "forced splits depthwise": {"forced_splits": {"feature": 1, "threshold": 0.3}, "grow_policy": "depthwise"},
        "forced splits and many bins": {"forced_splits": {"feature": 1, "threshold": 0.301}, "max_bins": 255},
        "forced and monotonic": {"forced_splits": {"feature": 1, "threshold": 0.3}, "monotonic_cst": [0, 1, 0, 0, 0, 0]},
    }.items():
        regress(f"shape / {name}", given, n_rows=900)
        classify(f"shape / {name} / classes", given, n_rows=900)
        regress(f"shape / {name} / poisson", given | {"loss": "poisson"}, target="count", weights="fractions")
    regress("shape / monotonic by name", {"monotonic_cst": {"x0": "increasing", "x4": "decreasing"}}, form="pandas")
    regress("shape / monotonic dart", {"monotonic_cst": [1, 0, 0, 1, -1, 0], "boosting": "dart"})
    regress("shape / monotonic refit", {"monotonic_cst": [1, 0, 0, 1, -1, 0]}, refit(0.2))
    regress("shape / path_smooth refit", {"path_smooth": 10.0}, refit(0.2))
    regress("shape / symmetric refit", {"grow_policy": "symmetric", "min_samples_leaf": 40}, refit(0.2))
    rank("shape / monotonic ranking", {"monotonic_cst": [1, 0, 0, 0, 0, 0]})


def add_binning() -> None:
    for name, given in {
        "2 bins": {"max_bins": 2},
        "5 bins": {"max_bins": 5},
        "64 bins": {"max_bins": 64},
        "256 bins": {"max_bins": 256},
        "bins of each": {"max_bins": [3, 10, 255, 4, 7, 30]},
        "bins of some": {"max_bins": {0: 4, 5: 300}},
        "min_rows_in_bin": {"min_rows_in_bin": 25},
        "sample of 50": {"bin_sample_rows": 50},
        "sample of 200": {"bin_sample_rows": 200, "max_bins": 30},
        "sketch": {"bin_sample_rows": None},
        "sketch of few bins": {"bin_sample_rows": None, "max_bins": 7},
        "cut points": {"cut_points": {0: [-1, 0, 1], 3: [2.5]}},
        "cut points and forced split": {"cut_points": {0: [-1, 0, 1]}, "forced_splits": {"feature": 0, "threshold": 0.2}},
        "feature_spec": {
            "feature_spec": FeatureSpec({0: {"max_bins": 5, "monotonic": 1}, 1: {"cut_points": [0.0], "weight": 2.0}}, "pairwise")
        },
    }.items():
        for weights in ("", "repeats", "fractions"):
            regress(f"bins / {name} / {weights or 'no weights'}", given, n_rows=800, weights=weights)
        regress(f"bins / {name} / pandas", given, n_rows=800, form="pandas")
        regress(f"bins / {name} / depthwise", given | {"grow_policy": "depthwise", "early_stopping": True}, n_rows=800)
        classify(f"bins / {name} / classes", given, n_rows=800, target="2 classes" if name == "feature_spec" else "5 classes")


def add_stopping() -> None:
    settings = {"early_stopping": True, "max_iter": 25, "n_iter_no_change": 3, "learning_rate": 0.9, "min_samples_leaf": 3}
    for name, given in {
        "fraction": {"validation_fraction": 0.3},
        "number of rows": {"validation_fraction": 77},
        "training rows": {"validation_fraction": None},
        "patience": {"n_iter_no_change": 1},
        "tol": {"tol": 0.05},
        "folds": {"validation_split": 4},
        "KFold": {"validation_split": KFold(3, shuffle=True, random_state=1)},
        "TimeSeriesSplit": {"validation_split": TimeSeriesSplit(5)},
        "scikit-learn's score": {"scoring": None},
        "depthwise": {"grow_policy": "depthwise"},
        "exact": {"tree_method": "exact"},
        "subsample": {"subsample": 0.5},
        "line_search": {"step": "line_search"},
        "symmetric": {"grow_policy": "symmetric"},
    }.items():
        regress(f"stopping / {name}", settings | given)
        regress(f"stopping / {name} / poisson", settings | given | {"loss": "poisson"}, target="count", weights="repeats")
        classify(f"stopping / {name} / two classes", settings | given)
        classify(f"stopping / {name} / three classes", settings | given, target="3 classes", weights="repeats")
    for scoring in ("rmse", "mae", "r2", "neg_mean_absolute_error", "pinball@0.9"):
        regress(f"stopping / scoring {scoring}", settings | {"scoring": scoring})
    for scoring in ("accuracy", "roc_auc", "log_loss", "f1", "brier", "average_precision", "balanced_accuracy", "neg_log_loss"):
        classify(f"stopping / scoring {scoring}", settings | {"scoring": scoring})
    for scoring in ("ndcg", "map@5", "mrr", "loss"):
        rank(f"stopping / scoring {scoring}", settings | {"scoring": scoring}, n_rows=900)
    regress("stopping / scoring concordance", settings | {"loss": "cox", "scoring": "concordance"}, target="signed time")
    regress("stopping / scoring function", settings | {"scoring": negative_worst})
    settings = settings | {"early_stopping": "auto"}
    regress(
        "stopping / groups", settings | {"validation_split": GroupShuffleSplit(1, random_state=2)}, fit_with(groups=np.arange(500) // 7)
    )
    rank("stopping / groups of queries", settings | {"validation_split": GroupShuffleSplit(1, random_state=2)})
    regress("stopping / validation rows", settings, fit_validated)
    regress("stopping / validation rows / weights", settings, fit_validated, weights="repeats")
    regress("stopping / validation rows / offset", settings | {"loss": "poisson"}, fit_validated, target="count", offset=0.3)
    regress("stopping / validation rows / outputs", settings, fit_validated, target="3 outputs")
    classify("stopping / validation rows / three classes", settings | {"scoring": "accuracy"}, fit_validated, target="3 classes")
    rank("stopping / validation rows / ranking", settings, fit_validated)
    regress("stopping / then warm start", settings | {"early_stopping": True}, warm_start)
    classify("stopping / then partial_fit", settings | {"early_stopping": True}, partial_fit)
    regress("evaluation / loss", train=fit_evaluated)
    regress("evaluation / tuples", train=lambda estimator, data: estimator.fit(**data.train, eval_sets=[tuple(data.test.values())]))
    regress("evaluation / metrics", train=fit_measured("rmse", "mae", "medae", "max_error", "r2"))
    regress("evaluation / function", train=fit_measured(worst))
    regress("evaluation / offset", {"loss": "gamma"}, fit_evaluated, target="positive", offset=0.2)
    classify("evaluation / metrics of classes", train=fit_measured("log_loss", "accuracy", "mcc", "kappa", "roc_auc"))
    classify("evaluation / metrics of three classes", train=fit_measured("log_loss", "error", "recall"), target="3 classes")
    classify("evaluation / pandas", train=fit_evaluated, form="pandas")
    rank("evaluation / ranking", train=fit_measured("ndcg@5", "map", "mrr"))
    add("evaluation / mixed frame", BoostingRegressor, mixed, train=fit_evaluated)
    stop = {"max_iter": 25, "learning_rate": 0.6}
    regress("callbacks / EarlyStopping", stop, fit_stopped(lambda: EarlyStopping(3)))
    regress("callbacks / EarlyStopping on a set", stop, fit_stopped(lambda: EarlyStopping(2, on="test", metric="loss", min_delta=0.01)))
    regress("callbacks / LearningRate list", train=fit_with(callbacks=lambda: [LearningRate([0.5, 0.4, 0.3, 0.2, 0.1, 0.05])]))
    regress("callbacks / LearningRate function", train=fit_with(callbacks=lambda: [LearningRate(lambda n: 0.5 / (1 + n))]))
    classify(
        "callbacks / LearningRate classes", train=fit_with(callbacks=lambda: [LearningRate(lambda n: 0.5 / (1 + n))]), target="3 classes"
    )


def negative_worst(estimator: Any, X: Any, y: np.ndarray) -> float:
    """A scorer."""
    return -worst(y, estimator.predict(X))


def worst(y: np.ndarray, predicted: np.ndarray) -> float:
    """A metric."""
    return float(np.abs(y - predicted).max())


def fit_stopped(callback: Callable[[], Any]) -> Callable[[Any, Data], Any]:
    """Stopped by a callback that watches an evaluation set."""
    return lambda estimator, data: estimator.fit(**data.train, eval_sets={"test": data.test}, callbacks=[callback()])


def add_continued() -> None:
    """Warm starts, continued training, refits, offsets and init."""
    trains = {
        "warm start": warm_start,
        "partial_fit": partial_fit,
        "init_model": init_model,
        "init_model alone": init_model_alone,
        "refit 0": refit(0.0),
        "refit 0.9": refit(0.9),
        "refit 1": refit(1.0),
        "merged sum": merged(None),
        "merged mean": merged("mean"),
        "merged weights": merged([0.25, 0.75]),
    }
    for way, train in trains.items():
        for policy in ("leafwise", "depthwise", "symmetric"):
            given = {"grow_policy": policy, "subsample": 0.8, "max_features": 0.8}
            regress(f"continued / {way} / {policy}", given, train)
            classify(f"continued / {way} / {policy} three classes", given, train, target="3 classes", weights="repeats")
        classify(f"continued / {way} / two classes", {}, train)
        classify(f"continued / {way} / one tree per class", {"multi_strategy": "one_output_per_tree"}, train, target="3 classes")
        regress(f"continued / {way} / absolute_error", {"loss": "absolute_error"}, train)
        regress(f"continued / {way} / outputs", {}, train, target="3 outputs")
        regress(f"continued / {way} / offset", {"loss": "poisson"}, train, target="count", offset=0.3)
        regress(f"continued / {way} / pandas", {}, train, form="pandas")
        rank(f"continued / {way} / ranking", {}, train)
    for way in ("warm start", "partial_fit", "init_model"):
        regress(f"continued / {way} / dart", {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.5}, trains[way])
        regress(f"continued / {way} / line_search", {"step": "line_search"}, trains[way])
    classify("continued / partial_fit / classes named", {}, partial_fit_named, target="3 classes")
    regress("continued / first rounds", {}, lambda estimator, data: fit(estimator, data)[:3])
    regress("continued / last rounds", {}, lambda estimator, data: fit(estimator, data)[3:])
    tree = {"max_depth": 2, "random_state": 0}
    for name, start, boosted, target in (
        ("dummy", DummyRegressor(strategy="median"), BoostingRegressor, "number"),
        ("tree", DecisionTreeRegressor(**tree), BoostingRegressor, "number"),
        ("own regressor", BoostingRegressor(max_iter=3, n_jobs=2), BoostingRegressor, "number"),
        ("dummy classifier", DummyClassifier(), BoostingClassifier, "2 classes"),
        ("tree classifier", DecisionTreeClassifier(**tree), BoostingClassifier, "2 classes"),
        ("tree for three classes", DecisionTreeClassifier(**tree), BoostingClassifier, "3 classes"),
        ("own classifier", BoostingClassifier(max_iter=3, n_jobs=2), BoostingClassifier, "3 classes"),
    ):
        for weights in ("", "repeats"):

            def make(target: str = target, weights: str = weights) -> Data:
                return table(target, weights=weights)

            add(f"init / {name} / {weights or 'no weights'}", boosted, make, {"init": start})
        add(f"init / {name} / early stopping", boosted, lambda target=target: table(target), {"init": start, "early_stopping": True})
        add(f"init / {name} / warm start", boosted, lambda target=target: table(target), {"init": start}, warm_start)
    regress("init / already fitted", {}, fit_upon(lambda fitted: fitted))
    regress("init / model", {}, fit_upon(lambda fitted: fitted.model_))
    classify("init / already fitted classifier", {}, fit_upon(lambda fitted: fitted), target="3 classes")
    regress("init / log_loss of fractions", {"init": DecisionTreeRegressor(**tree), "loss": "log_loss"}, target="fraction")
    regress("init / poisson", {"init": DecisionTreeRegressor(**tree), "loss": "gamma"}, target="positive")
    regress("init / offset", {"init": DecisionTreeRegressor(**tree)}, offset=0.5)
    regress("init / outputs", {"init": DecisionTreeRegressor(**tree)}, target="3 outputs")
    for loss, (estimator, target, own) in LOSSES.items():
        if estimator is not BoostingRanker and target not in ("time bounds", "3 soft labels", "2 soft labels"):

            def make(target: str = target) -> Data:
                return table(target, weights="fractions", offset=0.3)

            given = own | {"grow_policy": "depthwise", "subsample": 0.7}
            add(f"offset / {loss} / weights and subsample", estimator, make, given)


def fit_upon(init: Callable[[Any], Any]) -> Callable[[Any, Data], Any]:
    """With an `init` that is fitted to the first half."""

    def train(estimator: Any, data: Data) -> Any:
        first = clone(estimator).set_params(max_iter=3).fit(**data.halves[0])
        return estimator.set_params(init=init(first)).fit(**data.train)

    return train


def partial_fit_named(estimator: Any, data: Data) -> Any:
    """The first part lacks a class."""
    rows = data.train
    known = rows["y"] < 2
    estimator.partial_fit(rows["X"][known], rows["y"][known], classes=[0, 1, 2])
    return estimator.partial_fit(rows["X"], rows["y"])


def add_large() -> None:
    """From 32,768 rows on gradients may be narrow; above 10,000 rows early stopping is automatic and classes share several trees."""
    data = {"n_rows": 40_000, "n_features": 5, "missing": 0.02}
    few = {"max_iter": 2}
    regress("large / squared_error", few, **data)
    regress("large / squared_error weights", few, **data, weights="repeats")
    regress("large / heavy tail weights", few, **data, target="heavy tail", weights="repeats")
    regress("large / poisson depthwise", few | {"loss": "poisson", "grow_policy": "depthwise"}, **data, target="count")
    regress("large / no early stopping", few | {"early_stopping": False, "loss": "gamma"}, **data, target="positive")
    classify("large / two classes", few, **data)
    classify("large / two classes depthwise weights", few | {"grow_policy": "depthwise"}, **data, weights="repeats")
    classify("large / two classes symmetric", few | {"grow_policy": "symmetric"}, **data)
    classify("large / five classes", few, **data, target="5 classes")
    classify("large / one thread", few | {"n_jobs": 1, "subsample": 0.5}, **data)
    classify("large / goss", few | {"sampling": "goss", "learning_rate": 1.0}, **data)
    classify("large / many leaves", few | {"max_leaf_nodes": 500, "min_samples_leaf": 2, "early_stopping": False}, **data)
    classify("large / bin sample", few | {"bin_sample_rows": 10_000}, **data)
    classify("large / bin sketch", few | {"bin_sample_rows": None}, **data)
    for name, given in {"goss": {"sampling": "goss"}, "mvs": {"sampling": "mvs", "subsample": 0.3}}.items():
        classify(f"large / {name} of 80,000 rows", {"max_iter": 2, "learning_rate": 1.0, **given}, n_rows=80_000, n_features=3)
    distinct = {"n_rows": 150_000, "n_features": 3, "decimals": 6, "missing": 0.02}
    regress("large / bin sketch of distinct values", {"max_iter": 1, "bin_sample_rows": None}, **distinct)
    regress("large / bin sketch of distinct values, weights", {"max_iter": 1, "bin_sample_rows": None}, **distinct, weights="fractions")
    classify("large / exact", few | {"tree_method": "exact"}, **data)
    classify("large / bundle and row lists", few, n_rows=40_000, n_features=3, one_hot=12, thin=15)
    classify("large / sparse", few, n_rows=40_000, n_features=3, one_hot=12, thin=15, form="csr")
    for policy in ("leafwise", "depthwise", "symmetric"):
        regress(f"early stopping by itself / {policy}", {"max_iter": 15, "grow_policy": policy, "learning_rate": 0.5}, n_rows=10_500)
        classify(f"early stopping by itself / {policy} classes", {"max_iter": 4, "grow_policy": policy}, n_rows=11_500, target="5 classes")
    regress("early stopping by itself / pandas", {"max_iter": 5}, n_rows=10_500, form="pandas")
    regress("early stopping by itself / r2", {"max_iter": 5, "scoring": "r2"}, n_rows=12_500)
    classify("early stopping by itself / roc_auc", {"max_iter": 5, "scoring": "roc_auc"}, n_rows=12_500, weights="repeats")
    rank("early stopping by itself / ndcg", {"max_iter": 5, "scoring": None}, n_rows=12_500)


def add_small() -> None:
    for n_rows in (1, 2, 7, 41):
        regress(f"small / {n_rows} rows", n_rows=n_rows, missing=0.0)
        regress(f"small / {n_rows} rows small leaves", {"min_samples_leaf": 1}, n_rows=n_rows)
    classify("small / 41 rows of classes", n_rows=41)
    for n_features in (3, 4, 5):
        regress(f"small / {n_features} features", n_features=n_features)
    regress("small / defaults", {"max_iter": 100, "random_state": None})
    classify("small / defaults for classes", {"max_iter": 100, "random_state": None}, target="3 classes")


def add_threads() -> None:
    """One thread: the hashes are the same as those of two, under another name."""
    for name in (
        "loss / squared_error / leafwise",
        "loss / poisson / depthwise",
        "loss / three classes / symmetric",
        "loss / lambdamart ndcg / subsample",
        "loss / absolute_error / exact",
        "categories / auto / leafwise",
        "sparse / csr / zero",
        "storage / bundle and row lists / leafwise",
        "storage / wide with missing / depthwise",
        "bins / sketch / repeats",
    ):
        add_variant(f"one thread / {name}", name, parameters=FITS[name].parameters | {"n_jobs": 1})


def add_predictions() -> None:
    """Other kinds of predictions than `predict` and `predict_proba`."""
    for name in (
        *(f"loss / {loss} / {variant}" for loss in LOSSES if loss not in ("own loss", "function") for variant in ("weights", "symmetric")),
        "loss / poisson / offset",
        "loss / three classes / offset",
        "loss / two classes / early stopping",
        "loss / squared_error / dart",
        "categories / auto / leafwise",
        "categories / onehot / three classes",
        "categories / pairs / three classes",
        "categories / list / three classes",
        "categories / partition / weights",
        "sparse / csr / zero",
        "sparse / csr / missing classes",
        "sparse / pandas sparse / missing",
        "storage / bundle and row lists / depthwise",
        "storage / wide with missing / leafwise classes",
        "frames / float32 / regression",
        "frames / mixed polars / 3 classes",
        "frames / dates / pandas zone auto",
        "methods / exact / leafwise classes",
        "outputs / 5 classes / one_output_per_tree leafwise",
        "outputs / shared_trees 3",
        "init / own classifier / no weights",
        "continued / merged mean / leafwise",
        "small / defaults",
        "small / defaults for classes",
    ):
        add_variant(f"predictions / {name}", name, thorough=True)


for add_group in (
    add_losses,
    add_classes,
    add_sampling,
    add_categories,
    add_frames,
    add_sparse,
    add_storage,
    add_modes,
    add_tree_shapes,
    add_binning,
    add_stopping,
    add_continued,
    add_large,
    add_small,
    add_threads,
    add_predictions,
):
    add_group()


# The record, and the command


def recorded() -> dict[str, str]:
    """Hashes by the name of the fit."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def write(fits: dict[str, str]) -> None:
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(fits[name])}" for name in sorted(fits))
    RECORD.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def difference(found: str, expected: str | None) -> str | None:
    """Which hashes differ; None if none does."""
    if expected is None:
        return "is not recorded"
    pairs = zip(("model", "estimator", "predictions"), found.split(), expected.split(), strict=True)
    names = [name for name, now, then in pairs if now != then]
    return f"differs: {', '.join(names)}" if names else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="record the hashes instead of comparing them")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="fits whose name contains this, or matches it as a shell pattern")
    parser.add_argument("--slowest", type=int, metavar="N", default=0, help="list the fits that took longest")
    arguments = parser.parse_args()
    chosen = [name for name in FITS if arguments.only in name or fnmatch.fnmatch(name, arguments.only)]
    expected = recorded() if RECORD.exists() else {}
    found, failed, seconds = {}, 0, {}
    for name in chosen:
        begin = time.perf_counter()
        try:
            found[name] = FITS[name].hashes()
            problem = None if arguments.write else difference(found[name], expected.get(name))
        except Exception as error:  # the other fits are still to be compared
            problem = f"failed: {type(error).__name__}: {error}"
        seconds[name] = time.perf_counter() - begin
        if problem:
            failed += 1
            print(f"{name}: {problem}")
    for name in sorted(seconds, key=lambda name: -seconds[name])[: arguments.slowest]:
        print(f"{seconds[name]:.3f} s  {name}")
    if arguments.write and not failed:
        write((expected if arguments.only != "*" else {}) | found)
    if arguments.only == "*" and (gone := sorted(set(expected) - set(FITS))) and not arguments.write:
        failed += len(gone)
        print(f"recorded, but not in the registry: {gone}")
    print(f"{len(chosen)} fits, {failed} {'failed' if arguments.write else 'differ'}, {sum(seconds.values()):.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

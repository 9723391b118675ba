"""Symmetric trees beside CatBoost's: training and test losses at the same depth, learning rate, borders and rounds, without L2 or sampling.

    python benchmarks/symmetric.py --rows 4000,100000

Numbers are in 64 levels, so that both libraries have all borders between them. Without noise in the scores, with one leaf per bit pattern
and one Newton step for each leaf, the splits of the first tree should be the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

N_LEVELS, N_TEST, DEPTH = 64, 20_000, 6
WAYS = {"1 tree, rate 1": (1, 1.0), "60 trees, rate 0.1": (60, 0.1), "60 trees, rate 0.3": (60, 0.3)}
OURS = {"grow_policy": "symmetric", "max_depth": DEPTH, "min_samples_leaf": 1, "early_stopping": False, "n_jobs": 2}
CATBOOST = {
    "depth": DEPTH,
    "l2_leaf_reg": 0,
    "bootstrap_type": "No",
    "random_strength": 0,
    "boosting_type": "Plain",
    "score_function": "L2",
    "leaf_estimation_iterations": 1,
    "border_count": 254,
    "boost_from_average": True,
    "allow_writing_files": False,
    "thread_count": 2,
    "verbose": 0,
}


# Data


def numbers(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Six columns of numbers and the signal of a target."""
    X = rng.normal(size=(n_rows, 6))
    X = np.clip(np.round((X + 3.2) * N_LEVELS / 6.4), 0, N_LEVELS - 1) / N_LEVELS * 6.4 - 3.2
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(6)]), X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])


def mixed(rng: np.random.Generator, n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The same with two categories."""
    X, signal = numbers(rng, n_rows)
    for name, n_levels in (("c5", 5), ("c30", 30)):
        codes = rng.integers(0, n_levels, n_rows)
        X[name] = pd.Categorical.from_codes(codes, [f"level {i}" for i in range(n_levels)])
        signal = signal + np.cos(7.0 * codes)
    return X, signal


def several(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = 0.3 * rng.normal(size=(len(signal), 3))
    return np.column_stack([signal, np.abs(signal), np.sign(signal)]) + noise


# Tasks


@dataclass(frozen=True)
class Task:
    """A loss that both libraries have.

    Attributes
    ----------
    target : of a signal and a random generator
    measure : of targets and predictions
    estimator, parameters, method : ours
    peer, settings, peer_method : CatBoost's
    """

    target: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    measure: Callable[[np.ndarray, np.ndarray], float]
    estimator: str
    parameters: dict[str, Any]
    peer: str
    settings: dict[str, Any]
    method: str = "predict"
    data: Callable[[np.random.Generator, int], tuple[pd.DataFrame, np.ndarray]] = numbers
    peer_predicts: dict[str, Any] = field(default_factory=dict)


def squared(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(((y - predicted) ** 2).mean())


def absolute(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.abs(y - predicted).mean())


def poisson(y: np.ndarray, predicted: np.ndarray) -> float:
    return float((predicted - y * np.log(predicted)).mean())


def log_loss(y: np.ndarray, probabilities: np.ndarray) -> float:
    return float(-np.log(np.clip(probabilities[np.arange(len(y)), y], 1e-15, 1)).mean())


def noisy(signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return signal + 0.3 * rng.normal(size=len(signal))


NUMBER = ("BoostingRegressor", {}, "CatBoostRegressor", {"loss_function": "RMSE"})
TASKS = {
    "squared error": Task(noisy, squared, *NUMBER),
    "squared error, min_samples_leaf=20": Task(noisy, squared, "BoostingRegressor", {"min_samples_leaf": 20}, *NUMBER[2:]),
    "squared error, categories": Task(
        noisy,
        squared,
        "BoostingRegressor",
        {"categorical_encoding": "onehot"},
        "CatBoostRegressor",
        {"loss_function": "RMSE", "cat_features": ["c5", "c30"], "one_hot_max_size": 255},
        data=mixed,
    ),
    "absolute error": Task(
        noisy,
        absolute,
        "BoostingRegressor",
        {"loss": "absolute_error"},
        "CatBoostRegressor",
        {"loss_function": "MAE", "leaf_estimation_method": "Exact"},
    ),
    "Poisson": Task(
        lambda signal, rng: rng.poisson(np.exp(np.clip(signal, -2, 2) / 2)).astype(float),
        poisson,
        "BoostingRegressor",
        {"loss": "poisson"},
        "CatBoostRegressor",
        {"loss_function": "Poisson", "leaf_estimation_method": "Newton", "boost_from_average": False},
        peer_predicts={"prediction_type": "Exponent"},
    ),
    "two classes": Task(
        lambda signal, rng: (noisy(signal, rng) > 0).astype(int),
        log_loss,
        "BoostingClassifier",
        {},
        "CatBoostClassifier",
        {"loss_function": "Logloss", "leaf_estimation_method": "Newton"},
        "predict_proba",
    ),
    "four classes, vector leaves": Task(
        lambda signal, rng: np.digitize(noisy(signal, rng), [-0.7, 0, 0.7]),
        log_loss,
        "BoostingClassifier",
        {"multi_strategy": "multi_output_tree", "shared_trees": 1},
        "CatBoostClassifier",
        {"loss_function": "MultiClass", "leaf_estimation_method": "Newton", "boost_from_average": False},
        "predict_proba",
    ),
    "three targets, vector leaves": Task(
        several,
        squared,
        "BoostingRegressor",
        {"multi_strategy": "multi_output_tree", "shared_trees": 1},
        "CatBoostRegressor",
        {"loss_function": "MultiRMSE"},
    ),
}


def losses(task: Task, n_rows: int, n_trees: int, rate: float, seed: int) -> np.ndarray:
    """(2, 2): training and test loss, ours and CatBoost's."""
    import catboost

    import sapwood

    rng = np.random.default_rng(seed)
    X, signal = task.data(rng, n_rows + N_TEST)
    y = task.target(signal, rng)
    ours = getattr(sapwood, task.estimator)(**OURS | task.parameters, max_iter=n_trees, learning_rate=rate)
    peer = getattr(catboost, task.peer)(**CATBOOST | task.settings, iterations=n_trees, learning_rate=rate)
    ours.fit(X[:n_rows], y[:n_rows])
    peer.fit(X[:n_rows], y[:n_rows])
    found = np.empty((2, 2))
    for i, part in enumerate((slice(0, n_rows), slice(n_rows, None))):
        found[i, 0] = task.measure(y[part], getattr(ours, task.method)(X[part]))
        found[i, 1] = task.measure(y[part], getattr(peer, task.method)(X[part], **task.peer_predicts))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", metavar="N[,N]", default="4000,100000", help="numbers of training rows")
    parser.add_argument("--only", metavar="TEXT", default="", help="tasks whose name contains this")
    parser.add_argument("--seeds", type=int, default=3, help="data sets whose losses are averaged")
    arguments = parser.parse_args()
    print("| loss | rows | | training: ours | CatBoost | test: ours | CatBoost |\n|---|---|---|---|---|---|---|")
    for name, task in TASKS.items():
        for n_rows in map(int, arguments.rows.split(",")) if arguments.only in name else ():
            for way, (n_trees, rate) in WAYS.items():
                found = np.mean([losses(task, n_rows, n_trees, rate, seed) for seed in range(arguments.seeds)], axis=0)
                print(f"| {name} | {n_rows:,} | {way} | " + " | ".join(f"{value:.4f}" for value in found.ravel()) + " |", flush=True)


if __name__ == "__main__":
    main()

"""Section `predict`: 200k rows x 28 features x 100 and 1,000 trees on all cores, and the latency of one row."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.fitting import time_predict
from benchmarks.libraries import LIBRARIES, OURS
from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.workloads import NAMED

NAME = "predict"
WORKLOAD = NAMED["higgs-100k"]
TREES = (100, 1_000)
BATCHES = 5  # per repeat
ONE_ROW_CALLS = 500
SYMMETRIC = "catboost symmetric"  # CatBoost's default trees, with 32 leaves
TITLES = {**{name: library.title for name, library in LIBRARIES.items()}, SYMMETRIC: "CatBoost, symmetric trees"}
N_ROUNDS = {"lightgbm": "n_estimators", "xgboost": "n_estimators", "catboost": "iterations"}  # max_iter for the others


def measure(plan: Plan) -> None:
    for n_trees in TREES:
        if not plan.results.is_done(NAME, str(n_trees)):
            plan.results.start(NAME, str(n_trees))
            _measure(plan, n_trees)
            plan.results.finish(NAME, str(n_trees))


def _measure(plan: Plan, n_trees: int) -> None:
    results, data, key = plan.results, plan.draw(WORKLOAD), str(n_trees)
    models: dict[str, Any] = {}
    for library in plan.libraries:
        estimator = library.make(WORKLOAD.task, plan.n_jobs, 0).set_params(**{N_ROUNDS.get(library.name, "max_iter"): n_trees})
        with library.threads(plan.n_jobs):
            models[library.name] = estimator.fit(data.X, data.y)
        if library.name == "catboost":
            symmetric = type(estimator)(**{**estimator.get_params(), "grow_policy": "SymmetricTree", "depth": 5, "max_leaves": None})
            models[SYMMETRIC] = symmetric.fit(data.X, data.y)
        say(NAME, n_trees, library.name, "fitted")
    names = list(models)
    for repeat in range(BATCHES * plan.repeats):
        for i in range(len(names)):
            name = names[(repeat + i) % len(names)]
            with LIBRARIES[name.split()[0]].threads(plan.n_jobs):
                results.add(time_predict(models[name], data.X_test, WORKLOAD.task), NAME, key, name, "batch")
    for name, model in models.items():
        with LIBRARIES[name.split()[0]].threads(plan.n_jobs):
            results.put(_latency(model.predict_proba, data.X_test), NAME, key, name, "one_row")
        if name == OURS:
            results.put(_latency(model.model_.predict, data.X_test), NAME, key, name, "model")
        batch, one_row = results.least(NAME, key, name, "batch"), results.get(NAME, key, name, "one_row")
        say(NAME, n_trees, name, "batch", number(batch), "one row", number(one_row * 1e6), "us")


def _latency(predict: Callable[[Any], Any], X: Any) -> float:
    """Return the median time of calls with one row each, in seconds."""
    settle()
    calls = []
    for i in range(min(ONE_ROW_CALLS, len(X))):
        row = X[i : i + 1]
        start = time.perf_counter()
        predict(row)
        calls.append(time.perf_counter() - start)
    return statistics.median(calls)


def peer_ratio(results: Results, peer: str, n_trees: int = 100) -> float | None:
    return divide(*(results.least(NAME, str(n_trees), name, "batch") for name in (peer, OURS)))


def one_row(results: Results, what: str = "one_row") -> float | None:
    """Return the microseconds of Sapwood's estimator, or of its Model ("model")."""
    seconds = results.get(NAME, "100", OURS, what)
    return None if seconds is None else seconds * 1e6


def report(results: Results) -> list[str]:
    lines = ["## Predict", ""]
    for n_trees in TREES:
        rows = []
        for name, found in (results.get(NAME, str(n_trees)) or {}).items():
            batch = results.least(NAME, str(n_trees), name, "batch")
            cells = [TITLES[name], number(batch), ratio(peer_ratio(results, name, n_trees)), number(found["one_row"] * 1e6)]
            rows.append([*cells, number(found["model"] * 1e6) if "model" in found else ""])
        lines += [
            f"`predict_proba` with {n_trees:,} trees of 31 leaves, on all cores: {WORKLOAD.n_test:,} rows x 28 features (minimum "
            "wall seconds) and one row (median microseconds); in the last column, `model.predict` of one row.",
            "",
            *table(["", "all rows, s", "theirs / ours", "one row, us", "the model alone"], rows),
        ]
    return lines

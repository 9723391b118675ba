"""Section `explain`: exact Shapley values of 10k rows x 28 features x 100 trees, on one thread and on all cores."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.libraries import LIBRARIES, LIGHTGBM, OURS, XGBOOST
from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.workloads import NAMED

NAME = "explain"
WORKLOAD = NAMED["higgs-100k"]
N_ROWS = 10_000
COMPARED = (OURS, LIGHTGBM, XGBOOST)


def measure(plan: Plan) -> None:
    if plan.results.is_done(NAME):
        return
    plan.results.start(NAME)
    data = plan.draw(WORKLOAD)
    X = data.X_test[:N_ROWS]
    models = {name: LIBRARIES[name].make(WORKLOAD.task, plan.n_jobs, 0).fit(data.X, data.y) for name in COMPARED}
    for repeat in range(plan.repeats):
        for i in range(len(COMPARED)):
            name = COMPARED[(repeat + i) % len(COMPARED)]
            settle()
            wall, cpu = time.perf_counter(), time.process_time()
            values = _contributions(name, models[name], X)
            seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
            for measured, value in seconds.items():
                plan.results.add(value, NAME, name, measured)
            plan.results.put(_error(models[name], X, values), NAME, name, "error")
            say(NAME, name, number(seconds["wall"]))
    plan.results.finish(NAME)


def _contributions(name: str, model: Any, X: np.ndarray) -> np.ndarray:
    """Return the (n_rows, n_features + 1) SHAP values; the last column is the base value."""
    if name == OURS:
        found = model.explain(X)
        return np.column_stack([found.values, found.base_values])
    if name == LIGHTGBM:
        return model.predict(X, pred_contrib=True)
    from xgboost import DMatrix

    return model.get_booster().predict(DMatrix(X), pred_contribs=True)


def _error(model: Any, X: np.ndarray, values: np.ndarray) -> float:
    """Return the largest difference between the sum of the values and the log-odds."""
    p = model.predict_proba(X)[:, 1].astype(np.float64)
    return float(np.abs(values.sum(axis=1) - np.log(p / (1 - p))).max())


def peer_ratio(results: Results, peer: str) -> float | None:
    return divide(*(results.least(NAME, name, "wall") for name in (peer, OURS)))


def report(results: Results) -> list[str]:
    rows = [
        [
            LIBRARIES[name].title,
            *(number(results.least(NAME, name, what)) for what in ("wall", "cpu")),
            ratio(peer_ratio(results, name)),
            number(results.get(NAME, name, "error")),
        ]
        for name in results.get(NAME)
    ]
    return [
        "## Explain",
        "",
        f"Exact path-dependent Shapley values of {N_ROWS:,} rows x 28 features x 100 trees of 31 leaves, on all cores, minimum seconds; "
        "'error' is the largest difference between their sum and the log-odds.",
        "",
        *table(["", "wall", "CPU", "theirs / ours", "error"], rows),
    ]

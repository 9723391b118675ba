"""Section `predict`: 200k rows x 28 features x 100 trees on all cores, and the latency of one row."""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmarks.fitting import time_predict
from benchmarks.libraries import LIBRARIES, OURS
from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.workloads import NAMED

NAME = "predict"
WORKLOAD = NAMED["higgs-100k"]
BATCHES = 5  # a repeat
ONE_ROW_CALLS = 500


def measure(plan: Plan) -> None:
    results = plan.results
    if results.is_done(NAME):
        return
    results.start(NAME)
    data = plan.draw(WORKLOAD)
    models: dict[str, Any] = {}
    for library in plan.libraries:
        with library.threads(plan.n_jobs):
            models[library.name] = library.make(WORKLOAD.task, plan.n_jobs, 0).fit(data.X, data.y)
        say(NAME, library.name, "fitted")
    for _, library in plan.turns(BATCHES * plan.repeats):
        with library.threads(plan.n_jobs):
            results.add(time_predict(models[library.name], data.X_test, WORKLOAD.task), NAME, library.name, "batch")
    for library in plan.libraries:
        with library.threads(plan.n_jobs):
            results.put(_latency(models[library.name], data.X_test), NAME, library.name, "one_row")
        batch, one_row = results.least(NAME, library.name, "batch"), results.get(NAME, library.name, "one_row")
        say(NAME, library.name, "batch", number(batch), "one row", number(one_row * 1e6), "us")
    results.finish(NAME)


def _latency(model: Any, X: Any) -> float:
    """The median of calls with one row each, in seconds."""
    settle()
    calls = []
    for i in range(min(ONE_ROW_CALLS, len(X))):
        row = X[i : i + 1]
        start = time.perf_counter()
        model.predict_proba(row)
        calls.append(time.perf_counter() - start)
    return statistics.median(calls)


def peer_ratio(results: Results, peer: str) -> float | None:
    return divide(results.least(NAME, peer, "batch"), results.least(NAME, OURS, "batch"))


def report(results: Results) -> list[str]:
    rows = []
    for library in results.get(NAME):
        one_row = results.get(NAME, library, "one_row")
        rows.append(
            [
                LIBRARIES[library].title,
                number(results.least(NAME, library, "batch")),
                ratio(peer_ratio(results, library)),
                "-" if one_row is None else number(one_row * 1e6),
            ]
        )
    return [
        "## Predict",
        "",
        f"`predict_proba` with 100 trees of 31 leaves, on all cores: {WORKLOAD.n_test:,} rows x 28 features (wall seconds, "
        "the least), and one row (microseconds, the median).",
        "",
        *table(["", "all rows, s", "theirs / ours", "one row, us"], rows),
    ]

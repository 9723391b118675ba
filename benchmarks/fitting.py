"""Section `fit`: CPU seconds on one thread, wall seconds on all cores, and the prediction of the test rows."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.libraries import LIBRARIES, LIGHTGBM, OURS, Library, mean_loss, predict
from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide, fastest_peer
from benchmarks.workloads import TITLES, Split, Workload

NAME = "fit"
TINY_REPEATS = 10  # factor of the repeats of tiny workloads
PREDICTIONS = 3  # per fit

MEASURES = {
    "cpu": "Fit on one thread, CPU seconds (test loss)",
    "wall": "Fit on all cores, wall seconds (test loss)",
    "predict": "Predict the test rows on all cores, wall seconds (test loss)",
}


def measure(plan: Plan) -> None:
    plan.warm_up()
    for workload in plan.workloads:
        if not plan.results.is_done(NAME, workload.name):
            plan.results.start(NAME, workload.name)
            _measure_workload(plan, workload)
            plan.results.finish(NAME, workload.name)


def _measure_workload(plan: Plan, workload: Workload) -> None:
    say(NAME, workload.name, "drawing rows")
    data, results = plan.draw(workload), plan.results
    repeats = plan.repeats * TINY_REPEATS if workload.tiny else plan.repeats
    for repeat, library in plan.turns(repeats):
        keys = NAME, workload.name, library.name
        if results.get(*keys, "error"):
            continue
        try:
            measured = _measure_fit(library, data, workload.task, plan.n_jobs)
        except Exception as error:  # a library that fails must not end the run
            results.put(f"{type(error).__name__}: {error}", *keys, "error")
            say(*keys, "failed:", error)
            continue
        for name in MEASURES:
            results.add(measured[name], *keys, name)
        results.put(measured["loss"], *keys, "loss")
        say(*keys, f"{repeat + 1}/{repeats}", *(f"{name} {number(value, 4)}" for name, value in measured.items()))


def _measure_fit(library: Library, data: Split, task: str, n_jobs: int) -> dict[str, float]:
    with library.threads(1):
        model = library.make(task, 1, 0)
        settle()
        start = time.process_time()
        model.fit(data.X, data.y)
        cpu = time.process_time() - start
    with library.threads(n_jobs):
        model = library.make(task, n_jobs, 0)
        settle()
        start = time.perf_counter()
        model.fit(data.X, data.y)
        wall = time.perf_counter() - start
        predicting = min(time_predict(model, data.X_test, task) for _ in range(PREDICTIONS))
        loss = mean_loss(data.y_test, predict(model, data.X_test, task), task)
    return {"cpu": cpu, "wall": wall, "predict": predicting, "loss": loss}


def time_predict(model: Any, X: Any, task: str) -> float:
    settle()
    start = time.perf_counter()
    predict(model, X, task)
    return time.perf_counter() - start


def times(results: Results, workload: str, name: str) -> dict[str, float | None]:
    """Return the minimum over repeats for each library."""
    return {library: results.least(NAME, workload, library, name) for library in results.get(NAME, workload) or {}}


def lightgbm_ratio(results: Results, workload: str, name: str) -> float | None:
    found = times(results, workload, name)
    return divide(found.get(LIGHTGBM), found.get(OURS))


def fastest_ratio(results: Results, workload: str, name: str) -> float | None:
    found = times(results, workload, name)
    return divide(fastest_peer(found), found.get(OURS))


def report(results: Results) -> list[str]:
    workloads = results.get(NAME) or {}
    libraries = [name for name in LIBRARIES if any(name in found for found in workloads.values())]
    lines = []
    for name, title in MEASURES.items():
        header = ["", *(LIBRARIES[library].title for library in libraries), "fastest peer / ours", "LightGBM / ours"]
        rows = []
        for workload in workloads:
            cells = [_cell(results, workload, library, name) for library in libraries]
            ratios = fastest_ratio(results, workload, name), lightgbm_ratio(results, workload, name)
            rows.append([TITLES[workload], *cells, *map(ratio, ratios)])
        lines += [f"## {title}", "", *table(header, rows)]
    failures = [
        f"- {LIBRARIES[library].title} on {TITLES[workload]} failed: {found['error']}"
        for workload, record in workloads.items()
        for library, found in record.items()
        if "error" in found
    ]
    return [*lines, *failures, *([""] if failures else [])]


def _cell(results: Results, workload: str, library: str, name: str) -> str:
    if results.get(NAME, workload, library, "error"):
        return "failed"
    time_ = results.least(NAME, workload, library, name)
    return "-" if time_ is None else f"{number(time_)} ({number(results.get(NAME, workload, library, 'loss'), 5)})"

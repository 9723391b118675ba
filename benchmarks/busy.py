"""Section `busy`: a fit on all cores while another process keeps one of them busy."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.libraries import LIBRARIES, LIGHTGBM, OURS, Library
from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.workloads import NAMED, Split

NAME = "busy"
COMPARED = OURS, LIGHTGBM
WORKLOAD = NAMED["higgs-1m"]


def measure(plan: Plan) -> None:
    results = plan.results
    if results.is_done(NAME):
        return
    results.start(NAME)
    plan.warm_up()
    data = plan.draw(WORKLOAD)
    for repeat, library in plan.turns(plan.repeats):
        if library.name not in COMPARED:
            continue
        quiet = _time_fit(library, data, plan.n_jobs)
        with spinning_process():
            busy = _time_fit(library, data, plan.n_jobs)
        results.add(quiet, NAME, library.name, "quiet")
        results.add(busy, NAME, library.name, "busy")
        say(NAME, library.name, f"{repeat + 1}/{plan.repeats}", "quiet", number(quiet), "busy", number(busy))
    results.finish(NAME)


@contextmanager
def spinning_process() -> Iterator[None]:
    """Run another process that keeps a core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)  # until it runs
        yield
    finally:
        process.kill()
        process.wait()


def _time_fit(library: Library, data: Split, n_jobs: int) -> float:
    with library.threads(n_jobs):
        model = library.make(WORKLOAD.task, n_jobs, 0)
        settle()
        start = time.perf_counter()
        model.fit(data.X, data.y)
        return time.perf_counter() - start


def slow_down(results: Results, library: str) -> float | None:
    return divide(results.least(NAME, library, "busy"), results.least(NAME, library, "quiet"))


def report(results: Results) -> list[str]:
    rows = []
    for library, found in results.get(NAME).items():
        worst = divide(max(found["busy"]), min(found["quiet"]))
        times = number(min(found["quiet"])), number(min(found["busy"]))
        rows.append([LIBRARIES[library].title, *times, ratio(slow_down(results, library)), ratio(worst)])
    return [
        "## A busy core",
        "",
        f"Fit of {WORKLOAD.title} on all cores, minimum wall seconds, while another process keeps one core busy.",
        "",
        *table(["", "quiet", "busy", "slow-down", "slow-down of the worst repeat"], rows),
    ]

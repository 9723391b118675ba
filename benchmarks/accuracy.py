"""Section `accuracy`: test loss over several seeds of rows and of each library."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.libraries import LIBRARIES, OURS, mean_loss, predict
from benchmarks.markdown import number, signed, table
from benchmarks.plan import Plan, say
from benchmarks.results import Results
from benchmarks.workloads import TITLES, Workload

NAME = "accuracy"
MOST_ROWS = 200_000
WITH_L2 = "+l2"  # after the name of a workload: all libraries with an L2 of 1


def title(name: str) -> str:
    return TITLES[name.removesuffix(WITH_L2)] + (", L2 = 1" if name.endswith(WITH_L2) else "")


def measure(plan: Plan) -> None:
    for workload in plan.workloads:
        if workload.huge:  # with bounded rows, it would equal a smaller workload
            continue
        for l2 in (0.0, 1.0) if workload.tiny else (0.0,):  # L2 matters most with few rows
            name = workload.name + (WITH_L2 if l2 else "")
            if plan.results.is_done(NAME, name):
                continue
            plan.results.start(NAME, name)
            for seed in range(1, plan.seeds + 1):
                _measure_seed(plan, workload, seed, name, l2)
            plan.results.finish(NAME, name)


def _measure_seed(plan: Plan, workload: Workload, seed: int, name: str, l2: float) -> None:
    data = plan.draw(workload, seed, MOST_ROWS)
    for library in plan.libraries:
        try:
            with library.threads(plan.n_jobs):
                model = library.make(workload.task, plan.n_jobs, seed, l2).fit(data.X, data.y)
                loss = mean_loss(data.y_test, predict(model, data.X_test, workload.task), workload.task)
        except Exception as error:  # a library that fails must not end the run
            say(NAME, name, library.name, "failed:", error)
            continue
        plan.results.add(loss, NAME, name, library.name)
        say(NAME, name, f"seed {seed}/{plan.seeds}", library.name, number(loss, 5))


@dataclass(frozen=True)
class Gap:
    """Return the mean and standard deviation of the loss of Sapwood minus that of the best other library, and the deviation of our loss."""

    peer: str
    mean: float
    paired_spread: float
    spread: float


def gap(results: Results, workload: str) -> Gap | None:
    losses = {name: np.array(found) for name, found in (results.get(NAME, workload) or {}).items()}
    ours = losses.pop(OURS, None)
    peers = {name: found for name, found in losses.items() if ours is not None and len(found) == len(ours)}
    if ours is None or not peers:
        return None
    best = min(peers, key=lambda name: peers[name].mean())
    difference = ours - peers[best]
    return Gap(best, float(difference.mean()), _spread(difference), _spread(ours))


def _spread(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def report(results: Results) -> list[str]:
    workloads = results.get(NAME)
    libraries = [name for name in LIBRARIES if any(name in found for found in workloads.values())]
    header = ["", *(LIBRARIES[name].title for name in libraries), "best peer", "ours - best peer", "its spread"]
    rows = []
    for workload, found in workloads.items():
        cells = [_cell(found.get(name)) for name in libraries]
        ours = gap(results, workload)
        last = ["-"] * 3
        if ours is not None:
            last = [LIBRARIES[ours.peer].title, signed(ours.mean), number(ours.paired_spread)]
        rows.append([title(workload), *cells, *last])
    return [
        "## Test loss over seeds",
        "",
        "Mean (standard deviation) of log-loss, or of mean squared error for the regression. Each seed selects the training and "
        f"test rows and is also passed to the library. At most {MOST_ROWS:,} training rows. 'Its spread' is the standard "
        "deviation over seeds of the difference on the same rows.",
        "",
        *table(header, rows),
    ]


def _cell(losses: list[float] | None) -> str:
    return "-" if not losses else f"{number(float(np.mean(losses)), 5)} ({number(_spread(np.array(losses)))})"

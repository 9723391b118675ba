"""Section `scale`: pages in files against memory and XGBoost's external memory; Dask and Ray against other Dask estimators.

Each part is a command that can be run by itself: `benchmarks.out_of_core` and `benchmarks.cluster`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say
from benchmarks.results import Results, divide

NAME = "scale"
ROOT = Path(__file__).parents[1]
LARGE = ["--rows", "2000000", "--features", "28", "--rounds", "50", "--memory-limit", "250MB"]
PARTS: dict[str, list[str]] = {
    "cache": ["benchmarks.out_of_core", "--only", "cache", *LARGE],
    "xgboost": ["benchmarks.out_of_core", "--only", "xgboost", *LARGE],
    "cluster": ["benchmarks.cluster"],
}


def measure(plan: Plan) -> None:
    for part, command in PARTS.items():
        if plan.results.is_done(NAME, part):
            continue
        plan.results.start(NAME, part)
        for repeat in range(plan.repeats):
            done = subprocess.run([sys.executable, "-m", *command, "--json"], cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                say(NAME, part, "failed:", (done.stderr.strip().splitlines() or ["no message"])[-1])
                return
            found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
            for name, values in found.items():
                for measure, value in values.items():
                    plan.results.add(value, NAME, part, name, measure)
            say(
                NAME,
                part,
                f"{repeat + 1}/{plan.repeats}",
                *(f"{name} {number(values.get('wall', values.get('fit')))}" for name, values in found.items()),
            )
        plan.results.finish(NAME, part)


def pages_ratio(results: Results, name: str = "files that fit into memory") -> float | None:
    """Wall-clock seconds of a fit on pages in files, divided by those of a fit in memory."""
    return divide(results.least(NAME, "cache", name, "wall"), results.least(NAME, "cache", "memory", "wall"))


def external_ratio(results: Results) -> float | None:
    """Wall-clock seconds of XGBoost's external memory, divided by ours."""
    return divide(results.least(NAME, "xgboost", "XGBoost", "wall"), results.least(NAME, "xgboost", "Sapwood", "wall"))


def cluster_ratio(results: Results, name: str, ours: str = "Sapwood, Dask") -> float | None:
    """Seconds of another estimator on a cluster, divided by ours."""
    return divide(results.least(NAME, "cluster", name, "fit"), results.least(NAME, "cluster", ours, "fit"))


def report(results: Results) -> list[str]:
    found: dict[str, Any] = results.get(NAME)
    lines = ["## Out of core and clusters", ""]
    for part in ("cache", "xgboost"):
        rows = [[name, number(min(own["cpu"])), number(min(own["wall"]))] for name, own in (found.get(part) or {}).items()]
        if rows:
            lines += [f"`python -m {' '.join(PARTS[part])}`, seconds:", "", *table(["", "CPU", "wall clock"], rows)]
    rows = [
        [name, number(min(own["fit"])), number(min(own["one tree"])), ratio(1000 * min(own["each tree"]))]
        for name, own in (found.get("cluster") or {}).items()
    ]
    if rows:
        lines += ["`python -m benchmarks.cluster`: 1M x 28, 100 trees of 31 leaves, 2 workers of one thread:", ""]
        lines += table(["", "fit, s", "of one tree, s", "each further tree, ms"], rows)
    return lines

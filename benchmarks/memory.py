"""Section `memory`: peak memory of one fit in a fresh process, above its input.

The fresh process runs this module: `python -m benchmarks.memory FOLDER LIBRARY TASK N_JOBS` prints one number, in MiB.
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.libraries import LIBRARIES, LIGHTGBM, OURS
from benchmarks.markdown import number, ratio, table
from benchmarks.plan import Plan, say
from benchmarks.results import Results, divide
from benchmarks.workloads import TITLES, Workload

NAME = "memory"
ROOT = Path(__file__).parents[1]
MIB = 1024  # KiB


def measure(plan: Plan) -> None:
    for workload in plan.workloads:
        if not workload.tiny and not plan.results.is_done(NAME, workload.name):
            plan.results.start(NAME, workload.name)
            _measure_workload(plan, workload)
            plan.results.finish(NAME, workload.name)


def _measure_workload(plan: Plan, workload: Workload) -> None:
    plan.results.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=plan.results.path.parent) as folder:
        data = plan.draw(workload)
        np.save(f"{folder}/X.npy", data.X)
        np.save(f"{folder}/y.npy", data.y)
        plan.results.put(data.X.nbytes / 2**20, NAME, workload.name, "input")
        del data
        for library in plan.libraries:
            command = ["-m", "benchmarks.memory", folder, library.name, workload.task, str(plan.n_jobs)]
            done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
            if done.returncode:
                say(NAME, workload.name, library.name, "failed:", (done.stderr.strip().splitlines() or ["no message"])[-1])
                continue
            peak = float(done.stdout.splitlines()[-1])
            plan.results.put(peak, NAME, workload.name, library.name)
            say(NAME, workload.name, library.name, number(peak), "MiB")


def measure_here(folder: str, library_name: str, task: str, n_jobs: int) -> float:
    """Return the peak memory of a fit in MiB, above that of the process with the input loaded."""
    library = LIBRARIES[library_name]
    model = library.make(task, n_jobs, 0)
    X, y = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")
    gc.collect()
    with library.threads(n_jobs):
        if _reset_peak():
            before = _status("VmRSS")
            model.fit(X, y)
            return (_status("VmHWM") - before) / MIB
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model.fit(X, y)
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MIB


def _reset_peak() -> bool:
    """Reset the peak memory that the kernel reports."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _status(field: str) -> int:
    """Return the peak memory in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def lightgbm_share(results: Results, workload: str) -> float | None:
    """Return the ratio of Sapwood to LightGBM."""
    found = results.get(NAME, workload) or {}
    return divide(found.get(OURS), found.get(LIGHTGBM))


def report(results: Results) -> list[str]:
    workloads = results.get(NAME)
    libraries = [name for name in LIBRARIES if any(name in found for found in workloads.values())]
    header = ["", "input", *(LIBRARIES[library].title for library in libraries), "ours / LightGBM"]
    rows = []
    for workload, found in workloads.items():
        cells = [number(found.get(column)) for column in ("input", *libraries)]
        rows.append([TITLES[workload], *cells, ratio(lightgbm_share(results, workload))])
    return ["## Peak memory of a fit above its input, MiB", "", "All cores, each fit in a fresh process.", "", *table(header, rows)]


if __name__ == "__main__":
    print(measure_here(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))

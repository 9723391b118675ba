"""Instruction counts of fits and predictions by valgrind's callgrind. Unlike times, they are comparable on a busy machine.

    python benchmarks/instructions.py --json before.json      count, with the Sapwood of this interpreter
    python benchmarks/instructions.py --compare before.json   count, and print the ratio to those counts
    python benchmarks/instructions.py --only dense,classes    some of the workloads

Each workload runs in its own process, on one thread. The process imports everything and runs all parts once before it counts, so that
imports, caches and lazily created objects are not counted. Parts are marked by client requests of callgrind, from a small library that is
compiled first; this needs valgrind, its headers and a C compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# The first prediction of a model includes the creation of its scorer. The last two parts are counts per call, averaged over many calls.
PARTS = ("fit", "first predict", "predict", "predict one row")
PREDICT_CALLS = 10
MARKS = """
#include <valgrind/callgrind.h>
void begin_part(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end_part(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
VALGRIND = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"]


# Workloads


@dataclass(frozen=True)
class Workload:
    """Estimator, parameters and reproducible data of a fit."""

    title: str
    estimator: str
    parameters: dict[str, Any]
    data: Callable[[], tuple[Any, np.ndarray]]
    one_row_calls: int = 1000

    def calls(self, part: str) -> int:
        """Return the number of repetitions of a part while it is counted."""
        return {"predict": PREDICT_CALLS, "predict one row": self.one_row_calls}.get(part, 1)


def dense() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 28))
    return X, X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + X[:, 3] + 0.5 * rng.normal(size=len(X))


def small() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def categories() -> tuple[Any, np.ndarray]:
    """Return a frame of 15 numeric columns, 4 categorical columns of 5 to 100 levels, and one of 1,000."""
    import pandas as pd

    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(5_000, 15)), columns=[f"x{i}" for i in range(15)])
    y = X["x0"].to_numpy() + 0.5 * rng.normal(size=len(X))
    for n_levels in (5, 12, 40, 100, 1_000):
        codes = rng.integers(0, n_levels, len(X))
        X[f"c{n_levels}"] = pd.Categorical.from_codes(codes, [f"level {i}" for i in range(n_levels)])
        y = y + rng.normal(size=n_levels)[codes]
    return X, y


def sparse() -> tuple[Any, np.ndarray]:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(2)
    X = np.where(rng.random((8_000, 300)) < 0.03, rng.integers(1, 9, (8_000, 300)), 0).astype(float)
    return csr_array(X), (X[:, :40].sum(axis=1) + rng.normal(size=len(X)) > 4).astype(int)


def classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6_000, 20))
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * np.nan_to_num(X[:, 2]) + 0.3 * rng.normal(size=len(X))
    return X, np.digitize(signal, [-1.2, -0.4, 0.4, 1.2])


WORKLOADS = {
    "dense": Workload("20,000 x 28 numbers, 30 rounds", "BoostingRegressor", {"max_iter": 30, "early_stopping": False}, dense),
    "small": Workload("569 x 30, 2 classes, 100 rounds", "BoostingClassifier", {"max_iter": 100}, small),
    "categories": Workload("5,000 x 20 with 5 categories, 30 rounds", "BoostingRegressor", {"max_iter": 30}, categories, 20),
    "sparse": Workload("8,000 x 300 sparse, 2 classes, 30 rounds", "BoostingClassifier", {"max_iter": 30}, sparse),
    "classes": Workload("6,000 x 20, 5 classes, 20 rounds", "BoostingClassifier", {"max_iter": 20}, classes),
}


# In the measured process


def run_parts(workload: Workload, marks: Any) -> None:
    """Run each part once without counting, then once with counting."""
    import sapwood

    X, y = workload.data()
    row = X.iloc[:1] if hasattr(X, "iloc") else X[:1]
    estimator = getattr(sapwood, workload.estimator)(**workload.parameters, n_jobs=1, random_state=0)

    def predict(table: Any) -> None:
        (estimator.predict_proba if workload.estimator == "BoostingClassifier" else estimator.predict)(table)

    work: dict[str, Callable[[], Any]] = {
        "fit": lambda: estimator.fit(X, y),
        "first predict": lambda: predict(X),
        "predict": lambda: predict(X),
        "predict one row": lambda: predict(row),
    }
    for part in PARTS:
        work[part]()
    gc.collect()
    gc.disable()
    for part in PARTS:
        marks.begin_part()
        for _ in range(workload.calls(part)):
            work[part]()
        marks.end_part(part.encode())


# In the measuring process


def compile_marks(folder: Path) -> None:
    (folder / "marks.c").write_text(MARKS)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", "marks.so", "marks.c"], cwd=folder, check=True)


def count(name: str, folder: Path) -> dict[str, int]:
    """Return the instructions per call of each part of a workload, from a process with a fixed environment and fixed arguments."""
    kept = {key: os.environ[key] for key in ("PATH", "SAPWOOD_KERNELS") if key in os.environ}
    fixed = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LC_ALL": "C"}
    command = [*VALGRIND, f"--callgrind-out-file={name}.out", sys.executable, "-P", __file__, "--run", name]
    done = subprocess.run(command, cwd=folder, env=kept | fixed, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr[-3000:]}")
    found = {}
    for path in folder.glob(f"{name}.out.*"):
        text = path.read_text()
        part = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if part and total:
            found[part[1]] = int(total[1]) // WORKLOADS[name].calls(part[1])
    if set(found) != set(PARTS):
        raise RuntimeError(f"{name}: expected counts of {PARTS}, found those of {sorted(found)}")
    return {part: found[part] for part in PARTS}


def show(counts: dict[str, dict[str, int]], before: dict[str, dict[str, int]] | None) -> None:
    """Return a table in millions of instructions, with ratios to earlier counts if given."""
    print(f"{'million instructions':42}" + "".join(f"{part:>20}" for part in PARTS))
    for name, found in counts.items():
        cells = []
        for part in PARTS:
            old = (before or {}).get(name, {}).get(part)
            cells.append(f"{found[part] / 1e6:,.3f}" + (f" ({found[part] / old:.4f})" if old else ""))
        print(f"{WORKLOADS[name].title:42}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def describe() -> dict[str, str]:
    """Return a description of the measurement, for the JSON file."""
    import sapwood

    kernels = os.environ.get("SAPWOOD_KERNELS", "by the CPU")
    return {"sapwood": str(Path(sapwood.__file__).parent), "kernels": kernels, "numpy": np.__version__, "python": sys.version.split()[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME[,NAME]", default=",".join(WORKLOADS), help=f"of {', '.join(WORKLOADS)}")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the counts to a file")
    parser.add_argument("--compare", type=Path, metavar="PATH", help="a file of counts to compare with")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        library = ctypes.CDLL("./marks.so")
        library.end_part.argtypes = [ctypes.c_char_p]
        return run_parts(WORKLOADS[arguments.run], library)
    before = json.loads(arguments.compare.read_text())["counts"] if arguments.compare else None
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        compile_marks(Path(folder))
        counts = {name: count(name, Path(folder)) for name in arguments.only.split(",")}
    show(counts, before)
    if arguments.json:
        arguments.json.write_text(json.dumps({"made with": describe(), "counts": counts}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()

"""Peak memory of a fit above its input: 300,000 x 28 rows, with and without early stopping, each in a fresh process.

    python benchmarks/peak_memory.py --json before.json      measure, with the Sapwood of this interpreter
    python benchmarks/peak_memory.py --compare before.json   measure, and print the ratio to those numbers

`benchmarks.memory` compares libraries on the workloads of the report; this compares two versions of Sapwood.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

N_ROWS, N_FEATURES, N_VALIDATION = 300_000, 28, 30_000
REPEATS = 3
FITS: dict[str, dict[str, Any]] = {
    "without early stopping": {"early_stopping": False},
    "early stopping, 10 % held out": {"early_stopping": True},
    "early stopping on X_val": {},
}


def measure_here(name: str) -> float:
    """Return the peak memory of a fit in MiB, above that of the process with the input loaded."""
    from sapwood import BoostingClassifier

    X, y = rows(N_ROWS, 0)
    validation = dict(zip(("X_val", "y_val"), rows(N_VALIDATION, 1), strict=True)) if name == "early stopping on X_val" else {}
    estimator = BoostingClassifier(max_iter=20, n_jobs=2, random_state=0, **FITS[name])
    BoostingClassifier(max_iter=2, n_jobs=2).fit(X[:1000], y[:1000])  # so that imports and threads are not counted
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak that the kernel reports
    before = status("VmRSS")
    estimator.fit(X, y, **validation)
    return (status("VmHWM") - before) / 1024


def rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=n_rows) > 0).astype(int)


def status(field: str) -> int:
    """Return a field of /proc/self/status in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def measure(name: str) -> float:
    """Return the minimum over several processes."""
    command = [sys.executable, "-P", __file__, "--run", name]
    return min(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(REPEATS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to a file")
    parser.add_argument("--compare", type=Path, metavar="PATH", help="a file of numbers to compare with")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(measure_here(arguments.run))
        return
    before = json.loads(arguments.compare.read_text()) if arguments.compare else {}
    found = {}
    print(f"{'peak above the input':34}{'MiB':>8}   (the input: {N_ROWS * N_FEATURES * 8 / 2**20:.0f} MiB)")
    for name in FITS:
        found[name] = measure(name)
        ratio = f"   ({found[name] / before[name]:.3f})" if name in before else ""
        print(f"{name:34}{found[name]:8.1f}{ratio}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Sparse tables in Sapwood, LightGBM and XGBoost: `python -m benchmarks.sparse [--data DIR] [--only NAME ...] [--n-jobs N] [--large]`.

Each fit runs in a fresh process: seconds, peak memory in MiB above the loaded input, test log-loss. Libraries take turns; the minimum of
`--repeats` is reported. If a dense copy fits in memory, its model must have the same bytes.

The fresh process runs this module: `python -m benchmarks.sparse FOLDER LIBRARY N_JOBS`.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.libraries import LIBRARIES, mean_loss
from benchmarks.machine import available_cores, describe_machine
from benchmarks.memory import MIB, _reset_peak, _status
from sapwood import BoostingClassifier

ROOT = Path(__file__).parents[1]
COMPARED = ("sapwood", "lightgbm", "xgboost")
DENSE_CELLS = 2 * 10**8  # maximum size of a dense copy
REAL = ("agaricus", "w8a")


def generate(n_rows: int, n_features: int, reals: bool, seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    """Return a matrix with about 20 entries per row, word counts or real numbers at the same positions, and two classes."""
    rng = np.random.default_rng(seed)
    popularity = 1 / (np.arange(n_features) + 50)
    upto = np.cumsum(popularity / popularity.sum())
    words = np.searchsorted(upto, rng.random(n_rows * 20)).astype(np.int32)
    X = sparse.csr_array((np.ones(len(words), dtype=np.float32), words, np.arange(0, len(words) + 1, 20)), shape=(n_rows, n_features))
    X.sum_duplicates()
    if reals:
        X.data = (X.data * rng.lognormal(size=X.nnz)).astype(np.float32)
    effect = np.where(rng.random(n_features) < 0.1, rng.normal(size=n_features), 0)
    raw = X @ effect
    return X, (raw + rng.logistic(size=n_rows) > np.median(raw)).astype(np.int64)


def load(name: str, data: Path) -> tuple[sparse.csr_array, np.ndarray]:
    if name in REAL:
        stored = np.load(data / f"{name}.npz")
        X = sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
        return X, np.unique(stored["y"], return_inverse=True)[1]
    n_rows = 1_000_000 if name.startswith("1M") else 200_000
    return generate(n_rows, 10_000, reals=name.endswith("reals"))


def measure_here(folder: str, library_name: str, n_jobs: int) -> str:
    """Return seconds and MiB of a fit, seconds of a prediction, and the test loss."""
    library = LIBRARIES[library_name]
    parts = {part: (sparse.load_npz(f"{folder}/{part}.npz"), np.load(f"{folder}/{part}.npy")) for part in ("train", "test")}
    model = library.make("classification", n_jobs, 0)
    gc.collect()
    _reset_peak()
    before = _status("VmRSS")
    start = time.perf_counter()
    model.fit(*parts["train"])
    fitted = time.perf_counter() - start
    peak = (_status("VmHWM") - before) / MIB
    X, y = parts["test"]
    start = time.perf_counter()
    predicted = model.predict_proba(X)
    return f"{fitted} {peak} {time.perf_counter() - start} {mean_loss(y, predicted, 'classification')}"


def compare(name: str, X: sparse.csr_array, y: np.ndarray, n_jobs: int, repeats: int, libraries: list[str]) -> None:
    test = np.random.default_rng(0).random(len(y)) < 0.2
    print(f"\n{name}: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz / X.shape[0]:.1f} entries a row; input {_mib(X):.0f} MiB", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for part, rows in (("train", ~test), ("test", test)):
            sparse.save_npz(f"{folder}/{part}.npz", X[rows], compressed=False)
            np.save(f"{folder}/{part}.npy", y[rows])
        found: dict[str, list[list[float]]] = {library: [] for library in libraries}
        for _ in range(repeats):
            for library in libraries:
                command = [sys.executable, "-m", "benchmarks.sparse", folder, library, str(n_jobs)]
                done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
                found[library].append([float(part) for part in done.stdout.split()])
    for library, runs in found.items():
        fit, peak, predict, loss = np.min(runs, axis=0)
        print(f"  {library:<10} fit {fit:8.3f} s   peak {peak:8.0f} MiB   predict {predict:7.3f} s   test log-loss {loss:.5f}", flush=True)
    if X.shape[0] * X.shape[1] <= DENSE_CELLS:
        models = [BoostingClassifier(early_stopping=False, n_jobs=n_jobs).fit(part, y).model_.to_bytes() for part in (X, X.toarray())]
        print(f"  same bytes as the dense table: {models[0] == models[1]}", flush=True)


def _mib(X: sparse.csr_array) -> float:
    return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", help="folder of real tables")
    parser.add_argument("--only", nargs="*", default=[*REAL, "200k counts", "200k reals"])
    parser.add_argument("--large", action="store_true", help="1,000,000 rows too")
    parser.add_argument("--libraries", nargs="*", default=list(COMPARED))
    parser.add_argument("--n-jobs", type=int, default=available_cores())
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    print(describe_machine())
    for name in [*given.only, *(["1M counts"] if given.large else [])]:
        compare(name, *load(name, given.data), given.n_jobs, given.repeats, given.libraries)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[2] in LIBRARIES:
        print(measure_here(sys.argv[1], sys.argv[2], int(sys.argv[3])))
    else:
        main()

"""Fits of data larger than memory: pages in files against memory, and against XGBoost's external memory.

    python -m benchmarks.out_of_core                            small sizes, about a minute
    python -m benchmarks.out_of_core --rows 1000000 --features 28 --rounds 100
    python -m benchmarks.out_of_core --only parquet --rows 100000000 --features 10 --memory-limit 16GB

Workloads
    cache    pages in files that the page cache of the system holds, against pages in memory: CPU seconds and the ratio
    xgboost  pages in files under a memory limit, against XGBoost's ExtMemQuantileDMatrix, both from the same batches
    parquet  a fit from Parquet files that are written first, with its peak of memory

Each workload prints CPU seconds of this process, which are comparable on a busy machine, and wall-clock seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sapwood
from sapwood import BoostingRegressor

BATCH_ROWS = 65_536
LEAF_BATCH = 8
MEASURED: dict[str, dict[str, float]] = {}  # seconds, and the peak of the process in MiB


def batches(n_rows: int, n_features: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield reproducible rows and targets."""
    for start in range(0, n_rows, BATCH_ROWS):
        rng = np.random.default_rng(start)
        x = rng.standard_normal((min(BATCH_ROWS, n_rows - start), n_features), dtype=np.float32)
        yield x, x[:, 0] + x[:, 1] * x[:, 2] + rng.standard_normal(len(x), dtype=np.float32)


class Rows:
    """Stream of the features."""

    def __init__(self, n_rows: int, n_features: int) -> None:
        self.n_rows, self.n_features = n_rows, n_features

    def __iter__(self) -> Iterator[np.ndarray]:
        return (x for x, _ in batches(self.n_rows, self.n_features))


def timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Return CPU seconds and wall-clock seconds of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - cpu, time.perf_counter() - wall


def report(name: str, seconds: tuple[float, float]) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    MEASURED[name.split(",")[0]] = {"cpu": seconds[0], "wall": seconds[1], "peak": peak}
    print(f"{name:<44} {seconds[0]:8.2f} CPU s {seconds[1]:8.2f} s   peak of the process {peak:,.0f} MiB", flush=True)


def settings(a: argparse.Namespace) -> dict[str, Any]:
    return {"max_iter": a.rounds, "early_stopping": False, "leaf_batch": LEAF_BATCH, "n_jobs": a.threads}


def cache(a: argparse.Namespace) -> None:
    x, y = (np.concatenate(parts) for parts in zip(*batches(a.rows, a.features), strict=True))
    memory = timed(lambda: BoostingRegressor(**settings(a)).fit(x, y))
    report("memory", memory)
    with tempfile.TemporaryDirectory() as folder:
        BoostingRegressor(**settings(a) | {"max_iter": 1}, pages_dir=folder).fit(x, y)
        files = timed(lambda: BoostingRegressor(**settings(a), pages_dir=folder).fit(x, y))
        report("files that fit into memory", files)
        limited = timed(lambda: BoostingRegressor(**settings(a), pages_dir=folder, memory_limit=a.memory_limit).fit(x, y))
        report(f"files read again in each step, memory_limit={a.memory_limit}", limited)
    print(f"CPU seconds of files / memory: {files[0] / memory[0]:.2f}; with the limit: {limited[0] / memory[0]:.2f}")


def xgboost(a: argparse.Namespace) -> None:
    import xgboost as xgb

    y = np.concatenate([own for _, own in batches(a.rows, a.features)])
    ours = timed(lambda: BoostingRegressor(**settings(a), memory_limit=a.memory_limit).fit(Rows(a.rows, a.features), y))
    report(f"Sapwood, memory_limit={a.memory_limit}", ours)

    class Batches(xgb.DataIter):
        def __init__(self, folder: str) -> None:
            super().__init__(cache_prefix=str(Path(folder) / "cache"), on_host=False)
            self.reset()

        def next(self, input_data: Callable[..., Any]) -> bool:
            found = next(self.source, None)
            if found is not None:
                input_data(data=found[0], label=found[1])
            return found is not None

        def reset(self) -> None:
            self.source = batches(a.rows, a.features)

    parameters = {"tree_method": "hist", "max_leaves": 31, "max_depth": 0, "nthread": a.threads, "grow_policy": "lossguide", "max_bin": 255}
    with tempfile.TemporaryDirectory() as folder:

        def fit() -> None:
            xgb.train(parameters, xgb.ExtMemQuantileDMatrix(Batches(folder), max_bin=255), a.rounds)

        theirs = timed(fit)
    report("XGBoost, ExtMemQuantileDMatrix, lossguide", theirs)
    print(f"CPU seconds of XGBoost / Sapwood: {theirs[0] / ours[0]:.2f}; wall-clock: {theirs[1] / ours[1]:.2f}")


def parquet(a: argparse.Namespace) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{f}" for f in range(a.features)]
    with tempfile.TemporaryDirectory() as folder:
        writer = None
        for x, y in batches(a.rows, a.features):
            table = pa.table(dict(zip(names, x.T, strict=True)) | {"y": y})
            writer = writer or pq.ParquetWriter(Path(folder) / "rows.parquet", table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()
        files = sapwood.scan(folder)
        report(
            f"Parquet, {a.rows:,} x {a.features}, limit {a.memory_limit}",
            timed(lambda: BoostingRegressor(**settings(a), memory_limit=a.memory_limit).fit(files, "y")),
        )


WORKLOADS = {"cache": cache, "xgboost": xgboost, "parquet": parquet}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=WORKLOADS, action="append")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory-limit", default="160MB")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON in the last line")
    a = parser.parse_args()
    for name in a.only or WORKLOADS:
        print(f"{name}: {a.rows:,} x {a.features}, {a.rounds} rounds of 31 leaves, {a.threads} threads")
        WORKLOADS[name](a)
    if a.json:
        print(json.dumps(MEASURED))


if __name__ == "__main__":
    main()

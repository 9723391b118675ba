"""Dask and Ray against the Dask estimators of XGBoost and LightGBM, on local workers: `python -m benchmarks.cluster`.

Every library gets the same partitions in the memory of the same workers, the same number of trees and leaves. Times are of `fit`, after
a fit of one tree, which is timed as well: on Ray, where each fit starts its own workers, most of it is their start.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.markdown import table

LEARNING_RATE = 0.1
HEADER = ["", "fit, s", "of one tree, s", "each further tree, ms", "test log loss", "sent for a tree"]
MEASURED: dict[str, dict[str, float]] = {}  # seconds


def rows(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic rows of two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    logit = X[:, 0] + X[:, 1] * X[:, 2] - np.abs(X[:, 3]) + rng.logistic(size=n_rows)
    return X, (logit > 0).astype(np.int64)


def sapwood_dask(client: Any, options: argparse.Namespace) -> Any:
    from sapwood.dask import DaskBoostingClassifier

    leaves = {"max_leaf_nodes": options.leaves, "max_iter": options.trees, "learning_rate": LEARNING_RATE}
    return DaskBoostingClassifier(client=client, preset="classic", early_stopping=False, **leaves)


def xgboost_dask(client: Any, options: argparse.Namespace) -> Any:
    from xgboost.dask import DaskXGBClassifier

    leaves = {"grow_policy": "lossguide", "max_leaves": options.leaves, "max_depth": 0}
    model = DaskXGBClassifier(n_estimators=options.trees, learning_rate=LEARNING_RATE, tree_method="hist", max_bin=255, **leaves)
    model.client = client
    return model


def lightgbm_dask(client: Any, options: argparse.Namespace) -> Any:
    from lightgbm import DaskLGBMClassifier

    return DaskLGBMClassifier(client=client, n_estimators=options.trees, num_leaves=options.leaves, learning_rate=LEARNING_RATE, verbose=-1)


DASK: dict[str, Callable[[Any, argparse.Namespace], Any]] = {
    "Sapwood, Dask": sapwood_dask,
    "XGBoost, Dask": xgboost_dask,
    "LightGBM, Dask": lightgbm_dask,
}


class Fits:
    """Seconds of the fits of a library: of one tree, and of all."""

    def __init__(self, name: str, make: Callable[[int], Any], data: tuple[Any, Any], options: argparse.Namespace) -> None:
        self.name = name
        seconds = {1: float("inf"), options.trees: float("inf")}
        make(1).fit(*data)  # imports
        for n_trees in [1, options.trees] * options.repeats:
            self.model = make(n_trees)
            began = time.perf_counter()
            self.model.fit(*data)
            seconds[n_trees] = min(seconds[n_trees], time.perf_counter() - began)
        self.one, self.all = seconds[1], seconds[options.trees]

    def line(self, y_test: np.ndarray, probability: np.ndarray, n_trees: int) -> list[str]:
        each = 1000 * (self.all - self.one) / max(1, n_trees - 1)
        MEASURED[self.name] = {"fit": self.all, "one tree": self.one, "each tree": each / 1000}
        cells = f"{self.all:.2f}", f"{self.one:.2f}", f"{each:.1f}", f"{log_loss(y_test, probability[:, 1]):.4f}"
        return [self.name, *cells, _traffic(self.model)]


def on_dask(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, options: argparse.Namespace) -> list[list[str]]:
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    lines = []
    with LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        chunk = -(-len(X) // options.workers)
        lazy = client.persist([da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)])
        wait(lazy)
        for name, make in DASK.items():
            fits = Fits(name, lambda n, make=make: make(client, argparse.Namespace(**vars(options) | {"trees": n})), lazy, options)
            local = fits.model.to_local() if hasattr(fits.model, "to_local") else fits.model
            test = da.from_array(X_test) if local is fits.model else X_test
            predicted = local.predict_proba(test)
            lines.append(fits.line(y_test, np.asarray(predicted), options.trees))
    return lines


def on_ray(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, options: argparse.Namespace) -> list[list[str]]:
    import ray

    from sapwood.ray import RayBoostingClassifier

    ray.init(num_cpus=options.workers, include_dashboard=False, object_store_memory=2 * X.nbytes + 100_000_000, log_to_driver=False)
    pieces = tuple([ray.put(piece) for piece in np.array_split(values, options.workers)] for values in (X, y))
    given = {"max_leaf_nodes": options.leaves, "learning_rate": LEARNING_RATE, "n_workers": options.workers}

    def make(n_trees: int) -> Any:
        return RayBoostingClassifier(preset="classic", early_stopping=False, max_iter=n_trees, **given)

    fits = Fits("Sapwood, Ray", make, pieces, options)
    ray.shutdown()
    return [fits.line(y_test, fits.model.predict_proba(X_test), options.trees)]


def _traffic(model: Any) -> str:
    sent = getattr(model, "communication_", None)
    return "" if sent is None else f"{sent['rounds_per_tree']:.0f} rounds, {sent['bytes_per_tree'] / 1e6:.2f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    for name, value in (("rows", 1_000_000), ("features", 28), ("trees", 100), ("leaves", 31), ("workers", 2), ("repeats", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--engine", choices=["dask", "ray"], action="append")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON in the last line")
    options = parser.parse_args()
    X, y = rows(options.rows + 50_000, options.features)
    data = X[:-50_000], y[:-50_000], X[-50_000:], y[-50_000:]
    engines = {"dask": on_dask, "ray": on_ray}
    lines = [line for name in options.engine or engines for line in engines[name](*data, options)]
    print(
        f"{options.rows:,} x {options.features}, {options.trees} trees of {options.leaves} leaves, {options.workers} workers of 1 thread\n"
    )
    print("\n".join(table(HEADER, lines)))
    if options.json:
        print(json.dumps(MEASURED))


if __name__ == "__main__":
    main()

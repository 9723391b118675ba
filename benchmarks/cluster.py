"""Dask and Ray against the Dask estimators of XGBoost and LightGBM, on local workers: `python -m benchmarks.cluster`.

Every library gets the same partitions in the memory of the same workers, the same number of trees and leaves. Times are of `fit`;
on Dask after a fit of one tree, on Ray with the start of its workers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.markdown import table

LEARNING_RATE = 0.1


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


def on_dask(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, options: argparse.Namespace) -> list[list[str]]:
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    lines = []
    with LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        chunk = -(-len(X) // options.workers)
        lazy = client.persist([da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)])
        wait(lazy)
        for name, make in DASK.items():
            times = []
            make(client, argparse.Namespace(**vars(options) | {"trees": 1})).fit(*lazy)  # imports
            for _ in range(options.repeats):
                model = make(client, options)
                began = time.perf_counter()
                model.fit(*lazy)
                times.append(time.perf_counter() - began)
            local = model.to_local() if hasattr(model, "to_local") else model
            predicted = np.asarray(local.predict_proba(da.from_array(X_test)).compute() if local is model else local.predict_proba(X_test))
            lines.append([name, f"{min(times):.2f}", f"{log_loss(y_test, predicted[:, 1]):.4f}", _traffic(model)])
    return lines


def on_ray(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, options: argparse.Namespace) -> list[list[str]]:
    import ray

    from sapwood.ray import RayBoostingClassifier

    ray.init(num_cpus=options.workers, include_dashboard=False, object_store_memory=2 * X.nbytes + 100_000_000, log_to_driver=False)
    pieces = [[ray.put(piece) for piece in np.array_split(values, options.workers)] for values in (X, y)]
    leaves = {"max_leaf_nodes": options.leaves, "max_iter": options.trees, "learning_rate": LEARNING_RATE}
    times = []
    for _ in range(options.repeats):
        model = RayBoostingClassifier(n_workers=options.workers, preset="classic", early_stopping=False, **leaves)
        began = time.perf_counter()
        model.fit(*pieces)
        times.append(time.perf_counter() - began)
    ray.shutdown()
    return [["Sapwood, Ray", f"{min(times):.2f}", f"{log_loss(y_test, model.predict_proba(X_test)[:, 1]):.4f}", _traffic(model)]]


def _traffic(model: Any) -> str:
    sent = getattr(model, "communication_", None)
    return "" if sent is None else f"{sent['rounds_per_tree']:.0f} rounds, {sent['bytes_per_tree'] / 1e6:.2f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    for name, value in (("rows", 1_000_000), ("features", 28), ("trees", 100), ("leaves", 31), ("workers", 2), ("repeats", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--engine", choices=["dask", "ray"], action="append")
    options = parser.parse_args()
    X, y = rows(options.rows + 50_000, options.features)
    data = X[:-50_000], y[:-50_000], X[-50_000:], y[-50_000:]
    engines = {"dask": on_dask, "ray": on_ray}
    lines = [line for name in options.engine or engines for line in engines[name](*data, options)]
    print(
        f"{options.rows:,} x {options.features}, {options.trees} trees of {options.leaves} leaves, {options.workers} workers of 1 thread\n"
    )
    print("\n".join(table(["", "fit, s", "test log loss", "sent for a tree"], lines)))


if __name__ == "__main__":
    main()

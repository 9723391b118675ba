"""Start a local Dask or Ray cluster, train on it, and compare with one process.

python examples/local_cluster.py            Dask, 2 workers
python examples/local_cluster.py ray 4      Ray, 4 workers
"""

from __future__ import annotations

import sys

import numpy as np

from sapwood import BoostingClassifier

PARAMETERS = {"max_iter": 50, "max_leaf_nodes": 31, "early_stopping": False}
N_PIECES = 8


def rows(n: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)


def on_dask(X: np.ndarray, y: np.ndarray, n_workers: int) -> BoostingClassifier:
    from distributed import Client, LocalCluster

    from sapwood.dask import DaskBoostingClassifier

    with LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        pieces = [client.scatter(np.array_split(values, N_PIECES)) for values in (X, y)]
        return DaskBoostingClassifier(client=client, **PARAMETERS).fit(*pieces)


def on_ray(X: np.ndarray, y: np.ndarray, n_workers: int) -> BoostingClassifier:
    import ray

    from sapwood.ray import RayBoostingClassifier

    ray.init(num_cpus=n_workers, include_dashboard=False, object_store_memory=200_000_000)
    pieces = [[ray.put(piece) for piece in np.array_split(values, N_PIECES)] for values in (X, y)]
    model = RayBoostingClassifier(n_workers=n_workers, **PARAMETERS).fit(*pieces)
    ray.shutdown()
    return model


def main() -> None:
    engine, n_workers = (sys.argv[1:] or ["dask"])[0], int((sys.argv[2:] or ["2"])[0])
    X, y = rows()
    model = {"dask": on_dask, "ray": on_ray}[engine](X, y, n_workers)
    for name, value in model.communication_.items():
        print(f"{name}: {value}")
    same = model.to_bytes() == BoostingClassifier(**PARAMETERS).fit(X, y).to_bytes()
    print(f"the same bytes as in one process: {same}")


if __name__ == "__main__":
    main()

"""Time to load a model of 1,000 trees from a file: `python -m benchmarks.loading [--trees N] [--repeats N]`.

Each library uses its own format (LightGBM: text; XGBoost: UBJSON; CatBoost: cbm; scikit-learn: joblib, as its documentation recommends).
All models have the same rows (HIGGS-shaped, 20k x 28) and trees of 31 leaves. `load` is the time from the path to an object that can
predict; `and one row` includes the prediction of one row, since some libraries prepare their trees only then. The time is the minimum of
repeats in which libraries take turns; the file is in the system's cache.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import LIBRARIES
from benchmarks.markdown import number, table
from benchmarks.workloads import NAMED

N_ROWS = 20_000
ROUNDS = {"sapwood": "max_iter", "lightgbm": "n_estimators", "xgboost": "n_estimators", "sklearn": "max_iter", "catboost": "iterations"}


def save_and_load(name: str, model: Any, path: str) -> tuple[Callable[[], Any], Callable[[Any, np.ndarray], Any]]:
    """Write a model in the format of its library. Return a function that loads it, and one that predicts with it."""
    if name == "sapwood":
        import sapwood

        model.save(path)
        return lambda: sapwood.load(path), lambda loaded, x: loaded.predict_proba(x)
    if name == "lightgbm":
        import lightgbm

        model.booster_.save_model(path)
        return lambda: lightgbm.Booster(model_file=path), lambda loaded, x: loaded.predict(x, num_threads=1)
    if name == "xgboost":
        import xgboost

        path += ".ubj"
        model.save_model(path)

        def load() -> Any:
            loaded = xgboost.XGBClassifier(n_jobs=1)
            loaded.load_model(path)
            return loaded

        return load, lambda loaded, x: loaded.predict_proba(x)
    if name == "catboost":
        import catboost

        model.save_model(path)
        return lambda: catboost.CatBoostClassifier().load_model(path), lambda loaded, x: loaded.predict_proba(x, thread_count=1)
    import joblib

    joblib.dump(model, path)
    return lambda: joblib.load(path), lambda loaded, x: loaded.predict_proba(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    given = parser.parse_args()
    workload = NAMED["higgs-100k"]
    data = workload.draw(0, most=N_ROWS)
    with tempfile.TemporaryDirectory() as folder:
        ways, sizes = {}, {}
        for name in given.libraries:
            library = LIBRARIES[name]
            with library.threads(1):
                model = library.make(workload.task, 1, 0).set_params(**{ROUNDS[name]: given.trees}).fit(data.X, data.y)
            ways[name] = save_and_load(name, model, str(Path(folder) / name))
            sizes[name] = sum(file.stat().st_size for file in Path(folder).iterdir() if file.name.startswith(name))
        load: dict[str, list[float]] = {name: [] for name in ways}
        both: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(given.repeats):
            for name, (read, predict) in ways.items():
                start = time.perf_counter()
                loaded = read()
                load[name].append(time.perf_counter() - start)
                predict(loaded, data.X[:1])
                both[name].append(time.perf_counter() - start)
    ours = [min(times["sapwood"]) for times in (load, both)] if "sapwood" in ways else [np.nan, np.nan]
    rows = []
    for name in ways:
        times = [min(load[name]), min(both[name])]
        cells = [cell for time_, own in zip(times, ours, strict=True) for cell in (number(time_ * 1e3), f"{time_ / own:.2f}")]
        rows.append([LIBRARIES[name].title, number(sizes[name] / 2**20), *cells])
    print(f"{given.trees} trees, {os.cpu_count()} CPUs, one thread")
    print("\n".join(table(["", "MiB", "load, ms", "/ ours", "and one row, ms", "/ ours"], rows)))


if __name__ == "__main__":
    main()

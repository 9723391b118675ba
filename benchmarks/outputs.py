"""One tree per output against shared trees (docs/decisions/0011-shared-trees.md): `python -m benchmarks.outputs [--data DIR] [--rivers]`.

Test log-loss and seconds of a fit at the defaults with 100 rounds; for the rivers, the mean over outputs of RMSE / standard deviation.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multioutput import MultiOutputRegressor

from benchmarks.tables import has_tables, load_classes, load_covtype, load_outputs
from sapwood import BoostingClassifier, BoostingRegressor

SEEDS = range(3)
WAYS: dict[str, dict[str, Any]] = {
    "a tree a class": {"multi_strategy": "one_output_per_tree"},
    **{f"{n} shared": {"multi_strategy": "multi_output_tree", "shared_trees": n} for n in (1, 2, 3)},
}


def compare_classes(name: str, X: np.ndarray, y: np.ndarray, n_train: int | None = None) -> None:
    """Return the mean over splits for each strategy."""
    losses, seconds = np.zeros((2, len(SEEDS), len(WAYS)))
    for seed in SEEDS:
        sizes = {"train_size": n_train, "test_size": min(20_000, len(y) - n_train)} if n_train else {}
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=seed, **sizes)
        for w, way in enumerate(WAYS.values()):
            model = BoostingClassifier(early_stopping=False, random_state=seed, **way)
            seconds[seed, w] = timed(partial(model.fit, X_train, y_train))
            losses[seed, w] = log_loss(y_test, model.predict_proba(X_test))
    cells = [f"{loss:.4f} ({time_:.2f})" for loss, time_ in zip(losses.mean(axis=0), seconds.min(axis=0), strict=True)]
    print(f"| {name}, {len(np.unique(y))} classes | {' | '.join(cells)} |", flush=True)


def compare_rivers(folder: Path) -> None:
    X, y, is_test = load_outputs(folder, "river_flow1")
    spread = y[is_test].std(axis=0)
    ways = {
        "a model an output": MultiOutputRegressor(BoostingRegressor(early_stopping=False)),
        "a tree an output": BoostingRegressor(early_stopping=False, multi_strategy="one_output_per_tree"),
        **{f"{n} shared": BoostingRegressor(early_stopping=False, multi_strategy="multi_output_tree", shared_trees=n) for n in (1, 3)},
    }
    print("| rivers, 8 outputs | RMSE / deviation | seconds |\n|---|---|---|")
    for name, model in ways.items():
        seconds = min(timed(partial(model.fit, X[~is_test], y[~is_test])) for _ in SEEDS)
        rmse = np.sqrt(((model.predict(X[is_test]) - y[is_test]) ** 2).mean(axis=0))
        print(f"| {name} | {(rmse / spread).mean():.4f} | {seconds:.2f} |", flush=True)


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data", help="folder of real tables")
    parser.add_argument("--rivers", action="store_true", help="only the table of several outputs")
    arguments = parser.parse_args()
    folder = arguments.data
    if not arguments.rivers:
        print(f"| test log-loss (seconds) | {' | '.join(WAYS)} |\n|{'---|' * (len(WAYS) + 1)}")
        for name, load in {"iris": load_iris, "wine": load_wine, "digits": load_digits}.items():
            compare_classes(name, *load(return_X_y=True))
    if has_tables(folder):
        if not arguments.rivers:
            for n_train in (2_000, 15_000):
                compare_classes(f"letter, {n_train:,} rows", *load_classes(folder, "letter"), n_train)
            X, y = load_covtype(folder, two_classes=False)
            few = y < 3
            for n_train in (2_000, 20_000):
                compare_classes(f"covtype, {n_train:,} rows", X[few], y[few], n_train)
                compare_classes(f"covtype, {n_train:,} rows", X, y, n_train)
            X, y = load_classes(folder, "wine_quality")
            common = np.bincount(y)[y] >= 20
            compare_classes("wine quality", X[common], y[common])
        compare_rivers(folder)


if __name__ == "__main__":
    main()

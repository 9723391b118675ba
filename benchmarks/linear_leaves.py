"""Test loss of linear leaves against constant ones (docs/decisions/0040): `python -m benchmarks.linear_leaves [--data DIR] [--rows N]`.

Learning rate 0.07, early stopping on a fifth of the training rows. Log-loss of two classes, RMSE / sd otherwise.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.tables import load_frame
from sapwood import BoostingClassifier, BoostingRegressor

TABLES = ("california_housing", "higgs_lgb", "ames", "diamonds", "protein_casp", "elec", "adult")
SETTINGS: dict[str, dict[str, Any]] = {"constant": {}} | {
    f"linear_l2={l2:g}": {"leaf_model": "linear", "linear_l2": l2} for l2 in (10.0, 25.0, 50.0, 100.0)
}
N_TEST = 30_000  # at most


def loss_of(X: Any, y: np.ndarray, two_classes: bool, n_rows: int, seed: int, settings: dict[str, Any]) -> tuple[float, float]:
    """Return the test loss of a split, and the CPU seconds of the fit."""
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(n_rows, int(0.7 * len(y)))
    held, train, test = order[: n // 5], order[n // 5 : n], order[n : n + N_TEST]
    make = BoostingClassifier if two_classes else BoostingRegressor
    model = make(learning_rate=0.07, max_iter=1500, early_stopping=True, n_iter_no_change=50, n_jobs=1, **settings)
    begin = time.process_time()
    model.fit(X.iloc[train], y[train], X_val=X.iloc[held], y_val=y[held])
    seconds = time.process_time() - begin
    if two_classes:
        return log_loss(y[test], model.predict_proba(X.iloc[test])[:, 1]), seconds
    return float(np.sqrt(np.mean((model.predict(X.iloc[test]) - y[test]) ** 2)) / np.std(y[test])), seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data", help="folder of real tables")
    parser.add_argument("--rows", type=int, default=8000, help="of training and early stopping")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    options = parser.parse_args()
    print(f"| {options.rows} rows | constant | " + " | ".join(f"{name} %" for name in list(SETTINGS)[1:]) + " | CPU time |")
    print("|" + "---|" * (len(SETTINGS) + 2))
    for name in options.tables:
        X, target, info = load_frame(options.data, name)
        two_classes, y = "binary" in info["task"], np.asarray(target)
        y = (y == np.unique(y)[1]).astype(int) if two_classes else y.astype(np.float64)
        found = np.array([[loss_of(X, y, two_classes, options.rows, s, own) for own in SETTINGS.values()] for s in range(options.splits)])
        change = 100 * (found[:, 1:, 0] / found[:, :1, 0] - 1)
        error = change.std(axis=0, ddof=1) / np.sqrt(options.splits)
        cells = [f"{mean:+.2f} ± {one:.2f}" for mean, one in zip(change.mean(axis=0), error, strict=True)]
        ratio = np.median(found[:, 1:, 1] / found[:, :1, 1])
        print(f"| {name} | {found[:, 0, 0].mean():.4f} | " + " | ".join(cells) + f" | {ratio:.2f}x |", flush=True)


if __name__ == "__main__":
    main()

"""Test log-loss with and without the rules for leaf values (docs/design.md): `python -m benchmarks.leaf_rules [--data DIR]`."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks.tables import has_tables, load_classes, load_covtype
from sapwood import BoostingClassifier
from sapwood.losses.logistic import LogLoss
from sapwood.losses.multinomial import MultinomialLogLoss

SEEDS = range(5)
OTHERS = ("adult", "bank_additional", "census_kdd", "elec", "letter")  # had no part in choosing the rules
BUNDLED = {"breast cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine, "iris": load_iris}


def losses(X: np.ndarray, y: np.ndarray, n_train: int | None) -> np.ndarray:
    """The test log-loss of each split, at the defaults with 100 rounds, with a tree a class."""
    found = []
    for seed in SEEDS:
        sizes = {"train_size": n_train, "test_size": 10_000} if n_train else {}
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=seed, **sizes)
        model = BoostingClassifier(early_stopping=False, multi_strategy="one_output_per_tree").fit(X_train, y_train)
        found.append(log_loss(y_test, model.predict_proba(X_test)))
    return np.array(found)


def compare(name: str, X: np.ndarray, y: np.ndarray, n_train: int | None = None) -> None:
    with_rules = losses(X, y, n_train)
    rules = {"least_hessian": 0.0, "max_step": math.inf}
    with patch.multiple(LogLoss, **rules), patch.multiple(MultinomialLogLoss, **rules):
        without = losses(X, y, n_train)
    lower = int((with_rules < without).sum())
    print(
        f"{name:<24}{without.mean():>9.4f}{without.max():>9.4f}{with_rules.mean():>9.4f}{with_rules.max():>9.4f}{lower:>5} of {len(SEEDS)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data", help="folder of real tables")
    folder = parser.parse_args().data
    print(f"{'':<24}{'without':>9}{'worst':>9}{'with':>9}{'worst':>9}{'lower':>10}")
    for name, load in BUNDLED.items():
        compare(name, *load(return_X_y=True))
    if has_tables(folder):
        X, y = load_covtype(folder, two_classes=False)
        for n_train in (5_000, 20_000):
            compare(f"covtype {n_train:,}", X, y, n_train)
        for name in OTHERS:
            for n_train in (500, 2_000):
                compare(f"{name} {n_train:,}", *load_classes(folder, name), n_train)


if __name__ == "__main__":
    main()

"""Test log-loss by the limits on leaf values (docs/decisions/0003): `python -m benchmarks.leaf_rules [--data DIR] [--constants]`.

Without an option: losses with the rules and without them, with one tree per class. `--constants`: looser rules, and other installed
libraries, as ratios to the current rules. Some tables are generated; real ones need the folder of `--data`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks import sparse
from benchmarks.libraries import LIBRARIES, LIGHTGBM, XGBOOST
from benchmarks.tables import has_tables, load_classes, load_covtype
from sapwood import BoostingClassifier
from sapwood.losses.logistic import LogLoss
from sapwood.losses.multinomial import MultinomialLogLoss

SEEDS = range(5)
OTHERS = ("adult", "bank_additional", "census_kdd", "elec", "letter")  # not used to choose the rules
BUNDLED = {"breast cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine, "iris": load_iris}
FRACTIONS = (1.0, 0.5, 0.2, 0.1, 0.0)  # of the minimum hessian
N_TEST = 10_000  # at most
NOISE = 2.0  # standard errors that a difference must exceed to count

Make = Callable[[int], Any]  # seed -> estimator


@contextmanager
def rules(fraction: float, max_step: float) -> Iterator[None]:
    """Train with this fraction of the minimum hessian and this maximum step."""
    with ExitStack() as stack:
        for loss in (LogLoss, MultinomialLogLoss):
            stack.enter_context(patch.multiple(loss, min_hessian_per_sample=loss.min_hessian_per_sample * fraction, max_step=max_step))
        yield


def losses(X: Any, y: np.ndarray, n_train: int | None, make: Make) -> np.ndarray:
    """Return the test log-loss of each split."""
    found = []
    for seed in SEEDS:
        sizes = {"train_size": n_train, "test_size": min(N_TEST, len(y) - n_train)} if n_train else {}
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=seed, **sizes)
        found.append(log_loss(y_test, make(seed).fit(X_train, y_train).predict_proba(X_test)))
    return np.array(found)


def compare(name: str, X: np.ndarray, y: np.ndarray, n_train: int | None = None) -> None:
    """Compare training with and without the rules, at the defaults with 100 rounds and one tree per class."""

    def make(seed: int) -> BoostingClassifier:
        return BoostingClassifier(early_stopping=False, multi_strategy="one_output_per_tree")

    with_rules = losses(X, y, n_train, make)
    with rules(0.0, math.inf):
        without = losses(X, y, n_train, make)
    lower = int((with_rules < without).sum())
    print(
        f"{name:<24}{without.mean():>9.4f}{without.max():>9.4f}{with_rules.mean():>9.4f}{with_rules.max():>9.4f}{lower:>5} of {len(SEEDS)}"
    )


def compare_tables(folder: Path) -> None:
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


def generated(n_rows: int, n_classes: int = 2, flipped: float = 0.0, rare: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    weights = [1 - rare] if n_classes == 2 else None
    shape = {"n_samples": n_rows, "n_features": 20, "n_informative": 8, "n_redundant": 4, "n_classes": n_classes}
    return make_classification(**shape, flip_y=flipped, weights=weights, class_sep=2.0, random_state=0)


def small_tables() -> Iterator[tuple[str, Any, np.ndarray, int | None]]:
    """Yield name, X, y and the number of training rows."""
    for name, load in BUNDLED.items():
        yield name, *load(return_X_y=True), None
    X, y = load_digits(return_X_y=True)
    yield "digits, odd or even", X, y % 2, None
    yield "moons", *make_moons(3_000, noise=0.15, random_state=0), None
    yield "generated", *generated(6_000), None
    yield "generated, 5 % flipped", *generated(6_000, flipped=0.05), None
    yield "generated, 1 % positive", *generated(15_000, rare=0.01), None
    yield "generated, 10 % of few", *generated(1_000, flipped=0.02, rare=0.1), None
    yield "generated, five classes", *generated(5_000, n_classes=5, flipped=0.05), None


def real_tables(folder: Path) -> Iterator[tuple[str, Any, np.ndarray, int | None]]:
    for name in (*OTHERS, "higgs_lgb"):
        X, y = load_classes(folder, name)
        for n_train in (1_000, 5_000):
            yield f"{name} {n_train:,}", X, y, n_train
    for two_classes in (True, False):
        for n_train in (5_000, 20_000):
            yield f"covtype {2 if two_classes else 7} {n_train:,}", *load_covtype(folder, two_classes), n_train
    for name, sizes in (("agaricus", (1_000, 5_000)), ("w8a", (2_000, 15_000, 39_000))):
        for n_train in sizes:
            yield f"{name} {n_train:,}", *sparse.load(name, folder), n_train


@dataclass(frozen=True)
class Setting:
    title: str
    within: Callable[[], AbstractContextManager[Any]]  # context of the fits
    make: Make


def settings() -> Iterator[Setting]:
    """Return the settings to compare; the current rules come first."""

    def make(seed: int) -> BoostingClassifier:
        return BoostingClassifier(early_stopping=False, random_state=seed, n_jobs=1)

    for max_step in (LogLoss.max_step, math.inf):
        for fraction in FRACTIONS:
            least = [loss.min_hessian_per_sample * fraction for loss in (LogLoss, MultinomialLogLoss)]
            title = f"{least[0]:g} and {least[1]:g}, step {max_step:g}"
            yield Setting(title, partial(rules, fraction, max_step), make)
    for name in (LIGHTGBM, XGBOOST):
        if find_spec(name):
            yield Setting(LIBRARIES[name].title, nullcontext, partial(LIBRARIES[name].make, "classification", 1))


def measure(X: Any, y: np.ndarray, n_train: int | None) -> np.ndarray:
    """Return (n_settings, n_seeds) float64 test log-losses."""
    rows = []
    for setting in settings():
        with setting.within():
            rows.append(losses(X, y, n_train, setting.make))
    return np.array(rows)


def compare_constants(folder: Path) -> None:
    two: dict[str, np.ndarray] = {}
    several: dict[str, np.ndarray] = {}
    for name, X, y, n_train in [*small_tables(), *(real_tables(folder) if has_tables(folder) else ())]:
        found = measure(X, y, n_train)
        (two if len(np.unique(y)) == 2 else several)[name] = found
        means = found.mean(axis=1)
        print(f"{name:<24}{means[0]:>9.5f}  " + " ".join(f"{mean / means[0]:.3f}" for mean in means[1:]), flush=True)
    report_all(two, several)


def report_all(two: dict[str, np.ndarray], several: dict[str, np.ndarray]) -> None:
    report("two classes", list(two.values()))
    rest = [found for name, found in two.items() if "agaricus" not in name]  # its losses are almost 0, and their ratios dominate the mean
    if len(rest) < len(two):
        report("no agaricus", rest)
    report("several classes", list(several.values()))


def report(title: str, tables: list[np.ndarray]) -> None:
    """Return, for each setting after the first: geometric mean and median of the ratios to the first, number of tables that are better and
    worse beyond noise, and the worst ratio."""
    print(f"\n{title + f', {len(tables)} tables':<28}{'mean':>8}{'median':>8}{'better':>8}{'worse':>7}{'worst':>8}")
    for i, setting in enumerate(settings()):
        ratios = np.array([rows[i].mean() / rows[0].mean() for rows in tables])
        differences = np.array([rows[i] - rows[0] for rows in tables])  # (n_tables, n_seeds)
        means, noise = differences.mean(axis=1), NOISE * differences.std(axis=1, ddof=1) / math.sqrt(len(SEEDS))
        better, worse = int((means < -noise).sum()), int((means > noise).sum())
        mean = math.exp(np.log(ratios).mean())
        print(f"{setting.title:<28}{mean:>8.3f}{np.median(ratios):>8.3f}{better:>8}{worse:>7}{ratios.max():>8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data", help="folder of real tables")
    parser.add_argument("--constants", action="store_true", help="looser rules, and peers")
    given = parser.parse_args()
    (compare_constants if given.constants else compare_tables)(given.data)


if __name__ == "__main__":
    main()

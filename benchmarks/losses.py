"""Section `losses`: test metrics of losses compared with another library, with the same trees; cost of a loss in NumPy."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_tweedie_deviance

from benchmarks.markdown import number, signed, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.tables import has_tables, load_survival
from benchmarks.workloads import NAMED

NAME = "losses"
ROUNDS, LEAVES, ROWS = 100, 31, 20_000
COST = NAMED["higgs-1m"]
SURVIVAL_ROUNDS, SURVIVAL_LEAVES = 100, 8
REAL_SPLITS = 20  # of tables of a few thousand rows

Data = tuple[np.ndarray, np.ndarray]


def regression(seed: int, noise: Callable[[np.random.Generator, int], np.ndarray]) -> tuple[Data, Data]:
    """Return training and test rows of a synthetic table with a nonlinear signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * ROWS, 10))
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    y = signal + noise(rng, len(X)) * (1 + 0.5 * np.abs(X[:, 4]))
    return (X[:ROWS], y[:ROWS]), (X[ROWS:], y[ROWS:])


def heavy_tailed(seed: int) -> tuple[Data, Data]:
    return regression(seed, lambda rng, n: rng.standard_t(2, n))


def claims(seed: int) -> tuple[Data, Data]:
    """Return sums of a random number of amounts, most of them zero."""
    (X, a), (X_test, b) = regression(seed, lambda rng, n: rng.normal(size=n))
    rng = np.random.default_rng(seed + 1000)

    def amounts(score: np.ndarray) -> np.ndarray:
        counts = rng.poisson(np.exp(0.5 * score - 1))
        return rng.gamma(np.maximum(counts, 1) * 2.0, 1.0) * (counts > 0)

    return (X, amounts(a)), (X_test, amounts(b))


def survival(seed: int) -> tuple[Data, Data]:
    """Return times from a Weibull distribution. A third is censored; censored times are negative."""
    (X, a), (X_test, b) = regression(seed, lambda rng, n: np.zeros(n))
    rng = np.random.default_rng(seed + 2000)

    def times(score: np.ndarray) -> np.ndarray:
        event, seen = np.exp(-0.7 * score) * rng.weibull(1.5, len(score)), rng.exponential(3.0, len(score))
        return np.where(event <= seen, event, -seen)

    return (X[:5000], times(a[:5000])), (X_test[:5000], times(b[:5000]))


def patients(name: str, seed: int, folder: Path) -> tuple[Data, Data]:
    """Return a real table, with 70 % of the rows for training."""
    X, y = load_survival(folder, name)
    rows = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(rows, [len(rows) * 7 // 10])
    return (X[train], y[train]), (X[test], y[test])


def concordance(y: np.ndarray, risk: np.ndarray) -> float:
    return importlib.import_module("sapwood.metrics.concordance").concordance_index(y, risk)


@dataclass(frozen=True)
class Case:
    """One loss in two libraries, and a metric, a function of (y, predicted)."""

    title: str
    draw: Callable[..., tuple[Data, Data]]  # of a seed, and of the folder of real tables
    metric: Callable[[np.ndarray, np.ndarray], float]
    ours: dict[str, Any]
    peer: str
    make_peer: Callable[[Data, int, int], Callable[[np.ndarray], np.ndarray]]
    higher: bool = False
    leaves: int = LEAVES
    is_real: bool = False


def lightgbm(**parameters: Any) -> Callable[[Data, int, int], Callable[[np.ndarray], np.ndarray]]:
    def fit(data: Data, seed: int, n_jobs: int) -> Callable[[np.ndarray], np.ndarray]:
        kind = importlib.import_module("lightgbm").LGBMRegressor
        settings = {
            "n_estimators": ROUNDS,
            "num_leaves": LEAVES,
            "learning_rate": 0.1,
            "n_jobs": n_jobs,
            "random_state": seed,
            "verbose": -1,
        }
        model = kind(**settings, **parameters).fit(*data)
        return lambda X: model.predict(X)

    return fit


def xgboost(objective: str, **parameters: Any) -> Callable[[Data, int, int], Callable[[np.ndarray], np.ndarray]]:
    def fit(data: Data, seed: int, n_jobs: int) -> Callable[[np.ndarray], np.ndarray]:
        xgb = importlib.import_module("xgboost")
        X, y = data
        if objective == "survival:aft":
            matrix = xgb.DMatrix(X)
            matrix.set_float_info("label_lower_bound", np.abs(y))
            matrix.set_float_info("label_upper_bound", np.where(y > 0, y, np.inf))
        else:
            matrix = xgb.DMatrix(X, label=y)
        settings = {
            "objective": objective,
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": SURVIVAL_LEAVES,
            "max_depth": 0,
            "learning_rate": 0.1,
            "reg_lambda": 0.0,
            "nthread": n_jobs,
            "seed": seed,
        }
        model = xgb.train({**settings, **parameters}, matrix, SURVIVAL_ROUNDS)
        return lambda X: model.predict(xgb.DMatrix(X))

    return fit


AFT = {"aft_loss_distribution": "normal", "aft_loss_distribution_scale": 1.0}
CASES = (
    Case(
        "huber, delta 1: mean absolute error",
        heavy_tailed,
        mean_absolute_error,
        {"loss": "huber"},
        "LightGBM",
        lightgbm(objective="huber", alpha=1.0),
    ),
    Case(
        "quantile 0.9: pinball loss",
        heavy_tailed,
        lambda y, p: mean_pinball_loss(y, p, alpha=0.9),
        {"loss": "quantile", "quantile": 0.9},
        "LightGBM",
        lightgbm(objective="quantile", alpha=0.9),
    ),
    Case(
        "tweedie 1.5: deviance",
        claims,
        lambda y, p: mean_tweedie_deviance(y, p, power=1.5),
        {"loss": "tweedie"},
        "LightGBM",
        lightgbm(objective="tweedie", tweedie_variance_power=1.5),
    ),
    Case("cox: concordance", survival, concordance, {"loss": "cox"}, "XGBoost", xgboost("survival:cox"), True, SURVIVAL_LEAVES),
    Case(
        "aft, normal: concordance",
        survival,
        lambda y, p: concordance(y, -p),
        {"loss": "aft"},
        "XGBoost",
        xgboost("survival:aft", **AFT),
        True,
        SURVIVAL_LEAVES,
    ),
    *(
        Case(
            f"{loss}, {name}: concordance",
            partial(patients, name),
            concordance if loss == "cox" else lambda y, p: concordance(y, -p),
            {"loss": loss},
            "XGBoost",
            xgboost(f"survival:{loss}", **({} if loss == "cox" else AFT)),
            True,
            SURVIVAL_LEAVES,
            is_real=True,
        )
        for name in ("rotterdam", "gbsg")
        for loss in ("cox", "aft")
    ),
)


def measure(plan: Plan) -> None:
    if not plan.results.is_done(NAME, "metric"):
        plan.results.start(NAME, "metric")
        for case in CASES:
            for seed in range(1, (REAL_SPLITS if case.is_real else plan.seeds) + 1):
                if has_tables(plan.folder) or not case.is_real:
                    _measure(plan, case, seed)
        plan.results.finish(NAME, "metric")
    if not plan.results.is_done(NAME, "cost"):
        plan.results.start(NAME, "cost")
        _measure_cost(plan)
        plan.results.finish(NAME, "cost")


def _measure(plan: Plan, case: Case, seed: int) -> None:
    data, (X_test, y_test) = case.draw(seed, plan.folder) if case.is_real else case.draw(seed)
    kind = importlib.import_module("sapwood").BoostingRegressor
    settings = {"max_iter": ROUNDS, "max_leaf_nodes": case.leaves, "early_stopping": False, "n_jobs": plan.n_jobs, "random_state": seed}
    found = kind(**settings, **case.ours).fit(*data).predict(X_test), case.make_peer(data, seed, plan.n_jobs)(X_test)
    for who, predicted in zip(("ours", "peer"), found, strict=True):
        plan.results.add(case.metric(y_test, predicted), NAME, "metric", case.title, who)
        say(NAME, case.title, who, number(case.metric(y_test, predicted), 5))


def in_numpy() -> Any:
    """Return the binary log-loss as a user would write it."""
    sapwood = importlib.import_module("sapwood")

    class Odds(sapwood.Loss):  # type: ignore[name-defined, misc]
        link = "logit"
        min_hessian_per_sample = 0.1
        max_step = 4.0

        def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            p = 1 / (1 + np.exp(-raw))
            return p - y, p * (1 - p)

    return Odds()


def _measure_cost(plan: Plan) -> None:
    data = plan.draw(COST)
    kind = importlib.import_module("sapwood").BoostingClassifier
    for _ in range(plan.repeats):
        for key, loss in (("built in", "log_loss"), ("NumPy", in_numpy())):
            settle()
            start = time.perf_counter()
            kind(loss=loss, max_iter=ROUNDS, early_stopping=False, n_jobs=plan.n_jobs).fit(data.X, data.y)
            plan.results.add(time.perf_counter() - start, NAME, "cost", key)
            say(NAME, key, number(time.perf_counter() - start))


def report(results: Results) -> list[str]:
    rows = []
    for case in CASES:
        found = {who: np.array(results.get(NAME, "metric", case.title, who) or []) for who in ("ours", "peer")}
        if not len(found["ours"]) or len(found["ours"]) != len(found["peer"]):
            continue
        cells = [
            f"{values.mean():.5f} ({values.std(ddof=1):.5f})" if len(values) > 1 else f"{values.mean():.5f}" for values in found.values()
        ]
        better = "higher" if case.higher else "lower"
        difference = found["ours"] - found["peer"]
        error = number(float(difference.std(ddof=1) / np.sqrt(len(difference)))) if len(difference) > 1 else "-"
        rows.append([case.title, *cells, case.peer, signed(float(difference.mean())), error, better])
    cost = {key: results.least(NAME, "cost", key) for key in ("built in", "NumPy")}
    return [
        "## Losses",
        "",
        f"Test metrics, mean (standard deviation) over seeds: {ROUNDS} rounds, {LEAVES} leaves, {SURVIVAL_LEAVES} for survival. Data are "
        f"synthetic, except rotterdam and gbsg ({REAL_SPLITS} splits).",
        "",
        *table(["", "ours", "theirs", "", "ours - theirs", "its standard error", "better is"], rows),
        "",
        f"Fit of {COST.title} with the built-in log-loss and with the same loss in ten lines of NumPy, minimum wall seconds; "
        "required: at most 1.5 times.",
        "",
        *table(
            ["built in", "NumPy", "ratio"],
            [[number(cost["built in"]), number(cost["NumPy"]), number(divide(cost["NumPy"], cost["built in"]))]],
        ),
    ]

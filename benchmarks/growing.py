"""Section `growing`: growth policies, samplers and regularizers, each compared with the library that introduced it."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.libraries import mean_loss
from benchmarks.markdown import number, ratio, signed, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.workloads import NAMED, Split

NAME = "growing"
SPEED, ACCURACY = NAMED["higgs-1m"], NAMED["higgs-100k"]
ACCURACY_ROWS = 20_000
ROUNDS = 100
EXACT_ROUNDS = 10  # exact splits are slow


def ours(n_jobs: int, seed: int = 0, **parameters: Any) -> Any:
    defaults = {"max_iter": ROUNDS, "early_stopping": False, "n_jobs": n_jobs, "random_state": seed}
    return importlib.import_module("sapwood").BoostingClassifier(**{**defaults, **parameters})


def lightgbm(n_jobs: int, seed: int = 0, **parameters: Any) -> Any:
    defaults = {"n_estimators": ROUNDS, "learning_rate": 0.1, "n_jobs": n_jobs, "random_state": seed, "verbose": -1}
    return importlib.import_module("lightgbm").LGBMClassifier(**{**defaults, **parameters})


def xgboost(n_jobs: int, seed: int = 0, **parameters: Any) -> Any:
    defaults = {"n_estimators": ROUNDS, "learning_rate": 0.1, "n_jobs": n_jobs, "random_state": seed, "reg_lambda": 0, "verbosity": 0}
    return importlib.import_module("xgboost").XGBClassifier(**{**defaults, **parameters})


def catboost(n_jobs: int, seed: int = 0, **parameters: Any) -> Any:
    defaults = {"iterations": ROUNDS, "learning_rate": 0.1, "thread_count": n_jobs, "random_seed": seed, "boosting_type": "Plain"}
    fixed = {"bootstrap_type": "No", "random_strength": 0, "border_count": 254, "allow_writing_files": False, "verbose": False}
    return importlib.import_module("catboost").CatBoostClassifier(**{**defaults, **fixed, **parameters})


Make = Callable[..., Any]


@dataclass(frozen=True)
class Way:
    """The same method in two libraries."""

    title: str
    parameters: dict[str, Any]
    peer: str
    make_peer: Make
    peer_parameters: dict[str, Any] = field(default_factory=dict)


DEEP = {"grow_policy": "depthwise", "max_depth": 8, "max_leaf_nodes": None, "min_samples_leaf": 1, "min_hessian": 1.0}
LEVELS = {"grow_policy": "symmetric", "max_depth": 6, "max_leaf_nodes": 64, "min_samples_leaf": 1, "l2_regularization": 3.0}
LEAFWISE = {"grow_policy": "Lossguide", "max_leaves": 31, "min_data_in_leaf": 20, "l2_leaf_reg": 0}
EXACT = Way("exact, depth 8", {**DEEP, "tree_method": "exact"}, "XGBoost", xgboost, {"tree_method": "exact", "max_depth": 8})
SYMMETRIC = Way("symmetric, depth 6", LEVELS, "CatBoost", catboost, {"depth": 6, "l2_leaf_reg": 3})
FOREST = {"boosting": "forest", "subsample": 0.6, "max_features": 0.7}
LGB_FOREST = {"boosting_type": "rf", "bagging_fraction": 0.6, "bagging_freq": 1, "feature_fraction_bynode": 0.7}
APPROX = {"tree_method": "approx", "max_depth": 8, "max_bin": 64}
WAYS = (
    EXACT,
    Way("approx, depth 8, 64 quantiles", {**DEEP, "tree_method": "approx", "max_bins": 64}, "XGBoost", xgboost, APPROX),
    SYMMETRIC,
    Way("goss", {"sampling": "goss"}, "LightGBM", lightgbm, {"data_sample_strategy": "goss"}),
    Way("subsample 0.5", {"subsample": 0.5}, "LightGBM", lightgbm, {"subsample": 0.5, "subsample_freq": 1}),
    Way("mvs 0.5", {"sampling": "mvs", "subsample": 0.5}, "CatBoost", catboost, {**LEAFWISE, "bootstrap_type": "MVS", "subsample": 0.5}),
    Way("bayesian", {"sampling": "bayesian"}, "CatBoost", catboost, {**LEAFWISE, "bootstrap_type": "Bayesian"}),
    Way("dart", {"boosting": "dart"}, "LightGBM", lightgbm, {"boosting_type": "dart"}),
    Way("forest", FOREST, "LightGBM", lightgbm, LGB_FOREST),
    Way("extra trees", {"extra_trees": True}, "LightGBM", lightgbm, {"extra_trees": True}),
    Way("path smoothing 10", {"path_smooth": 10.0}, "LightGBM", lightgbm, {"path_smooth": 10.0}),
    Way("l1 5", {"l1_regularization": 5.0}, "LightGBM", lightgbm, {"reg_alpha": 5.0}),
)


def measure(plan: Plan) -> None:
    if not plan.results.is_done(NAME, "speed"):
        plan.results.start(NAME, "speed")
        _measure_speed(plan)
        plan.results.finish(NAME, "speed")
    if not plan.results.is_done(NAME, "loss"):
        plan.results.start(NAME, "loss")
        for seed in range(1, plan.seeds + 1):
            _measure_losses(plan, plan.draw(ACCURACY, seed, ACCURACY_ROWS), seed)
        plan.results.finish(NAME, "loss")


def _measure_speed(plan: Plan) -> None:
    data = plan.draw(SPEED)
    n = plan.n_jobs
    for _ in range(plan.repeats):
        for key, model in (
            ("exact ours", ours(1, max_iter=EXACT_ROUNDS, **EXACT.parameters)),
            ("exact XGBoost", xgboost(1, n_estimators=EXACT_ROUNDS, **EXACT.peer_parameters)),
            ("symmetric ours", ours(n, **SYMMETRIC.parameters)),
            ("symmetric CatBoost", catboost(n, **SYMMETRIC.peer_parameters)),
            ("all rows", ours(n)),
            ("subsample 0.5", ours(n, subsample=0.5)),
            ("goss", ours(n, sampling="goss")),
        ):
            settle()
            start = time.perf_counter()
            model.fit(data.X, data.y)
            fit = time.perf_counter() - start
            plan.results.add(fit, NAME, "speed", key, "fit")
            plan.results.add(_predict_seconds(model, data), NAME, "speed", key, "predict")
            say(NAME, key, "fit", number(fit))


def _predict_seconds(model: Any, data: Split) -> float:
    settle()
    start = time.perf_counter()
    model.predict_proba(data.X_test)
    return time.perf_counter() - start


def _measure_losses(plan: Plan, data: Split, seed: int) -> None:
    for way in WAYS:
        pair = ours(plan.n_jobs, seed, **way.parameters), way.make_peer(plan.n_jobs, seed, **way.peer_parameters)
        for who, model in zip(("ours", "peer"), pair, strict=True):
            loss = mean_loss(data.y_test, model.fit(data.X, data.y).predict_proba(data.X_test), "binary")
            plan.results.add(loss, NAME, "loss", way.title, who)
            say(NAME, way.title, who, number(loss, 5))


def ratios(results: Results) -> list[tuple[str, float | None, float, float | None]]:
    """Return rows of name, measured value, required value and goal."""

    def seconds(key: str, what: str = "fit") -> float | None:
        return results.least(NAME, "speed", key, what)

    whole = seconds("all rows")
    return [
        ("exact, 1M x 28, depth 8, one thread: XGBoost / ours", divide(seconds("exact XGBoost"), seconds("exact ours")), 1.5, 3),
        ("symmetric, 1M x 28, depth 6: CatBoost / ours", divide(seconds("symmetric CatBoost"), seconds("symmetric ours")), 2, 4),
        (
            "predict symmetric, 200k x 28 x 100: CatBoost / ours",
            divide(seconds("symmetric CatBoost", "predict"), seconds("symmetric ours", "predict")),
            1,
            None,
        ),
        ("fit 1M x 28, all rows / subsample 0.5", divide(whole, seconds("subsample 0.5")), 1.4, None),
        ("fit 1M x 28, all rows / goss", divide(whole, seconds("goss")), 1.4, None),
    ]


def report(results: Results) -> list[str]:
    rows = []
    for way in WAYS:
        found = {who: np.array(results.get(NAME, "loss", way.title, who) or []) for who in ("ours", "peer")}
        if not len(found["ours"]) or len(found["ours"]) != len(found["peer"]):
            continue
        difference = found["ours"] - found["peer"]
        cells = [
            f"{losses.mean():.5f} ({losses.std(ddof=1):.5f})" if len(losses) > 1 else f"{losses.mean():.5f}" for losses in found.values()
        ]
        rows.append([way.title, *cells, way.peer, signed(float(difference.mean()))])
    speed = [
        [key, number(results.least(NAME, "speed", key, "fit")), number(results.least(NAME, "speed", key, "predict"))]
        for key in results.get(NAME, "speed") or {}
    ]
    targets = [[what, ratio(found), ratio(asked), ratio(goal)] for what, found, asked, goal in ratios(results)]
    return [
        "## Growth policies and sampling",
        "",
        f"Fit and prediction of {SPEED.title} on all cores, minimum wall seconds; `exact` with {EXACT_ROUNDS} rounds on one thread.",
        "",
        *table(["", "fit, s", "predict, s"], speed),
        "",
        f"Test log-loss after {ROUNDS} rounds on {ACCURACY_ROWS:,} rows, mean (standard deviation) over seeds, compared with the library "
        "that introduced each method.",
        "",
        *table(["", "ours", "theirs", "", "ours - theirs"], rows),
        "",
        *table(["", "measured", "at least", "goal"], targets),
    ]

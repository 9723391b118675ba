"""Section `ranking`: LambdaMART of Sapwood and LightGBM, on generated queries (speed) and on a real table (NDCG)."""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np

from benchmarks.markdown import number, ratio, signed, table
from benchmarks.plan import Plan, say, settle
from benchmarks.results import Results, divide
from benchmarks.tables import has_tables, load_queries
from sapwood.data.queries import Queries
from sapwood.metrics.ranking import ndcg

NAME = "ranking"
N_QUERIES, N_ROWS, N_FEATURES = 2_000, 100, 136  # queries, rows of each, features
SPLITS = 40  # of the real table's queries
TEST_SHARE = 0.3
TREES = {"rounds": 100, "leaves": 31, "rows": 20}
WHO = "ours", "LightGBM"


def ours(n_jobs: int, seed: int = 0) -> Any:
    sapwood = importlib.import_module("sapwood")
    trees = {"max_iter": TREES["rounds"], "max_leaf_nodes": TREES["leaves"], "min_samples_leaf": TREES["rows"]}
    return sapwood.BoostingRanker(**trees, early_stopping=False, n_jobs=n_jobs, random_state=seed)


def lightgbm(n_jobs: int, seed: int = 0) -> Any:
    trees = {"n_estimators": TREES["rounds"], "num_leaves": TREES["leaves"], "min_child_samples": TREES["rows"]}
    return importlib.import_module("lightgbm").LGBMRanker(**trees, max_bin=255, n_jobs=n_jobs, random_state=seed, verbose=-1)


MAKE = dict(zip(WHO, (ours, lightgbm), strict=True))


def generate(n_queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, relevances from 0 to 4 and the sizes of queries. Half of the features are counts."""
    rng, n = np.random.default_rng(seed), n_queries * N_ROWS
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    half = N_FEATURES // 2
    X[:, half:] = np.round(np.abs(X[:, half:]) * 3)
    signal = X[:, :8].sum(axis=1) + X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * X[:, half : half + 5].sum(axis=1)
    signal = (signal + rng.normal(scale=2.0, size=n)).reshape(n_queries, N_ROWS)
    place = signal.argsort(axis=1).argsort(axis=1) / N_ROWS
    return X, np.digitize(place, [0.5, 0.8, 0.92, 0.98]).ravel(), np.full(n_queries, N_ROWS)


def measure(plan: Plan) -> None:
    if not plan.results.is_done(NAME, "speed"):
        plan.results.start(NAME, "speed")
        _measure_speed(plan)
        plan.results.finish(NAME, "speed")
    if has_tables(plan.folder) and not plan.results.is_done(NAME, "ndcg"):
        plan.results.start(NAME, "ndcg")
        _measure_ndcg(plan)
        plan.results.finish(NAME, "ndcg")


def _measure_speed(plan: Plan) -> None:
    n_queries = max(10, int(N_QUERIES * plan.scale))
    X, y, group = generate(n_queries, 0)
    X_test, y_test, group_test = generate(n_queries // 5, 1)
    for repeat in range(plan.repeats):
        for who in WHO if repeat % 2 == 0 else WHO[::-1]:
            model = MAKE[who](plan.n_jobs)
            settle()
            start = time.perf_counter()
            model.fit(X, y, group=group)
            seconds = time.perf_counter() - start
            plan.results.add(seconds, NAME, "speed", who, "fit")
            found = _ndcg_at_10(model, X_test, y_test, group_test)
            plan.results.put(found, NAME, "speed", who, "ndcg")
            say(NAME, who, "fit", number(seconds), "NDCG@10", number(found, 5))


def _measure_ndcg(plan: Plan) -> None:
    X, y, queries = load_queries(plan.folder)
    for seed in range(SPLITS):
        test = np.random.default_rng(seed).random(queries.n_queries) < TEST_SHARE
        train_rows, test_rows = queries.rows(np.flatnonzero(~test)), queries.rows(np.flatnonzero(test))
        for who in WHO:
            model = MAKE[who](plan.n_jobs, seed).fit(X[train_rows], y[train_rows], group=queries.sizes[~test])
            plan.results.add(_ndcg_at_10(model, X[test_rows], y[test_rows], queries.sizes[test]), NAME, "ndcg", who)
        say(NAME, "split", seed, *(f"{who} {number(plan.results.get(NAME, 'ndcg', who)[-1], 5)}" for who in WHO))


def _ndcg_at_10(model: Any, X: np.ndarray, y: np.ndarray, group: np.ndarray) -> float:
    return ndcg(y, model.predict(X), Queries.from_group(group, len(y)), k=10)


def lightgbm_ratio(results: Results) -> float | None:
    return divide(*(results.least(NAME, "speed", who, "fit") for who in reversed(WHO)))


def report(results: Results) -> list[str]:
    speed = [[who, number(results.least(NAME, "speed", who, "fit")), number(results.get(NAME, "speed", who, "ndcg"), 5)] for who in WHO]
    lines = [
        "## Ranking",
        "",
        f"LambdaMART with the same trees. Fit of {N_QUERIES * N_ROWS:,} x {N_FEATURES} generated rows in {N_QUERIES:,} queries on all "
        "cores, minimum wall seconds, and NDCG@10 of held-out queries.",
        "",
        *table(["", "fit, s", "NDCG@10"], speed),
        f"LightGBM / ours: {ratio(lightgbm_ratio(results))} (required: 1.50, goal: 3.00).",
        "",
    ]
    found = {who: np.array(results.get(NAME, "ndcg", who) or []) for who in WHO}
    if len(found[WHO[0]]) > 1 and len(found[WHO[0]]) == len(found[WHO[1]]):
        difference = found[WHO[0]] - found[WHO[1]]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        cells = [[who, f"{values.mean():.4f}", f"{values.std(ddof=1):.4f}"] for who, values in found.items()]
        lines += [
            f"NDCG@10 on lambdarank_lgb, {len(difference)} random splits of its queries ({TEST_SHARE:.0%} test).",
            "",
            *table(["", "mean", "standard deviation"], cells),
            f"Ours - LightGBM's: {signed(float(difference.mean()))}, standard error {number(float(error))}.",
            "",
        ]
    return lines

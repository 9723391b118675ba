"""Same data, same parameters, same seed: the same bytes, whatever the threads, pages, process or CPU.

Run as a script this file prints the fingerprints of all cases, for comparison between processes.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.bundling import ROW_LIST, ColumnLayout
from sapwood.data.layout import GROUP_COLUMNS
from sapwood.data.pages import Pages
from sapwood.runtime.kernels import supports_avx2
from sapwood.trees.gradients import NARROW, SINGLE, WIDE, FixedGradients
from tests.paging import cut

ROOT = Path(__file__).parent.parent
THREADS = [1, 2, 3, 8]


@dataclass
class Case:
    """An estimator with data, and the histogram mode that its first tree is meant to have."""

    estimator: Any
    n_rows: int
    n_features: int
    mode: int
    target: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    weighted: bool = False
    missing: float = 0.0
    one_hot: int = 0  # columns after the others, of which one is 1 in every row
    thin: int = 0  # columns after those, each nearly always 0
    data: dict[str, np.ndarray] = field(default_factory=dict)

    def build(self) -> dict[str, np.ndarray]:
        """X, y and perhaps sample_weight; the same every time."""
        if not self.data:
            rng = np.random.default_rng(0)
            X = rng.normal(size=(self.n_rows, self.n_features))
            signal = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
            self.data = {"X": X, "y": self.target(signal, rng)}
            X[rng.random(X.shape) < self.missing] = np.nan
            if self.one_hot:
                kind = rng.choice(self.one_hot, self.n_rows, p=np.arange(1, self.one_hot + 1) / sum(range(1, self.one_hot + 1)))
                self.data["y"] = self.target(signal + (kind % 3 == 0), rng)
                thin = np.where(rng.random((self.n_rows, self.thin)) < 0.1, rng.integers(-3, 9, (self.n_rows, self.thin)), 0.0)
                thin[rng.random(thin.shape) < 0.01 * (self.missing > 0)] = np.nan
                self.data["X"] = np.column_stack([X, np.eye(self.one_hot)[kind], thin])
            if self.weighted:
                self.data["sample_weight"] = rng.integers(0, 4, size=self.n_rows) / 2
        return self.data

    def more_rows(self, n_rows: int) -> "Case":
        """The same with enough rows that their storage is chosen with care."""
        return replace(self, n_rows=n_rows)

    def fit(self, n_jobs: int = 1) -> Any:
        return clone(self.estimator).set_params(n_jobs=n_jobs).fit(**self.build())

    def fingerprint(self, n_jobs: int = 1) -> str:
        """Of the model and its predictions for rows it was not trained on."""
        fitted = self.fit(n_jobs)
        table = np.random.default_rng(1).normal(size=(2_000, fitted.n_features_in_))
        table[::9, 0] = np.nan
        predict = fitted.predict_proba if isinstance(fitted, BoostingClassifier) else fitted.predict
        return hashlib.sha256(fitted.model_.to_bytes() + predict(table).tobytes()).hexdigest()


def measures(signal, rng):
    return signal + 0.3 * rng.normal(size=len(signal))


def heavy_tailed(signal, rng):
    return signal + rng.standard_cauchy(size=len(signal)) ** 3


def counts(signal, rng):
    return rng.poisson(np.exp(signal)).astype(float)


def amounts(signal, rng):
    return rng.gamma(2, np.exp(signal) / 2)


def two_classes(signal, rng):
    return (measures(signal, rng) > 0).astype(int)


def three_classes(signal, rng):
    return np.digitize(measures(signal, rng), [-0.5, 0.5])


def regressor(loss="squared_error", **parameters):
    return BoostingRegressor(loss, **({"max_iter": 5, "random_state": 7} | parameters))


def classifier(**parameters):
    return BoostingClassifier(**({"max_iter": 5, "random_state": 7} | parameters))


def large(estimator, mode, target, **more):
    return Case(estimator.set_params(max_iter=2), 50_000, 5, mode, target, missing=0.02, **more)


def small(estimator, mode, target, **more):
    return Case(estimator, 1_500, 6, mode, target, missing=0.05, **more)


CASES = {
    "squared": small(regressor(), SINGLE, measures),
    "squared weighted": small(regressor(), WIDE, measures, weighted=True),
    "squared depthwise": small(regressor(grow_policy="depthwise"), SINGLE, measures),
    "absolute": small(regressor("absolute_error"), SINGLE, measures),
    "absolute weighted": small(regressor("absolute_error"), WIDE, measures, weighted=True),
    "poisson": small(regressor("poisson"), WIDE, counts),
    "poisson depthwise weighted": small(regressor("poisson", grow_policy="depthwise"), WIDE, counts, weighted=True),
    "gamma": small(regressor("gamma"), WIDE, amounts),
    "two classes": small(classifier(), WIDE, two_classes),
    "two classes depthwise": small(classifier(grow_policy="depthwise"), WIDE, two_classes),
    "three classes": small(classifier(), WIDE, three_classes),
    "three classes weighted": small(classifier(), WIDE, three_classes, weighted=True),
    "some features": small(classifier(max_features=0.4), WIDE, two_classes),
    "early stopping": small(classifier(early_stopping=True, scoring="roc_auc"), WIDE, two_classes),
    "early stopping by loss": small(regressor("poisson", early_stopping=True), WIDE, counts, weighted=True),
    "many leaves": small(regressor(max_leaf_nodes=None, min_samples_leaf=1), SINGLE, measures),
    "few bins": small(regressor("gamma", max_bins=4), WIDE, amounts),
    "wide": Case(regressor(max_iter=3), 1_000, 150, SINGLE, measures, missing=0.05),
    "wide classes": Case(classifier(max_iter=3), 1_000, 70, WIDE, three_classes),
    "wide some features": Case(classifier(max_iter=3, max_features=0.1), 1_000, 150, WIDE, two_classes),
    "large squared": large(regressor(), SINGLE, measures),
    "large squared weighted": large(regressor(), NARROW, measures, weighted=True),
    "large heavy-tailed weighted": large(regressor(), WIDE, heavy_tailed, weighted=True),
    "large absolute": large(regressor("absolute_error"), SINGLE, measures),
    "large poisson": large(regressor("poisson"), NARROW, counts),
    "large gamma": large(regressor("gamma"), NARROW, amounts),
    "large two classes": large(classifier(), NARROW, two_classes),
    "large two classes depthwise": large(classifier(grow_policy="depthwise"), NARROW, two_classes, weighted=True),
    "large three classes": large(classifier(), NARROW, three_classes),
    "large many leaves": large(regressor(max_leaf_nodes=700, min_samples_leaf=2), SINGLE, measures),
    "large wide": Case(classifier(max_iter=1, early_stopping=False), 33_000, 70, NARROW, two_classes),
    "one-hot": small(regressor("poisson"), WIDE, counts, one_hot=12).more_rows(3_000),
    "one-hot classes": small(classifier(max_features=0.5), WIDE, three_classes, one_hot=12, thin=2, weighted=True).more_rows(3_000),
    "thin": small(regressor(grow_policy="depthwise"), SINGLE, measures, one_hot=12, thin=20).more_rows(3_000),
    "thin many leaves": small(regressor(max_leaf_nodes=None, min_samples_leaf=1), SINGLE, measures, one_hot=4, thin=20).more_rows(3_000),
    "thin early stopping": small(classifier(early_stopping=True), WIDE, two_classes, one_hot=5, thin=20).more_rows(3_000),
    "large one-hot": large(classifier(), NARROW, two_classes, one_hot=40),
    "large thin": large(classifier(), NARROW, two_classes, one_hot=40, thin=20),
    "large thin single": large(regressor(), SINGLE, measures, one_hot=40, thin=20),
    "symmetric": small(regressor(grow_policy="symmetric"), SINGLE, measures),
    "symmetric classes": small(classifier(grow_policy="symmetric", max_leaf_nodes=64), WIDE, three_classes, weighted=True),
    "large symmetric thin": large(classifier(grow_policy="symmetric"), NARROW, two_classes, one_hot=40, thin=20),
    "monotonic": small(classifier(monotonic_cst=[1, -1, 0, 0, 0, 0]), WIDE, two_classes),
    "large shaped": large(classifier(l1_regularization=1.0, path_smooth=5.0, max_step=0.5), NARROW, two_classes),
    "extra": small(regressor(extra_trees=True, score_noise=0.3, max_features_level=0.6), SINGLE, measures),
    "pairwise": small(regressor(interaction_cst="pairwise"), SINGLE, measures),
    "forced": small(regressor(forced_splits={"feature": 1, "threshold": 0.3}), SINGLE, measures),
    "subsample": small(regressor(subsample=0.5), SINGLE, measures),
    "large subsample": large(classifier(subsample=0.4), NARROW, three_classes, one_hot=40, thin=20),
    "large goss": large(classifier(sampling="goss"), NARROW, two_classes),
    "large mvs": large(regressor("poisson", sampling="mvs", subsample=0.5), WIDE, counts),
    "bayesian": small(regressor(sampling="bayesian"), WIDE, measures),
    "dart": small(regressor(boosting="dart", skip_drop=0.0, drop_rate=0.5), SINGLE, measures),
    "forest": small(regressor(boosting="forest", subsample=0.5), SINGLE, measures),
    "linear": small(regressor(leaf_model="linear"), SINGLE, measures),
    "linear symmetric": small(regressor("poisson", leaf_model="linear", grow_policy="symmetric"), WIDE, counts, weighted=True),
    "linear thin": small(regressor(leaf_model="linear"), SINGLE, measures, one_hot=12, thin=20).more_rows(3_000),
    "linear dart": small(regressor(leaf_model="linear", boosting="dart", skip_drop=0.0, drop_rate=0.5), SINGLE, measures),
    "large linear": large(classifier(leaf_model="linear", subsample=0.6), NARROW, two_classes, one_hot=40, thin=20),
    "large linear mvs": large(regressor("poisson", leaf_model="linear", sampling="mvs", subsample=0.5), WIDE, counts),
    "ordered": small(regressor(boosting="ordered"), SINGLE, measures),
    "ordered classes": small(classifier(boosting="ordered"), WIDE, three_classes, weighted=True),
    "exact": small(classifier(tree_method="exact"), WIDE, three_classes),
    "large exact": large(regressor("poisson", tree_method="exact"), NARROW, counts),
    "approx": small(regressor(tree_method="approx", max_bins=20), SINGLE, measures),
    "large approx local": large(classifier(tree_method="approx", approx_proposal="local", subsample=0.5), NARROW, two_classes),
    "many bins": small(regressor(max_bins=1_000), SINGLE, measures),
    "sampled bins": Case(regressor(max_iter=1), 210_000, 3, SINGLE, measures),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture
def eight_cpus(monkeypatch):
    """More threads than this machine may have cores: they run all the same."""
    monkeypatch.setattr("sapwood.runtime.threads.available_cpus", lambda: 8)


@pytest.fixture(scope="module")
def alone():
    """Fingerprints of single-threaded fits, made when first asked for."""
    known = {}

    def of(case):
        return known.setdefault(id(case), case.fingerprint())

    return of


@each_case
def test_a_case_has_the_histogram_mode_it_stands_for(case, monkeypatch):
    modes = []

    def watched(self, format=FixedGradients.histogram_format):
        modes.append(format(self).mode)
        return format(self)

    monkeypatch.setattr(FixedGradients, "histogram_format", watched)
    case.fit()
    assert modes[0] == case.mode
    assert (case.n_features > GROUP_COLUMNS) == (case in (c for name, c in CASES.items() if "wide" in name))


@each_case
@pytest.mark.parametrize("n_jobs", THREADS[1:])
def test_threads_leave_no_trace(case, n_jobs, eight_cpus, alone):
    assert case.fingerprint(n_jobs) == alone(case)


IN_PAGES = {name: case for name, case in CASES.items() if case.estimator.tree_method == "hist" and case.estimator.max_bins <= 255}


@pytest.mark.parametrize("n_pages", [3, 7])
@pytest.mark.parametrize("case", IN_PAGES.values(), ids=IN_PAGES)
def test_pages_leave_no_trace(case, n_pages, monkeypatch, eight_cpus, alone):
    expected = alone(case)
    build, built = Pages.build.__func__, []

    def build_cut(cls, *args, **more):
        built.append(cut(build(cls, *args, **more), n_pages))
        return built[-1]

    monkeypatch.setattr(Pages, "build", classmethod(build_cut))
    assert case.fingerprint(n_jobs=3) == expected
    assert len(built[0].pages) == n_pages


THIN = {name: case for name, case in CASES.items() if case.one_hot}


@pytest.mark.parametrize("case", THIN.values(), ids=THIN)
def test_storage_leaves_no_trace(case, monkeypatch, alone):
    expected = alone(case)
    seen, choose = [], ColumnLayout.choose.__func__
    monkeypatch.setattr(ColumnLayout, "choose", classmethod(lambda cls, *args: seen.append(choose(cls, *args)) or seen[-1]))
    case.fit()
    n_beside = case.thin if case.thin >= 20 else 0
    assert (seen[0].column == ROW_LIST).sum() == n_beside
    assert seen[0].n_columns == case.n_features + 1 + case.thin - n_beside  # the one-hot columns share one
    monkeypatch.setattr(ColumnLayout, "choose", classmethod(lambda cls, table, binning, n_threads: cls.plain(binning)))
    assert case.fingerprint() == expected


@each_case
def test_a_second_fit_leaves_no_trace(case, alone):
    assert case.fingerprint() == alone(case)


def test_other_threads_work_in_between_leaves_no_trace(alone):
    case = CASES["large poisson"]
    expected = alone(case)
    HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=4).fit(case.build()["X"][:2_000], case.build()["y"][:2_000])
    assert case.fingerprint(n_jobs=2) == expected


def draws_rows(estimator):
    samples = estimator.subsample not in ("auto", 1) or estimator.sampling != "uniform"
    return samples or estimator.early_stopping is True or estimator.boosting == "ordered"


PERMUTABLE = [name for name, case in CASES.items() if not draws_rows(case.estimator) and case.n_rows < 10_000]


@pytest.mark.parametrize("name", PERMUTABLE)
def test_the_order_of_rows_leaves_no_trace_in_small_data(name):
    case = CASES[name]
    data = case.build()
    order = np.random.default_rng(2).permutation(case.n_rows)
    permuted = clone(case.estimator).fit(**{key: values[order] for key, values in data.items()})
    in_order = case.fit()
    predict = "predict_proba" if isinstance(in_order, BoostingClassifier) else "predict"
    assert_array_equal(getattr(permuted, predict)(data["X"]), getattr(in_order, predict)(data["X"]))
    assert permuted.model_.to_bytes() == in_order.model_.to_bytes()


# Other processes


def fingerprints_of_another_process(**environment: str) -> dict[str, str]:
    command = [sys.executable, "-m", "tests.test_determinism"]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


ENVIRONMENTS = {"baseline": {"PYTHONHASHSEED": "1"}}
if supports_avx2():
    ENVIRONMENTS["avx2"] = {"PYTHONHASHSEED": "2", "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(("kernels", "environment"), ENVIRONMENTS.items(), ids=ENVIRONMENTS)
def test_process_and_instruction_set_leave_no_trace(kernels, environment, alone):
    there = fingerprints_of_another_process(SAPWOOD_KERNELS=kernels, **environment)
    assert there.pop("kernels") == kernels
    assert there == {name: alone(case) for name, case in CASES.items()}


if __name__ == "__main__":
    from sapwood.runtime import kernels

    print(json.dumps({"kernels": kernels.name} | {name: case.fingerprint(n_jobs=2) for name, case in CASES.items()}))

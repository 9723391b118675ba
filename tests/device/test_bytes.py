"""A device leaves no trace: the same bytes as on the CPU. A small set here; `make device` runs all cases."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data.pages import Pages
from sapwood.device.partition import FREE_FRACTION, ROW_BYTES
from sapwood.estimators.partition import fit_partition
from sapwood.runtime.collective import thread_collectives
from sapwood.runtime.execution import Execution
from tests.device.conftest import VARIANTS
from tests.paging import cut
from tests.test_determinism import IN_PAGES, classifier, counts, large, measures, regressor, small, three_classes, two_classes
from tests.trees.test_growth import BOUNDS, CATEGORIES, MORE, NARROW, SINGLE, WIDE, run

SOME = {
    "single": small(regressor(), SINGLE, measures),
    "wide": small(regressor("poisson"), WIDE, counts, weighted=True),
    "narrow": replace(large(classifier(), NARROW, two_classes), n_rows=34_000),
    "three classes": small(classifier(max_iter=2), WIDE, three_classes),
    "depthwise": small(classifier(grow_policy="depthwise"), WIDE, two_classes),
    "symmetric": small(regressor(grow_policy="symmetric"), SINGLE, measures),
    "subsample": small(regressor(subsample=0.5), SINGLE, measures),
    "categories": small(regressor("poisson", max_iter=2, **CATEGORIES), WIDE, counts, one_hot=4).more_rows(3_000),
    "bundles and row lists": small(classifier(max_iter=2), WIDE, two_classes, one_hot=12, thin=20).more_rows(3_000),
    "row lists of a sample": small(regressor(max_iter=2, subsample=0.4), SINGLE, measures, one_hot=12, thin=20).more_rows(3_000),
    "narrow row lists": replace(large(classifier(subsample=0.97), NARROW, two_classes, one_hot=40, thin=20), n_rows=34_000),
    "early stopping": small(classifier(early_stopping=True), WIDE, two_classes),
    "monotonic": small(regressor(monotonic_method="neighbours", max_iter=2, **BOUNDS), SINGLE, measures),
    "forced": small(regressor(forced_splits={"feature": 1, "threshold": 0.3}), SINGLE, measures),
    "more than 64 columns": replace(IN_PAGES["wide"], estimator=regressor(max_iter=1)),
    "linear leaves": small(regressor(leaf_model="linear", max_iter=2), SINGLE, measures),
    "dart": small(regressor(boosting="dart", skip_drop=0.0, drop_rate=0.5, max_iter=3), SINGLE, measures),
}


@pytest.fixture(scope="module")
def on_cpu():
    """Bytes of fits on the CPU, made when first asked for."""
    known = {}

    def of(case):
        return known.setdefault(id(case), case.fit().to_bytes())

    return of


def fit_on(case, device, **parameters):
    return clone(case.estimator).set_params(device=device, **parameters).fit(**case.build())


@pytest.mark.parametrize("case", SOME.values(), ids=SOME)
def test_a_device_leaves_no_trace(case, device, on_cpu):
    fitted = fit_on(case, device)
    assert fitted.to_bytes() == on_cpu(case)
    assert fitted.device_transfers_.n_trees == len(fitted.model_.trees)


@pytest.mark.parametrize("name", ["single", "wide", "narrow", "narrow row lists", "forced", "more than 64 columns"])
def test_kernels_for_gpus_leave_no_trace(name, variant, device, on_cpu):
    assert fit_on(SOME[name], device).to_bytes() == on_cpu(SOME[name])


@pytest.mark.slow
@pytest.mark.parametrize("case", (IN_PAGES | MORE).values(), ids=IN_PAGES | MORE)
def test_all_cases_leave_no_trace(case, variant, device, on_cpu):
    assert fit_on(case, device).to_bytes() == on_cpu(case)


GROWTH = ["leafwise", "depthwise", "symmetric"]
SAMPLING = {
    "all rows": {},
    "uniform": {"subsample": 0.5},
    "goss": {"sampling": "goss", "learning_rate": 0.5},
    "mvs": {"sampling": "mvs", "subsample": 0.5},
    "bayesian": {"sampling": "bayesian"},
}
LOSSES = {
    "squared": (BoostingRegressor(), lambda s, rng: s),
    "absolute": (BoostingRegressor("absolute_error"), lambda s, rng: s),
    "quantiles": (BoostingRegressor("quantile", quantile=[0.1, 0.9]), lambda s, rng: s),
    "gamma": (BoostingRegressor("gamma"), lambda s, rng: np.exp(s)),
    "function": (BoostingRegressor(lambda y, raw: (raw - y, np.ones_like(y))), lambda s, rng: s),
    "several outputs": (BoostingRegressor(), lambda s, rng: np.column_stack([s, -s])),
    "two classes": (BoostingClassifier(), lambda s, rng: s > 0),
    "shared trees": (BoostingClassifier(multi_strategy="multi_output_tree"), lambda s, rng: np.digitize(s, [-1, 1])),
    "ranking": (BoostingRanker(), lambda s, rng: np.clip(np.round(s + 1), 0, 3)),
}
TABLES = {
    "numbers": lambda rng: rng.normal(size=(2_100, 5)),
    "missing": lambda rng: np.where(rng.random((2_100, 5)) < 0.1, np.nan, rng.normal(size=(2_100, 5))),
    "categories": lambda rng: rng.integers(0, 9, size=(2_100, 5)).astype(float),
    "sparse": lambda rng: scipy.sparse.random_array((2_100, 60), density=0.05, rng=rng, format="csr"),
}


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize("growth", GROWTH)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_grid_leaves_no_trace(loss, growth, sampling, table, device):
    rng = np.random.default_rng(0)
    X = TABLES[table](rng)
    signal = np.asarray(X[:, [0]].todense() if table == "sparse" else np.nan_to_num(X[:, [0]])).ravel() + rng.normal(size=2_100)
    estimator, target = LOSSES[loss]
    parameters = {"grow_policy": growth, "max_iter": 3, "early_stopping": False, **SAMPLING[sampling]}
    if table == "categories":
        parameters["categorical_features"] = [0, 1]
    more = {"qid": np.arange(2_100) // 10} if loss == "ranking" else {}
    model = clone(estimator).set_params(**parameters)
    expected = model.fit(X, target(signal, rng), **more).model_.to_bytes()
    assert model.set_params(device=device).fit(X, target(signal, rng), **more).model_.to_bytes() == expected


@pytest.mark.parametrize("name", ["narrow", "row lists of a sample"])
def test_pages_on_a_device_leave_no_trace(name, device, on_cpu, monkeypatch):
    expected, build = on_cpu(SOME[name]), Pages.build.__func__
    monkeypatch.setattr(Pages, "build", classmethod(lambda cls, *args, **more: cut(build(cls, *args, **more), 3)))
    assert fit_on(SOME[name], device).to_bytes() == expected


def test_pages_in_files_leave_no_trace(device, on_cpu, tmp_path):
    case = SOME["wide"]
    assert fit_on(case, device, pages_dir=str(tmp_path)).to_bytes() == on_cpu(case)


@pytest.mark.parametrize("name", ["wide", "subsample", "bundles and row lists"])
def test_bins_that_do_not_fit_on_the_device_are_sent_for_each_step(name, device, on_cpu, options):
    case = SOME[name]
    options(memory_bytes=1 << 62)
    once = fit_on(case, device).device_transfers_
    options(memory_bytes=int((once.n_rows * ROW_BYTES + 0.8 * once.bins) / (1 - FREE_FRACTION)))  # blocks of about half the rows
    fitted = fit_on(case, device)
    assert fitted.to_bytes() == on_cpu(case)
    assert fitted.device_transfers_.bins > 3 * once.bins


@pytest.mark.parametrize("variant", VARIANTS)
def test_partitions_on_devices_leave_no_trace(variant, device, on_cpu, options):
    """As on a cluster: each partition has a device."""
    options(**VARIANTS[variant])
    case = SOME["wide"]
    data = case.build()
    parts = np.array_split(np.arange(case.n_rows), 2)

    def work(execution):
        own = {name: values[parts[execution.collective.rank]] for name, values in data.items()}
        return fit_partition(clone(case.estimator).set_params(device=device), execution, **own).to_bytes()

    assert set(run(2, work)) == {on_cpu(case)}
    assert Execution(1, thread_collectives(2)[0]).device is None


def test_continued_training_and_refit(device):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + rng.normal(size=400)

    def trained(device):
        model = BoostingRegressor(max_iter=3, device=device).fit(X, y)
        model.partial_fit(X, y)
        return model.refit(X, y + 1).to_bytes()

    assert trained(device) == trained("cpu")


def test_transfers_are_at_most_16_bytes_a_row_and_tree(device):
    """Gradients there, leaves back; histograms do not grow with the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 4)).astype(np.float32)
    model = BoostingClassifier(max_iter=2, early_stopping=False, device=device).fit(X, X[:, 0] + X[:, 1] ** 2 > 1)
    moved = model.device_transfers_
    assert 9 <= moved.bytes_per_row_and_tree <= 16
    assert moved.bins == 400_000 * 4 + 8
    assert not hasattr(model.set_params(device="cpu").fit(X[:100], X[:100, 0] > 0), "device_transfers_")

"""The rows of a data set in several partitions: every partition gets the estimator that `fit` returns for all rows, byte for byte.

Partitions are threads of this process here; workers of a cluster will call the same function. They are uneven, one has no rows, and rows
are sorted so that one of them has a single class and few levels.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.callbacks import LearningRate
from sapwood.data.layout import BinLayout
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.estimators.partition import fit_partition
from sapwood.losses import REGRESSION
from sapwood.runtime.execution import SERIAL
from tests.partitions import run, slices

N = 2_400
partitions = pytest.mark.parametrize("n", [2, 3, 5])


def numbers(n_rows=N, n_features=6):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_features)).round(2)
    x[rng.random(x.shape) < 0.03] = np.nan
    return x


X = numbers()
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 - np.nan_to_num(X[:, 2] * X[:, 3])
NOISY = SIGNAL + np.random.default_rng(1).normal(size=N)
CLASSES = np.sort(np.digitize(NOISY, [-0.5, 0.5, 2.0]))  # the first partitions have one class
ORDER = np.argsort(np.digitize(NOISY, [-0.5, 0.5, 2.0]), kind="stable")
WEIGHT = np.random.default_rng(2).integers(0, 4, N).astype(np.float64)
TARGETS = {
    "log_loss": 1 / (1 + np.exp(-NOISY)),
    "poisson": np.floor(np.exp(NOISY.clip(-3, 3))),
    "gamma": np.exp(NOISY.clip(-3, 3)),
    "tweedie": np.exp(NOISY.clip(-3, 3)) * (SIGNAL > 0),
    "mape": np.exp(NOISY.clip(-3, 3)),
    "cox": np.exp(-SIGNAL.clip(-3, 3)) * np.where(np.arange(N) % 3 == 0, -1, 1),
    "aft": np.exp(-SIGNAL.clip(-3, 3)),
}


def part(value, rows):
    """Rows of an argument of `fit`, whatever it is."""
    if value is None or isinstance(value, (str, list)):
        return value
    if isinstance(value, dict):
        return {name: part(one, rows) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(part(one, rows) for one in value)
    return value.iloc[rows] if hasattr(value, "iloc") else value[rows]


def assert_the_same(estimator, n, X, y, cuts=None, validation=None, **arguments):
    whole = clone(estimator).fit(X, y, **arguments, **(validation or {})).to_bytes()
    cuts = cuts or slices(X.shape[0], n)

    def fit(execution):
        own = cuts[execution.collective.rank]
        given = {name: part(value, own) for name, value in arguments.items()}
        if validation:
            held = slices(len(validation["y_val"]), n)[execution.collective.rank]
            given |= {name: part(value, held) for name, value in validation.items()}
        return fit_partition(clone(estimator), execution, part(X, own), part(y, own), **given).to_bytes()

    assert run(n, fit) == [whole] * n


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 4, "max_leaf_nodes": 12, "min_samples_leaf": 10} | parameters))


def classifier(**parameters):
    return BoostingClassifier(**({"max_iter": 4, "max_leaf_nodes": 12, "min_samples_leaf": 10} | parameters))


@partitions
@pytest.mark.parametrize("loss", REGRESSION)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses(loss, weighted, n):
    assert_the_same(regressor(loss=loss), n, X, TARGETS.get(loss, NOISY), sample_weight=WEIGHT if weighted else None)


@partitions
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("parameters", [{}, {"loss": "focal"}, {"class_weight": "balanced"}, {"multi_strategy": "one_output_per_tree"}])
def test_classes(n_classes, parameters, n):
    assert_the_same(classifier(**parameters), n, X[ORDER], CLASSES if n_classes == 4 else (CLASSES > 1).astype(int))


SEVERAL = np.column_stack([NOISY, SIGNAL, np.where(np.arange(N) % 3, NOISY, np.nan)])


@partitions
@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (regressor(), SEVERAL),
        (regressor(multi_strategy="multi_output_tree"), SEVERAL),
        (regressor(loss="quantile", quantile=[0.1, 0.5, 0.9]), NOISY),
        (classifier(), (SEVERAL[:, :2] > 0).astype(int)),
        (classifier(), np.column_stack([TARGETS["log_loss"] / 2, 0.5 - TARGETS["log_loss"] / 2, np.full(N, 0.5)])),
    ],
    ids=["outputs", "shared trees", "quantiles", "labels", "soft labels"],
)
def test_several_outputs(estimator, y, n):
    assert_the_same(estimator, n, X, y)


@partitions
@pytest.mark.parametrize("grow_policy", ["leafwise", "depthwise", "symmetric"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"subsample": 0.4},
        {"subsample": 1e-7},
        {"sampling": "goss", "learning_rate": 1.0},
        {"sampling": "mvs", "subsample": 0.5},
        {"sampling": "bayesian"},
        {"max_features": 0.5, "extra_trees": True, "score_noise": 0.3},
        {"step": "line_search", "l1_regularization": 0.3, "path_smooth": 3.0},
        {"boosting": "dart", "max_iter": 8, "drop_rate": 0.5, "skip_drop": 0.0},
        {"boosting": "forest", "subsample": 0.5},
        {"monotonic_cst": {0: 1, 3: -1}},
        {"max_bins": 16, "min_rows_in_bin": 20, "bin_sample_rows": 700},
        {"bin_sample_rows": None},
        {"max_bins": 30, "min_rows_in_bin": 40, "bin_sample_rows": None},
    ],
    ids=lambda parameters: "-".join(parameters) or "plain",
)
def test_growth_and_sampling(grow_policy, parameters, n):
    assert_the_same(regressor(grow_policy=grow_policy, **parameters), n, X, NOISY)


@partitions
@pytest.mark.parametrize("grow_policy", ["leafwise", "depthwise", "symmetric"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"loss": "poisson"},
        {"subsample": 0.4},
        {"sampling": "mvs", "subsample": 0.5},
        {"sampling": "goss", "learning_rate": 1.0},
        {"step": "line_search", "path_smooth": 3.0},
        {"boosting": "dart", "max_iter": 8, "drop_rate": 0.5, "skip_drop": 0.0},
        {"boosting": "forest", "subsample": 0.5},
    ],
    ids=lambda parameters: "-".join(parameters) or "plain",
)
def test_linear_leaves(grow_policy, parameters, n):
    y = TARGETS["poisson"] if "loss" in parameters else NOISY
    assert_the_same(regressor(leaf_model="linear", grow_policy=grow_policy, **parameters), n, X, y)


@partitions
def test_linear_leaves_of_classes(n):
    estimator = classifier(leaf_model="linear", multi_strategy="one_output_per_tree")
    assert_the_same(estimator, n, FRAME, CLASSES, sample_weight=WEIGHT)


@partitions
def test_stratified_sampling(n):
    assert_the_same(classifier(subsample=0.3, stratified=True), n, X[ORDER], CLASSES)


@partitions
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_ordered_boosting(loss, n):
    assert_the_same(regressor(boosting="ordered", loss=loss), n, X, NOISY)


@partitions
@pytest.mark.parametrize("parameters", [{"monotonic_method": "neighbours"}, {"forced_splits": {"feature": 2, "threshold": 0.0}}])
def test_constraints(parameters, n):
    assert_the_same(regressor(monotonic_cst={0: 1}, **parameters), n, X, NOISY)


FRAME = pd.DataFrame(X[ORDER], columns=list("abcdef")).assign(
    text=[f"level {k}" for k in CLASSES * 7 + np.arange(N) % 7],
    few=pd.Categorical(np.where(np.arange(N) % 5, "x", None)),
    many=[f"id {k}" for k in (np.arange(N) * 7919) % 400],
    when=pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(N), "h"),
)


@partitions
@pytest.mark.parametrize(
    "parameters",
    [{}, *({"categorical_encoding": name} for name in ("onehot", "partition", "target", "target_cv", "count")), {"max_combination": 2}],
    ids=lambda parameters: "-".join(map(str, parameters.values())) or "auto",
)
@pytest.mark.parametrize("weighted", [False, True])
def test_encoders(parameters, weighted, n):
    estimator = classifier(datetime_features="auto", **parameters)
    assert_the_same(estimator, n, FRAME, CLASSES, sample_weight=WEIGHT if weighted else None)


@partitions
@pytest.mark.parametrize(
    "parameters",
    [{}, {"scoring": "mae"}, {"scoring": "r2"}, {"scoring": None}, {"validation_fraction": None}],
    ids=lambda parameters: "-".join(map(str, parameters.values())) or "loss",
)
def test_early_stopping(parameters, n):
    assert_the_same(regressor(early_stopping=True, max_iter=30, learning_rate=0.5, n_iter_no_change=2, **parameters), n, X, NOISY)


@partitions
@pytest.mark.parametrize("scoring", ["loss", "roc_auc", "accuracy"])
def test_early_stopping_of_classes(scoring, n):
    estimator = classifier(early_stopping=True, max_iter=20, learning_rate=0.5, n_iter_no_change=2, scoring=scoring)
    assert_the_same(estimator, n, X[ORDER], (CLASSES > 1).astype(int))


@partitions
def test_validation_rows_and_evaluation_sets(n):
    validation = {"X_val": X[:500], "y_val": NOISY[:500], "offset_val": SIGNAL[:500] / 2}
    estimator = regressor(early_stopping=True, max_iter=20, n_iter_no_change=2)
    more = {
        "offset": SIGNAL / 2,
        "eval_sets": {"again": (X, NOISY)},
        "eval_metric": ["rmse", "mae"],
        "callbacks": [LearningRate(lambda k: 0.3)],
    }
    assert_the_same(estimator, n, X, NOISY, validation=validation, **more)


QID = np.repeat(np.arange(N // 20), 20)
WHOLE = {n: [slice(20 * (s.start // 20), 20 * (s.stop // 20)) for s in slices(N, n)] for n in (2, 3, 5)}


@partitions
@pytest.mark.parametrize("loss", ["lambdamart", "pairwise", "xendcg"])
@pytest.mark.parametrize("parameters", [{}, {"sampling_unit": "query", "subsample": 0.5}, {"early_stopping": True, "scoring": "ndcg@5"}])
def test_ranking(loss, parameters, n):
    estimator = BoostingRanker(loss=loss, max_iter=4, **parameters)
    assert_the_same(estimator, n, X, CLASSES[np.argsort(ORDER)], cuts=WHOLE[n], qid=QID)


@partitions
@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_sparse_tables(absent, n):
    dense = np.where(np.abs(numbers(4_800, 40)) > 1.6, np.nan_to_num(numbers(4_800, 40)), 0.0)
    estimator = regressor(sparse_absent=absent)
    assert_the_same(estimator, n, sparse.csr_array(dense), dense[:, :10].sum(axis=1))


@partitions
def test_bundled_columns(n):
    rng = np.random.default_rng(5)
    levels = np.sort(rng.integers(0, 30, 6_000))  # a partition sees only some of the columns of one bundle
    x = np.column_stack([rng.normal(size=(6_000, 2)), np.eye(30)[levels], rng.random((6_000, 12)) < 0.01])
    assert_the_same(regressor(), n, x, x[:, 0] + levels % 7)


@partitions
@pytest.mark.parametrize("parameters", [{}, {"subsample": 0.5}, {"early_stopping": True}])
def test_many_rows(parameters, n):
    """Gradients are rounded at random here, by the ids of rows."""
    x = numbers(40_000)
    y = (np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1]) * np.nan_to_num(x[:, 2]) > 0).astype(int)
    assert_the_same(classifier(**parameters), n, x, y)


def test_an_error_is_the_same_in_all_partitions():
    with pytest.raises(ValueError, match="requires strictly positive y"):
        run(
            3,
            lambda execution: fit_partition(regressor(loss="gamma"), execution, X[:100], np.arange(100.0) - 99 * execution.collective.rank),
        )


@pytest.mark.parametrize("parameters", [{"tree_method": "exact"}, {"tree_method": "approx"}, {"max_bins": 300}, {"validation_split": 3}])
def test_refused_by_name(parameters):
    with pytest.raises(ValueError, match="cannot be combined with several partitions of the rows"):
        run(2, lambda execution: fit_partition(regressor(**parameters), execution, X, NOISY))


def test_a_layout_is_data():
    """A bin layout that was written and read makes the same pages."""
    fitted = regressor().fit(X, NOISY).model_
    pages = Pages.build(ArrayTable(X), fitted.binning, SERIAL)
    again = BinLayout.from_bytes(pages.layout.to_bytes())
    assert again.to_bytes() == pages.layout.to_bytes()
    rebuilt = Pages.build(ArrayTable(X), again.binning, SERIAL, columns=again.columns)
    np.testing.assert_array_equal(rebuilt.pages[0].codes, pages.pages[0].codes)

"""How far a round goes along its tree."""

import numpy as np
import pytest

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data.tables import ArrayTable
from sapwood.losses import MULTICLASS
from sapwood.runtime.execution import SERIAL
from sapwood.training.warm_start import WarmStart
from tests.losses.test_losses import make_estimator, predict, targets

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
SHAPES = ["squared_error", "absolute_error", "huber", "poisson", "gamma", "log_cosh", "log_loss", "cox", "aft", "multinomial_log_loss"]


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_line_search_finds_the_best_factor(name, strategy):
    y = targets(name, np.random.default_rng(1), 400)
    parameters = {"max_iter": 1, "learning_rate": 1.0, "early_stopping": True, "validation_fraction": None, "min_samples_leaf": 20}
    parameters["multi_strategy"] = strategy
    found = make_estimator(name, step="line_search", **parameters).fit(X, y)
    newton = make_estimator(name, **parameters).fit(X, y)
    assert found.train_score_[-1] >= newton.train_score_[-1] - 1e-12
    # The trees are the same but for a factor.
    tree, other = found.model_.trees[0], newton.model_.trees[0]
    leaves = np.abs(other.leaves.value) > 1e-12
    factors = tree.leaves.value[leaves] / other.leaves.value[leaves]
    np.testing.assert_allclose(factors, factors[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "strategy"),
    [("classes", "multi_output_tree"), ("targets", "multi_output_tree"), ("targets", "one_output_per_tree")],
)
def test_no_other_factor_of_a_tree_is_better(kind, strategy):
    """Regularisation had made its steps too short. (With a tree a class each goes its way as if the others were not there.)"""
    classes, several = np.digitize(X[:, 0] + X[:, 1], [-1, 1]), np.exp(X / [1, 2, 3])
    several[::7, 1] = np.nan
    ways = {"max_iter": 1, "learning_rate": 1.0, "l2_regularization": 300.0, "max_leaf_nodes": 6, "step": "line_search"}
    ways |= {"multi_strategy": strategy, "shared_trees": 1}
    estimator = BoostingClassifier(**ways) if kind == "classes" else BoostingRegressor(**ways, loss="poisson")
    fitted = estimator.fit(X, classes if kind == "classes" else several)
    task = fitted._task(fitted._values())
    targets, y = task.read_targets(classes if kind == "classes" else several, len(X), WarmStart(), SERIAL)
    loss = task.loss(targets)
    base, full = (np.ascontiguousarray(fitted.model_.predict_raw(ArrayTable(X), SERIAL, rounds).T) for rounds in (0, 1))
    losses = {factor: loss.mean(y, base + factor * (full - base), None, SERIAL) for factor in (0, 0.9, 0.99, 1, 1.01, 1.1)}
    assert losses[1] == min(losses.values()) < losses[0]


def test_classes_share_trees_that_a_search_goes_along():
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])
    searched = BoostingClassifier(step="line_search", max_iter=5, l2_regularization=300.0).fit(X, y)
    assert searched.model_.shared == 1
    assert searched.score(X, y) > BoostingClassifier(max_iter=5, l2_regularization=300.0).fit(X, y).score(X, y)


def test_squared_error_needs_none():
    y = X[:, 0] + 0.1 * X[:, 1]
    plain, searched = (BoostingRegressor(max_iter=10, step=step).fit(X, y).predict(X) for step in ("newton", "line_search"))
    np.testing.assert_allclose(plain, searched, rtol=1e-6)


def test_it_lengthens_steps_that_regularisation_made_short():
    y = (X[:, 0] > 0).astype(float)
    searched = BoostingRegressor(max_iter=5, step="line_search", l2_regularization=1000.0).fit(X, y)
    assert searched.score(X, y) > BoostingRegressor(max_iter=5, l2_regularization=1000.0).fit(X, y).score(X, y) + 0.3


def test_weights_count():
    y, weight = rng.poisson(np.exp(X[:, 0])).astype(float), rng.integers(1, 4, 400)
    fit = BoostingRegressor(loss="poisson", max_iter=3, step="line_search", min_samples_leaf=1, max_leaf_nodes=5)
    weighted = fit.fit(X.round(1), y, sample_weight=weight).predict(X)
    repeated = fit.fit(np.repeat(X.round(1), weight, axis=0), np.repeat(y, weight)).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


@pytest.mark.parametrize("name", ["gamma", "quantile", *(loss.name for loss in MULTICLASS.values())])
def test_threads_leave_no_trace(name):
    big, y = np.tile(X, (50, 1)), targets(name, np.random.default_rng(2), 20_000)
    one, two = (
        make_estimator(name, max_iter=2, step="line_search", early_stopping=False, n_jobs=jobs).fit(big, y).model_.to_bytes()
        for jobs in (1, 2)
    )
    assert one == two


def test_several_labels_and_other_ways():
    labels = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.5]).astype(int)
    assert BoostingClassifier(max_iter=3, step="line_search").fit(X, labels).score(X, labels) > 0.9
    for parameters in ({"boosting": "dart"}, {"subsample": 0.5}, {"monotonic_cst": [1, 0, 0]}):
        fitted = BoostingRegressor(max_iter=3, step="line_search", **parameters).fit(X, X[:, 0])
        assert np.isfinite(predict(fitted, X)).all()


def test_an_order_has_no_slope():
    with pytest.raises(ValueError, match="step='line_search' cannot be combined with loss='lambdamart'"):
        BoostingRanker(step="line_search").fit(X, np.arange(400) % 3, qid=np.repeat(np.arange(40), 10))

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.estimators.fit_data import draw_seed
from sapwood.losses import LOSSES
from sapwood.losses.logistic import LogLoss
from sapwood.runtime.execution import SERIAL
from sapwood.training.multi_output import tree_key
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.frontier import FRONTIERS
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.growth import make_grower
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.rules import Rules

every_policy = pytest.mark.parametrize("policy", ["leafwise", "depthwise"])  # symmetric trees have their own tests


@st.composite
def tables(draw, most_rows=300):
    """Rows with ties and missing values, a numeric and a class target."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(2, most_rows)), draw(st.integers(1, 6))
    x = rng.integers(0, draw(st.sampled_from([2, 5, 100])), (n_rows, n_features)).astype(float)
    x[rng.random(x.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    y = np.nan_to_num(x).sum(axis=1) + rng.normal(size=n_rows) * draw(st.sampled_from([0.1, 3.0]))
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7])[: draw(st.integers(1, 2))])
    return x, y, classes


def depths(tree):
    """The depth of each node."""
    out = np.zeros(len(tree.feature), dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):  # parents come first
        out[[tree.left[node], tree.right[node]]] = out[node] + 1
    return out


def leaf_of_rows(model, x):
    """Leaves of rows, (n_rows, n_trees)."""
    out = np.empty((len(x), len(model.trees)), dtype=np.int32)
    model.scorer().leaves(x, 0, len(model.trees), out, 1)
    return out


@pytest.mark.parametrize("Estimator", [BoostingRegressor, BoostingClassifier])
@every_policy
@given(
    table=tables(),
    max_leaf_nodes=st.none() | st.integers(2, 40),
    max_depth=st.none() | st.integers(1, 6),
    min_samples_leaf=st.integers(1, 30),
    max_features=st.sampled_from([1.0, 0.4]),
)
def test_limits_hold_exactly(Estimator, policy, table, max_leaf_nodes, max_depth, min_samples_leaf, max_features):
    x, y, classes = table
    limits = {"max_leaf_nodes": max_leaf_nodes, "max_depth": max_depth, "min_samples_leaf": min_samples_leaf}
    estimator = Estimator(max_iter=2, grow_policy=policy, max_features=max_features, **limits)
    model = estimator.fit(x, y if Estimator is BoostingRegressor else classes).model_
    reached = leaf_of_rows(model, x)
    for t, tree in enumerate(model.trees):
        is_leaf = tree.feature < 0
        # The count of a node is the number of its rows.
        np.testing.assert_array_equal(tree.count[is_leaf], np.bincount(reached[:, t], minlength=len(is_leaf))[is_leaf])
        np.testing.assert_array_equal(tree.count[~is_leaf], (tree.count[tree.left] + tree.count[tree.right])[~is_leaf])
        assert tree.count[0] == len(x)
        if tree.n_leaves > 1:
            assert tree.count.min() >= min_samples_leaf
        assert max_leaf_nodes is None or tree.n_leaves <= max_leaf_nodes
        assert max_depth is None or depths(tree).max() <= max_depth
        assert (tree.gain[~is_leaf] > 0).all()
        assert (tree.gain[is_leaf] == 0).all()
        assert (tree.leaves.value[~is_leaf] == 0).all()


@given(tables())
def test_policies_agree_if_every_leaf_is_split(table):
    x, y, _ = table
    limits = {"max_iter": 3, "max_leaf_nodes": None, "min_samples_leaf": 5}
    leafwise, depthwise = (BoostingRegressor(grow_policy=policy, **limits).fit(x, y).predict(x) for policy in ("leafwise", "depthwise"))
    np.testing.assert_array_equal(leafwise, depthwise)


def splits_in_order(tree):
    """Inner nodes in the order in which they were split."""
    inner = np.flatnonzero(tree.feature >= 0)
    return inner[np.argsort(tree.left[inner])]


@given(tables())
def test_leafwise_splits_the_best_leaf(table):
    x, y, _ = table
    (tree,) = BoostingRegressor(max_iter=1, max_leaf_nodes=12, min_samples_leaf=2).fit(x, y).model_.trees
    known = [0]
    for node in splits_in_order(tree):
        assert tree.gain[node] == max(tree.gain[leaf] for leaf in known)  # the others were split later, or never
        known.remove(node)
        known += [tree.left[node], tree.right[node]]


@given(tables())
def test_depthwise_finishes_a_level_before_the_next(table):
    x, y, _ = table
    (tree,) = BoostingRegressor(max_iter=1, max_leaf_nodes=12, min_samples_leaf=2, grow_policy="depthwise").fit(x, y).model_.trees
    assert (np.diff(depths(tree)[splits_in_order(tree)]) >= 0).all()


class Splits:
    """Grower of a FeaturePolicy whose splits are those of a tree."""

    def __init__(self, tree):
        self.tree = tree

    def split_features(self, nodes):
        return self.tree.feature[nodes].tolist()


@every_policy
def test_only_features_that_a_node_may_use(policy):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 10))
    y = x.sum(axis=1)
    estimator = BoostingRegressor(max_iter=5, max_features=0.3, min_samples_leaf=5, grow_policy=policy, random_state=3).fit(x, y)
    model, seed = estimator.model_, draw_seed(estimator.random_state)
    used = set()
    for t, tree in enumerate(model.trees):
        features = FeaturePolicy(10, by_node=0.3).tree(tree_key(seed, t))
        allowed = np.zeros((len(tree.feature), 10), dtype=np.uint8)
        allowed[0] = features.of_root()
        for node in splits_in_order(tree):
            allowed[[tree.left[node], tree.right[node]]] = features.of_children([int(node)], Splits(tree))
        assert (allowed.sum(axis=1) == 3).all()
        inner = tree.feature >= 0
        assert allowed[inner, tree.feature[inner]].all()
        used |= set(map(tuple, allowed))
    assert len(used) > 50  # drawn for each node


@pytest.mark.parametrize("l2", [0.0, 5.0])
def test_leaf_values_are_newton_steps(l2):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    regressor = BoostingRegressor(max_iter=1, learning_rate=0.3, l2_regularization=l2).fit(x, y)
    (tree,) = regressor.model_.trees
    reached = leaf_of_rows(regressor.model_, x)[:, 0]
    for leaf in np.flatnonzero(tree.feature < 0):
        residuals = y[reached == leaf] - y.mean()
        assert tree.leaves.value[leaf] == pytest.approx(0.3 * residuals.sum() / (len(residuals) + l2), abs=1e-8)


def test_leaves_of_the_log_loss_have_the_minimum_hessian():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1000, 3))
    y = (x[:, 0] + 0.2 * rng.normal(size=1000) > 0.5).astype(int)  # most rows are soon predicted with certainty
    model = BoostingClassifier(max_iter=30, min_samples_leaf=4).fit(x, y).model_
    reached = leaf_of_rows(model, x)
    least = []
    for t, tree in enumerate(model.trees):
        p = 1 / (1 + np.exp(-model.predict_raw(ArrayTable(x), SERIAL, t)[:, 0]))
        if tree.n_leaves > 1:
            least.append(np.bincount(reached[:, t], p * (1 - p), len(tree.feature))[tree.feature < 0].min())
    rule = LogLoss.min_hessian_per_sample * 4
    assert rule - 1e-6 <= min(least) < rule * 1.2  # the rule holds, and has an effect


class TestGrowTree:
    """The growing loop, with rules that estimators do not offer."""

    def grow(self, x, y, loss="squared_error", raw=None, policy="leafwise", **rules):
        table = ArrayTable(x)
        binning = Binning.fit(table, 255, None, None, 0, SERIAL)
        pages = Pages.build(table, binning, SERIAL)
        gradients = next(LOSSES[loss]().fixed_gradients(y, np.zeros((1, len(y))) if raw is None else raw, None, SERIAL))
        shape = {name: rules.pop(name) for name in ("learning_rate", "max_leaves", "max_depth") if name in rules}
        config = TreeConfig(FRONTIERS[policy], FeaturePolicy(x.shape[1]), Rules(**rules), **shape)
        leaves = LeafAssignment(len(y))
        return grow_tree(make_grower(pages, 0, SERIAL), binning, gradients, config, 0, leaves), leaves

    def data(self, n_rows=600):
        rng = np.random.default_rng(2)
        x = rng.normal(size=(n_rows, 4))
        return x, x[:, 0] * 2 + np.sin(3 * x[:, 1]) + rng.normal(size=n_rows)

    def test_gains_are_twice_the_reduction_of_the_loss(self):
        x, y = self.data()
        tree, leaves = self.grow(x, y, learning_rate=1.0)
        before, after = (y**2).sum(), ((y - tree.leaves.value[leaves.nodes][leaves.of_row]) ** 2).sum()
        root = y.sum() ** 2 / len(y)  # gain of a single leaf
        assert tree.gain.sum() == pytest.approx(before - after - root, rel=1e-6)

    @pytest.mark.parametrize("min_gain", [10.0, 30.0, 200.0])
    def test_min_gain(self, min_gain):
        x, y = self.data()
        tree, _ = self.grow(x, y, min_gain=min_gain, max_leaves=None)
        free, _ = self.grow(x, y, max_leaves=None)
        assert 1 < tree.n_leaves < free.n_leaves
        assert tree.gain[tree.feature >= 0].min() > min_gain

    def test_min_hessian(self):
        x, y = self.data()
        y = (y > 0).astype(float)
        raw = np.linspace(-4, 4, len(y))[None]
        tree, leaves = self.grow(x, y, "log_loss", raw, min_hessian=8.0, min_samples_leaf=1, max_leaves=None)
        p = 1 / (1 + np.exp(-raw[0]))
        hessian = np.bincount(leaves.of_row, p * (1 - p), tree.n_leaves)
        assert tree.n_leaves > 4
        assert hessian.min() >= 8.0 - 1e-5
        assert tree.count[tree.feature < 0].min() < 80

    def test_max_step(self):
        x, y = self.data()
        free, _ = self.grow(x, y, learning_rate=0.5)
        held, _ = self.grow(x, y, learning_rate=0.5, max_step=0.8)
        assert np.abs(free.leaves.value).max() > 0.4
        np.testing.assert_array_equal(held.leaves.value, np.clip(free.leaves.value, -0.4, 0.4))

    def test_the_leaf_assignment_is_that_of_the_tree(self):
        x, y = self.data()
        for max_leaves, size in ((20, 1), (None, 2)):
            tree, leaves = self.grow(x, y, max_leaves=max_leaves, min_samples_leaf=1)
            assert leaves.size == size
            assert len(leaves.of_row) == len(y)
            np.testing.assert_array_equal(tree.count[leaves.nodes], np.bincount(leaves.of_row, minlength=tree.n_leaves))
            raw = np.zeros(len(y))
            tree.leaves.add_to(raw, leaves, SERIAL)
            np.testing.assert_array_equal(raw, tree.leaves.value[leaves.nodes][leaves.of_row])

    def test_a_feature_that_is_missing_or_not(self):
        x = np.where(np.arange(100) < 30, np.nan, 7.0)[:, None]
        tree, _ = self.grow(x, np.where(np.arange(100) < 30, 5.0, -1.0), learning_rate=1.0)
        assert tree.feature.tolist() == [0, -1, -1]
        assert tree.threshold[0] == np.inf
        assert tree.missing_left[0] == 0
        np.testing.assert_allclose(tree.leaves.value[[tree.left[0], tree.right[0]]], [-1.0, 5.0], rtol=1e-8)

    def test_nothing_to_learn_is_a_single_leaf(self):
        x, _ = self.data()
        tree, leaves = self.grow(x, np.full(len(x), 3.0))
        assert tree.n_leaves == 1
        assert tree.leaves.value[0] == pytest.approx(0.3, rel=1e-8)
        assert leaves.nodes.tolist() == [0]

"""Linear leaves: their slopes against normal equations in plain NumPy, and what they go with."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRegressor, load, merge
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.model import Model
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL
from sapwood.trees.leaf_fit import MAX_INPUTS, MIN_ROWS, LinearFit, features_on_paths, wide
from sapwood.trees.leaf_models import LinearLeaves
from sapwood.trees.leaf_models.inputs import LinearInput
from tests.reference.leaf_models import linear_added


def table(n_rows=1200, n_features=4, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, n_features))
    y = 2 * x[:, 0] + x[:, 1] * x[:, 2] + np.sin(3 * x[:, 3]) + 0.1 * rng.normal(size=n_rows)
    x[rng.random(x.shape) < missing] = np.nan
    return x, y


X, Y = table()
WEIGHT = np.random.default_rng(3).integers(0, 4, len(Y)).astype(np.float64)


def linear(**parameters):
    return BoostingRegressor(**({"leaf_model": "linear", "max_iter": 5, "early_stopping": False} | parameters))


def gradients_of(loss, y, raw, weight):
    probability = 1 / (1 + np.exp(-raw))
    gradient, hessian = {
        "squared_error": (raw - y, np.ones(len(y))),
        "poisson": (np.exp(raw) - y, np.exp(raw)),
        "log_loss": (probability - y, probability * (1 - probability)),
    }[loss]
    return gradient * weight, hessian * weight


@pytest.mark.parametrize("grow_policy", ["leafwise", "symmetric"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared_error", "poisson", "log_loss"])
@pytest.mark.parametrize("l2", [0.0, 7.0])
def test_slopes_solve_the_normal_equations(loss, weighted, grow_policy, l2):
    y = {"squared_error": Y, "poisson": np.floor(np.exp(Y.clip(-2, 2))), "log_loss": (Y > 0).astype(float)}[loss]
    weight = WEIGHT if weighted else np.ones(len(y))
    parameters = {"loss": loss, "max_leaf_nodes": 8, "grow_policy": grow_policy, "linear_l2": l2, "learning_rate": 0.5, "max_step": 1e9}
    model = linear(max_iter=1, **parameters).fit(X, y, sample_weight=weight).model_
    (tree,) = model.trees
    gradient, hessian = gradients_of(loss, y, np.full(len(y), model.base_score[0]), weight)
    reached = model.apply(X)[:, 0]
    assert (tree.leaves.n_slopes > 0).sum() >= 4
    for node in np.flatnonzero(tree.leaves.n_slopes):
        rows = (tree.leaves.value[reached] == tree.leaves.value[node]) & (weight > 0)  # leaves of a symmetric tree may be joined
        at = slice(*tree.leaves.begin[node : node + 2])
        inputs = [tree.leaves.inputs[i] for i in tree.leaves.slope_input[at]]
        z = np.column_stack([own.at(X[rows, own.feature]) for own in inputs])
        g, h, known = gradient[rows], hessian[rows], ~np.isnan(z)
        center = np.nansum(z * h[:, None], axis=0) / (known * h[:, None]).sum(axis=0)
        x = np.where(known, z - center, 0.0)
        a = x.T @ (x * h[:, None])
        ridge = l2 * np.diag([np.var(own.values) * h[rows].mean() for own, rows in zip(inputs, known.T, strict=True)])
        assert_allclose(
            tree.leaves.slope[at], 0.5 * np.linalg.solve(a + ridge, -x.T @ g), rtol=1e-3, atol=1e-4 * np.abs(tree.leaves.slope).max()
        )
        assert_allclose(tree.leaves.slope_center[at], center, atol=1e-5)
        assert_allclose(tree.leaves.slope_low[at], np.nanmin(z, axis=0), atol=1e-5)
        assert_allclose(tree.leaves.slope_high[at], np.nanmax(z, axis=0), atol=1e-5)


def test_values_are_those_of_constant_leaves():
    parameters = {"max_iter": 1, "l2_regularization": 3.0, "l1_regularization": 0.5}
    leaves, constant = (linear(leaf_model=name, **parameters).fit(X, Y).model_.trees[0].leaves for name in ("linear", "constant"))
    assert_array_equal(leaves.value, constant.value)


def test_slopes_take_the_features_with_the_most_gain():
    x, y = table(n_features=9, seed=1)
    model = linear(max_iter=3, max_leaf_nodes=31).fit(x, y).model_
    for tree in model.trees:
        gain = np.bincount(tree.feature[tree.feature >= 0], tree.gain[tree.feature >= 0], minlength=9)
        used = {own.feature for own in tree.leaves.inputs}
        assert used <= set(np.argsort(-gain, kind="stable")[:MAX_INPUTS])


@pytest.mark.parametrize("interaction_cst", ["no_interactions", "pairwise", [{0, 1}, {2, 3}]])
def test_constraints_on_interactions_hold(interaction_cst):
    model = linear(max_iter=8, interaction_cst=interaction_cst).fit(X, Y).model_
    assert any(len(tree.leaves.slope) for tree in model.trees)
    for tree in model.trees:
        on_path = features_on_paths(tree)
        for node in np.flatnonzero(tree.leaves.n_slopes):
            used = {tree.leaves.inputs[i].feature for i in tree.leaves.slope_input[slice(*tree.leaves.begin[node : node + 2])]}
            assert used <= on_path[node]


def test_small_leaves_are_constant():
    model = linear(min_samples_leaf=1, max_leaf_nodes=50, max_iter=2).fit(X, Y).model_
    for tree in model.trees:
        n_inputs = min(MAX_INPUTS, len(np.unique(tree.feature[tree.feature >= 0])))
        assert (tree.leaves.n_slopes[tree.count < MIN_ROWS + 2 * n_inputs] == 0).all()
        assert (tree.leaves.n_slopes > 0).any()


def test_no_row_moves_further_than_the_largest_step():
    model = linear(loss="poisson", max_step=0.3, learning_rate=1.0, max_iter=2).fit(X, np.exp(Y.clip(-3, 3))).model_
    far = np.random.default_rng(1).choice([-1e9, 1e9, np.nan, 0.0], (500, X.shape[1]))
    for tree in model.trees:
        reached = np.flatnonzero(tree.feature < 0)
        steps = [abs(linear_added(tree.leaves, node, row)[0]) for node in reached for row in far[:50]]
        assert max(steps) <= 0.3 * (1 + 1e-12)


def test_rows_far_away_are_clipped():
    model = linear(max_iter=20).fit(X, Y)
    for value in (1e6, -1e6, np.inf, -np.inf):
        x = X[:50].copy()
        x[:, 0] = value
        near = x.copy()
        near[:, 0] = np.nanmax(X[:, 0]) if value > 0 else np.nanmin(X[:, 0])
        assert_array_equal(model.predict(x), model.predict(near))


def test_missing_values_add_nothing():
    model = linear(max_iter=1).fit(X, Y).model_
    (tree,) = model.trees
    row = np.full((1, X.shape[1]), np.nan)
    assert model.predict(row)[0] == model.base_score[0] + tree.leaves.value[model.apply(row)[0, 0]]


@pytest.mark.parametrize("parameters", [{}, {"grow_policy": "symmetric"}, {"max_leaf_nodes": 700, "min_samples_leaf": 15, "max_iter": 2}])
def test_all_ways_to_predict_give_the_same_bits(parameters):
    x, y = table(20_000, 6, seed=2)
    model = linear(**parameters).fit(x[:15_000], y[:15_000])
    expected = model.predict(x)
    assert_array_equal([model.predict(x[i : i + 1])[0] for i in range(40)], expected[:40])
    assert_array_equal(model.predict(x[:9]), expected[:9])
    assert_array_equal(list(model.staged_predict(x))[-1], expected)
    assert_array_equal(model.model_.predict(x, n_jobs=3), expected)
    train = model.model_.predict_binned(pages_of(model.model_, x), SERIAL)[0]
    assert_array_equal(train, expected)
    assert_array_equal(model.predict(sparse.csr_array(np.nan_to_num(x))), model.predict(np.nan_to_num(x)))


def pages_of(model, x):
    return Pages.build(ArrayTable(x), model.binning, SERIAL)


def test_training_keeps_the_predictions_of_the_model():
    """What is added to training rows and evaluation sets, round by round, is what the model predicts."""
    seen = []

    class Keep:
        def before_training(self, state): ...
        def before_round(self, state): ...
        def settings(self):
            return {}

        def after_round(self, state):
            seen.append((state.train_set.raw[0].copy(), state.model.predict(X)))
            return False

        def after_training(self, state): ...

    linear(subsample=0.5).fit(X, Y, callbacks=[Keep()])
    for raw, predicted in seen:
        assert_array_equal(raw, predicted)


def test_sparse_and_dense_tables_give_the_same_bytes():
    rng = np.random.default_rng(0)
    x = np.where(rng.random((1500, 30)) < 0.9, 0.0, rng.normal(size=(1500, 30)).round(2))
    x[:, :2] = rng.normal(size=(1500, 2))
    y = x @ rng.normal(size=30) + x[:, 0] * x[:, 1]
    assert linear().fit(x, y).model_.to_bytes() == linear().fit(sparse.csr_array(x), y).model_.to_bytes()


def test_it_learns_a_plane():
    x, _ = table(3000, missing=0.0)
    y = x @ [1.0, -2.0, 0.5, 0.0]
    models = {name: linear(leaf_model=name, max_iter=30, learning_rate=0.5, linear_l2=1.0).fit(x, y) for name in ("constant", "linear")}
    errors = {name: np.abs(model.predict(x) - y).mean() for name, model in models.items()}
    assert errors["linear"] < errors["constant"] / 3


def test_features_of_levels_have_no_slopes():
    x = pd.DataFrame({"a": pd.Categorical(np.where(X[:, 0] > 0, "x", "y")), "b": X[:, 1]})
    model = linear().fit(x, Y).model_
    assert {own.feature for tree in model.trees for own in tree.leaves.inputs} == {1}
    model = linear().fit(x[["a"]], Y).model_
    assert all(tree.leaves.constant_values() is not None for tree in model.trees)


@pytest.mark.parametrize("parameters", [{}, {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.5}, {"step": "line_search"}])
def test_warm_start_is_one_long_fit(parameters):
    long = linear(max_iter=6, **parameters).fit(X, Y)
    short = linear(max_iter=3, warm_start=True, **parameters).fit(X, Y).set_params(max_iter=6).fit(X, Y)
    if "boosting" not in parameters:
        assert short.model_.to_bytes() == long.model_.to_bytes()
    assert short.model_.n_rounds == 6


def test_refit():
    x, y = table(seed=9)
    before = linear(max_iter=5).fit(X, Y)
    kept, fresh, half, again = (linear(max_iter=5).fit(X, Y) for _ in range(4))
    assert_array_equal(kept.refit(x, y, decay=1.0).predict(X), before.predict(X))
    assert np.mean((fresh.refit(x, y, decay=0.0).predict(x) - y) ** 2) < np.mean((before.predict(x) - y) ** 2)
    assert max(tree.leaves.n_slopes.max() for tree in half.refit(x, y, decay=0.5).model_.trees) <= 2 * MAX_INPUTS
    for tree, other in zip(before.model_.trees, again.refit(X, Y, decay=0.0).model_.trees, strict=True):
        assert_array_equal(tree.leaves.slope, other.leaves.slope)


def test_merging_adds_the_predictions_up():
    one, other = linear(max_iter=4).fit(X, Y), linear(max_iter=3).fit(*table(900, seed=4))
    merged = merge([one, other], weights=[0.5, 0.5])
    assert_allclose(merged.predict(X), (one.predict(X) + other.predict(X)) / 2, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="leaf_model='linear' cannot be combined with max_bins above 255: slopes are fitted to bins"):
        linear(max_iter=2).fit(X, Y, init_model=merged)


def test_a_merged_model_is_continued():
    one, other = linear(max_iter=4, max_bins=60).fit(X, Y), linear(max_iter=3, max_bins=50).fit(*table(900, seed=4))
    merged = merge([one, other])
    continued = linear(max_iter=2).fit(X, Y, init_model=merged)
    assert continued.model_.n_rounds == merged.model_.n_rounds + 2
    assert_array_equal(continued.model_[: merged.model_.n_rounds].predict(X), merged.model_.predict(X))


def test_file(tmp_path):
    model = linear().fit(X, Y)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    again = Model.from_bytes(model.model_.to_bytes())
    assert again.to_bytes() == model.model_.to_bytes()
    assert len({own.key for tree in again.trees for own in tree.leaves.inputs}) == len(again.arrays()["input_feature"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "absolute_error"}, "loss='absolute_error': its leaf values are not Newton steps"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst: slopes do not keep the order"),
        ({"boosting": "ordered"}, "boosting='ordered': the leaves of models of some of the rows"),
        ({"tree_method": "exact"}, "tree_method='exact': slopes are fitted to bins"),
        ({"tree_method": "approx"}, "tree_method='approx': slopes are fitted to bins"),
        ({"max_bins": 1000}, "max_bins above 255: slopes are fitted to bins"),
    ],
)
def test_it_is_refused_by_name(parameters, message):
    with pytest.raises(ValueError, match=f"leaf_model='linear' cannot be combined with {message}"):
        linear(**parameters).fit(X, Y)
    model = linear(leaf_model="auto", **parameters).fit(X, Y).model_
    assert model.leaf_model.name == "constant"


def test_shared_trees_are_refused_by_name():
    y = np.digitize(Y, [-1, 1])
    with pytest.raises(ValueError, match="leaf_model='linear' cannot be combined with multi_strategy='auto' where outputs share trees"):
        BoostingClassifier(leaf_model="linear", max_iter=2).fit(X, y)
    assert BoostingClassifier(leaf_model="auto", max_iter=2).fit(X, y).model_.leaf_model.name == "constant"


def test_auto():
    assert linear(leaf_model="auto").fit(X, Y).model_.leaf_model is LinearLeaves
    assert linear(leaf_model="auto").fit(X[:999], Y[:999]).model_.leaf_model.name == "constant"
    assert BoostingClassifier(leaf_model="auto", max_iter=2).fit(X, Y > 0).model_.leaf_model is LinearLeaves
    continued = linear(leaf_model="auto").fit(X, Y, init_model=linear(leaf_model="constant").fit(X, Y))
    assert continued.model_.leaf_model.name == "constant"


def test_a_model_is_not_continued_with_other_leaves():
    with pytest.raises(ValueError, match="init_model continues a model with constant leaves, but leaf_model='linear'"):
        linear().fit(X, Y, init_model=linear(leaf_model="constant").fit(X, Y))


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-150, 1e150, 1e300])
def test_features_of_any_scale(scale):
    x, y = table(missing=0.0)
    model = linear().fit(x * scale, y)
    assert np.isfinite(model.predict(x * scale)).all() and all(tree.leaves.is_finite for tree in model.model_.trees)
    if 1e-290 < scale < 1e290:
        assert_allclose(model.predict(x * scale), linear().fit(x, y).predict(x), rtol=1e-3, atol=1e-3)


class TestSolve:
    @given(st.integers(0, 10_000), st.integers(1, 5), st.floats(0, 10))
    @settings(max_examples=50, deadline=None)
    def test_as_numpy(self, seed, d, ridge):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(3, 40, d))
        a, b = x.transpose(0, 2, 1) @ x, rng.normal(size=(3, d))
        expected = np.linalg.solve(a + ridge * np.eye(d), -b[..., None])[..., 0]
        assert_allclose(kernels.solve_slopes(a, b, np.full((3, d), ridge)), expected, rtol=1e-8, atol=1e-10)

    def test_what_is_not_determined_is_zero(self):
        a = np.array([[[2.0, 2.0], [2.0, 2.0]], [[0.0, 0.0], [0.0, 3.0]]])
        found = kernels.solve_slopes(a, np.array([[-4.0, -4.0], [0.0, -6.0]]), np.zeros((2, 2)))
        assert_allclose(found, [[2.0, 0.0], [0.0, 2.0]])


@given(st.lists(st.integers(-(2**100), 2**100), min_size=1, max_size=20))
def test_sums_of_three_words(numbers):
    words = np.array([[n & 0xFFFFFFFF, n >> 32 & 0xFFFFFFFF, n >> 64] for n in numbers], dtype=np.int64).sum(axis=0)
    total = sum(numbers)
    assert_allclose(wide(words), float(total), rtol=1e-15, atol=2.0**49)


class TestInputs:
    @given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=20, unique=True))
    def test_centers_ascend_and_are_finite(self, cuts):
        own = LinearInput.centers(0, np.sort(np.array(cuts)))
        assert len(own.values) == len(cuts) + 1
        assert np.isfinite(own.values).all() and (np.diff(own.values) >= 0).all() and own.values[-1] > own.values[0]

    def test_centers(self):
        assert_array_equal(LinearInput.centers(0, np.array([1.0, 2.0, 4.0])).values, [0.5, 1.5, 3.0, 5.0])

    def test_more_cut_points(self):
        own = LinearInput(2, np.array([1.0, 3.0]), np.array([0.0, 5.0, 7.0]))
        finer = own.on(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
        x = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 3.0, 3.5, 9.0, np.nan])
        assert_array_equal(finer.at(x), own.at(x))
        with pytest.raises(ValueError, match="the cut points of feature 2"):
            own.on(np.array([1.0, 2.0]))


def test_a_fit_holds_one_input_a_feature():
    fit = LinearFit(1.0)
    fit.begin(pages_of(linear().fit(X, Y).model_, X), SERIAL)
    assert fit._levels(0) is fit._levels(0)
    assert np.abs(fit._levels(0).levels).max() <= 1 << 20

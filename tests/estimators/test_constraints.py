"""Monotonic, interaction and forced splits, whatever else is asked of trees."""

import json
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import BoostingClassifier, BoostingRegressor

POLICIES = ["leafwise", "depthwise", "symmetric"]
LOSSES = ["squared_error", "absolute_error", "poisson", "gamma", "log_loss"]


def make(loss, seed, n_rows=400):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 3)).round(1)
    x[rng.random(x.shape) < 0.05] = np.nan
    signal = np.nan_to_num(np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2])
    noisy = signal + rng.normal(size=n_rows)
    y = {"poisson": rng.poisson(np.exp(signal / 2)), "gamma": rng.gamma(2, np.exp(signal / 2)) + 1e-3, "log_loss": noisy > 0}.get(
        loss, noisy
    )
    return x, y


def estimator(loss, **parameters):
    kind = BoostingClassifier if loss == "log_loss" else BoostingRegressor
    return kind(loss, **{"max_iter": 10, "min_samples_leaf": 5} | parameters)


def raw(model, x):
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


def falls(model, feature, x, n=60):
    """The largest fall of predictions along a dense grid of a feature, the others as in x."""
    grid = np.linspace(-4, 4, n)
    table = np.repeat(x[:30], n, axis=0)
    table[:, feature] = np.tile(grid, 30)
    return -np.diff(raw(model, table).reshape(30, n), axis=1).min()


WAYS = st.sampled_from(
    [
        {},
        {"l1_regularization": 1.0, "l2_regularization": 2.0},
        {"path_smooth": 3.0},
        {"max_step": 0.3},
        {"extra_trees": True},
        {"subsample": 0.6},
        {"sampling": "goss"},
        {"sampling": "mvs", "subsample": 0.5},
        {"sampling": "bayesian"},
        {"boosting": "dart", "skip_drop": 0.0, "drop_rate": 0.4},
        {"boosting": "forest", "subsample": 0.7},
        {"max_features": 0.6, "score_noise": 0.5},
        {"learning_rate": 1.0, "max_leaf_nodes": None},
    ]
)


class TestMonotonic:
    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("loss", LOSSES)
    @settings(max_examples=6, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), direction=st.sampled_from([1, -1]), feature=st.integers(0, 2), ways=WAYS)
    def test_holds_on_dense_grids(self, loss, policy, seed, direction, feature, ways):
        x, y = make(loss, seed)
        constraints = [0, 0, 0]
        constraints[feature] = direction
        model = estimator(loss, grow_policy=policy, monotonic_cst=constraints, **ways).fit(x, y)
        flipped = falls(model, feature, x) if direction > 0 else -falls_rises(model, feature, x)
        assert flipped <= 1e-12

    @pytest.mark.parametrize("method", ["hist", "exact"])
    @pytest.mark.parametrize("loss", LOSSES)
    @settings(max_examples=6, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), constraints=st.sampled_from([[1, 0, 0], [0, -1, 0], [1, -1, 0], [1, 1, 1]]), ways=WAYS)
    def test_neighbours_hold_on_dense_grids(self, loss, method, seed, constraints, ways):
        if method == "exact" and ways.get("extra_trees"):
            return  # refused together
        x, y = make(loss, seed)
        parameters = {"tree_method": method, "monotonic_method": "neighbours"}
        model = estimator(loss, monotonic_cst=constraints, **parameters, **ways).fit(x, y)
        for feature, direction in enumerate(constraints):
            if direction:
                flipped = falls(model, feature, x) if direction > 0 else -falls_rises(model, feature, x)
                assert flipped <= 1e-12

    def test_neighbours_leave_more_room(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(4_000, 3))
        y = 3 / (1 + np.exp(-3 * x[:, 0])) + np.sin(3 * x[:, 1]) * (x[:, 0] > 0) + 0.2 * rng.normal(size=4_000)
        parameters = {"monotonic_cst": [1, 0, 0], "max_iter": 30}
        basic, near = (
            BoostingRegressor(monotonic_method=method, **parameters).fit(x[:3_000], y[:3_000]) for method in ("basic", "neighbours")
        )
        losses = [np.mean((model.predict(x[3_000:]) - y[3_000:]) ** 2) for model in (basic, near)]
        assert losses[1] < losses[0]

    @pytest.mark.parametrize(
        "other", [{"grow_policy": "symmetric"}, {"grow_policy": "depthwise"}, {"forced_splits": {"feature": 0, "threshold": 0.0}}], ids=str
    )
    def test_neighbours_refuse(self, other):
        x, y = make("squared_error", 0)
        with pytest.raises(ValueError, match=r"monotonic_method='neighbours' cannot be combined with .*; use 'basic'"):
            estimator("squared_error", monotonic_cst=[1, 0, 0], monotonic_method="neighbours", **other).fit(x, y)

    def test_without_it_predictions_fall(self):
        x, y = make("squared_error", 0)
        assert falls(estimator("squared_error").fit(x, y), 0, x) > 0.1

    def test_by_name_by_position_and_as_a_list(self):
        x, y = make("squared_error", 1)
        frame = pd.DataFrame(x, columns=["a", "b", "c"])
        given = [[1, 0, -1], {"a": 1, "c": -1}, {0: 1, 2: -1}, {"a": "pos", "c": "neg"}, np.array([1, 0, -1])]
        models = [estimator("squared_error", monotonic_cst=constraints).fit(frame, y).model_.to_bytes() for constraints in given]
        assert len(set(models)) == 1
        assert models[0] != estimator("squared_error").fit(frame, y).model_.to_bytes()

    def test_no_constraint_is_none(self):
        x, y = make("squared_error", 1)
        free = estimator("squared_error").fit(x, y).model_.to_bytes()
        assert estimator("squared_error", monotonic_cst=[0, 0, 0]).fit(x, y).model_.to_bytes() == free
        assert estimator("squared_error", monotonic_cst={}).fit(x, y).model_.to_bytes() == free

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ([1, 0], r"monotonic_cst has shape \(2,\) but the input data X has 3 features"),
            ([1, 2, 0], "monotonic_cst must consist of -1 .* got 2"),
            ({"a": 1}, "monotonic_cst names the feature 'a', but X had no column names"),
            ({5: 1}, "monotonic_cst selects the feature 5, but X has 3 features: 0 to 2"),
            ({0: "up"}, "got 'up'"),
        ],
    )
    def test_errors(self, value, message):
        x, y = make("squared_error", 2)
        with pytest.raises(ValueError, match=message):
            estimator("squared_error", monotonic_cst=value).fit(x, y)

    def test_an_unknown_name_lists_the_columns(self):
        x, y = make("squared_error", 2)
        with pytest.raises(ValueError, match="'d', which X does not have; its columns are 'a', 'b', 'c'"):
            estimator("squared_error", monotonic_cst={"d": 1}).fit(pd.DataFrame(x, columns=["a", "b", "c"]), y)

    def test_many_classes_are_refused(self):
        x, y = make("squared_error", 2)
        with pytest.raises(ValueError, match="monotonic_cst cannot be combined with loss='multinomial_log_loss'"):
            BoostingClassifier(monotonic_cst=[1, 0, 0]).fit(x, np.digitize(y, [-0.5, 0.5]))


def falls_rises(model, feature, x, n=60):
    """Minus the largest rise along the grid."""
    grid = np.linspace(-4, 4, n)
    table = np.repeat(x[:30], n, axis=0)
    table[:, feature] = np.tile(grid, 30)
    return -np.diff(raw(model, table).reshape(30, n), axis=1).max()


def paths(tree):
    """The features on the way to each leaf."""
    above = [frozenset()] * len(tree.feature)
    for node in np.flatnonzero(tree.feature >= 0):
        for child in (tree.left[node], tree.right[node]):
            above[child] = above[node] | {int(tree.feature[node])}
    return [above[leaf] for leaf in np.flatnonzero(tree.feature < 0)]


class TestInteractions:
    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
    @settings(max_examples=8, deadline=None)
    @given(
        seed=st.integers(0, 2**32 - 1),
        ways=WAYS,
        constraint=st.sampled_from(["no_interactions", "pairwise", [[0, 1], [1, 2]], [{0}, {1, 2}]]),
    )
    def test_holds_on_every_path(self, loss, policy, seed, ways, constraint):
        x, y = make(loss, seed)
        model = estimator(loss, grow_policy=policy, interaction_cst=constraint, **ways).fit(x, y)
        for tree in model.model_.trees:
            for path in paths(tree):
                if constraint == "no_interactions":
                    assert len(path) <= 1
                elif constraint == "pairwise":
                    assert len(path) <= 2
                else:
                    assert any(path <= set(group) for group in constraint)

    def test_features_in_no_group_form_one(self):
        x, y = make("squared_error", 3)
        model = estimator("squared_error", interaction_cst=[["a"]], max_iter=30).fit(pd.DataFrame(x, columns=["a", "b", "c"]), y)
        found = {path for tree in model.model_.trees for path in paths(tree)}
        assert frozenset({1, 2}) in found
        assert all(path <= {0} or path <= {1, 2} for path in found)

    @pytest.mark.parametrize("value", [[0, 1], ["a"], [], [[9]], [[0.5]]])
    def test_errors(self, value):
        x, y = make("squared_error", 3)
        with pytest.raises(ValueError, match="interaction_cst"):
            estimator("squared_error", interaction_cst=value).fit(x, y)


class TestForcedSplits:
    EVENTS = np.array([60, 110, 45, 87, 135, 67.0])[:, None]
    CLASSES = np.array([0, 1, 0, 0, 1, 0])
    SPLITS: ClassVar = {"feature": 0, "threshold": 70, "right": {"feature": 0, "threshold": 130}}

    def fit(self, splits, **parameters):
        parameters = {"max_iter": 1, "min_samples_leaf": 1, "max_leaf_nodes": 3, "learning_rate": 1.0} | parameters
        return BoostingClassifier(forced_splits=splits, **parameters).fit(self.EVENTS, self.CLASSES)

    def test_six_collision_events(self):
        tree = self.fit(self.SPLITS).model_.trees[0]
        assert tree.leaves.value[tree.feature < 0].tolist() == pytest.approx([-1.5, 0.75, 3.0], abs=1e-8)
        assert tree.threshold[tree.feature >= 0].tolist() == [70, 130]
        halved = self.fit(self.SPLITS, learning_rate=0.5).predict_proba(self.EVENTS)[:, 1]
        assert halved.round(2).tolist() == [0.19, 0.42, 0.19, 0.42, 0.69, 0.19]

    def test_from_json_text_and_file(self, tmp_path):
        path = tmp_path / "splits.json"
        path.write_text(json.dumps(self.SPLITS))
        models = [self.fit(splits).model_.to_bytes() for splits in (self.SPLITS, json.dumps(self.SPLITS), path, str(path))]
        assert len(set(models)) == 1

    @pytest.mark.parametrize("policy", ["leafwise", "depthwise"])
    def test_a_tree_grows_on_below(self, policy):
        x, y = make("squared_error", 4)
        splits = {"feature": "b", "threshold": 0.123, "left": {"feature": "c", "threshold": -0.3, "missing_left": True}}
        frame = pd.DataFrame(x, columns=["a", "b", "c"])
        model = BoostingRegressor(max_iter=3, max_leaf_nodes=12, min_samples_leaf=5, grow_policy=policy, forced_splits=splits).fit(frame, y)
        for tree in model.model_.trees:
            assert (tree.feature[0], tree.threshold[0]) == (1, 0.123)
            left = tree.left[0]
            assert (tree.feature[left], tree.threshold[left], tree.missing_left[left]) == (2, -0.3, 1)
            assert tree.n_leaves == 12

    def test_a_split_that_would_leave_a_child_empty_is_not_made(self):
        tree = self.fit({"feature": 0, "threshold": 1_000}).model_.trees[0]
        assert tree.threshold[0] < 135

    def test_no_more_leaves_than_allowed(self):
        assert self.fit(self.SPLITS, max_leaf_nodes=2).model_.trees[0].n_leaves == 2

    @pytest.mark.parametrize(
        "splits",
        [
            {"feature": 0},
            {"feature": 1, "threshold": 1},
            {"feature": "a", "threshold": 1},
            {"feature": 0, "threshold": "x"},
            '{"feature":',
            {},
        ]
        + [{"feature": 0, "threshold": 1, "other": 2}, {"feature": 0, "threshold": 1, "left": [1]}, {"feature": 0, "threshold": np.nan}],
        ids=str,
    )
    def test_errors(self, splits):
        with pytest.raises(ValueError, match="forced_splits"):
            self.fit(splits)

    def test_symmetric_trees_are_refused(self):
        with pytest.raises(ValueError, match="forced_splits cannot be combined with grow_policy='symmetric'"):
            self.fit(self.SPLITS, grow_policy="symmetric")

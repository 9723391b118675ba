"""Ordered boosting: against a plain NumPy twin of what its docstring says, and what it is for."""

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, FeatureSpec
from sapwood.callbacks import Callback
from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.losses import SquaredError
from sapwood.runtime.execution import SERIAL
from sapwood.training.boosting import BoostingDataset, TrainingPlan, train
from sapwood.training.ordered import Ordered
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.frontier import FRONTIERS
from sapwood.trees.grower import TreeConfig

RNG = np.random.default_rng(3)
N = 400
X = RNG.normal(size=(N, 4))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1]
Y = SIGNAL + RNG.normal(size=N)
CLASSES = np.digitize(Y, [-1, 0.5])


def regressor(**parameters):
    return BoostingRegressor(**{"boosting": "ordered", "max_iter": 20, "random_state": 0} | parameters)


def classifier(**parameters):
    return BoostingClassifier(**{"boosting": "ordered", "max_iter": 20, "random_state": 0} | parameters)


class Look(Callback):
    """Keeps what the mode predicted for rows before each round."""

    def __init__(self, mode):
        self.mode, self.unseen = mode, []

    def after_round(self, state):
        self.unseen.append(self.mode.unseen[0].copy())


@pytest.fixture(scope="module")
def trained():
    """A model of squared error, its mode, and what was predicted for rows by models that had not seen them."""
    pages = Pages.build(ArrayTable(X), Binning.fit(ArrayTable(X), np.full(4, 255), None, None, 0, SERIAL), SERIAL)
    mode = Ordered(3)
    look = Look(mode)
    config = TreeConfig(FRONTIERS["leafwise"], FeaturePolicy(4))
    rows, plan = BoostingDataset(pages, Y, None), TrainingPlan(SquaredError(), config, n_rounds=6, mode=mode)
    model = train(rows, {}, plan.first_model(rows), plan, SERIAL, [look])
    return model, mode, look.unseen


def leaf_of_rows(model):
    out = np.empty((N, len(model.trees)), dtype=np.int32)
    model.scorer().leaves(X, 0, len(model.trees), out, 1)
    return out.T


def means(leaf, rows, residual):
    """The mean residual of some rows in each leaf; 0 where there are none."""
    return {node: residual[rows][leaf[rows] == node].mean() if (leaf[rows] == node).any() else 0.0 for node in np.unique(leaf)}


class TestDefinition:
    def test_prefixes_double_up_to_two_thirds_of_the_rows(self, trained):
        _, mode, _ = trained
        assert len(mode.permutations) == 3
        orders = [prefixes[-1].rows for prefixes in mode.permutations]
        for prefixes, order in zip(mode.permutations, orders, strict=True):
            assert_array_equal(np.sort(order), np.arange(N))
            sizes = [prefix.n_seen for prefix in prefixes]
            assert sizes[-1] == 2 * N // 3
            assert [size // 2 for size in sizes[1:]] == sizes[:-1]
            for prefix, until in zip(prefixes, [*sizes[1:], N], strict=True):
                assert_array_equal(prefix.rows, order[:until])
        assert len({tuple(order) for order in orders}) == 3

    def test_rows_are_predicted_by_models_that_have_not_seen_them(self, trained):
        model, mode, unseen = trained
        predicted = [[np.full(N, Y.mean()) for _ in prefixes] for prefixes in mode.permutations]
        for leaf, found in zip(leaf_of_rows(model), unseen, strict=True):
            expected, size, n_best = np.full(N, Y.mean()), np.zeros(N), np.ones(N)
            for prefixes, of_prefixes in zip(mode.permutations, predicted, strict=True):
                for prefix, own in zip(prefixes, of_prefixes, strict=True):
                    rows = prefix.rows[prefix.n_seen :]
                    better, equal = rows[size[rows] < prefix.n_seen], rows[size[rows] == prefix.n_seen]
                    expected[equal] = (expected[equal] * n_best[equal] + own[equal]) / (n_best[equal] + 1)
                    n_best[equal] += 1
                    expected[better], size[better], n_best[better] = own[better], prefix.n_seen, 1
            assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
            for prefixes, of_prefixes in zip(mode.permutations, predicted, strict=True):
                for prefix, own in zip(prefixes, of_prefixes, strict=True):
                    step = means(leaf, prefix.rows[: prefix.n_seen], Y - own)
                    own += 0.1 * np.array([step[node] for node in leaf])

    def test_leaf_values_come_from_all_rows_at_the_models_own_predictions(self, trained):
        model, _, _ = trained
        raw = np.full(N, Y.mean())
        for leaf, tree in zip(leaf_of_rows(model), model.trees, strict=True):
            for node, mean in means(leaf, np.arange(N), Y - raw).items():
                assert tree.leaves.value[node] == pytest.approx(0.1 * mean, abs=1e-7)
                assert tree.count[node] == (leaf == node).sum()
            raw += tree.leaves.value[leaf]

    def test_no_split_is_left_that_does_not_help_the_other_rows(self, trained):
        model, mode, _ = trained
        longest = [prefixes[-1] for prefixes in mode.permutations]
        own = [np.full(N, Y.mean()) for _ in longest]
        for leaf, tree in zip(leaf_of_rows(model), model.trees, strict=True):
            last = [node for node in np.flatnonzero(tree.feature >= 0) if (tree.feature[[tree.left[node], tree.right[node]]] < 0).all()]
            for node in last:
                gained = 0.0
                for prefix, predicted in zip(longest, own, strict=True):
                    seen, after = prefix.rows[: prefix.n_seen], prefix.rows[prefix.n_seen :]
                    children = means(leaf, seen, Y - predicted)
                    joined = means(np.where(np.isin(leaf, [tree.left[node], tree.right[node]]), node, leaf), seen, Y - predicted)
                    rows = after[np.isin(leaf[after], [tree.left[node], tree.right[node]])]
                    residual = (Y - predicted)[rows]
                    gained += ((residual - joined[node]) ** 2 - (residual - [children[k] for k in leaf[rows]]) ** 2).sum()
                assert gained > 0
            for prefix, predicted in zip(longest, own, strict=True):
                step = means(leaf, prefix.rows[: prefix.n_seen], Y - predicted)
                predicted += 0.1 * np.array([step[node] for node in leaf])


class TestUse:
    def test_noise_is_learned_less(self):
        leaves, spread = {"plain": 0, "ordered": 0}, {"plain": 0.0, "ordered": 0.0}
        for noise in RNG.normal(size=(8, N)):
            for boosting in leaves:
                fitted = regressor(boosting=boosting, max_iter=50).fit(X, noise)
                leaves[boosting] += sum(tree.n_leaves for tree in fitted.model_.trees)
                spread[boosting] += np.std(fitted.predict(X))
        assert leaves["ordered"] < 0.7 * leaves["plain"]
        assert spread["ordered"] < 0.9 * spread["plain"]

    def test_small_data_is_learned_better(self):
        table, y = load_breast_cancer(return_X_y=True)
        losses = {"plain": [], "ordered": []}
        for seed in range(4):
            X_train, X_test, y_train, y_test = train_test_split(table, y, train_size=150, stratify=y, random_state=seed)
            for boosting, found in losses.items():
                model = BoostingClassifier(boosting=boosting, max_iter=60, random_state=seed).fit(X_train, y_train)
                found.append(log_loss(y_test, model.predict_proba(X_test)))
        assert np.mean(losses["ordered"]) < np.mean(losses["plain"])

    @pytest.mark.parametrize(
        "parameters",
        [
            {"loss": "absolute_error"},
            {"loss": "quantile", "quantile": [0.2, 0.8]},
            {"loss": "poisson"},
            {"grow_policy": "symmetric", "max_depth": 3},
            {"grow_policy": "depthwise"},
            {"tree_method": "exact"},
            {"sampling": "goss", "learning_rate": 0.5},
            {"sampling": "mvs", "subsample": 0.5},
            {"subsample": 0.6},
            {"l1_regularization": 1.0, "l2_regularization": 1.0, "max_step": 0.5},
            {"early_stopping": True},
        ],
        ids=lambda p: "-".join(map(str, p.values())),
    )
    def test_ways_to_grow(self, parameters):
        y = np.exp(SIGNAL) if parameters.get("loss") == "poisson" else SIGNAL
        fitted = regressor(**parameters).fit(X, y)
        predicted = fitted.predict(X)
        predicted = predicted.mean(axis=1) if predicted.ndim == 2 else predicted
        assert np.corrcoef(predicted, y)[0, 1] > 0.7

    @pytest.mark.parametrize("parameters", [{}, {"multi_strategy": "one_output_per_tree"}, {"shared_trees": 2}])
    def test_classes(self, parameters):
        fitted = classifier(**parameters).fit(X, CLASSES, sample_weight=1 + (X[:, 3] > 0))
        assert fitted.score(X, CLASSES) > 0.6

    def test_several_targets_some_missing(self):
        targets = np.column_stack([SIGNAL, X[:, 2]])
        targets[::7, 1] = np.nan
        for strategy in ("one_output_per_tree", "multi_output_tree"):
            fitted = regressor(multi_strategy=strategy, max_iter=50).fit(X, targets)
            there = ~np.isnan(targets[:, 1])
            assert np.corrcoef(fitted.predict(X)[there, 1], targets[there, 1])[0, 1] > 0.8

    def test_categories_and_few_rows(self):
        frame = pd.DataFrame({"word": pd.Categorical(np.array(["a", "b", "c", "d", "e", "f"])[RNG.integers(0, 6, N)]), "x": X[:, 0]})
        y = frame["word"].cat.codes * 1.0 + SIGNAL
        fitted = regressor().fit(frame, y)
        assert fitted.score(frame, y) > 0.5
        assert any(len(tree.sets) for tree in fitted.model_.trees)
        for n in (1, 2, 3, 5):
            assert np.isfinite(regressor(min_samples_leaf=1).fit(X[:n], Y[:n]).predict(X)).all()

    def test_more_rows_of_weight_zero_change_nothing_but_the_permutations(self):
        weight = np.r_[np.ones(N), np.zeros(50)]
        fitted = regressor().fit(np.r_[X, X[:50]], np.r_[Y, Y[:50]], sample_weight=weight)
        assert_allclose(fitted.predict(X), regressor().fit(X, Y, sample_weight=np.ones(N)).predict(X))

    def test_permutations_are_random(self):
        first = regressor().fit(X, Y).model_.to_bytes()
        assert first != regressor(random_state=1).fit(X, Y).model_.to_bytes()
        assert first != regressor(boosting_permutations=1).fit(X, Y).model_.to_bytes()

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"step": "line_search"}, "step='line_search'"),
            ({"path_smooth": 1.0}, "path_smooth=1.0"),
            ({"monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst"),
            ({"feature_spec": FeatureSpec({0: {"monotonic": 1}})}, "monotonic_cst"),
            ({"forced_splits": {"feature": 0, "threshold": 0.0}}, "forced_splits"),
            ({"warm_start": True}, "warm_start"),
            ({"loss": "cox"}, "loss='cox'"),
        ],
    )
    def test_what_cannot_be_combined(self, parameters, words):
        with pytest.raises(ValueError, match=f"boosting='ordered' cannot be combined with {words}: .*; use boosting='plain'"):
            regressor(**parameters).fit(X, np.abs(Y)).fit(X, np.abs(Y))

    def test_ranking_is_refused(self):
        with pytest.raises(ValueError, match="boosting='ordered' cannot be combined with loss="):
            BoostingRanker(boosting="ordered").fit(X, CLASSES, group=[N])


class TestPartialFit:
    """New rows were not seen by any earlier tree, so that every prefix may start from the whole model."""

    def test_continues_with_new_rows(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(400, 3))
        y = x[:, 0] + np.sin(3 * x[:, 1]) + 0.1 * rng.normal(size=400)
        fitted = BoostingRegressor(boosting="ordered", max_iter=5).partial_fit(x[:200], y[:200])
        first = fitted.model_
        assert first.to_bytes() == BoostingRegressor(boosting="ordered", max_iter=5).fit(x[:200], y[:200]).model_.to_bytes()
        before = np.mean((fitted.predict(x[300:]) - y[300:]) ** 2)
        fitted.partial_fit(x[200:300], y[200:300])
        assert fitted.n_iter_ == 10
        assert fitted.model_[:5].to_bytes() == first.to_bytes()
        assert np.mean((fitted.predict(x[300:]) - y[300:]) ** 2) < before

    def test_resumes_from_a_checkpoint(self, tmp_path):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(200, 3)), rng.normal(size=200)
        first = BoostingRegressor(boosting="ordered", max_iter=3).fit(x[:100], y[:100])
        whole = copy.deepcopy(first).set_params(max_iter=6).partial_fit(x[100:], y[100:])
        copy.deepcopy(first).partial_fit(x[100:], y[100:], checkpoint=tmp_path / "part")
        resumed = copy.deepcopy(first).set_params(max_iter=6).partial_fit(x[100:], y[100:], checkpoint=tmp_path / "part")
        assert resumed.model_.to_bytes() == whole.model_.to_bytes()

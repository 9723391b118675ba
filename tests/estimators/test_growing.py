"""Ways to grow trees that the estimators offer: regularisation, symmetric trees, sampling, boosting modes, bins."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss, mean_squared_error

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.reading import read_table
from sapwood.runtime.execution import SERIAL

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3_000, 5))
X[RNG.random(X.shape) < 0.02] = np.nan
SIGNAL = np.nan_to_num(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2])
Y = SIGNAL + 0.3 * RNG.normal(size=3_000)
CLASSES = (Y > 0).astype(int)
TRAIN, TEST = slice(0, 2_000), slice(2_000, None)


def regressor(**parameters):
    return BoostingRegressor(**{"max_iter": 50} | parameters).fit(X[TRAIN], Y[TRAIN])


def classifier(**parameters):
    return BoostingClassifier(**{"max_iter": 50} | parameters).fit(X[TRAIN], CLASSES[TRAIN])


def error(model):
    return mean_squared_error(Y[TEST], model.predict(X[TEST]))


def leaf_of_rows(model, x):
    out = np.empty((len(x), len(model.trees)), dtype=np.int32)
    model.scorer().leaves(x, 0, len(model.trees), out, 1)
    return out


FREE = regressor()


class TestRegularisation:
    def test_l1_shrinks_leaf_values(self):
        tree = regressor(max_iter=1, learning_rate=1.0, l1_regularization=4.0).model_.trees[0]
        reached = leaf_of_rows(regressor(max_iter=1, learning_rate=1.0, l1_regularization=4.0).model_, X[TRAIN])[:, 0]
        for leaf in np.flatnonzero(tree.feature < 0):
            residual = (Y[TRAIN] - Y[TRAIN].mean())[reached == leaf]
            expected = np.sign(residual.sum()) * max(abs(residual.sum()) - 4.0, 0) / len(residual)
            assert tree.leaves.value[leaf] == pytest.approx(expected, abs=1e-6)

    def test_max_step(self):
        values = np.concatenate([tree.leaves.value for tree in regressor(max_step=0.2, learning_rate=0.5).model_.trees])
        assert np.abs(values).max() == pytest.approx(0.1)
        assert np.abs(np.concatenate([tree.leaves.value for tree in regressor(learning_rate=0.5).model_.trees])).max() > 0.2

    def test_min_gain(self):
        for tree in regressor(min_gain=3.0).model_.trees:
            assert (tree.gain[tree.feature >= 0] > 3.0).all()

    def test_min_hessian(self):
        for tree in regressor(min_hessian=150.0).model_.trees:
            assert (tree.count[tree.feature < 0] >= 150).all()

    def test_path_smoothing_draws_children_to_their_parent(self):
        free, smooth = (regressor(max_iter=1, max_leaf_nodes=2, learning_rate=1.0, path_smooth=s).model_.trees[0] for s in (0.0, 500.0))
        # The root's value is its Newton step, here zero, smoothed.
        n = free.count[1:]
        np.testing.assert_allclose(smooth.leaves.value[1:], free.leaves.value[1:] * (n / 500) / (n / 500 + 1), atol=1e-6)

    def test_extra_trees_try_one_threshold_a_feature(self):
        model = regressor(extra_trees=True)
        thresholds = {tree.threshold[0] for tree in model.model_.trees}
        assert len(thresholds) > len({tree.threshold[0] for tree in FREE.model_.trees})
        assert error(model) < 2 * error(FREE)

    def test_a_fraction_of_extra_trees(self):
        for fraction, all_or_none in ((0.0, False), (1.0, True)):
            assert regressor(extra_trees=fraction).model_.to_bytes() == regressor(extra_trees=all_or_none).model_.to_bytes()
        trees = regressor(extra_trees=0.5, learning_rate=1e-12, max_iter=60).model_.trees  # steps so small that gradients stay the same
        best = regressor(learning_rate=1e-12, max_iter=1).model_.trees[0]
        n_best = sum(np.array_equal(tree.threshold, best.threshold) for tree in trees)
        assert 18 <= n_best <= 42

    def test_a_feature_of_no_weight_is_not_used(self):
        model = regressor(feature_weights={0: 0.0, 1: 0.5})
        assert model.importances("split")[0] == 0
        assert model.importances("split")[1] > 0
        assert regressor(feature_weights=np.full(5, 7.0)).model_.to_bytes() == FREE.model_.to_bytes()

    def test_score_noise_varies_splits(self):
        one, other = (regressor(score_noise=0.5, random_state=seed) for seed in (0, 1))
        assert one.model_.to_bytes() != other.model_.to_bytes()
        assert regressor(random_state=0).model_.to_bytes() == regressor(random_state=1).model_.to_bytes()


class TestSymmetric:
    @pytest.mark.parametrize(
        "max_depth, max_leaf_nodes, n_leaves", [(None, "auto", 16), (3, 31, 8), (6, "auto", 64), (6, 31, 16), (6, 64, 64), (8, None, 256)]
    )
    def test_one_split_a_level(self, max_depth, max_leaf_nodes, n_leaves):
        model = regressor(grow_policy="symmetric", max_depth=max_depth, max_leaf_nodes=max_leaf_nodes, min_samples_leaf=2, max_iter=5)
        for tree in model.model_.trees:
            assert tree.n_leaves == n_leaves
            for level in range(int(np.log2(n_leaves))):
                nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
                for values in (tree.feature[nodes], tree.threshold[nodes], tree.missing_left[nodes]):
                    assert len(set(values.tolist())) == 1

    @pytest.mark.parametrize("max_depth", [1, 3, 6, 8, 9])
    @pytest.mark.parametrize("make", [regressor, classifier])
    def test_a_table_predicts_as_a_walk_does(self, make, max_depth):
        model = make(grow_policy="symmetric", max_depth=max_depth, max_leaf_nodes=None, max_iter=8, min_samples_leaf=1)
        whole = model.model_.predict_raw(read_table(X, model.model_.schema), SERIAL)
        by_row = np.concatenate([model.model_.predict_raw(read_table(X[i : i + 1], model.model_.schema), SERIAL) for i in range(300)])
        np.testing.assert_array_equal(whole[:300], by_row)

    def test_leaves_with_too_few_rows_share_a_value(self):
        model = regressor(grow_policy="symmetric", max_leaf_nodes=64, min_samples_leaf=60, learning_rate=1.0, max_iter=1)
        (tree,) = model.model_.trees
        reached = leaf_of_rows(model.model_, X[TRAIN])[:, 0]
        residual = Y[TRAIN] - Y[TRAIN].mean()
        values = tree.leaves.value[reached]
        for value in np.unique(values):  # rows of one value are enough, and it is their mean
            assert (values == value).sum() >= 60
            assert residual[values == value].mean() == pytest.approx(value, abs=1e-6)
        assert (tree.count[tree.feature < 0] < 60).any()

    def test_about_as_good_as_other_trees(self):
        assert error(regressor(grow_policy="symmetric", max_leaf_nodes=64)) < 1.3 * error(FREE)

    def test_absolute_error(self):
        model = regressor(grow_policy="symmetric", loss="absolute_error", max_leaf_nodes=64)
        assert np.isfinite(model.predict(X)).all()
        assert error(model) < 0.6 * np.var(Y[TEST])


class TestSampling:
    WAYS: ClassVar = [{"subsample": 0.5}, {"sampling": "mvs", "subsample": 0.5}, {"sampling": "goss"}, {"sampling": "bayesian"}]

    @pytest.mark.parametrize("ways", WAYS, ids=str)
    def test_about_as_good_as_all_rows(self, ways):
        assert error(regressor(**ways)) < 1.25 * error(FREE)
        full, sampled = (log_loss(CLASSES[TEST], classifier(**w).predict_proba(X[TEST])) for w in ({}, ways))
        assert sampled < 1.25 * full

    def test_trees_are_grown_on_some_of_the_rows(self):
        counts = [tree.count[0] for tree in regressor(subsample=0.3).model_.trees]
        assert len(set(counts)) > 10
        assert abs(np.mean(counts) - 600) < 30

    def test_goss_begins_with_all_rows(self):
        counts = np.array([tree.count[0] for tree in regressor(sampling="goss", learning_rate=0.25).model_.trees])
        assert (counts[:4] == TRAIN.stop).all()
        assert (counts[4:] < TRAIN.stop // 2).all()

    @pytest.mark.parametrize("ways", WAYS, ids=str)
    def test_whose_rows_give_leaves_their_values(self, ways):
        model = regressor(**{**ways, "max_iter": 11, "learning_rate": 0.1})
        tree = model.model_.trees[10]  # GOSS draws from here on
        reached = leaf_of_rows(model.model_, X[TRAIN])[:, 10]
        *_, before, _ = model.staged_predict(X[TRAIN])
        means = np.array([(Y[TRAIN] - before)[reached == leaf].mean() for leaf in np.flatnonzero(tree.feature < 0)])
        of_all = np.allclose(tree.leaves.value[tree.feature < 0], 0.1 * means, atol=1e-6)
        assert of_all == (ways.get("sampling") in ("mvs", "bayesian"))

    def test_rows_that_were_not_drawn_get_their_predictions_too(self):
        model = regressor(subsample=0.3, early_stopping=True, validation_fraction=None, n_iter_no_change=50)
        assert -model.train_score_[-1] == pytest.approx(mean_squared_error(Y[TRAIN], model.predict(X[TRAIN])) / 2, rel=1e-9)

    def test_min_samples_leaf_counts_drawn_rows(self):
        for tree in regressor(subsample=0.5, min_samples_leaf=30).model_.trees:
            assert tree.count[tree.feature < 0].min() >= 30

    @pytest.mark.parametrize("sampling", ["goss", "bayesian"])
    def test_a_share_has_no_meaning_for_some(self, sampling):
        with pytest.raises(ValueError, match=rf"subsample=0\.5 cannot be combined with sampling='{sampling}'"):
            regressor(sampling=sampling, subsample=0.5)

    def test_shares_of_goss(self):
        with pytest.raises(ValueError, match=r"goss_top=0\.7 and goss_other=0\.5 must add up to at most 1"):
            regressor(sampling="goss", goss_top=0.7, goss_other=0.5)


class TestDart:
    def test_old_trees_shrink(self):
        plain, dart = regressor(max_iter=20), regressor(max_iter=20, boosting="dart", skip_drop=0.0, drop_rate=0.5)
        np.testing.assert_array_equal(dart.model_.trees[0].feature, plain.model_.trees[0].feature)
        ratio = (
            dart.model_.trees[0].leaves.value[dart.model_.trees[0].feature < 0]
            / plain.model_.trees[0].leaves.value[plain.model_.trees[0].feature < 0]
        )
        assert ratio.max() < 0.9
        np.testing.assert_allclose(ratio, ratio[0])

    def test_nothing_dropped_is_plain_boosting(self):
        assert regressor(boosting="dart", drop_rate=0.0).model_.to_bytes() == FREE.model_.to_bytes()
        assert regressor(boosting="dart", skip_drop=1.0).model_.to_bytes() == FREE.model_.to_bytes()

    def test_early_stopping_keeps_the_weights_of_the_best_round(self):
        parameters = {"boosting": "dart", "skip_drop": 0.2, "drop_rate": 0.3, "learning_rate": 0.5, "early_stopping": True}
        model = BoostingRegressor(max_iter=80, n_iter_no_change=15, validation_fraction=0.3, random_state=1, **parameters).fit(X, Y)
        assert model.best_iteration_ < model.n_iter_
        best = model.validation_score_[model.best_iteration_]
        assert best == model.validation_score_.max()
        stopped = BoostingRegressor(
            max_iter=model.best_iteration_, n_iter_no_change=999, validation_fraction=0.3, random_state=1, **parameters
        )
        np.testing.assert_array_equal(stopped.fit(X, Y).predict(X), model.predict(X))

    def test_classes(self):
        three = np.digitize(Y, [-0.5, 0.5])
        model = BoostingClassifier(max_iter=30, boosting="dart").fit(X[TRAIN], three[TRAIN])
        assert model.score(X[TEST], three[TEST]) > 0.7  # the most frequent class has 0.4


class TestForest:
    def test_is_the_mean_of_its_trees(self):
        model = regressor(boosting="forest", subsample=0.5, max_features=0.5, max_iter=20)
        assert all(tree.n_leaves > 10 for tree in model.model_.trees)
        single = np.array(list(model.staged_predict(X[TEST])))
        steps = np.diff(np.vstack([np.full(1_000, Y[TRAIN].mean()), single]), axis=0) * 20
        assert np.corrcoef(steps)[np.triu_indices(20, 1)].min() > 0.2  # alike: none corrects another
        np.testing.assert_allclose(Y[TRAIN].mean() + steps.mean(axis=0), model.predict(X[TEST]))

    def test_better_than_one_tree(self):
        forest, one = (regressor(boosting="forest", subsample=0.5, max_leaf_nodes=100, min_samples_leaf=5, max_iter=n) for n in (60, 1))
        assert error(forest) < 0.8 * error(one)

    def test_the_same_tree_again_and_again_is_refused(self):
        with pytest.raises(ValueError, match="boosting='forest' would grow the same tree in every round"):
            regressor(boosting="forest")

    @pytest.mark.parametrize("parameters", [{"early_stopping": True}, {"warm_start": True}])
    def test_refused_together(self, parameters):
        with pytest.raises(ValueError, match=r"boosting='forest' cannot be combined with "):
            regressor(boosting="forest", subsample=0.5, **parameters)


class TestBins:
    def n_cuts(self, model):
        return np.diff(model.model_.binning.begin).tolist()

    def test_a_number_for_each_feature(self):
        assert self.n_cuts(regressor(max_bins=[2, 3, 4, 5, 255])) == [1, 2, 3, 4, 254]
        frame = pd.DataFrame(X[TRAIN], columns=list("abcde"))
        assert self.n_cuts(BoostingRegressor(max_iter=1, max_bins={"b": 7}).fit(frame, Y[TRAIN])) == [254, 6, 254, 254, 254]

    def test_given_cut_points(self):
        model = regressor(cut_points={0: [0.5, -0.5], 1: []})
        assert self.n_cuts(model)[:2] == [2, 0]
        used = {t for tree in model.model_.trees for t, f in zip(tree.threshold, tree.feature, strict=True) if f == 0}
        assert used <= {-0.5, 0.5}
        assert all((tree.threshold[tree.feature == 1] == np.inf).all() for tree in model.model_.trees)  # missing or not

    @pytest.mark.parametrize("bin_sample_rows", [200_000, None])
    def test_few_rows_in_a_bin(self, bin_sample_rows):
        cuts = regressor(min_rows_in_bin=100, bin_sample_rows=bin_sample_rows).model_.binning.cuts_of(0)
        known = X[TRAIN, 0][~np.isnan(X[TRAIN, 0])]
        assert np.bincount(np.searchsorted(cuts, known)).min() >= 100
        assert len(cuts) > 10

    def test_rows_that_decide_on_cut_points(self):
        assert regressor(bin_sample_rows=300).model_.to_bytes() != FREE.model_.to_bytes()

    def test_all_rows_by_a_sketch(self):
        model = regressor(bin_sample_rows=None)
        assert error(model) < 1.2 * error(FREE)
        assert max(self.n_cuts(model)) <= 254
        few = BoostingRegressor(max_iter=3, bin_sample_rows=None).fit(X.round(0), Y)
        assert few.model_.to_bytes() == BoostingRegressor(max_iter=3).fit(X.round(0), Y).model_.to_bytes()

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"max_bins": [2, 3]}, "max_bins has 2 numbers, but X has 5 features"),
            ({"max_bins": {0: 1}}, "max_bins must be from 2 to 65535; got 1 for the feature 0"),
            ({"cut_points": {9: [1.0]}}, "cut_points selects the feature 9"),
            ({"cut_points": {0: [np.nan]}}, "cut_points of the feature 0 must be at most 254 finite numbers"),
            ({"feature_weights": [1.0]}, r"feature_weights has shape \(1,\), but X has 5 features"),
            ({"feature_weights": {0: -1}}, "feature_weights must be finite and non-negative; got -1"),
        ],
    )
    def test_errors(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            regressor(**parameters)


class TestMethods:
    """tree_method: the same splits where the candidates are the same."""

    ROUNDED = X.round(1)

    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"grow_policy": "depthwise", "l2_regularization": 3.0},
            {"subsample": 0.5},
            {"sampling": "goss"},
            {"boosting": "dart", "skip_drop": 0.0},
            {"monotonic_cst": [1, 0, 0, 0, -1], "path_smooth": 2.0},
            {"interaction_cst": "pairwise", "max_features": 0.6},
            {"early_stopping": True, "max_leaf_nodes": None},
            {"forced_splits": {"feature": 2, "threshold": 0.25}},
        ],
        ids=lambda parameters: ",".join(parameters),
    )
    @pytest.mark.parametrize("kind", ["squared_error", "absolute_error", "log_loss"])
    def test_exact_equals_enough_bins(self, kind, parameters):
        Estimator = BoostingClassifier if kind == "log_loss" else BoostingRegressor
        y = CLASSES if kind == "log_loss" else Y
        models = [Estimator(kind, max_iter=8, tree_method=method, **parameters).fit(self.ROUNDED, y).model_ for method in ("hist", "exact")]
        names = ["feature", "left", "right", "missing_left", "count", "gain"]
        names += [] if "forced_splits" in parameters else ["threshold"]  # a forced one is kept to the letter only where it is a cut
        for hist, exact in zip(*(model.trees for model in models), strict=True):
            for name in names:
                np.testing.assert_array_equal(getattr(exact, name), getattr(hist, name), err_msg=name)
            np.testing.assert_array_equal(exact.leaves.value, hist.leaves.value)

    def test_exact_equals_many_bins(self):
        exact, many = regressor(tree_method="exact"), regressor(max_bins=65_535)
        np.testing.assert_array_equal(exact.predict(X), many.predict(X))
        assert many.model_.to_bytes() != regressor().model_.to_bytes()

    def test_as_many_quantiles_as_rows_are_exact(self):
        exact = regressor(tree_method="exact", min_samples_leaf=2)
        for proposal in ("global", "local"):
            approx = regressor(tree_method="approx", approx_proposal=proposal, max_bins=65_535, min_samples_leaf=2)
            np.testing.assert_array_equal(approx.predict(X), exact.predict(X))

    @pytest.mark.parametrize("proposal", ["global", "local"])
    def test_approx(self, proposal):
        few = regressor(tree_method="approx", approx_proposal=proposal, max_bins=8)
        assert error(few) < 2 * error(FREE)
        n_thresholds = [len(np.unique(tree.threshold[tree.feature == 0])) for tree in few.model_.trees]
        assert (max(n_thresholds) <= 8) or proposal == "local"
        assert error(regressor(tree_method="approx", approx_proposal=proposal)) < 1.25 * error(FREE)

    def test_a_model_has_only_the_cut_points_it_uses(self):
        model = regressor(tree_method="exact").model_
        assert len(model.binning.cuts) < 2_000
        for tree in model.trees:
            inner = tree.feature >= 0
            np.testing.assert_array_equal(model.binning.thresholds(tree.feature[inner], tree.bin[inner]), tree.threshold[inner])

    def test_warm_start(self):
        once = regressor(tree_method="exact", max_iter=20)
        twice = BoostingRegressor(tree_method="exact", max_iter=10, warm_start=True).fit(X[TRAIN], Y[TRAIN])
        twice.set_params(max_iter=20).fit(X[TRAIN], Y[TRAIN])
        np.testing.assert_array_equal(twice.predict(X), once.predict(X))

    @pytest.mark.parametrize("way", [{"tree_method": "exact"}, {"tree_method": "approx"}, {"max_bins": 1_000}], ids=str)
    @pytest.mark.parametrize("other", [{"grow_policy": "symmetric"}, {"extra_trees": True}], ids=str)
    def test_what_cannot_be_combined(self, way, other):
        (name,) = other
        with pytest.raises(ValueError, match=rf"{name}=.* cannot be combined with .*; use tree_method='hist'"):
            regressor(**way, **other)

    def test_auto_is_hist(self):
        assert regressor(tree_method="auto").model_.to_bytes() == FREE.model_.to_bytes()

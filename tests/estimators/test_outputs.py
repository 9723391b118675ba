"""Several outputs: trees that they share, and a tree for each."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import BoostingClassifier, BoostingRegressor, Model
from sapwood.data.columns import Schema
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.encoding.encoding import Encoding
from sapwood.estimators.tasks import Classification
from sapwood.losses import REGRESSION
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.losses.multi_quantile import MultiQuantileLoss
from sapwood.params.column_plan import ColumnPlan
from sapwood.params.columns import Features
from sapwood.params.plan import TreePlan, make_strategy
from sapwood.params.presets import Shape, resolve_parameters
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.training.boosting import BoostingDataset, TrainingPlan, train
from sapwood.training.multi_output import SharedTrees
from sapwood.training.warm_start import WarmStart
from tests.paging import cut

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5)).round(1)
X[RNG.random(X.shape) < 0.05] = np.nan
CLEAN = np.nan_to_num(X)
Y = np.column_stack([CLEAN[:, 0] + CLEAN[:, 1], 100 * CLEAN[:, 0] - 50 * CLEAN[:, 2], np.exp(CLEAN[:, 3] / 2)])
Y += RNG.normal(size=Y.shape) * [0.2, 10, 0.1]
CLASSES = np.digitize(CLEAN[:, 0] + CLEAN[:, 1] + RNG.normal(size=600) / 2, [-1.2, -0.3, 0.3, 1.2])
SHARED = {"multi_strategy": "multi_output_tree"}


def classifier(**parameters):
    return BoostingClassifier(**{"max_iter": 12, "max_leaf_nodes": 8, "early_stopping": False, **parameters})


def regressor(**parameters):
    return BoostingRegressor(**{"max_iter": 12, "max_leaf_nodes": 8, "early_stopping": False, **parameters})


def masked(share=0.3):
    y = Y.copy()
    y[np.random.default_rng(1).random(y.shape) < share] = np.nan
    return y


class TestSharedTrees:
    @pytest.mark.parametrize("n_trees", [1, 3])
    def test_a_round_is_a_few_trees_with_a_value_for_each_class(self, n_trees):
        model = classifier(**SHARED, shared_trees=n_trees).fit(X, CLASSES).model_
        assert (model.shared, model.n_rounds, len(model.trees)) == (n_trees, 12, 12 * n_trees)
        for tree in model.trees:
            assert tree.leaves.value.shape == (len(tree.feature), 5)
            assert not tree.leaves.value[tree.feature >= 0].any()

    def test_leaf_values_are_newton_steps_of_each_class(self):
        """The first tree: gradients at the base score, by hand."""
        model = classifier(**SHARED, max_iter=1, learning_rate=0.3, l2_regularization=2.0).fit(X, CLASSES).model_
        p = np.exp(model.base_score) / np.exp(model.base_score).sum()
        reached = np.empty((600, 1), dtype=np.int32)
        model.scorer().leaves(X, 0, 1, reached, 1)
        tree = model.trees[0]
        assert len(np.unique(reached)) == tree.n_leaves > 4
        for leaf in np.unique(reached):
            own = CLASSES[reached[:, 0] == leaf]
            gradient = np.array([len(own) * p[k] - (own == k).sum() for k in range(5)])
            step = np.clip(-gradient / (len(own) * p * (1 - p) + 2.0), -4, 4)
            np.testing.assert_allclose(tree.leaves.value[leaf], 0.3 * step, rtol=1e-6)

    def test_leaf_values_are_means_of_the_targets_that_are_there(self):
        y = masked()
        model = regressor(**SHARED, max_iter=1, learning_rate=0.5).fit(X, y).model_
        np.testing.assert_allclose(model.base_score, np.nanmean(y, axis=0), rtol=1e-12)
        reached = np.empty((600, 1), dtype=np.int32)
        model.scorer().leaves(X, 0, 1, reached, 1)
        for leaf in np.unique(reached):
            step = np.nanmean(y[reached[:, 0] == leaf] - model.base_score, axis=0)
            np.testing.assert_allclose(model.trees[0].leaves.value[leaf], 0.5 * step, rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize("fit", [lambda: classifier(**SHARED).fit(X, CLASSES), lambda: regressor(**SHARED).fit(X, masked())])
    def test_files_and_pickles(self, fit):
        model = fit().model_
        for again in (Model.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model))):
            assert again.to_bytes() == model.to_bytes()
            assert again.shared == model.shared == 1
            np.testing.assert_array_equal(again.predict_raw(ArrayTable(X), SERIAL), model.predict_raw(ArrayTable(X), SERIAL))
            np.testing.assert_array_equal(again.importances(), model.importances())

    def test_training_keeps_the_predictions_that_the_model_makes(self):
        """What trees add during training, by leaf, by page and by the scorer: the same bits."""
        fitted = classifier(**SHARED, shared_trees=2).fit(X, CLASSES)
        pages = cut(Pages.build(ArrayTable(X), fitted.model_.binning, SERIAL), 3)
        expected = fitted.model_.predict_raw(ArrayTable(X), SERIAL)
        np.testing.assert_array_equal(fitted.model_.predict_binned(pages, Execution(2)).T, expected)
        np.testing.assert_array_equal(list(fitted.staged_decision_function(X))[-1], expected)

    @pytest.mark.parametrize(
        "parameters",
        [
            {"boosting": "dart"},
            {"boosting": "forest", "subsample": 0.5},
            {"sampling": "goss"},
            {"sampling": "mvs", "subsample": 0.5},
            {"sampling": "bayesian"},
            {"grow_policy": "symmetric", "max_depth": 3},
            {"grow_policy": "depthwise"},
            {"tree_method": "exact"},
            {"l1_regularization": 1.0, "max_step": 0.5},
            {"extra_trees": True, "max_features": 0.5},
            {"forced_splits": {"feature": 0, "threshold": 0.0}},
        ],
        ids=lambda p: "-".join(map(str, p.values())),
    )
    def test_ways_to_grow(self, parameters):
        fitted = classifier(**SHARED, **parameters).fit(X, CLASSES)
        assert fitted.model_.shared == 1
        assert fitted.score(X, CLASSES) > 0.45 > np.bincount(CLASSES).max() / 600 + 0.1
        several = regressor(**SHARED, max_iter=30, **parameters).fit(X, Y)
        assert several.score(X, Y) > 0.3

    def test_dart_predicts_what_training_kept(self):
        dart = {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0}
        fitted = classifier(**SHARED, **dart, early_stopping=True, scoring="loss", validation_fraction=None).fit(X, CLASSES)
        p = fitted.predict_proba(X)[np.arange(600), CLASSES]
        assert -np.log(p).mean() == pytest.approx(-max(fitted.train_score_), rel=1e-9)

    def test_warm_start_equals_one_fit(self):
        whole = classifier(**SHARED, max_iter=8).fit(X, CLASSES)
        half = classifier(**SHARED, max_iter=4, warm_start=True).fit(X, CLASSES)
        assert half.set_params(max_iter=8).fit(X, CLASSES).model_.to_bytes() == whole.model_.to_bytes()
        with pytest.raises(ValueError, match="1 shared tree"):
            half.set_params(max_iter=9, multi_strategy="one_output_per_tree").fit(X, CLASSES)
        several = regressor(warm_start=True).fit(X, Y)
        with pytest.raises(ValueError, match="3 output"):
            several.fit(X, Y[:, :2])

    def test_early_stopping_counts_rounds(self):
        fitted = classifier(**SHARED, shared_trees=2, max_iter=200, early_stopping=True, learning_rate=0.5, n_iter_no_change=3)
        fitted.fit(X, CLASSES)
        assert fitted.best_iteration_ < fitted.n_iter_ < 200
        assert len(fitted.model_.trees) == 2 * fitted.n_iter_
        assert len(list(fitted.staged_predict(X))) == fitted.best_iteration_

    def test_what_does_not_go_together(self):
        with pytest.raises(ValueError, match="path_smooth=3"):
            classifier(path_smooth=3).fit(X, CLASSES)
        classifier(path_smooth=3, multi_strategy="one_output_per_tree").fit(X, CLASSES)
        with pytest.raises(ValueError, match="shared_trees=2"):
            classifier(boosting="forest", subsample=0.5, shared_trees=2).fit(X, CLASSES)
        with pytest.raises(ValueError, match="monotonic_cst"):
            regressor(monotonic_cst={0: 1}).fit(X, Y)


@pytest.mark.parametrize(
    "multi_strategy, n_rows, n_classes, shared",
    [
        ("auto", 9_999, 7, 1),
        ("auto", 10_000, 3, 2),
        ("auto", 10_000, 4, 3),
        ("auto", 10_000, 26, 3),
        ("one_output_per_tree", 10_000, 26, 0),
    ],
)
def test_how_many_trees_classes_share(multi_strategy, n_rows, n_classes, shared):
    estimator = BoostingClassifier(multi_strategy=multi_strategy)
    task = Classification(estimator._values())
    loss = task.loss(task.read_targets(np.repeat(np.arange(n_classes), 2), 2 * n_classes, WarmStart(), SERIAL)[0])
    assert make_strategy(estimator._values(), loss, n_rows, WarmStart()).shared == shared


def test_two_classes_share_nothing():
    assert classifier(**SHARED).fit(X, CLASSES > 1).model_.shared == 0


class TestSeveralTargets:
    def test_a_tree_for_each_equals_a_model_for_each(self):
        together = regressor().fit(X, Y)
        assert together.model_.shared == 0
        assert together.predict(X).shape == (600, 3)
        for k in range(3):
            alone = regressor().fit(X, Y[:, k])
            # The keys of trees differ, but nothing is random here.
            np.testing.assert_array_equal(together.predict(X)[:, k], alone.predict(X))

    @pytest.mark.parametrize("loss", [name for name in REGRESSION if name in ("squared_error", "absolute_error", "poisson", "gamma")])
    def test_missing_targets_are_as_good_as_absent(self, loss):
        """A tree for each output: the same splits and values as on the rows that have the target."""
        y = np.abs(masked()) + 0.1
        together = regressor(loss=loss).fit(X, y)
        for k in range(3):
            there = ~np.isnan(y[:, k])
            alone = regressor(loss=loss, cut_points={f: together.model_.binning.cuts_of(f) for f in range(5)}).fit(X[there], y[there, k])
            np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), rtol=1e-4)

    def test_rows_without_any_target_are_as_good_as_absent(self):
        y = Y.copy()
        y[::5] = np.nan
        there = ~np.isnan(y[:, 0])
        for strategy in ("multi_output_tree", "one_output_per_tree"):
            fitted = regressor(multi_strategy=strategy).fit(X, y)
            assert fitted.model_.to_bytes() == regressor(multi_strategy=strategy).fit(X[there], y[there]).model_.to_bytes()

    @pytest.mark.parametrize("strategy", ["multi_output_tree", "one_output_per_tree"])
    def test_units_do_not_matter(self, strategy):
        """Powers of two: the same trees to the last bit."""
        units = np.array([1.0, 2.0**20, 2.0**-20])
        fitted, scaled = (regressor(multi_strategy=strategy).fit(X, y).predict(X) for y in (Y, Y * units))
        np.testing.assert_array_equal(scaled, fitted * units)

    @pytest.mark.parametrize("loss", [name for name, loss in REGRESSION.items() if not loss.survival])
    @pytest.mark.parametrize("strategy", ["multi_output_tree", "one_output_per_tree"])
    def test_training_loss_falls_for_every_loss(self, loss, strategy):
        y = np.clip(np.abs(masked()) / 100, 0.01, 0.99)
        fitted = regressor(loss=loss, multi_strategy=strategy, early_stopping=True, validation_fraction=None).fit(X, y)
        assert fitted.train_score_[-1] > fitted.train_score_[0]
        assert fitted.predict(X).shape == (600, 3)
        assert np.isfinite(fitted.predict(X)).all()

    def test_validation_with_missing_targets(self):
        y = masked()
        fitted = regressor(**SHARED, early_stopping=True, max_iter=60).fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
        assert len(fitted.validation_score_) == fitted.n_iter_ + 1
        raw, there = fitted.predict(X[400:]), ~np.isnan(y[400:])
        squares = [((raw[there[:, k], k] - y[400:][there[:, k], k]) ** 2).mean() / 2 for k in range(3)]
        assert -max(fitted.validation_score_) == pytest.approx(np.mean(squares), rel=1e-9)

    def test_a_scorer_of_scikit_learn(self):
        fitted = regressor(**SHARED, early_stopping=True, scoring="neg_root_mean_squared_error").fit(X, Y)
        assert len(fitted.validation_score_) == fitted.n_iter_ + 1

    @pytest.mark.parametrize(
        "y, match",
        [
            (np.where(Y > 200, np.inf, Y), "infinity.*row .*column 1"),
            (np.full((600, 2), np.nan), "all targets in y are missing"),
            (np.column_stack([Y[:, 0], np.full(600, np.nan)]), "no target in column 1"),
            (Y[:-1], "inconsistent numbers of samples"),
            (Y[:, :, None], "must be numeric|dim"),
            (np.empty((600, 0)), "0 feature|y"),
        ],
        ids=["infinity", "nothing", "an empty column", "too short", "three axes", "no columns"],
    )
    def test_bad_targets(self, y, match):
        with pytest.raises(ValueError, match=match):
            regressor().fit(X, y)

    def test_bad_validation_targets(self):
        with pytest.raises(ValueError, match=r"y_val has 2 column\(s\), but y has 3"):
            regressor(early_stopping=True).fit(X, Y, X_val=X, y_val=Y[:, :2])
        with pytest.raises(ValueError, match=r"y_val has 1 column\(s\), but y has 3"):
            regressor(early_stopping=True).fit(X, Y, X_val=X, y_val=Y[:, 0])


@pytest.mark.parametrize("n_threads, n_pages", [(1, 4), (2, 1), (3, 7)])
@pytest.mark.parametrize("missing", [False, True])
def test_threads_and_pages_leave_no_trace(n_threads, n_pages, missing):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40_000, 4)).astype(np.float32)  # enough rows for narrow sums
    y = np.column_stack([x[:, 0] * x[:, 1], np.sin(x[:, 2]) + x[:, 0]]) + rng.normal(size=(40_000, 2))
    if missing:
        y[rng.random(y.shape) < 0.2] = np.nan

    def fit(n_threads, n_pages):
        estimator = BoostingRegressor(max_leaf_nodes=15, n_jobs=n_threads)
        parameters, _ = resolve_parameters(estimator._values(), Shape(40_000, 4, "regression"), continues=False)
        loss = MultiOutputLoss([REGRESSION["squared_error"]() for _ in range(2)])
        binning = BoostingRegressor(max_iter=1, max_leaf_nodes=2, early_stopping=False, n_jobs=1).fit(x, x[:, 0]).model_.binning
        rows = BoostingDataset(cut(Pages.build(ArrayTable(x), binning, Execution(n_threads)), n_pages), y, None)
        trees = TreePlan.resolve(parameters, ColumnPlan.resolve(parameters, Features(4, None)), loss, len(x))
        config = trees.config(Schema(4), Encoding(4), rows, Execution(n_threads))
        plan = TrainingPlan(loss, config, n_rounds=4, strategy=SharedTrees(2))
        return train(rows, {}, plan.first_model(rows), plan, Execution(n_threads)).to_bytes()

    assert fit(n_threads, n_pages) == fit(1, 1)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_leave_no_trace_with_classes(n_jobs):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40_000, 4)).astype(np.float32)
    y = np.digitize(x[:, 0] * x[:, 1] + rng.normal(size=40_000), [-1, 0, 1])
    fits = [classifier(max_iter=3, n_jobs=n).fit(x, y).model_ for n in (1, n_jobs)]
    assert fits[0].shared == 3
    assert fits[0].to_bytes() == fits[1].to_bytes()


class TestSeveralQuantiles:
    LEVELS = (0.1, 0.5, 0.9)

    def fit(self, **parameters):
        rng = np.random.default_rng(5)
        x = rng.uniform(-2, 2, size=(3_000, 2))
        y = x[:, 0] + rng.normal(size=3_000) * np.exp(x[:, 1])
        return BoostingRegressor("quantile", quantile=list(self.LEVELS), **{"max_iter": 60, **parameters}).fit(x, y), x, y

    @pytest.mark.parametrize("strategy", ["auto", "one_output_per_tree"])
    def test_shares_below_are_the_levels(self, strategy):
        fitted, x, y = self.fit(multi_strategy=strategy)
        assert fitted.model_.shared == (1 if strategy == "auto" else 0)
        q = fitted.predict(x)
        assert q.shape == (3_000, 3)
        assert (y[:, None] < q).mean(axis=0) == pytest.approx(self.LEVELS, abs=0.03)
        width = q[:, 2] - q[:, 0]
        assert width[x[:, 1] > 1].mean() > 4 * width[x[:, 1] < -1].mean()
        assert 0.2 < fitted.score(x, y) < 1

    def test_early_stopping_watches_what_is_predicted(self):
        fitted, x, y = self.fit(early_stopping=True, validation_fraction=None, max_iter=5)
        d = y[:, None] - fitted.predict(x)
        assert -fitted.train_score_[-1] == pytest.approx(np.maximum(d * self.LEVELS, d * (np.array(self.LEVELS) - 1)).mean(), rel=1e-9)

    @settings(max_examples=25)
    @given(
        seed=st.integers(0, 2**32 - 1),
        levels=st.lists(st.integers(0, 100), min_size=2, max_size=5, unique=True),
        learning_rate=st.floats(0.05, 3.0),
        strategy=st.sampled_from(["multi_output_tree", "one_output_per_tree"]),
    )
    def test_quantiles_never_cross(self, seed, levels, learning_rate, strategy):
        """On rows that were never seen, far outside, and with steps much too long."""
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(60, 3)), rng.standard_cauchy(60)
        quantile = [level / 100 for level in sorted(levels)]
        ways = {"min_samples_leaf": 1, "max_iter": 8, "early_stopping": False, "learning_rate": learning_rate}
        fitted = BoostingRegressor("quantile", quantile=quantile, multi_strategy=strategy, **ways).fit(x, y)
        new = rng.standard_cauchy((200, 3)) * 10
        new[rng.random(new.shape) < 0.1] = np.nan
        for q in (fitted.predict(new), *fitted.staged_predict(new[:20])):
            assert (np.diff(q, axis=1) >= 0).all()

    def test_sorting_never_makes_the_loss_larger(self):
        rng = np.random.default_rng(6)
        y, raw = rng.normal(size=500), rng.normal(size=(3, 500))
        loss = MultiQuantileLoss(self.LEVELS)
        apart = np.mean([one.mean(y, raw[k : k + 1], None, SERIAL) for k, one in enumerate(loss.losses)])
        assert loss.mean(y, raw, None, SERIAL) < apart
        ordered = np.sort(raw, axis=0)
        assert loss.mean(y, ordered, None, SERIAL) == loss.mean(y, raw, None, SERIAL)

    def test_files(self):
        fitted, x, _ = self.fit(max_iter=5)
        again = Model.from_bytes(fitted.model_.to_bytes())
        assert again.link == "sorted"
        np.testing.assert_array_equal(again.apply_link(again.predict_raw(ArrayTable(x), SERIAL), SERIAL), fitted.predict(x))

    @pytest.mark.parametrize("quantile", [[0.5, 0.1], [0.5], [], [0.1, 1.1], [0.1, 0.1], [[0.1, 0.9]], ["a", "b"], [0.1, np.nan]])
    def test_bad_levels(self, quantile):
        with pytest.raises(ValueError, match="quantile must be a number from 0 to 1, or an ascending list of at least two"):
            BoostingRegressor("quantile", quantile=quantile).fit(X, Y[:, 0])

    def test_what_does_not_go_together(self):
        with pytest.raises(ValueError, match="several quantiles need loss='quantile'"):
            BoostingRegressor("squared_error", quantile=[0.1, 0.9]).fit(X, Y[:, 0])
        with pytest.raises(ValueError, match="1d array"):
            BoostingRegressor("quantile", quantile=[0.1, 0.9]).fit(X, Y)

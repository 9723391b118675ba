"""Cross-validated early stopping: the result is the average of one model per fold."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.callbacks import EarlyStopping
from sapwood.sampling.folds import fold_of_units
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(0)
X = rng.integers(0, 40, size=(300, 4)).astype(float)  # few distinct values: bins do not depend on the selection of rows
Y = np.sin(X[:, 0] / 6) + 0.02 * X[:, 1] + 0.3 * rng.normal(size=300)
CLASSES = np.digitize(Y, [0.0, 0.8])
SETTINGS = {"max_iter": 60, "n_iter_no_change": 5, "min_samples_leaf": 5, "max_leaf_nodes": 6}


def test_average_of_the_models_of_the_folds():
    model = BoostingRegressor(validation_folds=3, random_state=4, **SETTINGS).fit(X, Y)
    seed = int(np.random.RandomState(4).randint(np.iinfo(np.uint32).max, dtype=np.uint64))
    fold = fold_of_units(300, 3, None, seed)
    by_hand = [
        BoostingRegressor(early_stopping=True, **SETTINGS).fit(X[fold != k], Y[fold != k], X_val=X[fold == k], y_val=Y[fold == k])
        for k in range(3)
    ]
    assert_allclose(model.predict(X), np.mean([one.predict(X) for one in by_hand], axis=0), rtol=1e-12)
    assert model.n_iter_ == sum(one.best_iteration_ for one in by_hand)
    n_rounds = min(len(one.validation_score_) for one in by_hand)
    assert_allclose(model.validation_score_, np.mean([one.validation_score_[:n_rounds] for one in by_hand], axis=0))


def test_models_of_folds_are_replayed_on_all_rows():
    settings = SETTINGS | {"validation_folds": 3, "random_state": 4}
    folds, again = BoostingRegressor(**settings).fit(X, Y), BoostingRegressor(refit_all=True, **settings).fit(X, Y)
    assert again.n_iter_ == pytest.approx(1.5 * folds.n_iter_, abs=3)  # rounds in proportion to the rows
    assert np.mean((again.predict(X) - Y) ** 2) < np.mean((folds.predict(X) - Y) ** 2)


def test_classes_are_stratified():
    fold = fold_of_units(300, 5, CLASSES, 0)
    for k in range(3):
        counts = np.bincount(fold[k == CLASSES], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(fold, minlength=5)) <= 1


def test_groups_are_in_one_fold():
    groups = rng.integers(0, 30, size=300)
    fold = fold_of_units(300, 4, None, 1, groups=groups)
    assert all(len(set(fold[groups == g])) == 1 for g in range(30))
    BoostingRegressor(validation_folds=4, **SETTINGS).fit(X, Y, groups=groups)


@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_threads_and_partitions_give_the_same_bytes(estimator):
    y = Y if estimator is BoostingRegressor else CLASSES
    settings = SETTINGS | {"validation_folds": 3, "subsample": 0.7, "random_state": 0}
    assert_same_bytes(partial(estimator, **settings), X, y)


def test_queries_stay_whole():
    ranker = BoostingRanker(validation_folds=3, **SETTINGS).fit(X, np.clip(CLASSES, 0, 2), group=[10] * 30)
    assert np.isfinite(ranker.predict(X)).all()


@pytest.mark.parametrize(
    ("parameters", "arguments", "name"),
    [
        ({"early_stopping": False}, {}, "early_stopping=False"),
        ({"boosting": "dart"}, {}, "boosting='dart'"),
        ({"tree_method": "exact"}, {}, "tree_method='exact'"),
        ({"warm_start": True}, {}, "warm_start"),
        ({"n_models": 2}, {}, "n_models=2"),
        ({"validation_split": 3}, {}, "validation_split"),
        ({}, {"X_val": X, "y_val": Y}, "X_val"),
        ({}, {"eval_sets": {"a": (X, Y)}}, "eval_sets"),
        ({}, {"callbacks": [EarlyStopping(3)]}, "callbacks"),
    ],
)
def test_refused_combinations(parameters, arguments, name):
    with pytest.raises(ValueError, match=f"validation_folds=3 cannot be combined with {name}"):
        BoostingRegressor(validation_folds=3, **parameters).fit(X, Y, **arguments)


def test_more_folds_than_rows():
    with pytest.raises(ValueError, match=r"validation_folds=5 leaves fold \d without rows: 3 rows"):
        BoostingRegressor(validation_folds=5).fit(X[:3], Y[:3])

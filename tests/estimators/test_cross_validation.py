"""Cross-validated training curves."""

import numpy as np
import pandas
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, cv

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=300)
LABELS = np.where(Y > 0.5, "a", "b")
SMALL = {"max_iter": 8, "max_leaf_nodes": 5, "learning_rate": 0.3}


def test_curves_are_those_of_each_fold():
    folds = KFold(3, shuffle=True, random_state=0)
    curves = cv(BoostingRegressor(**SMALL), X, Y, cv=folds, metrics=["mae", "rmse"], train=True)
    assert len(curves) == 1 + 2 * 2 * (2 + 3)
    np.testing.assert_array_equal(curves["round"], np.arange(1, 9))
    for i, (train, test) in enumerate(folds.split(X)):
        fitted = BoostingRegressor(**SMALL).fit(X[train], Y[train])
        stages = [mean_absolute_error(Y[test], stage) for stage in fitted.staged_predict(X[test])]
        np.testing.assert_allclose(curves[f"test_mae_fold{i}"], stages, rtol=1e-9)
        last = root_mean_squared_error(Y[train], fitted.predict(X[train]))
        assert curves[f"train_rmse_fold{i}"][-1] == pytest.approx(last)
    each = np.array([curves[f"test_mae_fold{i}"] for i in range(3)])
    np.testing.assert_array_equal(curves["test_mae_mean"], each.mean(axis=0))
    np.testing.assert_array_equal(curves["test_mae_std"], each.std(axis=0))


def test_stops_on_the_mean_and_ends_with_the_best_round():
    parameters = {**SMALL, "max_iter": 60, "learning_rate": 0.5}
    whole = cv(BoostingRegressor(**parameters), X, Y, cv=3, metrics=["r2", "mae"])
    stopped = cv(BoostingRegressor(**parameters), X, Y, cv=3, metrics=["r2", "mae"], patience=5)
    best = len(stopped["round"])
    assert 1 < best < 55
    assert stopped["test_r2_mean"].argmax() == best - 1
    for name, values in stopped.items():
        np.testing.assert_array_equal(values, whole[name][:best])


def test_lower_is_better_for_a_loss():
    stopped = cv(BoostingClassifier(**{**SMALL, "max_iter": 60}), X, LABELS, cv=3, patience=3)
    assert stopped["test_loss_mean"].argmin() == len(stopped["round"]) - 1


def test_folds_of_classes_are_stratified():
    given, default = (cv(BoostingClassifier(**SMALL), X, LABELS, cv=folds, metrics="auc") for folds in (StratifiedKFold(4), 4))
    np.testing.assert_array_equal(given["test_roc_auc_mean"], default["test_roc_auc_mean"])


@pytest.mark.parametrize("patience", [None, 4])
def test_queries_stay_whole(patience):
    qid, y = np.repeat(np.arange(60), 5), np.digitize(Y, [0, 1])
    curves = cv(BoostingRanker(**SMALL), X, y, qid=qid, cv=3, metrics="ndcg@3", patience=patience)
    assert (curves["test_ndcg@3_mean"] > 0.6).all()
    by_groups = cv(BoostingRanker(**SMALL), X, y, qid=qid, cv=GroupKFold(3), metrics="ndcg@3", patience=patience)
    np.testing.assert_array_equal(curves["test_ndcg@3_mean"], by_groups["test_ndcg@3_mean"])


def test_weights():
    weight = rng.uniform(0.5, 2, 300)
    plain, weighted = (cv(BoostingRegressor(**SMALL), X, Y, sample_weight=w, cv=3, metrics="mae") for w in (None, weight))
    assert not np.array_equal(plain["test_mae_mean"], weighted["test_mae_mean"])


def test_as_a_frame():
    frame = cv(BoostingRegressor(**SMALL), pandas.DataFrame(X), Y, cv=3, as_frame=True)
    assert isinstance(frame, pandas.DataFrame)
    assert frame.shape == (8, 6)


@pytest.mark.parametrize("patience", [None, 3])
def test_an_error_of_a_fold_is_raised(patience):
    def broken(y, predicted):
        raise RuntimeError("no such luck")

    with pytest.raises(RuntimeError, match="no such luck"):
        cv(BoostingRegressor(**SMALL), X, Y, cv=3, metrics=broken, patience=patience)


def test_one_fold_that_fails_does_not_leave_the_others_waiting():
    calls = []

    def once(y, predicted):
        calls.append(1)
        if len(calls) == 8:
            raise RuntimeError("no such luck")
        return 0.0

    with pytest.raises(RuntimeError, match="no such luck"):
        cv(BoostingRegressor(**SMALL), X, Y, cv=3, metrics=once, patience=50)


def test_bad_arguments():
    with pytest.raises(TypeError, match="estimator must be a Sapwood estimator; got Ridge"):
        cv(Ridge(), X, Y)
    with pytest.raises(ValueError, match="patience must be >= 1 or None; got 0"):
        cv(BoostingRegressor(), X, Y, patience=0)


def test_the_estimator_is_left_alone():
    estimator = BoostingRegressor(**SMALL)
    cv(estimator, X, Y, cv=2)
    assert not hasattr(estimator, "model_")

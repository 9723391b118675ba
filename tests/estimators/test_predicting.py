"""Ways to ask a trained model: leaves, ranges of rounds, early exit, one row."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

N_ROWS, ROUNDS = 400, 25


def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 5)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X).sum(axis=1) + rng.normal(size=N_ROWS) / 2


def frame():
    X, y = numbers()
    rng = np.random.default_rng(1)
    return pd.DataFrame(X, columns=list("abcde")).assign(f=rng.choice(list("xyz"), N_ROWS)), y


def sparse_matrix():
    X, y = numbers()
    return sparse.csr_array(np.where(np.random.default_rng(2).random(X.shape) < 0.6, 0, X)), y


def two(y):
    return y > 0


def three(y):
    return np.digitize(y, [-1, 1])


CASES = {
    "regressor": (BoostingRegressor(), numbers, lambda y: y),
    "frame": (BoostingRegressor(), frame, lambda y: y),
    "sparse": (BoostingRegressor(), sparse_matrix, lambda y: y),
    "outputs": (BoostingRegressor(multi_strategy="multi_output_tree"), numbers, lambda y: np.column_stack([y, -y])),
    "two classes": (BoostingClassifier(), numbers, two),
    "three classes": (BoostingClassifier(multi_strategy="one_output_per_tree"), numbers, three),
    "shared": (BoostingClassifier(multi_strategy="multi_output_tree"), numbers, three),
    "deep": (BoostingRegressor(max_leaf_nodes=None, min_samples_leaf=1), numbers, lambda y: y),
    "symmetric": (BoostingRegressor(grow_policy="symmetric", max_depth=4), numbers, lambda y: y),
}


@pytest.fixture(scope="module", params=list(CASES))
def case(request):
    estimator, make, target = CASES[request.param]
    X, y = make()
    return estimator.set_params(max_iter=ROUNDS, early_stopping=False).fit(X, target(y)), X


def raw_of(fitted, X, **more):
    raw = fitted._raw_predict(X, **more)
    assert raw.shape == (N_ROWS, fitted.model_.n_outputs)
    return raw


def row(X, i):
    return X.iloc[i : i + 1] if isinstance(X, pd.DataFrame) else X[i : i + 1]


def test_leaves_add_up_to_the_prediction(case):
    fitted, X = case
    model, leaves = fitted.model_, fitted.apply(X)
    assert leaves.dtype == np.int32
    k = model.trees_per_round
    assert leaves.shape == ((N_ROWS, ROUNDS) if k == 1 else (N_ROWS, ROUNDS, k))
    raw = np.tile(model.base_score, (N_ROWS, 1))
    for t, (tree, own) in enumerate(zip(model.trees, leaves.reshape(N_ROWS, -1).T, strict=True)):
        assert (tree.feature[own] == -1).all()
        raw[:, model.outputs_of(t)] += tree.leaves.value[own].reshape(N_ROWS, -1)
    np.testing.assert_array_equal(raw, raw_of(fitted, X))
    np.testing.assert_array_equal(fitted.apply(X, rounds=(3, 8)), leaves[:, 3:8])
    np.testing.assert_array_equal(model.apply(X), leaves)


def test_ranges_of_rounds(case):
    fitted, X = case
    base = fitted.model_.base_score
    parts = [raw_of(fitted, X, rounds=rounds) - base for rounds in (7, (7, 7), (7, 19), (19, ROUNDS))]
    np.testing.assert_allclose(base + sum(parts), raw_of(fitted, X), rtol=1e-12, atol=1e-12)
    assert not parts[1].any()
    *_, stage = (stage for _, stage in zip(range(7), fitted._staged_raw(X), strict=False))
    np.testing.assert_array_equal(raw_of(fitted, X, rounds=7), stage)
    np.testing.assert_array_equal(fitted.predict(X, rounds=ROUNDS), fitted.predict(X))


def test_a_model_predicts_by_itself(case):
    fitted, X = case
    linked, raw = fitted.model_.predict(X), fitted.model_.predict(X, raw=True)
    np.testing.assert_array_equal(raw, np.squeeze(raw_of(fitted, X)))
    if isinstance(fitted, BoostingClassifier):
        expected = fitted.predict_proba(X)
        np.testing.assert_array_equal(linked, expected[:, 1] if linked.ndim == 1 else expected)
    else:
        np.testing.assert_array_equal(linked, fitted.predict(X))
    np.testing.assert_array_equal(fitted.model_.predict(X, raw=True, rounds=(2, 9)), np.squeeze(raw_of(fitted, X, rounds=(2, 9))))


def test_a_row_alone_is_predicted_as_among_others(case):
    fitted, X = case
    together = fitted.predict(X)
    for i in range(20):
        np.testing.assert_array_equal(fitted.predict(row(X, i)), together[i : i + 1])
        np.testing.assert_array_equal(fitted.model_.predict(row(X, i)), fitted.model_.predict(X)[i : i + 1])


@pytest.mark.parametrize("name", ["two classes", "three classes", "shared"])
@pytest.mark.parametrize("margin", [0.5, 2.0])
def test_early_exit_stops_each_row_where_its_class_is_sure(name, margin):
    estimator, make, target = CASES[name]
    X, y = make()
    fitted = estimator.set_params(max_iter=ROUNDS, early_stopping=False).fit(X, target(y))
    expected = raw_of(fitted, X)
    for rounds in (20, 10):  # from the last look to the first
        there = raw_of(fitted, X, rounds=rounds)
        top = np.sort(there, axis=1)
        sure = (np.abs(there[:, 0]) if there.shape[1] == 1 else top[:, -1] - top[:, -2]) >= margin
        expected[sure] = there[sure]
    found = raw_of(fitted, X, early_exit=margin)
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, raw_of(fitted, X))
    np.testing.assert_array_equal(raw_of(fitted, X, early_exit=1e9), raw_of(fitted, X))
    alone = np.concatenate([fitted.predict_proba(X[i : i + 1], early_exit=margin) for i in range(20)])
    np.testing.assert_array_equal(alone, fitted.predict_proba(X, early_exit=margin)[:20])


def test_early_exit_of_labels_waits_for_all_of_them():
    X, y = numbers()
    fitted = BoostingClassifier(max_iter=ROUNDS).fit(X, np.column_stack([y > 0, y > 1]).astype(int))
    after_10, found = raw_of(fitted, X, rounds=10), raw_of(fitted, X, early_exit=0.5)
    sure = (np.abs(after_10) >= 0.5).all(axis=1)
    assert 0 < sure.sum() < N_ROWS
    np.testing.assert_array_equal(found[sure], after_10[sure])
    assert (found[~sure] != after_10[~sure]).any(axis=1).all()


@pytest.mark.parametrize("margin", [0, -1.0, "much", np.nan])
def test_a_margin_must_be_above_zero(margin):
    X, y = numbers()
    fitted = BoostingClassifier(max_iter=2).fit(X, y > 0)
    with pytest.raises(ValueError, match="early_exit must be a number > 0"):
        fitted.predict(X, early_exit=margin)
    with pytest.raises(ValueError, match="early_exit cannot be combined with offset"):
        fitted.predict(X, early_exit=1.0, offset=np.zeros(N_ROWS))


@pytest.mark.parametrize("rounds", [-1, 4, (2, 1), (0, 4), (-1, 2)])
def test_rounds_out_of_range(rounds):
    X, y = numbers()
    fitted = BoostingRegressor(max_iter=3).fit(X, y)
    for call in (fitted.predict, fitted.apply, fitted.model_.predict):
        with pytest.raises(ValueError, match="the model has 3 rounds"):
            call(X, rounds=rounds)


@pytest.mark.parametrize("rounds", ["all", (1,), 1.5, (0, 1, 2), True])
def test_rounds_that_are_none(rounds):
    X, y = numbers()
    with pytest.raises(ValueError, match="rounds must be a number of rounds"):
        BoostingRegressor(max_iter=3).fit(X, y).predict(X, rounds=rounds)


def test_a_ranker_takes_rounds_too():
    X, y = numbers()
    fitted = BoostingRanker(max_iter=4).fit(X, np.digitize(y, [0, 1]), group=[100] * 4)
    stages = list(fitted.staged_predict(X))
    np.testing.assert_array_equal(fitted.predict(X, rounds=2), stages[1])


def test_what_the_fit_called_missing_is_missing_for_the_model():
    X, y = numbers()
    marked = np.where(np.isnan(X), -999, X)
    fitted = BoostingRegressor(max_iter=5, missing=-999).fit(marked, y)
    expected = BoostingRegressor(max_iter=5).fit(X, y).predict(X)
    fitted.set_params(missing=None)  # a parameter of the next fit
    for predict in (fitted.predict, fitted.model_.predict, type(fitted.model_).from_bytes(fitted.model_.to_bytes()).predict):
        np.testing.assert_array_equal(predict(marked), expected)


@pytest.mark.parametrize(
    "X",
    [np.zeros((3, 4)), np.zeros(5), np.zeros((0, 5)), [[1, 2]], pd.DataFrame(np.zeros((2, 4)))],
    ids=["columns", "1-D", "no rows", "list", "frame"],
)
def test_a_model_refuses_other_tables(X):
    fitted = BoostingRegressor(max_iter=3).fit(*numbers())
    for predict in (fitted.predict, fitted.model_.predict):
        with pytest.raises(ValueError):
            predict(X)

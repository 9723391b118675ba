"""New leaf values for old trees, and models by rounds."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from tests.estimators.test_warm_start import CASES, FRAME, WORDS, N, X, Y, classifier, regressor

ROWS = (slice(0, 150), slice(150, N))


def parts(case):
    """The halves of a case's rows."""
    estimator, x, y, more = CASES[case]
    take = (lambda rows: x.iloc[rows]) if hasattr(x, "iloc") else (lambda rows: x[rows])
    return estimator, [(take(rows), y[rows], {name: values[rows] for name, values in more.items()}) for rows in ROWS]


@pytest.mark.parametrize("case", CASES)
def test_with_all_of_the_old_values_nothing_changes(case):
    estimator, ((x, y, more), (new_x, new_y, new_more)) = parts(case)
    fitted = clone(estimator).fit(x, y, **more)
    before = fitted.model_.to_bytes()
    assert fitted.refit(new_x, new_y, decay=1, **new_more).model_.to_bytes() == before


# Where values come from rows that were drawn, or categories from statistics in order, the same rows say something else.
SAME = [case for case in CASES if case not in ("goss", "categories", "categories and classes")]


@pytest.mark.parametrize("case", [*SAME, "bayesian", "smooth", "l1", "symmetric, small", "forest", "monotonic", "ordered"])
def test_the_same_rows_say_the_same_again(case):
    more_cases = {
        "bayesian": (regressor(sampling="bayesian"), X, Y, {}),
        "smooth": (regressor(path_smooth=5.0), X, Y, {}),
        "l1": (regressor(l1_regularization=2.0, l2_regularization=1.0), X, Y, {}),
        "symmetric, small": (regressor(grow_policy="symmetric", max_depth=5, max_leaf_nodes=32, min_samples_leaf=10), X, Y, {}),
        "forest": (regressor(boosting="forest", max_features=0.5), X, Y, {}),
        "monotonic": (regressor(monotonic_cst=[1, 0, -1, 0]), X, Y, {}),
        "ordered": (regressor(boosting="ordered"), X, Y, {}),
    }
    estimator, x, y, more = {**CASES, **more_cases}[case]
    fitted = clone(estimator).fit(x, y, **more)
    again = copy.copy(fitted).refit(x, y, decay=0, **more)
    assert again.model_.to_bytes() == fitted.model_.to_bytes()


@pytest.mark.parametrize("case", CASES)
def test_new_rows_say_something_new(case):
    estimator, ((x, y, more), (new_x, new_y, new_more)) = parts(case)
    fitted = clone(estimator).fit(x, y, **more)
    old = fitted.model_
    fitted.refit(new_x, new_y, decay=0.5, **new_more)
    new = fitted.model_
    assert new.n_rounds == old.n_rounds
    for one, other in zip(old.trees, new.trees, strict=True):
        for name in ("feature", "threshold", "left", "right", "missing_left", "gain", "count", "sets"):
            assert_array_equal(getattr(one, name), getattr(other, name))
    assert any(not np.array_equal(one.leaves.value, other.leaves.value) for one, other in zip(old.trees, new.trees, strict=True))
    twin = clone(estimator).set_params(n_jobs=2).fit(x, y, **more).refit(new_x, new_y, decay=0.5, **new_more)
    assert twin.model_.to_bytes() == new.to_bytes()


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.9])
def test_values_are_blended(decay):
    """One stump of squared error: its leaves are means."""
    fitted = regressor(max_iter=1, max_leaf_nodes=2, learning_rate=1.0).fit(X[ROWS[0]], Y[ROWS[0]])
    tree, before = fitted.model_.trees[0], fitted.predict(X)
    x, y = X[ROWS[1]], Y[ROWS[1]]
    fitted.refit(x, y, decay=decay)
    old_base, new_base = Y[ROWS[0]].mean(), Y[ROWS[1]].mean()
    base = decay * old_base + (1 - decay) * new_base
    assert_allclose(fitted.model_.base_score, base)
    predicted = fitted.predict(X)
    for value in np.unique(before):
        rows = (before == value)[ROWS[1]]
        assert_allclose(predicted[before == value], base + decay * (value - old_base) + (1 - decay) * (y[rows].mean() - base))
    assert tree.leaves.value is not fitted.model_.trees[0].leaves.value


def test_a_shift_is_learnt():
    fitted = regressor(max_iter=40).fit(X, Y)
    shifted = 3 * Y + 10
    refitted = [copy.copy(fitted).refit(X[ROWS[0]], shifted[ROWS[0]], decay=decay) for decay in (1, 0.5, 0)]
    errors = [np.mean((one.predict(X[ROWS[1]]) - shifted[ROWS[1]]) ** 2) for one in refitted]
    assert errors[0] > errors[1] > errors[2]


def test_leaves_without_rows_keep_their_values():
    fitted = regressor(max_iter=1).fit(X, Y)
    old = fitted.model_.trees[0]
    fitted.refit(X[:1], Y[:1], decay=0)
    new = fitted.model_.trees[0]
    assert np.count_nonzero(old.leaves.value != new.leaves.value) <= 1


@pytest.mark.parametrize("decay", [0, 0.4])
@pytest.mark.parametrize("method", ["basic", "neighbours"])
def test_monotonic_stays_monotonic(decay, method):
    """Rows that say the opposite."""
    x = np.nan_to_num(X)
    fitted = regressor(monotonic_cst=[1, 0, 0, 0], max_iter=20, monotonic_method=method).fit(x, Y).refit(x, -3 * Y, decay=decay)
    grid = np.repeat(x[:40, None], 30, axis=1)
    grid[:, :, 0] = np.linspace(-3, 3, 30)
    predicted = fitted.predict(grid.reshape(-1, 4)).reshape(40, 30)
    assert (np.diff(predicted, axis=1) >= 0).all()


def test_rounds_that_early_stopping_found_too_many_are_left_out():
    fitted = regressor(max_iter=60, early_stopping=True, learning_rate=0.5, n_iter_no_change=3).fit(X, Y)
    best = fitted.best_iteration_
    assert best < fitted.n_iter_
    assert fitted.refit(X, Y).n_iter_ == best


def test_an_init_stays():
    x = np.nan_to_num(X)
    fitted = regressor(init=LinearRegression()).fit(x, Y)
    init = fitted.init_
    assert fitted.refit(x, Y + 1).init_ is init


@pytest.mark.parametrize("decay", [-0.1, 1.1, True, "0.5", np.nan])
def test_bad_decay(decay):
    with pytest.raises(ValueError, match="decay must be a number from 0 to 1; got"):
        regressor(max_iter=2).fit(X, Y).refit(X, Y, decay=decay)


def test_what_differs_is_named():
    fitted = classifier(max_iter=2).fit(X, WORDS)
    before = fitted.model_.to_bytes()
    with pytest.raises(ValueError, match=r"refit continues a model with classes \['high', 'low', 'middle'\], but y has \['odd'"):
        fitted.refit(X, np.where(WORDS == "low", "odd", "other"))
    with pytest.raises(ValueError, match="X has 2 features, but BoostingClassifier is expecting 4"):
        fitted.refit(X[:, :2], WORDS)
    assert fitted.model_.to_bytes() == before
    with pytest.raises(ValueError, match="boosting='dart' cannot be combined with refit"):
        regressor(boosting="dart").fit(X, Y).refit(X, Y)


# Slices


@pytest.mark.parametrize("case", CASES)
def test_pieces_add_up(case):
    estimator, x, y, more = CASES[case]
    fitted = clone(estimator).fit(x, y, **more)
    raw = [one._raw_predict(x) for one in (fitted, fitted[:4], fitted[4:9], fitted[9:])]
    assert_allclose(sum(raw[1:]), raw[0], rtol=1e-12, atol=1e-12)
    assert fitted[:].model_.to_bytes() == fitted.model_.to_bytes()
    if estimator.tree_method == "hist" and estimator.max_bins == 255:
        assert fitted[:5].model_.to_bytes() == clone(estimator).set_params(max_iter=5).fit(x, y, **more).model_.to_bytes()


class TestSlices:
    fitted = regressor(max_iter=25, early_stopping=True, learning_rate=0.5, n_iter_no_change=3, init=regressor(max_iter=2)).fit(X, Y)

    def test_the_best_round_comes_along(self):
        best, n = self.fitted.best_iteration_, self.fitted.n_iter_
        assert best < n
        assert self.fitted[:best].best_iteration_ == best
        assert self.fitted[: best - 1].best_iteration_ == best - 1
        assert self.fitted[:n].best_iteration_ == best
        assert self.fitted[2:n].best_iteration_ == best - 2
        assert self.fitted[best + 1 :].best_iteration_ == 0

    def test_scores_come_along(self):
        part = self.fitted[2:4]
        assert_array_equal(part.validation_score_, self.fitted.validation_score_[2:5])
        assert part.evals_result_["validation"]["loss"] == self.fitted.evals_result_["validation"]["loss"][2:4]

    def test_init_belongs_to_the_first_round(self):
        assert self.fitted[1:].init_ is None
        best = self.fitted.best_iteration_
        assert_allclose(self.fitted[:1].predict(X) + self.fitted[1:best].predict(X), self.fitted.predict(X), rtol=1e-12)

    def test_counted_as_lists_are(self):
        model = self.fitted.model_
        assert [model[a:b].n_rounds for a, b in ((None, 3), (-2, None), (0, 1000), (3, 2))] == [3, 2, model.n_rounds, 0]
        assert_array_equal(model[:0].predict(X), np.full(N, model.base_score[0]))

    @pytest.mark.parametrize("wrong", [3, slice(0, 4, 2), "a"])
    def test_what_is_no_slice(self, wrong):
        with pytest.raises(TypeError, match="a model must be sliced by a contiguous range of rounds"):
            self.fitted.model_[wrong]
        with pytest.raises(TypeError, match="a model must be sliced by a contiguous range of rounds"):
            self.fitted[wrong]

    def test_the_whole_is_left_as_it_was(self):
        before = self.fitted.model_.to_bytes()
        self.fitted[:3].partial_fit(X, Y)
        assert self.fitted.model_.to_bytes() == before


def test_a_slice_can_be_trained_on():
    whole = regressor().fit(FRAME, Y)
    assert regressor(max_iter=7).fit(FRAME, Y, init_model=whole[:5]).model_.to_bytes() == whole.model_.to_bytes()

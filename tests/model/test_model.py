import copy
import pickle

import numpy as np
import pytest

from sapwood import BoostingClassifier, BoostingRegressor, Model
from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.tables import ArrayTable
from sapwood.losses import REGRESSION
from sapwood.model.model import IMPORTANCES
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.tree import Tree
from tests.paging import cut

KINDS = [*REGRESSION, "multinomial_log_loss"]


def table(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 4)).round(1)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    """An estimator and its training rows, for each loss."""
    x = table()
    y = np.nan_to_num(x).sum(axis=1) + np.random.default_rng(1).normal(size=len(x))
    if request.param in REGRESSION and request.param != "log_loss":
        return BoostingRegressor(loss=request.param, max_iter=6).fit(x, np.exp(y)), x
    return BoostingClassifier(max_iter=6).fit(x, np.digitize(y, [0.0] if request.param == "log_loss" else [-1.0, 1.0])), x


def assert_same(a, b, x):
    """Two models: the same bytes, the same predictions to the last bit."""
    assert a.to_bytes() == b.to_bytes()
    np.testing.assert_array_equal(a.predict_raw(ArrayTable(x), SERIAL), b.predict_raw(ArrayTable(x), SERIAL))
    for kind in IMPORTANCES:
        np.testing.assert_array_equal(a.importances(kind), b.importances(kind))


def test_bytes_and_back(fitted):
    estimator, x = fitted
    model = estimator.model_
    again = Model.from_bytes(model.to_bytes())
    assert_same(model, again, x)
    assert (again.loss, again.link, again.best_round, again.n_rounds) == (model.loss, model.link, None, 6)
    np.testing.assert_array_equal(again.base_score, model.base_score)
    np.testing.assert_array_equal(again.binning.cuts, model.binning.cuts)
    np.testing.assert_array_equal(again.binning.begin, model.binning.begin)
    for tree, other in zip(model.trees, again.trees, strict=True):
        arrays = [(getattr(tree, name), getattr(other, name)) for name in Tree.names()]
        for own, array in [*arrays, (tree.leaves.value, other.leaves.value)]:
            np.testing.assert_array_equal(own, array)
            assert own.dtype == array.dtype


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_are_the_same(fitted, copied):
    estimator, x = fitted
    assert_same(copied(estimator.model_), estimator.model_, x)
    np.testing.assert_array_equal(copied(estimator).predict(x), estimator.predict(x))


def test_a_model_from_bytes_can_be_trained_on(fitted):
    estimator, x = fitted
    y = {"multinomial_log_loss": np.arange(len(x)) % 3, "log_loss": np.arange(len(x)) % 2}.get(
        estimator.model_.loss, np.arange(1.0, len(x) + 1)
    )
    longer = [copy.copy(estimator).set_params(warm_start=True, max_iter=8) for _ in range(2)]
    longer[1].model_ = Model.from_bytes(estimator.model_.to_bytes())
    first, second = (one.fit(x, y).model_ for one in longer)
    assert first.n_rounds == 8
    assert_same(first, second, x)


def test_bins_lead_to_the_same_leaves(fitted):
    estimator, x = fitted
    model = estimator.model_
    for rows in (x, table(70, seed=9)):
        pages = Pages.build(ArrayTable(rows), model.binning, SERIAL)
        np.testing.assert_array_equal(model.predict_binned(pages, SERIAL).T, model.predict_raw(ArrayTable(rows), SERIAL))
        np.testing.assert_array_equal(
            model.predict_binned(cut(pages, 3), Execution(2)).T, model.predict_raw(ArrayTable(rows), Execution(2))
        )


def test_staged(fitted):
    estimator, x = fitted
    model, rows = estimator.model_, ArrayTable(x)
    stages = list(model.staged_raw(rows, SERIAL))
    assert len(stages) == 6
    for n_rounds, stage in enumerate(stages, 1):
        np.testing.assert_array_equal(stage, model.predict_raw(rows, SERIAL, n_rounds))
    assert not np.array_equal(stages[0], stages[1])
    np.testing.assert_array_equal(model.predict_raw(rows, SERIAL, 0), np.tile(model.base_score, (len(x), 1)))


def test_prediction_uses_the_best_round(fitted):
    estimator, x = fitted
    model = Model.from_bytes(estimator.model_.to_bytes())
    model.best_round = 2
    assert model.n_rounds_used == 2
    np.testing.assert_array_equal(model.predict_raw(ArrayTable(x), SERIAL), estimator.model_.predict_raw(ArrayTable(x), SERIAL, 2))
    assert len(list(model.staged_raw(ArrayTable(x), SERIAL))) == 2
    again = Model.from_bytes(model.to_bytes())
    assert again.best_round == 2
    assert_same(model, again, x)


def hand_made(best_round=None):
    """Two rounds: a stump on feature 2, and a tree that splits on feature 0, then 2."""

    def tree(feature, left, right, gain, count, value):
        n = len(feature)
        ints = {"feature": feature, "left": left, "right": right, "bin": [0] * n}
        arrays = {name: np.array(array, dtype=np.int32) for name, array in ints.items()}
        return Tree(
            threshold=np.zeros(n),
            missing_left=np.zeros(n, dtype=np.uint8),
            gain=np.array(gain, dtype=float),
            count=np.array(count, dtype=np.int64),
            leaves=ConstantLeaves(np.array(value, dtype=float)),
            **arrays,
        )

    trees = [
        tree([2, -1, -1], [1, -1, -1], [2, -1, -1], [8, 0, 0], [10, 4, 6], [0, 1, 2]),
        tree([0, -1, 2, -1, -1], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [5, 0, 3, 0, 0], [10, 3, 7, 2, 5], [0, 10, 0, 20, 30]),
    ]
    model = Model(Binning([np.zeros(1)] * 3), np.array([100.0]), "squared_error", "identity", trees)
    model.best_round = best_round
    return model


@pytest.mark.parametrize(
    "best_round, kind, expected",
    [
        (None, "gain", [5, 0, 11]),
        (None, "split", [1, 0, 2]),
        (None, "cover", [10, 0, 17]),
        (1, "gain", [0, 0, 8]),
        (1, "split", [0, 0, 1]),
        (0, "gain", [0, 0, 0]),
    ],
)
def test_importances_by_hand(best_round, kind, expected):
    np.testing.assert_array_equal(hand_made(best_round).importances(kind), expected)


def test_predictions_by_hand():
    x = np.array([[-1, 0, -1], [-1, 0, 1], [1, 0, -1], [1, 0, 1], [0, 0, 0], [np.nan, 0, np.nan]], dtype=float)
    np.testing.assert_array_equal(hand_made().predict_raw(ArrayTable(x), SERIAL)[:, 0], [111, 112, 121, 132, 111, 132])


def test_unknown_importances():
    with pytest.raises(ValueError, match=r"kind='weight'.*gain, split, cover"):
        hand_made().importances("weight")


def test_a_model_without_trees():
    model = Model(Binning([np.zeros(1)]), np.array([1.0, 2.0]), "squared_error", "identity")
    again = Model.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.predict_raw(ArrayTable(np.zeros((3, 1))), SERIAL), [[1.0, 2.0]] * 3)
    assert again.n_rounds == 0


def test_the_same_model_gives_the_same_bytes():
    assert hand_made().to_bytes() == hand_made().to_bytes()
    assert hand_made().to_bytes() != hand_made(1).to_bytes()


@pytest.mark.parametrize("parameters", [{"tree_method": "exact"}, {"max_bins": 1_000}], ids=["exact", "many bins"])
def test_more_cuts_than_a_byte_can_count(parameters):
    x = np.random.default_rng(2).normal(size=(2_000, 2))
    model = BoostingRegressor(max_iter=60, min_samples_leaf=1, **parameters).fit(x, np.sin(9 * x[:, 0]) + x[:, 1]).model_
    assert np.diff(model.binning.begin).max() > 255
    assert_same(Model.from_bytes(model.to_bytes()), model, x)


def test_trees_of_a_model_from_bytes_are_its_own():
    x = table()
    model = BoostingRegressor(max_iter=3).fit(x, np.nan_to_num(x[:, 0])).model_
    again = Model.from_bytes(model.to_bytes())
    before = again.predict_raw(ArrayTable(x), SERIAL)
    assert again.n_trees == len(again.trees) == 3
    again.trees[0].leaves = again.trees[0].leaves.scaled(0.0)
    again.trees = again.trees[:2]
    again.changed()
    assert again.n_rounds == 2
    assert not np.array_equal(again.predict_raw(ArrayTable(x), SERIAL), before)
    np.testing.assert_array_equal(
        Model.from_bytes(again.to_bytes()).predict_raw(ArrayTable(x), SERIAL), again.predict_raw(ArrayTable(x), SERIAL)
    )

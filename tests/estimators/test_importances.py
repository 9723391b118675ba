import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.inspection import permutation_importance

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 4))
    return x, 3 * x[:, 1] + x[:, 2]


def test_permutation(table):
    x, y = table
    model = BoostingRegressor(max_iter=20).fit(x, y)
    found = model.importances("permutation", x, y, n_repeats=3)
    np.testing.assert_array_equal(found, permutation_importance(model, x, y, n_repeats=3, random_state=0).importances_mean)
    assert found.argmax() == 1
    by_frame = BoostingRegressor(max_iter=20).fit(pd.DataFrame(x, columns=list("abcd")), y)
    np.testing.assert_array_equal(by_frame.importances("permutation", pd.DataFrame(x, columns=list("abcd")), y, n_repeats=3), found)


def test_permutation_of_a_ranker_needs_a_score(table):
    x, y = table
    y = np.digitize(y, [0, 1])
    model = BoostingRanker(max_iter=5).fit(x, y, group=[20] * 20)
    with pytest.raises(ValueError, match="kind='permutation' needs scoring for BoostingRanker"):
        model.importances("permutation", x, y)
    found = model.importances("permutation", x, y, scoring=lambda m, x, y: m.score(x, y, group=[20] * 20))
    assert found.argmax() == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shap(table, n_classes):
    x, y = table
    model = BoostingClassifier(max_iter=10).fit(x, np.digitize(y, [0, 1][: n_classes - 1]))
    found = model.importances("shap", x)
    expected = np.abs(model.explain(x).values).mean(axis=0).reshape(4, -1).sum(axis=1)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(model.importances("shap", sparse.csr_array(x)), found)


def test_what_is_missing_has_a_name(table):
    model = BoostingRegressor(max_iter=2).fit(*table)
    with pytest.raises(ValueError, match=r"kind='shap' needs X: importances\('shap', X\)"):
        model.importances("shap")
    with pytest.raises(ValueError, match=r"kind='permutation' needs y: importances\('permutation', X, y\)"):
        model.importances("permutation", table[0])
    with pytest.raises(ValueError, match="kind='none' is unknown; choose from gain, split, cover, permutation, shap"):
        model.importances("none")

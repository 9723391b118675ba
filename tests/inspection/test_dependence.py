import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import PartialDependenceDisplay, permutation_importance
from sklearn.inspection import partial_dependence as their_dependence

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data.reading import read_table
from sapwood.inspection import partial_dependence
from sapwood.inspection.recursion import expected_raw

SMALL = {"max_iter": 12, "max_leaf_nodes": 8}


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return BoostingRegressor(**SMALL).fit(X, y), X, y


def walk(tree, node, point):
    """The expected value below a node, by the definition: point is a dict of feature -> value."""
    f = tree.feature[node]
    if f < 0:
        return tree.value[node]
    left, right = tree.left[node], tree.right[node]
    if f in point:
        goes_left = tree.missing_left[node] if np.isnan(point[f]) else point[f] <= tree.threshold[node]
        return walk(tree, left if goes_left else right, point)
    share = tree.count[left] / tree.count[node]
    return share * walk(tree, left, point) + (1 - share) * walk(tree, right, point)


@pytest.mark.parametrize("features", [[2], [8, 2], [0, 3, 5]])
def test_recursion_is_the_expectation_down_the_trees(diabetes, features):
    model = diabetes[0].model_
    points = np.random.default_rng(0).choice(diabetes[1].ravel(), size=(6, len(features)))
    points[0, 0] = np.nan
    raw = expected_raw(model, points, np.array(features))
    for got, point in zip(raw[0], points, strict=True):
        wanted = model.base_score[0] + sum(walk(tree, 0, dict(zip(features, point, strict=True))) for tree in model.trees)
        assert np.isclose(got, wanted, rtol=1e-12)


def test_recursion_on_all_features_is_prediction(diabetes):
    estimator, X, _ = diabetes
    assert np.allclose(expected_raw(estimator.model_, X, np.arange(10))[0], estimator.predict(X), rtol=1e-12)


def test_recursion_is_brute_where_features_do_not_depend_on_each_other():
    axis = np.linspace(0, 1, 12)
    X = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    estimator = BoostingRegressor(max_depth=1, max_iter=40, min_samples_leaf=1).fit(X, y)
    for feature in (0, (1, 2)):
        quick, slow = (partial_dependence(estimator, X, feature, method=method).average for method in ("recursion", "brute"))
        assert np.allclose(quick, slow, atol=1e-9)
        assert quick.shape[1:] == (12,) * (1 if feature == 0 else 2)


@pytest.mark.parametrize("method", ["recursion", "brute"])
def test_scikit_learn_takes_our_estimators(diabetes, method):
    estimator, X, _ = diabetes
    same = {"method": method, "grid_resolution": 15, "percentiles": (0, 1)}
    ours = partial_dependence(estimator, X, 2, **same)
    theirs = their_dependence(estimator, X, [2], kind="average", **same)
    assert np.allclose(ours.average, theirs["average"])
    assert np.allclose(ours.values[0], theirs["grid_values"][0])
    X3, y3 = load_iris(return_X_y=True)
    classifier = BoostingClassifier(**SMALL).fit(X3, y3)
    raw = their_dependence(classifier, X3, [2], response_method="decision_function", kind="average", **same)
    assert np.allclose(partial_dependence(classifier, X3, 2, raw=True, **same).average, raw["average"])


def test_scikit_learn_is_told_when_raw_predictions_are_not_means(diabetes):
    _, X, y = diabetes
    estimator = BoostingRegressor(loss="poisson", **SMALL).fit(X, y)
    with pytest.warns(UserWarning, match="averages raw predictions, before the link 'log'; use method='brute'"):
        their_dependence(estimator, X, [2], kind="average")
    assert np.allclose(
        their_dependence(estimator, X, [2], kind="average", method="brute", percentiles=(0, 1), grid_resolution=9)["average"],
        partial_dependence(estimator, X, 2, percentiles=(0, 1), grid_resolution=9).average,
    )


def test_scikit_learns_pictures_and_permutation_importance(diabetes):
    estimator, X, y = diabetes
    display = PartialDependenceDisplay.from_estimator(estimator, X, [2, (2, 8)], grid_resolution=5)
    assert len(display.axes_.ravel()) == 2
    PartialDependenceDisplay.from_estimator(estimator, X[:20], [2], kind="both", grid_resolution=5)
    permuted = permutation_importance(estimator, X, y, n_repeats=2, random_state=0)
    assert permuted.importances_mean.argmax() in (2, 8)


def test_individual_curves_average_to_the_average(diabetes):
    estimator, X, _ = diabetes
    found = partial_dependence(estimator, X[:50], (2, 8), kind="both", grid_resolution=4)
    assert found.individual.shape == (1, 50, 4, 4)
    assert np.allclose(found.individual.mean(axis=1), found.average)
    point = X[:50].copy()
    point[:, [2, 8]] = found.values[0][1], found.values[1][3]
    assert np.allclose(found.individual[0, :, 1, 3], estimator.predict(point))
    assert partial_dependence(estimator, X[:50], 2, kind="individual").average is None


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_have_probabilities(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    classifier = BoostingClassifier(**SMALL).fit(X, y)
    found = partial_dependence(classifier, X, 2, grid_resolution=5)
    assert not found.raw
    assert found.average.shape == (1 if n_classes == 2 else 3, 5)
    if n_classes == 3:
        assert np.allclose(found.average.sum(axis=0), 1)


def test_frames_dates_and_few_values():
    generator = np.random.default_rng(0)
    n = 200
    days = np.datetime64("2024-01-01") + generator.integers(0, 300, size=n).astype("timedelta64[D]")
    frame = pd.DataFrame({"when": days.astype("datetime64[us]"), "few": generator.integers(0, 3, size=n), "x": generator.normal(size=n)})
    frame.loc[::7, "x"] = np.nan
    y = frame["few"] * 2 + (days > np.datetime64("2024-06-01"))
    estimator = BoostingRegressor(**SMALL).fit(frame, y)
    found = partial_dependence(estimator, frame, "few")
    assert found.values[0].tolist() == [0, 1, 2]
    assert found.features == ["few"]
    assert (np.diff(found.average[0]) > 0.5).all()
    when = partial_dependence(estimator, pl.from_pandas(frame).select("x", "few", "when"), "when", grid_resolution=10)
    assert when.values[0].dtype.kind == "M"
    assert when.average[0, -1] > when.average[0, 0] + 0.3
    assert np.isfinite(partial_dependence(estimator, frame, "x", method="brute").average).all()


def test_sparse_tables_too():
    X = sparse.random_array((200, 5), density=0.3, rng=np.random.default_rng(0), format="csr")
    estimator = BoostingRegressor(**SMALL).fit(X, X.toarray()[:, 1] * 3)
    for method in ("recursion", "brute"):
        of_sparse, of_dense = (partial_dependence(estimator, some, 1, method=method).average for some in (X, X.toarray()))
        assert np.array_equal(of_sparse, of_dense)


def categories(n=400):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"a": generator.integers(0, 5, size=n), "b": generator.integers(0, 4, size=n), "x": generator.normal(size=n)})
    y = np.array([3.0, -1, 2, 0, 5])[frame["a"]] + (frame["b"] == 2) * (frame["a"] > 2) + frame["x"]
    frame["a"] = pd.Categorical(np.array(list("vwxyz"))[frame["a"]])
    frame["b"] = pd.Categorical(np.array(list("pqrs"))[frame["b"]])
    return frame, y


@pytest.mark.parametrize("encoding", ["auto", "partition", "onehot", "target"])
def test_categories_too(encoding):
    frame, y = categories()
    estimator = BoostingRegressor(max_iter=30, categorical_encoding=encoding).fit(frame, y)
    quick, slow = (partial_dependence(estimator, frame, "a", method=method) for method in ("recursion", "brute"))
    assert quick.values[0].tolist() == list("vwxyz")
    assert np.allclose(quick.average, slow.average, atol=0.4)
    assert quick.average[0].argsort().tolist() == [1, 3, 2, 0, 4]
    assert np.allclose(expected_of_all(estimator, frame), estimator.predict(frame))


def test_a_combination_of_which_only_one_column_is_known():
    frame, y = categories()
    estimator = BoostingRegressor(max_iter=5, categorical_encoding="target", max_combination=2).fit(frame, y)
    with pytest.raises(ValueError, match="method='recursion' needs all columns of the combination 'a', 'b', or none: use method='brute'"):
        partial_dependence(estimator, frame, "a", method="recursion")
    brute = partial_dependence(estimator, frame, "a", method="brute")
    assert np.array_equal(partial_dependence(estimator, frame, "a").average, brute.average)
    assert partial_dependence(estimator, frame, ("a", "b"), method="recursion").average.shape == (1, 5, 4)
    assert np.allclose(expected_of_all(estimator, frame), estimator.predict(frame))


def expected_of_all(estimator, frame):
    table = read_table(frame, estimator.model_.schema)
    return expected_raw(estimator.model_, np.asarray(table.dense(slice(0, table.n_rows))), np.arange(table.n_features))[0]


def test_rankers_too():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 3))
    ranker = BoostingRanker(max_iter=10).fit(X, (X[:, 0] > 0).astype(int), qid=np.repeat(np.arange(20), 10))
    curve = partial_dependence(ranker, X, 0).average[0]
    assert curve[-1] > curve[0]


def test_errors_name_what_is_wrong(diabetes):
    estimator, X, _ = diabetes
    with pytest.raises(ValueError, match="feature 'bmi' is unknown; choose the name of a column, or a position from 0 to 9"):
        partial_dependence(estimator, X, "bmi")
    with pytest.raises(ValueError, match="method='fast' is unknown; choose from auto, recursion, brute"):
        partial_dependence(estimator, X, 0, method="fast")
    with pytest.raises(ValueError, match="method='recursion' supports only averages of raw predictions"):
        partial_dependence(estimator, X, 0, method="recursion", kind="both")
    with pytest.raises(ValueError, match=r"percentiles must be two increasing numbers between 0 and 1; got \(0.9, 0.1\)"):
        partial_dependence(estimator, X, 0, percentiles=(0.9, 0.1))
    with pytest.raises(ValueError, match="grid_resolution must be at least 2; got 1"):
        partial_dependence(estimator, X, 0, grid_resolution=1)

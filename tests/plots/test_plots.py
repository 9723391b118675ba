"""Pictures say what the model says, in their texts, bars and lines; and texts do not lie on each other."""

import builtins
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.inspection import permutation_importance

from sapwood import BoostingClassifier, BoostingRegressor, plots
from sapwood.inspection import partial_dependence

SMALL = {"max_iter": 10, "max_leaf_nodes": 8}


@pytest.fixture(scope="module")
def table():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def classifier(table):
    X, y = table
    return BoostingClassifier(early_stopping=True, **SMALL).fit(X, y, eval_sets={"all": (X, y)}, eval_metric=["loss", "accuracy"])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def overlaps(ax, some):
    """Pairs of texts whose boxes share more than a sliver."""
    ax.figure.canvas.draw()
    shown = [text for text in some if text.get_text() and text.get_visible()]
    return [(shown[i].get_text(), shown[j].get_text()) for i, j in shared([text.get_window_extent().padded(-0.5) for text in shown])]


def shared(boxes):
    """Pairs of boxes that overlap."""
    x0, y0, x1, y1 = np.array([box.extents for box in boxes]).T[:, :, None]
    return np.argwhere(np.triu((x0 < x1.T) & (x1 > x0.T) & (y0 < y1.T) & (y1 > y0.T), k=1))


@pytest.mark.parametrize("n_leaves", [2, 8, 64])
def test_tree(table, n_leaves):
    X, _ = table
    y = X["mean area"] + np.random.default_rng(0).normal(size=len(X)) * 50
    estimator = BoostingRegressor(max_iter=2, max_leaf_nodes=n_leaves, min_samples_leaf=2).fit(X, y)
    ax = plots.plot_tree(estimator, 1)
    tree, shown = estimator.model_.trees[1], texts(ax)
    assert len(ax.patches) == len(tree.feature)
    for node, f in enumerate(tree.feature):
        text = f"{tree.leaves.value[node]:+.3g}" if f < 0 else f"{X.columns[f]} ≤ "
        assert any(one.startswith(text) for one in shown)
    assert "missing" not in shown
    assert "Tree 1 of 2" in shown
    assert not overlaps(ax, ax.texts)
    boxes = [patch.get_window_extent() for patch in ax.patches]
    assert not len(shared(boxes))
    whole = ax.figure.bbox
    assert all(whole.x0 <= box.x0 and box.x1 <= whole.x1 and whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)


@pytest.mark.parametrize("grow_policy", ["leafwise", "depthwise", "symmetric"])
def test_tree_marks_missing_values_of_features_that_have_some(table, grow_policy):
    X, _ = table
    y = X["mean area"] + X["mean texture"] * 50
    X = X.assign(**{"mean area": X["mean area"].mask(X["mean area"] > 800)})
    estimator = BoostingRegressor(max_iter=20, max_leaf_nodes=8, grow_policy=grow_policy).fit(X, y)
    splits = [tree.feature[tree.feature >= 0] for tree in estimator.model_.trees]
    n_marked = [int((features == X.columns.get_loc("mean area")).sum()) for features in splits]
    assert any(0 < marked < len(features) for marked, features in zip(n_marked, splits, strict=True))
    assert [texts(plots.plot_tree(estimator, t)).count("missing") for t in range(20)] == n_marked


def test_tree_of_a_class_and_of_a_single_leaf():
    X, y = load_iris(return_X_y=True)
    classifier = BoostingClassifier(max_iter=2, multi_strategy="one_output_per_tree").fit(X, np.array(["a", "b", "c"])[y])
    assert "Tree 4 of 6: round 2, class b" in texts(plots.plot_tree(classifier, 4))
    shared = BoostingClassifier(max_iter=2, shared_trees=3).fit(X, y)
    assert "Tree 4 of 6: round 2" in texts(plots.plot_tree(shared, 4))
    stump = BoostingRegressor(max_iter=1).fit(np.zeros((5, 1)), np.arange(5.0))
    assert any("5 rows (100%)" in text for text in texts(plots.plot_tree(stump)))


def test_names_are_shown_as_they_are():
    X = pd.DataFrame({"price in $ of $_2$": np.arange(50.0), "a name that is much too long\nto stand beside a picture": 0.0})
    estimator = BoostingRegressor(max_iter=2).fit(X, np.arange(50))
    ax = plots.plot_importance(estimator)
    assert [label.get_text() for label in ax.get_yticklabels()] == [r"price in \$ of \$_2\$", "a name that is muc…a picture"]
    ax.figure.canvas.draw()
    tree = plots.plot_tree(estimator)
    assert any(text.startswith(r"price in \$ of \$_2\$ ≤ 24.5") for text in texts(tree))
    tree.figure.canvas.draw()


def test_tree_shows_levels_of_categories():
    colours = np.array(["blue", "green", "orange", "pink", "red"])[np.random.default_rng(0).integers(0, 5, size=300)]
    X = pd.DataFrame({"colour": pd.Categorical(colours)})
    estimator = BoostingRegressor(max_iter=1, max_leaf_nodes=2).fit(X, np.isin(colours, ["green", "red"]) * 1.0)
    tree = estimator.model_.trees[0]
    question = next(text for text in texts(plots.plot_tree(estimator)) if text.startswith("colour in "))
    left = {"green, red", "blue, orange, pink"}
    assert question.removeprefix("colour in ") in left
    values = {"green, red": 1, "blue, orange, pink": -1}
    assert np.sign(tree.leaves.value[tree.left[0]]) == values[question.removeprefix("colour in ")]


def test_tree_shows_thresholds_of_dates():
    when = pd.date_range("2024-01-01", periods=100, freq="D")
    estimator = BoostingRegressor(max_iter=1, max_leaf_nodes=2).fit(pd.DataFrame({"when": when}), np.arange(100) > 49)
    assert any(text.startswith("when ≤ 2024-02-19 12:00:00") for text in texts(plots.plot_tree(estimator)))


@pytest.mark.parametrize("kind", ["gain", "split", "cover"])
def test_importance(classifier, table, kind):
    ax = plots.plot_importance(classifier, kind, max_features=7)
    values = classifier.importances(kind)
    widths = [bar.get_width() for bar in ax.patches]
    assert np.allclose(widths, np.sort(values)[::-1][:7] * (1 if kind == "split" else 100 / values.sum()))
    assert ax.get_yticklabels()[0].get_text() == table[0].columns[values.argmax()]
    assert "23 more features not shown" in ax.get_title(loc="left")
    assert not overlaps(ax, ax.texts + ax.get_yticklabels())


def test_permutation_importance(classifier, table):
    X, y = table
    permuted = permutation_importance(classifier, X[:100], y[:100], n_repeats=2, random_state=0)
    ax = plots.plot_importance(classifier, importances=permuted)
    assert np.allclose([bar.get_width() for bar in ax.patches], np.sort(permuted.importances_mean)[::-1][:20])
    with pytest.raises(ValueError, match=r"one number for each of 30 features; got the shape \(3,\)"):
        plots.plot_importance(classifier, importances=[1, 2, 3])


def test_learning_curves(classifier, table):
    ax = plots.plot_learning_curves(classifier)
    assert {line.get_label().split(":")[0] for line in ax.lines if len(line.get_xdata()) > 2} == {"train", "all"}
    assert ax.get_ylabel() == "loss"
    by_accuracy = plots.plot_learning_curves(classifier, "accuracy")
    shown = {line.get_label().split(":")[0]: line.get_ydata() for line in by_accuracy.lines}
    assert (shown["all"] == classifier.evals_result_["all"]["accuracy"]).all()
    with pytest.raises(ValueError, match="metric='auc' is unknown; choose from loss, accuracy"):
        plots.plot_learning_curves(classifier, "auc")
    with pytest.raises(ValueError, match="there are no scores to plot"):
        plots.plot_learning_curves(BoostingClassifier(max_iter=2).fit(*table))


def test_the_best_round_is_marked(table):
    X, y = table
    noisy = (y + (np.random.default_rng(0).random(len(y)) < 0.3)) % 2
    estimator = BoostingClassifier(early_stopping=True, learning_rate=0.5, max_iter=100).fit(X, noisy)
    ax = plots.plot_learning_curves(estimator)
    assert f"best round: {estimator.best_iteration_}" in texts(ax)


def test_dependence(classifier, table):
    X, _ = table
    ax = plots.plot_dependence(classifier, X[:80], "mean area", max_lines=9, grid_resolution=12)
    curves = [line for line in ax.lines if len(line.get_xdata())]
    assert len(curves) == 10
    found = partial_dependence(classifier, X[:80], "mean area", method="brute", grid_resolution=12)
    assert np.allclose(curves[-1].get_ydata(), found.average[0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean area", "probability of class 1")
    raw = plots.plot_dependence(classifier, X[:80], "mean area", max_lines=0, raw=True)
    assert raw.get_ylabel() == "raw prediction"


def test_dependence_of_two_and_of_several_classes(classifier, table):
    X, _ = table
    pair = plots.plot_dependence(classifier, X[:40], ("mean area", "mean texture"), grid_resolution=4)
    assert (pair.get_xlabel(), pair.get_ylabel()) == ("mean area", "mean texture")
    X3, y3 = load_iris(return_X_y=True)
    three = BoostingClassifier(max_iter=3).fit(X3, y3)
    ax = plots.plot_dependence(three, X3, 2)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class 0", "class 1", "class 2"]
    assert plots.plot_dependence(three, X3, 2, output=1).get_ylabel() == "probability of class 1"
    with pytest.raises(ValueError, match="output must be from 0 to 2; got 3"):
        plots.plot_dependence(three, X3, 2, output=3)


def test_dependence_of_a_category():
    colours = np.array(["blue", "green", "red"])[np.arange(90) % 3]
    X = pd.DataFrame({"colour": pd.Categorical(colours), "x": np.random.default_rng(0).normal(size=90)})
    estimator = BoostingRegressor(max_iter=20, min_samples_leaf=5).fit(X, np.arange(90) % 3 + X["x"])
    ax = plots.plot_dependence(estimator, X, "colour")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["blue", "green", "red"]
    assert {line.get_linestyle() for line in ax.lines} == {"None"}  # nothing lies between two levels
    average = next(line for line in ax.lines if line.get_label() == "average")
    assert (np.diff(average.get_ydata()) > 0.5).all()
    pair = plots.plot_dependence(estimator, X, ("x", "colour"), grid_resolution=4)
    assert pair.collections[0].get_array().shape == (3, 4)


def test_calibration(classifier, table):
    X, y = table
    ax = plots.plot_calibration({"this": classifier, "that": classifier}, X, y, n_bins=5)
    x, heights = ax.containers[0].lines[0].get_data()
    proba = classifier.predict_proba(X)[:, 1]
    bins = np.array_split(np.argsort(proba, kind="stable"), 5)
    assert np.allclose(x, [proba[rows].mean() for rows in bins])
    assert np.allclose(heights, [y.to_numpy()[rows].mean() for rows in bins])
    assert len(ax.get_legend().get_texts()) == 2
    X3, y3 = load_iris(return_X_y=True)
    three = plots.plot_calibration(BoostingClassifier(max_iter=5).fit(X3, y3), X3, y3)
    assert three.get_xlabel() == "predicted probability of the most probable class"


def explanation(shape, data=None):
    values = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1).reshape(-1, *[1] * (len(shape) - 2))
    return SimpleNamespace(values=values, data=data, feature_names=[f"f{i}" for i in range(shape[1])])


def test_shap_summary():
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 4)), columns=list("abcd"))
    frame["c"] = pd.Categorical(np.where(frame["c"] > 0, "yes", "no"))
    frame.loc[3, "d"] = np.nan
    given = explanation((60, 4), frame)
    ax = plots.plot_shap_summary(given, max_features=3)
    assert [label.get_text().split()[0] for label in ax.get_yticklabels()] == ["f3", "f2", "f1"]
    assert "1 more features not shown" in ax.get_title(loc="left")
    points = np.concatenate([np.asarray(some.get_offsets()) for some in ax.collections if len(some.get_offsets()) > 1])
    for place, f in enumerate((3, 2, 1)):
        own = points[abs(points[:, 1] - place) < 0.5, 0]
        assert set(np.round(own, 9)) <= set(np.round(given.values[:, f], 9))
    assert not overlaps(ax, ax.get_yticklabels())
    plots.plot_shap_summary(explanation((60, 4)))
    plots.plot_shap_summary(explanation((60, 4), np.zeros((60, 4))))


def test_shap_summary_of_several_outputs():
    given = explanation((60, 4, 3))
    bars = plots.plot_shap_summary(given).patches
    assert len(bars) == 12
    assert np.isclose(bars[0].get_width(), abs(given.values[:, 3, 0]).mean())
    assert not plots.plot_shap_summary(given, output=1).patches
    with pytest.raises(ValueError, match="values must have the shape"):
        plots.plot_shap_summary(SimpleNamespace(values=np.zeros(3)))


def test_each_draws_on_the_axes_given_and_returns_them(classifier, table):
    X, y = table
    calls = [
        lambda ax: plots.plot_tree(classifier, ax=ax),
        lambda ax: plots.plot_importance(classifier, ax=ax),
        lambda ax: plots.plot_learning_curves(classifier, ax=ax),
        lambda ax: plots.plot_dependence(classifier, X[:30], 0, ax=ax),
        lambda ax: plots.plot_calibration(classifier, X, y, ax=ax),
        lambda ax: plots.plot_shap_summary(explanation((30, 4)), ax=ax),
    ]
    for call in calls:
        _, ax = pyplot.subplots()
        assert call(ax) is ax
        assert len(pyplot.get_fignums()) == 1
        pyplot.close("all")


def test_without_matplotlib_the_error_says_what_to_install(classifier, monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match="plots need matplotlib: pip install matplotlib"):
        plots.plot_importance(classifier)
    with pytest.raises(ImportError, match="plots need matplotlib: pip install matplotlib"):
        plots.plot_tree(classifier)


def test_matplotlib_is_not_imported_before_a_picture_is_made():
    subprocess.run([sys.executable, "-c", "import sys, sapwood.plots; assert 'matplotlib' not in sys.modules"], check=True)


def _with_levels():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=300), "city": pd.Categorical(np.array(list("abcdefgh"))[rng.integers(0, 8, 300)])})
    target = table["x"] + (table["city"] == "a") * 2
    return BoostingRegressor(max_iter=10, early_stopping=True).fit(table, target), table, target


def test_levels_of_categories_have_colours_and_a_legend_off_the_data():
    fitted, table, _ = _with_levels()
    ax = plots.plot_shap_summary(fitted.explain(table))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(labels) == 6 and all(label.startswith("city: ") for label in labels)
    assert labels[-1] == "city: 3 other levels"
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


def test_permutation_importance_is_computed_on_the_way():
    fitted, table, target = _with_levels()
    ax = plots.plot_importance(fitted, "permutation", table, target, n_repeats=2)
    assert ax.get_title(loc="left") == "Feature importance: permutation"
    assert "decrease in score" in ax.get_xlabel() and ax.containers
    assert plots.plot_importance(fitted, "shap", table).get_xlabel() == "mean absolute SHAP value"


def test_titles_say_what_is_shown_and_legends_are_off_the_data():
    fitted, table, _ = _with_levels()
    curves = plots.plot_learning_curves(fitted)
    assert curves.get_title(loc="left") == "loss after each round"
    dependence = plots.plot_dependence(fitted, table, "x")
    assert dependence.get_title(loc="left") == "Partial dependence on x"
    for ax in (curves, dependence):
        ax.figure.canvas.draw()
        assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())

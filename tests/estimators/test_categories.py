"""Categories, from a table to a model and back."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, Model, load
from sapwood.callbacks import SaveModel
from sapwood.data.bundling import ColumnLayout
from sapwood.encoding import ENCODERS

N = 1500
rng = np.random.default_rng(0)
PAINT, TOWN = rng.integers(0, 12, N), rng.integers(0, 300, N)
PAINT_EFFECT, TOWN_EFFECT = rng.normal(size=12), rng.normal(size=300)
NAMES = np.array([f"town {i}" for i in rng.permutation(300)], dtype=object)
AREA = rng.normal(size=N)
Y = 2 * PAINT_EFFECT[PAINT] + TOWN_EFFECT[TOWN] + AREA + 0.3 * rng.normal(size=N)
LETTERS = np.array(list("abcdefghijkl"), dtype=object)
FRAME = pd.DataFrame({"paint": pd.Categorical(LETTERS[PAINT]), "area": AREA, "town": pd.Series(NAMES[TOWN], dtype="str")})
MISSING = FRAME.assign(paint=FRAME.paint.where(PAINT != 3), town=FRAME.town.where(TOWN % 10 != 0))
CLASSES = np.digitize(Y, [-1.5, 0, 1.5])


def regressor(**parameters):
    return BoostingRegressor(**{"max_iter": 20, "min_samples_leaf": 5, "early_stopping": False, "min_samples_level": 5, **parameters})


def model_bytes(X, y=Y, **parameters):
    return regressor(**parameters).fit(X, y).model_.to_bytes()


@pytest.mark.parametrize("encoding", ["auto", *ENCODERS, ["partition", "target"], ["target", "count"], {"town": "count", 0: "onehot"}])
@pytest.mark.parametrize("kind", ["regression", "classes"])
def test_every_encoding_learns(encoding, kind):
    if kind == "regression":
        fitted, y = regressor(categorical_encoding=encoding).fit(MISSING, Y), Y
    else:
        fitted = BoostingClassifier(max_iter=8, min_samples_leaf=5, categorical_encoding=encoding).fit(MISSING, CLASSES)
        y = CLASSES
    least = 0.3 if encoding == "count" else 0.45
    assert fitted.score(MISSING, y) > least
    assert len(fitted.feature_importances_) == 3
    assert fitted.n_features_in_ == 3
    assert fitted.feature_importances_.sum() == pytest.approx(1)
    assert (fitted.feature_importances_ > 0).all()


@pytest.mark.parametrize("encoding", ENCODERS)
def test_levels_that_the_fit_did_not_see_are_as_good_as_missing(encoding):
    fitted = regressor(categorical_encoding=encoding).fit(MISSING, Y)
    unseen, absent = (MISSING.assign(paint=pd.Categorical([level] * N), town=other) for level, other in (("z", "nowhere"), (None, None)))
    assert_array_equal(fitted.predict(unseen), fitted.predict(absent))
    assert np.isfinite(fitted.predict(unseen)).all()


@pytest.mark.parametrize("encoding", ENCODERS)
def test_levels_go_by_value(encoding):
    """Not by their codes, nor by the type that holds them, nor by the order of columns."""
    fitted = regressor(categorical_encoding=encoding).fit(MISSING, Y)
    expected = fitted.predict(MISSING)
    same = [
        MISSING.assign(paint=MISSING.paint.cat.reorder_categories(MISSING.paint.cat.categories[::-1])),
        MISSING.assign(paint=MISSING.paint.astype("str"), town=MISSING.town.astype("category")),
        MISSING.assign(paint=MISSING.paint.cat.add_categories(["A", "zz"])),
        pl.from_pandas(MISSING.astype({"paint": "str"})),
    ]
    for frame in same:
        assert model_bytes(frame, categorical_encoding=encoding) == fitted.model_.to_bytes()
        assert_array_equal(fitted.predict(frame), expected)
    assert_array_equal(fitted.predict(MISSING[["town", "paint", "area"]]), expected)
    for n in (1, 5, 40):  # few rows walk, many are looked up
        assert_array_equal(fitted.predict(MISSING[:n]), expected[:n])


@pytest.mark.parametrize("parameters", [{}, {"categorical_encoding": ["partition", "target", "count"]}, {"max_combination": 2}])
def test_a_model_keeps_its_categories(parameters):
    fitted = regressor(**parameters).fit(MISSING, Y)
    data = fitted.model_.to_bytes()
    assert Model.from_bytes(data).to_bytes() == data
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(MISSING), fitted.predict(MISSING))
    assert_array_equal(again.importances(), fitted.importances())
    assert again.model_.schema.kind(0).levels == tuple(letter for letter in LETTERS if letter != "d")


def test_a_model_saved_during_training_knows_its_categories(tmp_path):
    fitted = regressor(max_iter=12).fit(MISSING, Y, callbacks=[SaveModel(tmp_path / "{round}", every=5)])
    assert (tmp_path / "12").read_bytes() == fitted.model_.to_bytes()
    assert load(tmp_path / "5").schema == fitted.model_.schema


@pytest.mark.parametrize("loss", ["quantile", "absolute_error", "aft", "gamma"])
def test_any_loss(loss):
    y = np.exp(Y)
    fitted = regressor(loss=loss, **({"quantile": 0.5} if loss == "quantile" else {}))
    fitted.fit(MISSING, np.column_stack([y, np.where(PAINT == 1, np.inf, y)]) if loss == "aft" else y)
    assert np.corrcoef(np.argsort(np.argsort(fitted.predict(MISSING))), np.argsort(np.argsort(Y)))[0, 1] > 0.5


def test_queries_are_ranked_by_categories():
    relevance = np.digitize(Y, [-1, 1])
    fitted = BoostingRanker(max_iter=10, min_samples_leaf=5, early_stopping=False).fit(MISSING, relevance, group=[15] * (N // 15))
    assert np.corrcoef(fitted.predict(MISSING), Y)[0, 1] > 0.5


@pytest.mark.parametrize("grow_policy", ["leafwise", "depthwise", "symmetric"])
@pytest.mark.parametrize("parameters", [{}, {"subsample": 0.5}, {"extra_trees": True}, {"l1_regularization": 0.5, "path_smooth": 3.0}])
def test_threads_leave_no_trace(grow_policy, parameters):
    parameters = {"grow_policy": grow_policy, "max_depth": 4, "categorical_encoding": {"town": ["partition", "target"]}, **parameters}
    fitted = regressor(n_jobs=1, **parameters).fit(MISSING, Y)
    assert fitted.score(MISSING, Y) > 0.3
    assert model_bytes(MISSING, n_jobs=2, **parameters) == fitted.model_.to_bytes()


@pytest.mark.parametrize("parameters", [{}, {"boosting": "dart"}, {"grow_policy": "symmetric", "max_depth": 4}])
def test_training_goes_on_where_it_was(parameters):
    """Rows in bins and rows that are looked up reach the same leaves."""
    first = regressor(warm_start=True, max_iter=8, **parameters).fit(MISSING, Y)
    if parameters.get("boosting") != "dart":  # what is dropped depends on what there is
        assert first.set_params(max_iter=20).fit(MISSING, Y).model_.to_bytes() == model_bytes(MISSING, warm_start=True, **parameters)
    fitted = regressor(categorical_encoding="partition", **parameters).fit(MISSING, Y)
    stages = list(fitted.staged_predict(MISSING))
    assert_array_equal(stages[-1], fitted.predict(MISSING))
    assert np.mean((stages[-1] - Y) ** 2) < np.mean((stages[2] - Y) ** 2)


def test_going_on_needs_the_same_encoding():
    fitted = regressor(warm_start=True, max_iter=3).fit(FRAME, Y)
    with pytest.raises(ValueError, match="warm_start continues a model with other encoders"):
        fitted.set_params(max_iter=5, categorical_encoding="count", max_combination=2).fit(FRAME, Y)


def test_rare_levels_may_be_stored_beside_the_rows(monkeypatch):
    n = 4000
    many = pd.DataFrame({f"c{k}": np.where(rng.random(n) < 0.9, "usual", rng.choice(LETTERS, n)) for k in range(14)})
    y = (many == "a").sum(axis=1).to_numpy() - (many == "b").sum(axis=1).to_numpy() + 0.1 * rng.normal(size=n)
    stored = model_bytes(many, y)
    seen = []
    monkeypatch.setattr(ColumnLayout, "choose", classmethod(lambda cls, table, binning, n_threads: seen.append(1) or cls.plain(binning)))
    assert model_bytes(many, y) == stored
    assert seen


def test_rows_kept_aside_are_looked_up():
    """Early stopping sees validation rows as new ones: its scores are those of prediction."""
    train, val = slice(0, 1000), slice(1000, N)
    fitted = regressor(early_stopping=True, n_iter_no_change=50).fit(MISSING[train], Y[train], X_val=MISSING[val], y_val=Y[val])
    expected = [np.mean((p - Y[val]) ** 2) / 2 for p in fitted.staged_predict(MISSING[val])]
    np.testing.assert_allclose(-fitted.validation_score_[1:], expected, rtol=1e-9)
    inside = regressor(early_stopping=True, n_iter_no_change=50).fit(MISSING, Y)
    assert inside.validation_score_[-1] > inside.validation_score_[0] / 2


def test_rows_of_weight_zero_are_as_good_as_absent():
    weight = (np.arange(N) < 1000).astype(float)
    with_zeros = regressor().fit(MISSING, Y, sample_weight=weight).predict(MISSING)
    without = regressor().fit(MISSING[:1000], Y[:1000], sample_weight=np.ones(1000)).predict(MISSING)
    assert_array_equal(with_zeros, without)


def test_more_levels_than_codes():
    n = 6000
    town = rng.integers(0, 1000, n)
    frame, effect = pd.DataFrame({"town": [f"t{t}" for t in town]}), rng.normal(size=1000)
    for encoding in ("auto", "partition"):
        fitted = regressor(categorical_encoding=encoding, cat_smooth=1.0, cat_l2=0.0, min_samples_level=1).fit(frame, effect[town])
        assert fitted.score(frame, effect[town]) > (0.7 if encoding == "auto" else 0.15)


class TestLeakage:
    """A level says nothing about the target: what the model learns from it must not pass for knowledge."""

    @pytest.mark.parametrize("n_permutations", [1, 4])
    @pytest.mark.parametrize("encoding", ["target", "auto"])
    def test_random_levels_gain_nothing(self, encoding, n_permutations):
        losses = []
        for seed in range(4):
            own = np.random.default_rng(seed)
            frame = pd.DataFrame({"id": [f"i{i}" for i in own.integers(0, 1000, 6000)], "x": own.normal(size=6000)})
            y = own.integers(0, 2, 6000)
            options = {"max_iter": 30, "early_stopping": False, "random_state": seed, "target_permutations": n_permutations}
            fitted = BoostingClassifier(categorical_encoding=encoding, **options).fit(frame[:3000], y[:3000])
            without = BoostingClassifier(**options).fit(frame[["x"]][:3000], y[:3000])
            train, test = (
                [
                    -np.mean(np.log(m.predict_proba(f[rows])[np.arange(3000), y[rows]]))
                    for m, f in ((fitted, frame), (without, frame[["x"]]))
                ]
                for rows in (slice(0, 3000), slice(3000, 6000))
            )
            losses.append([test[0] - test[1], train[0] - train[1]])
        worse, _ = np.mean(losses, axis=0)
        assert worse < 0.01  # means of all rows, seen by their own rows, cost more than 0.1

    def test_a_mean_that_sees_its_own_row_would_be_found_out(self):
        """The test above can fail."""
        own = np.random.default_rng(0)
        level, y = own.integers(0, 1000, 6000), own.integers(0, 2, 6000)
        sums, counts = np.bincount(level[:3000], y[:3000], 1000), np.bincount(level[:3000], minlength=1000)
        means = ((sums + 0.5) / (counts + 1))[level][:, None]
        fitted = BoostingClassifier(max_iter=30, early_stopping=False).fit(means[:3000], y[:3000])
        assert -np.mean(np.log(fitted.predict_proba(means[3000:])[np.arange(3000), y[3000:]])) > np.log(2) + 0.1


class TestWhichColumns:
    CODES = np.column_stack([PAINT * 10.0, AREA, TOWN])

    @pytest.mark.parametrize("chosen", [[0, 2], [True, False, True], np.array([True, False, True]), (2, 0), np.array([0, 2])])
    def test_numbers_can_be_named(self, chosen):
        fitted = regressor(categorical_features=chosen, categorical_encoding="partition").fit(self.CODES, Y)
        assert fitted.model_.schema.categories == [0, 2]
        assert fitted.model_.schema.kind(0).levels == tuple(range(0, 120, 10))
        unseen = np.where(np.arange(3) == 0, 35.0, self.CODES)
        assert_array_equal(fitted.predict(unseen), fitted.predict(np.where(np.arange(3) == 0, np.nan, self.CODES)))

    def test_names(self):
        frame = pd.DataFrame(self.CODES, columns=["paint", "area", "town"])
        by_name = regressor(categorical_features=["paint", "town"]).fit(frame, Y)
        assert by_name.model_.schema.categories == [0, 2]
        assert by_name.score(frame, Y) > regressor().fit(frame, Y).score(frame, Y)

    @pytest.mark.parametrize(
        "chosen, match",
        [
            ([3], "categorical_features selects the feature 3, but X has 3"),
            ([True, False], "boolean mask should have shape"),
            (["paint"], "categorical_features names the feature 'paint', but X had no column names"),
            ([0.5], "by name, position, dtype or callable; got 0.5"),
        ],
    )
    def test_bad_ones(self, chosen, match):
        with pytest.raises(ValueError, match=match):
            regressor(categorical_features=chosen).fit(self.CODES, Y)

    @pytest.mark.parametrize("chosen", [None, [], ["town"]])
    def test_text_cannot_be_left_out(self, chosen):
        with pytest.raises(ValueError, match=r"Column 'paint' has category of 12 levels .*: add it to categorical_features"):
            regressor(categorical_features=chosen).fit(FRAME, Y)


class TestRefusedByName:
    @pytest.mark.parametrize(
        "parameters, match",
        [
            ({"monotonic_cst": {"paint": 1}}, "monotonic_cst names the column 'paint', which is a category of 12 levels"),
            ({"cut_points": {"paint": [1.0]}}, "cut_points names the column 'paint'"),
            ({"forced_splits": {"feature": "town", "threshold": 1}}, "forced_splits names the column 'town'"),
            (
                {"tree_method": "exact", "categorical_encoding": "partition"},
                "'partition' of the column 'paint' cannot be combined with tree_method='exact'",
            ),
            (
                {"max_bins": 1000, "categorical_encoding": {"town": "onehot"}},
                "'onehot' of the column 'town' cannot be combined with max_bins above 255",
            ),
            ({"categorical_encoding": "mean"}, "categorical_encoding"),
            ({"categorical_encoding": ["target", "mean"]}, "categorical_encoding must consist of auto, onehot, .*; got 'mean'"),
            ({"categorical_encoding": {"paint": "mean"}}, "got 'mean' for the feature 'paint'"),
            ({"categorical_encoding": {"colour": "target"}}, "categorical_encoding names the feature 'colour'"),
            ({"categorical_encoding": ["target", "target"]}, "must be a non-empty list without duplicates"),
            ({"categorical_encoding": []}, "must be a non-empty list without duplicates"),
            ({"max_combination": 4}, "max_combination"),
            ({"cat_l2": -1.0}, "cat_l2"),
        ],
    )
    def test_what_has_no_meaning(self, parameters, match):
        with pytest.raises(ValueError, match=match):
            regressor(**parameters).fit(FRAME, Y)

    def test_too_many_combinations(self):
        many = pd.DataFrame({f"c{k}": rng.choice(LETTERS, 50) for k in range(24)})
        with pytest.raises(ValueError, match="max_combination=2 would make 276 combinations of 24 categorical columns; at most 256"):
            regressor(max_combination=2).fit(many, Y[:50])


@pytest.mark.parametrize("tree_method", ["exact", "approx"])
def test_sorted_columns_describe_categories_by_their_target(tree_method):
    fitted = regressor(tree_method=tree_method).fit(MISSING, Y)
    assert fitted.score(MISSING, Y) > 0.5


def paths(model):
    """The features above each leaf."""
    for tree in model.trees:
        above = {0: frozenset()}
        for node, feature in enumerate(tree.feature):
            if feature >= 0:
                above[tree.left[node]] = above[tree.right[node]] = above[node] | {int(feature)}
            else:
                yield above[node]


@pytest.mark.parametrize("order, name", [(1, "no_interactions"), (2, "pairwise")])
def test_interactions_count_columns(order, name):
    fitted = regressor(interaction_cst=name, categorical_encoding=["partition", "target"], max_combination=2).fit(MISSING, Y)
    encoding = fitted.model_.encoding
    met = [{c for f in path for c in encoding.columns_of(f)} for path in paths(fitted.model_)]
    assert max(map(len, met)) == order
    assert any(len(path) > len(columns) for path, columns in zip(paths(fitted.model_), met, strict=True))


def test_combinations_find_what_single_columns_hide():
    a, b = rng.integers(0, 6, (2, N))
    frame = pd.DataFrame({"a": LETTERS[a], "b": LETTERS[b]})
    y = ((a + b) % 2).astype(float)
    scores = [regressor(max_combination=k, max_depth=1).fit(frame, y).score(frame, y) for k in (1, 2)]
    assert scores[0] < 0.1 < 0.9 < scores[1]


def test_monotonic_numbers_beside_categories():
    for method in ("basic", "neighbours"):
        fitted = regressor(monotonic_cst={"area": 1}, monotonic_method=method, categorical_encoding="partition").fit(FRAME, Y)
        higher = FRAME.assign(area=FRAME.area + 0.5)
        assert (fitted.predict(higher) >= fitted.predict(FRAME)).all()

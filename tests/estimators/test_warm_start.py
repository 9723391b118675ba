"""Going on from a model: `init_model`, `warm_start` and `partial_fit`."""

import inspect

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.multioutput import MultiOutputRegressor

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, Model, merge

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 4)).round(2)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, 0]) + np.sin(np.nan_to_num(X[:, 1])) + RNG.normal(scale=0.3, size=N)
LABELS = (Y > 0).astype(int)
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.5, 0.5])]
SEVERAL = np.column_stack([Y, -Y, np.nan_to_num(X[:, 2])])
WEIGHT = RNG.uniform(0.5, 2, size=N)
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    word=pd.Categorical(np.array(["u", "v", "w", None], dtype=object)[RNG.integers(0, 4, N)]), many=RNG.integers(0, 40, N).astype(str)
)
DATES = FRAME[["word", "a"]].assign(  # the second half lies within one month
    day=pd.to_datetime("2024-01-01") + pd.to_timedelta(np.r_[RNG.integers(0, 10_000, 150), 3000 + RNG.integers(0, 300, 150)], unit="h")
)
QID = np.repeat(np.arange(30), 10)
SMALL = {"max_leaf_nodes": 6, "min_samples_leaf": 5}


def regressor(**parameters):
    return BoostingRegressor(**{**SMALL, "max_iter": 12, **parameters})


def classifier(**parameters):
    return BoostingClassifier(**{**SMALL, "max_iter": 12, **parameters})


CASES = {
    "plain": (regressor(), X, Y, {}),
    "weights": (regressor(), X, Y, {"sample_weight": WEIGHT}),
    "offset": (regressor(loss="poisson"), X, np.exp(Y), {"offset": RNG.normal(size=N)}),
    "sparse": (regressor(), sparse.csr_array(np.nan_to_num(X)), Y, {}),
    "categories": (regressor(categorical_encoding={"many": "target"}), FRAME, Y, {}),
    "categories and classes": (classifier(categorical_encoding="target"), FRAME, WORDS, {}),
    "dates": (regressor(datetime_features="auto"), DATES, Y, {}),
    "two classes": (classifier(), X, LABELS, {}),
    "shared trees": (classifier(shared_trees=2), X, WORDS, {}),
    "a tree a class": (classifier(multi_strategy="one_output_per_tree"), X, WORDS, {}),
    "labels": (classifier(), X, np.column_stack([LABELS, 1 - LABELS, X[:, 3] > 0]).astype(int), {}),
    "several outputs": (regressor(), X, SEVERAL, {}),
    "quantiles": (regressor(loss="quantile", quantile=[0.2, 0.8]), X, Y, {}),
    "absolute error": (regressor(loss="absolute_error"), X, Y, {}),
    "exact": (regressor(tree_method="exact"), X, Y, {}),
    "approx": (regressor(tree_method="approx", max_bins=16), X, Y, {}),
    "many bins": (regressor(max_bins=1000), X, Y, {}),
    "symmetric": (regressor(grow_policy="symmetric", max_depth=3), X, Y, {}),
    "goss": (regressor(sampling="goss", learning_rate=0.3), X, Y, {}),
    "mvs and features": (regressor(sampling="mvs", subsample=0.6, max_features=0.5), X, Y, {}),
    "line search": (regressor(step="line_search"), X, Y, {}),
    "ranker": (BoostingRanker(**SMALL, max_iter=12), X, np.digitize(Y, [0, 1]), {"qid": QID}),
    "ranker by lists": (BoostingRanker(**SMALL, max_iter=12, loss="xendcg"), X, np.digitize(Y, [0, 1]), {"qid": QID}),
}


@pytest.mark.parametrize("case", CASES)
def test_on_the_same_rows_it_is_as_if_it_had_never_stopped(case):
    estimator, x, y, more = CASES[case]
    whole = clone(estimator).fit(x, y, **more)
    first = clone(estimator).set_params(max_iter=5).fit(x, y, **more)
    before = first.model_.to_bytes()
    rest = clone(estimator).set_params(max_iter=7).fit(x, y, **more, init_model=first)
    assert rest.model_.to_bytes() == whole.model_.to_bytes()
    assert first.model_.to_bytes() == before
    assert_array_equal(rest.predict(x), whole.predict(x))
    warm = clone(estimator).set_params(max_iter=5, warm_start=True).fit(x, y, **more).set_params(max_iter=12).fit(x, y, **more)
    assert warm.model_.to_bytes() == whole.model_.to_bytes()
    bare = clone(estimator).set_params(max_iter=7).fit(x, y, **more, init_model=Model.from_bytes(before))
    assert bare.model_.to_bytes() == whole.model_.to_bytes()
    assert_array_equal(bare.predict(x), whole.predict(x))


@pytest.mark.parametrize("case", CASES)
def test_new_rows_add_rounds_with_the_old_bins(case):
    estimator, x, y, more = CASES[case]
    if case == "ranker":
        more = {"group": [10] * 15}
    half = slice(0, 150)
    some, rest = ({name: a[rows] for name, a in more.items() if name != "group"} for rows in (half, slice(150, N)))
    x_some, x_rest = (x[rows] if not isinstance(x, pd.DataFrame) else x.iloc[rows] for rows in (half, slice(150, N)))
    if "group" in more:
        some = rest = more
    fitted = clone(estimator).partial_fit(x_some, y[:150], **some)
    first, predicted = fitted.model_, fitted.predict(x_rest)
    assert first.to_bytes() == clone(estimator).fit(x_some, y[:150], **some).model_.to_bytes()
    fitted.partial_fit(x_rest, y[150:], **rest)
    assert fitted.n_iter_ == 24
    if case not in ("exact", "approx", "many bins"):  # these keep the cut points that trees use
        assert fitted.model_[:12].to_bytes() == first.to_bytes()
    assert not np.array_equal(fitted.predict(x_rest), predicted)
    other = clone(estimator).partial_fit(x_some, y[:150], **some).set_params(n_jobs=2).partial_fit(x_rest, y[150:], **rest)
    assert other.model_.to_bytes() == fitted.model_.to_bytes()


def test_more_rows_teach_more():
    whole = regressor(max_iter=40, min_samples_leaf=10)
    parts = clone(whole).set_params(max_iter=10)
    losses = []
    for rows in np.array_split(np.arange(240), 4):
        parts.partial_fit(X[rows], Y[rows])
        losses.append(np.mean((parts.predict(X[240:]) - Y[240:]) ** 2))
    assert losses[-1] < losses[0]


def test_init_model_trains_on_new_rows_too():
    first = classifier().fit(X[:150], WORDS[:150])
    before = first.predict_proba(X)
    longer = classifier(max_iter=4).fit(X[150:], WORDS[150:], init_model=first)
    assert longer.n_iter_ == 16 and longer.model_[:12].to_bytes() == first.model_.to_bytes()
    assert_array_equal(first.predict_proba(X), before)
    assert_array_equal(longer.classes_, first.classes_)
    assert longer.n_features_in_ == 4


def test_a_file_will_do(tmp_path):
    first = classifier(max_iter=5).fit(X, WORDS)
    first.save(tmp_path / "first.sapwood")
    (tmp_path / "bare.sapwood").write_bytes(first.model_.to_bytes())
    whole = classifier().fit(X, WORDS).model_.to_bytes()
    for name in ("first.sapwood", "bare.sapwood"):
        assert classifier(max_iter=7).fit(X, WORDS, init_model=tmp_path / name).model_.to_bytes() == whole


def test_names_come_along():
    first = regressor(max_iter=3).fit(FRAME[list("abcd")], Y)
    longer = regressor(max_iter=3).fit(FRAME[list("dcba")], Y, init_model=first)
    assert longer.feature_names_in_.tolist() == list("abcd")
    assert longer.model_.to_bytes() == regressor(max_iter=6).fit(FRAME[list("abcd")], Y).model_.to_bytes()


def test_dart_leaves_the_model_that_it_goes_on_from_as_it_was():
    first = regressor(boosting="dart", drop_rate=0.5, skip_drop=0).fit(X, Y)
    before = first.model_.to_bytes()
    longer = regressor(boosting="dart", drop_rate=0.5, skip_drop=0).fit(X, Y, init_model=first)
    assert first.model_.to_bytes() == before
    assert longer.n_iter_ == 24


def test_unseen_levels_are_missing_ones():
    later = FRAME.iloc[150:].assign(word=pd.Categorical(["new"] * 150), many=["other"] * 150)
    absent = later.assign(word=pd.Categorical([None] * 150, categories=["u"]), many=np.array([None] * 150, dtype=object))
    fitted = [regressor().partial_fit(FRAME.iloc[:150], Y[:150]).partial_fit(frame, Y[150:]) for frame in (later, absent)]
    assert fitted[0].model_.to_bytes() == fitted[1].model_.to_bytes()


def test_rows_to_be_learnt_from_are_looked_up_in_the_old_tables():
    """A batch of one level only: its own means would all be alike, the old table knows better."""
    first = regressor(categorical_encoding="target").fit(FRAME[["many"]], Y)
    encoded = first.model_.encoding.lookups[0]
    fitted = regressor(categorical_encoding="target").partial_fit(FRAME[["many"]], Y)
    fitted.partial_fit(FRAME[["many"]][:100], Y[:100])
    assert_array_equal(fitted.model_.encoding.lookups[0].values, encoded.values)


def test_many_classes_describe_levels_as_they_did():
    """Eight of them do: on the same rows the same ones, on others the look-ups know which."""
    many = np.arange(N) % 12
    many[:60] = np.arange(60) % 3  # the most frequent
    estimator = classifier(categorical_encoding="target", max_iter=3)
    whole = clone(estimator).set_params(max_iter=6).fit(FRAME, many)
    first = clone(estimator).fit(FRAME, many)
    assert clone(estimator).fit(FRAME, many, init_model=first).model_.to_bytes() == whole.model_.to_bytes()
    other = np.arange(N) % 12
    other[:60] = 9 + np.arange(60) % 3
    assert (clone(estimator).fit(FRAME, other, init_model=first).model_.to_bytes()) == (
        clone(estimator).partial_fit(FRAME, many).partial_fit(FRAME, other).model_.to_bytes()
    )


def test_calendar_parts_stay():
    """Months do not differ in the new rows, but the model has them."""
    first = regressor(datetime_features="auto").fit(DATES[:150], Y[:150])
    longer = regressor(datetime_features="auto").fit(DATES[150:], Y[150:], init_model=first)
    assert longer.model_.encoding == first.model_.encoding and "month" in {part.part for part in longer.model_.encoding.parts.values()}


class TestClasses:
    def test_those_named_at_first_may_come_later(self):
        rows = WORDS != "high"
        fitted = classifier().partial_fit(X[rows], WORDS[rows], classes=["low", "middle", "high"])
        assert fitted.classes_.tolist() == ["high", "low", "middle"]
        chances = fitted.predict_proba(X)[:, 0]
        assert 0 < chances.max() < 0.05
        for _ in range(3):
            fitted.partial_fit(X, WORDS)
        assert np.mean(fitted.predict(X) == WORDS) > 0.8

    def test_one_of_two_may_come_later(self):
        fitted = classifier().partial_fit(X[LABELS == 0], LABELS[LABELS == 0], classes=[0, 1])
        assert np.abs(fitted.decision_function(X)).max() < 20
        for _ in range(4):
            fitted.partial_fit(X, LABELS)
        assert np.mean(fitted.predict(X) == LABELS) > 0.85

    def test_half_a_row_with_an_offset(self):
        rows, offset = LABELS == 0, RNG.normal(size=N)
        fitted = classifier().partial_fit(X[rows], LABELS[rows], classes=[0, 1], offset=offset[rows])
        assert np.isfinite(fitted.model_.base_score).all() and np.abs(fitted.model_.base_score).max() < 20

    def test_none_are_needed(self):
        assert classifier().partial_fit(X, WORDS).classes_.tolist() == ["high", "low", "middle"]

    def test_without_new_ones_the_named_ones_change_nothing(self):
        fitted = classifier().partial_fit(X, WORDS, ["low", "middle", "high"])
        assert fitted.model_.to_bytes() == classifier().fit(X, WORDS).model_.to_bytes()

    def test_unknown_ones_are_named(self):
        fitted = classifier().partial_fit(X, LABELS)
        with pytest.raises(ValueError, match=r"partial_fit continues a model with classes \[0, 1\], but y has \[0, 2\]"):
            fitted.partial_fit(X, LABELS * 2)
        with pytest.raises(ValueError, match=r"init_model continues a model with classes \[0, 1\], but y has \['high', 'low', 'middle'\]"):
            classifier().fit(X, WORDS, init_model=fitted)
        with pytest.raises(ValueError, match=r"partial_fit continues a model with classes \[3, 4\], but y has \[0, 1\]"):
            classifier().partial_fit(X, LABELS, classes=[3, 4])

    def test_other_ones_in_a_later_call(self):
        fitted = classifier().partial_fit(X, LABELS, classes=[0, 1])
        fitted.partial_fit(X, LABELS, classes=[1, 0])
        with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differ from those of the first call of partial_fit: \[0, 1\]"):
            fitted.partial_fit(X, LABELS, classes=[0, 1, 2])

    def test_a_part_of_them_will_do(self):
        fitted = classifier().partial_fit(X, WORDS)
        rows = WORDS != "low"
        assert fitted.partial_fit(X[rows], WORDS[rows]).predict_proba(X).shape == (N, 3)
        assert classifier(max_iter=2).fit(X[rows], WORDS[rows], init_model=fitted).classes_.tolist() == ["high", "low", "middle"]


def test_all_data_that_decided_counts():
    """In the hash that tells where a model comes from."""
    one, other = (regressor(max_iter=2).fit(X[rows], Y[rows]) for rows in (slice(0, 150), slice(150, N)))
    both = regressor(max_iter=2).partial_fit(X[:150], Y[:150]).partial_fit(X[150:], Y[150:])
    longer = regressor(max_iter=2).fit(X[150:], Y[150:], init_model=one)
    again = regressor(max_iter=2).fit(X[:150], Y[:150], init_model=one)
    assert len({fitted.provenance_["data"] for fitted in (one, other, both)}) == 3
    assert longer.provenance_["data"] == both.provenance_["data"] == merge([one, other]).provenance_["data"]
    assert again.provenance_["data"] == one.provenance_["data"]


class TestEarlyStopping:
    def test_goes_on_from_the_rounds_that_predict(self):
        first = regressor(max_iter=60, early_stopping=True, learning_rate=0.5, n_iter_no_change=3).fit(X, Y)
        assert first.best_iteration_ < first.n_iter_
        more = regressor(max_iter=3).fit(X, Y, init_model=first)
        assert more.n_iter_ == first.best_iteration_ + 3
        assert more.model_[: first.best_iteration_].to_bytes() == first.model_[: first.best_iteration_].to_bytes()

    def test_watches_the_new_rows(self):
        first = regressor().fit(X[:100], Y[:100])
        wrong = regressor(max_iter=50, n_iter_no_change=4).fit(X[100:200], -Y[100:200], X_val=X[200:], y_val=Y[200:], init_model=first)
        assert wrong.best_iteration_ == 12  # nothing that was added helps
        assert wrong.n_iter_ == 16
        assert_array_equal(wrong.predict(X), first.predict(X))
        assert len(wrong.evals_result_["validation"]["loss"]) == 4

    def test_parts(self):
        fitted = regressor(early_stopping=True, max_iter=30, n_iter_no_change=3, learning_rate=0.4)
        fitted.partial_fit(X[:150], Y[:150])
        best = fitted.best_iteration_
        fitted.partial_fit(X[150:], Y[150:], X_val=X[:50], y_val=Y[:50])
        assert fitted.n_iter_ >= best


class TestArgumentsOfPartialFit:
    @pytest.mark.parametrize("kind", [BoostingClassifier, BoostingRanker, BoostingRegressor])
    def test_they_are_those_of_fit(self, kind):
        of_fit, own = (dict(inspect.signature(method).parameters) for method in (kind.fit, kind.partial_fit))
        del of_fit["init_model"]
        own.pop("classes", None)
        assert list(map(str, own.values())) == list(map(str, of_fit.values()))

    def test_metadata_routing_carries_them(self):
        parts, offset = (slice(0, 150), slice(150, None)), 0.1 * Y
        alone = regressor()
        with config_context(enable_metadata_routing=True):
            each = MultiOutputRegressor(regressor().set_partial_fit_request(sample_weight=True, offset=True))
            for rows in parts:
                each.partial_fit(X[rows], SEVERAL[rows], sample_weight=WEIGHT[rows], offset=offset[rows])
                alone.partial_fit(X[rows], SEVERAL[rows, 0], WEIGHT[rows], offset=offset[rows])
        assert each.estimators_[0].model_.to_bytes() == alone.model_.to_bytes()

    def test_queries_need_not_be_asked_for(self):
        asked = BoostingRanker().get_metadata_routing().partial_fit.requests
        assert asked["qid"] is True
        assert asked["groups"] is False
        assert asked["group"] is None

    def test_another_model_is_refused(self):
        with pytest.raises(TypeError, match="init_model"):
            regressor().partial_fit(X, Y, init_model=regressor().fit(X, Y))


class TestInit:
    def test_the_first_one_stays(self):
        x = np.nan_to_num(X)
        first = regressor(init=LinearRegression()).partial_fit(x[:150], Y[:150])
        init = first.init_
        first.partial_fit(x[150:], Y[150:])
        assert first.init_ is init
        longer = regressor().fit(x[150:], Y[150:], init_model=regressor(init=LinearRegression()).fit(x[:150], Y[:150]))
        assert_array_equal(longer.predict(x), first.predict(x))

    def test_two_starts_are_refused(self):
        first = regressor().fit(X, Y)
        with pytest.raises(ValueError, match="init_model cannot be combined with init:"):
            regressor(init=first).fit(X, Y, init_model=first)
        with pytest.raises(ValueError, match="init_model cannot be combined with warm_start=True"):
            regressor(warm_start=True).fit(X, Y).fit(X, Y, init_model=first)


class TestWhatDiffersIsNamed:
    first = regressor().fit(X, Y)

    def test_features(self):
        with pytest.raises(ValueError, match="X has 3 features, but BoostingRegressor is expecting 4"):
            regressor().fit(X[:, :3], Y, init_model=self.first)
        named = regressor().fit(FRAME[list("abcd")], Y)
        with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- e\n.*now missing:\n- d"):
            regressor().fit(FRAME[list("abcd")].rename(columns={"d": "e"}), Y, init_model=named)

    def test_loss(self):
        with pytest.raises(ValueError, match="init_model continues a model with loss 'squared_error', but this fit has loss 'poisson'"):
            regressor(loss="poisson").fit(X, np.exp(Y), init_model=self.first)
        warm = regressor(warm_start=True).fit(X, Y).set_params(loss="absolute_error", max_iter=20)
        with pytest.raises(
            ValueError, match="warm_start continues a model with loss 'squared_error', but this fit has loss 'absolute_error'"
        ):
            warm.fit(X, Y)

    def test_outputs(self):
        with pytest.raises(ValueError, match=r"init_model continues a model with 1 output\(s\), but y \(or quantile\) has 3"):
            regressor().fit(X, SEVERAL, init_model=self.first)

    def test_shared_trees(self):
        shared = classifier(shared_trees=2).fit(X, WORDS)
        with pytest.raises(ValueError, match=r"init_model continues a model with 2 shared tree\(s\) per round"):
            classifier(multi_strategy="one_output_per_tree").fit(X, WORDS, init_model=shared)
        assert classifier().fit(X, WORDS, init_model=shared).model_.shared == 2

    def test_forest(self):
        forest = regressor(boosting="forest", subsample=0.5)
        with pytest.raises(ValueError, match="boosting='forest' cannot be combined with partial_fit"):
            clone(forest).partial_fit(X, Y)
        with pytest.raises(ValueError, match="boosting='forest' cannot be combined with init_model"):
            clone(forest).fit(X, Y, init_model=self.first)

    @pytest.mark.parametrize("other", [LinearRegression(), 3, classifier()])
    def test_another_kind(self, other):
        with pytest.raises(TypeError, match="init_model must be a fitted BoostingRegressor or a Model; got"):
            regressor().fit(X, Y, init_model=other)

    def test_encodings(self):
        first = regressor().fit(FRAME, Y)
        with pytest.raises(ValueError, match="init_model continues a model with other encoders"):
            regressor(categorical_encoding="count").fit(FRAME, Y, init_model=first)

    def test_a_failure_leaves_all_as_it_was(self):
        fitted = regressor().partial_fit(X, Y)
        before = fitted.model_.to_bytes()
        with pytest.raises(ValueError, match="y contains"):
            fitted.partial_fit(X, np.where(np.arange(N) == 3, np.nan, Y))
        assert fitted.model_.to_bytes() == before


class TestAfterEarlyStopping:
    def test_a_fit_that_was_not_stopped_continues_as_one(self):
        stopping = {**SMALL, "n_iter_no_change": 5, "early_stopping": True, "learning_rate": 0.2}
        whole = BoostingRegressor(**stopping, max_iter=60).fit(X, Y)
        parts = BoostingRegressor(**stopping, max_iter=4, warm_start=True).fit(X, Y)
        parts.set_params(max_iter=60).fit(X, Y)
        assert parts.model_.to_bytes() == whole.model_.to_bytes()

    @pytest.mark.parametrize("seed", range(5))
    def test_a_stopped_fit_adds_as_many_rounds_as_that_of_scikit_learn(self, seed):
        data, n_iter = make_regression(random_state=seed), []
        for cls in (BoostingRegressor, HistGradientBoostingRegressor):
            stopping = {"early_stopping": True, "n_iter_no_change": 5, "tol": 1e-3, "max_iter": 1000}
            fitted = cls(**stopping, warm_start=True, random_state=42)
            n_iter.append([fitted.fit(*data).n_iter_ for _ in range(3)])
        assert n_iter[0] == n_iter[1]
        assert n_iter[0][0] < n_iter[0][1] < n_iter[0][2] < 1000

    def test_a_stopped_fit_adds_one_round_if_the_score_is_flat(self):
        fitted = regressor(early_stopping=True, n_iter_no_change=5, tol=1e9, warm_start=True)
        assert [fitted.fit(X, Y).n_iter_ for _ in range(3)] == [5, 6, 7]


@pytest.mark.parametrize(
    ("estimator", "y", "expected"), [(regressor(), Y, 1), (regressor(), SEVERAL, 3), (classifier(shared_trees=2), WORDS, 2)]
)
def test_trees_per_iteration(estimator, y, expected):
    fitted = clone(estimator).set_params(max_iter=2).fit(X, y)
    assert fitted.n_trees_per_iteration_ == expected == len(fitted.model_.trees) // fitted.n_iter_

"""One model from several."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from sapwood import Model, load, merge
from sapwood.encoding.lookup import combine, split
from tests.estimators.test_warm_start import CASES, FRAME, WORDS, N, X, Y, classifier, regressor

HALVES = [slice(0, 150), slice(150, N)]


def take(x, rows):
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


@pytest.mark.parametrize("case", CASES)
def test_pieces_make_the_whole(case):
    estimator, x, y, more = CASES[case]
    whole = clone(estimator).fit(x, y, **more)
    merged = merge([whole[:3], whole[3:8], whole[8:]])
    assert merged.model_.to_bytes() == whole.model_.to_bytes()
    assert merge([whole.model_[:5], whole.model_[5:]]).to_bytes() == whole.model_.to_bytes()
    assert_array_equal(merged.predict(x), whole.predict(x))


@pytest.mark.parametrize("weights", [None, "mean", [0.25, 2.0]], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_raw_predictions_add_up(case, weights):
    """Models of different rows: other bins, other levels, other tables of categories."""
    estimator, x, y, more = CASES[case]
    models = [clone(estimator).fit(take(x, rows), y[rows], **{name: a[rows] for name, a in more.items()}) for rows in HALVES]
    merged = merge(models, weights)
    factors = {None: [1, 1], "mean": [0.5, 0.5]}.get(weights if not isinstance(weights, list) else "", weights)
    expected = sum(factor * model._raw_predict(x) for factor, model in zip(factors, models, strict=True))
    assert_allclose(merged._raw_predict(x), expected, rtol=1e-12, atol=1e-12)
    again = Model.from_bytes(merged.model_.to_bytes())
    assert_array_equal(again.predict(x, raw=True), merged.model_.predict(x, raw=True))


def test_levels_are_put_together():
    """One that a model did not know is as unknown to its trees as before."""
    frames = [pd.DataFrame({"word": RNG_WORDS[i], "pair": RNG_WORDS[i][::-1], "number": X[HALVES[i], 3]}) for i in range(2)]
    models = [
        regressor(max_combination=2, categorical_encoding=["partition", "target"]).fit(f, Y[r]) for f, r in zip(frames, HALVES, strict=True)
    ]
    merged = merge(models)
    assert merged.model_.schema.kind(0).levels == ("a", "b", "c", "d", "e")
    every = pd.concat([*frames, frames[0].assign(word="never seen"), frames[1].assign(pair=None)])
    assert_allclose(merged.predict(every), sum(model.predict(every) for model in models), rtol=1e-12)
    merged.explain(every[:5])


RNG_WORDS = [np.random.default_rng(i).choice(list(words), 150) for i, words in enumerate(("bcd", "acde"))]


def test_columns_are_told_by_name():
    models = [regressor().fit(FRAME[order], Y) for order in (list("abcd"), list("dbca"))]
    merged = merge(models, "mean")
    assert_allclose(merged.predict(FRAME[list("cabd")]), models[0].predict(FRAME[list("abcd")]), rtol=1e-9)


def test_only_rounds_that_predict_are_taken():
    stopped = regressor(max_iter=60, early_stopping=True, learning_rate=0.5, n_iter_no_change=3).fit(X, Y)
    assert stopped.best_iteration_ < stopped.n_iter_
    merged = merge([stopped, stopped], "mean")
    assert merged.n_iter_ == merged.best_iteration_ == 2 * stopped.best_iteration_
    assert_allclose(merged.predict(X), stopped.predict(X), rtol=1e-12)


def test_what_is_merged_can_be_trained_on_saved_and_explained(tmp_path):
    models = [classifier().fit(FRAME.iloc[rows], WORDS[rows]) for rows in HALVES]
    merged = merge(models, "mean")
    merged.save(tmp_path / "merged")
    found = merged.explain(FRAME.iloc[:5])
    assert_allclose(found.values.sum(axis=1) + found.base_values, merged._raw_predict(FRAME.iloc[:5]), rtol=1e-9)
    assert load(tmp_path / "merged").model_.to_bytes() == merged.model_.to_bytes()
    assert merged.partial_fit(FRAME, WORDS).n_iter_ == 36


def test_shared_trees_of_other_numbers():
    models = [classifier(shared_trees=n).fit(X, WORDS) for n in (2, 3)]
    merged = merge(models)
    assert merged.model_.shared == 1 and merged.n_iter_ == 12 * 5
    assert_allclose(merged._raw_predict(X), sum(model._raw_predict(X) for model in models), rtol=1e-12)


def test_an_init_is_kept_once():
    whole = regressor(init=regressor(max_iter=2)).fit(X, Y)
    assert_array_equal(merge([whole[:5], whole[5:]]).predict(X), whole.predict(X))
    for models, weights in (([whole, whole], None), ([whole[:5], whole[5:]], "mean")):
        with pytest.raises(ValueError, match="only one of them may have an init, with a weight of 1"):
            merge(models, weights)


class TestWhatDiffersIsNamed:
    fitted = regressor(max_iter=2).fit(X, Y)

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            (regressor(max_iter=2).fit(X[:, :3], Y), "the first has 4 columns, number 1 has 3"),
            (
                regressor(max_iter=2, loss="absolute_error").fit(X, Y),
                "loss is 'squared_error' in the first, but 'absolute_error' in number 1",
            ),
            (regressor(max_iter=2).fit(X, np.column_stack([Y, Y])), "n_outputs is 1 in the first, but 2 in number 1"),
        ],
        ids=["columns", "loss", "outputs"],
    )
    def test_models(self, other, message):
        with pytest.raises(ValueError, match=message):
            merge([self.fitted, other])
        with pytest.raises(ValueError, match=message):
            merge([self.fitted.model_, other.model_])

    def test_names(self):
        named = [regressor(max_iter=2).fit(FRAME[columns], Y) for columns in (["a", "b"], ["a", "c"])]
        with pytest.raises(ValueError, match="number 1 has no column 'b', which the first has"):
            merge(named)

    def test_missing_values(self):
        models = [regressor(max_iter=2, missing=missing).fit(X, Y) for missing in (None, -1)]
        with pytest.raises(ValueError, match="missing differs between the first and number 1"):
            merge(models)

    def test_kinds(self):
        kinds = [regressor(max_iter=2).fit(pd.DataFrame({"a": a}), Y) for a in (X[:, 0], RNG_WORDS[0].tolist() * 2)]
        with pytest.raises(ValueError, match=r"the column 'a' has number in one model, category of 3 levels .* in another"):
            merge(kinds)

    def test_classes(self):
        models = [classifier(max_iter=2).fit(X, y) for y in (WORDS, np.where(WORDS == "low", "odd", WORDS))]
        with pytest.raises(ValueError, match=r"the classes are \['high', 'low', 'middle'\] in the first, but \['high', 'middle', 'odd'\]"):
            merge(models)

    def test_quantiles(self):
        models = [regressor(max_iter=2, loss="quantile", quantile=q).fit(X, Y) for q in (0.1, 0.9)]
        with pytest.raises(ValueError, match=r"quantile is 0\.1 in the first, but 0\.9 in number 1"):
            merge(models)

    def test_shared_trees(self):
        models = [classifier(max_iter=2, multi_strategy=s).fit(X, WORDS) for s in ("multi_output_tree", "one_output_per_tree")]
        with pytest.raises(ValueError, match="some have trees shared by all outputs"):
            merge(models)

    @pytest.mark.parametrize("weights", [[1.0], [1, np.nan], "sum", [[1, 1]], ["a", "b"]], ids=str)
    def test_weights(self, weights):
        with pytest.raises(ValueError, match="weights must be 2 finite numbers"):
            merge([self.fitted, self.fitted], weights)

    def test_things(self):
        with pytest.raises(TypeError, match="got BoostingRegressor and BoostingClassifier"):
            merge([self.fitted, classifier(max_iter=2).fit(X, WORDS)])
        with pytest.raises(TypeError, match="got BoostingRegressor and Model"):
            merge([self.fitted, self.fitted.model_])
        with pytest.raises(ValueError, match="merge needs at least one model"):
            merge([])


def test_sparse_tables_too():
    x = sparse.csr_array(np.nan_to_num(X))
    models = [regressor().fit(x[rows], Y[rows]) for rows in HALVES]
    assert_allclose(merge(models).predict(x), sum(model.predict(x) for model in models), rtol=1e-12)


def test_keys_are_split_as_they_were_combined():
    rng = np.random.default_rng(0)
    codes = [rng.integers(-1, n, 50) for n in (3, 7, 2)]
    for own, again in zip(codes, split(combine(codes, (3, 7, 2)), (3, 7, 2)), strict=True):
        assert_array_equal(own, again)

"""Features that are computed from two columns."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor, ModelFormatError
from sapwood.encoding.cross import Cross, level_numbers
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "length": rng.normal(size=N).round(2),
        "width": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N).round(2)),
        "town": rng.choice(["Bonn", "Köln", "Ulm", None], N),
    }
)
CROSSES = [("difference", "length", "width"), ("product", "length", "width"), ("centered", "length", "town")]
SMALL = {"max_iter": 8, "max_leaf_nodes": 6, "min_samples_leaf": 5}
Y = (FRAME["length"] - FRAME["width"].fillna(0)).to_numpy() ** 2 + rng.normal(size=N) / 5


def by_hand(frame, weight=None):
    """The table with the same features as columns."""
    weight = np.ones(len(frame)) if weight is None else weight
    town = frame["town"].fillna("missing")
    sums = [
        pd.Series(values).groupby(town.to_numpy()).transform("sum").to_numpy() for values in (frame["length"].to_numpy() * weight, weight)
    ]
    return frame.assign(d=frame["length"] - frame["width"], p=frame["length"] * frame["width"], c=frame["length"] - sums[0] / sums[1])


def test_values():
    first, second = np.array([1.5, np.nan, np.inf, 2.0]), np.array([2, 1, np.inf, np.nan])
    np.testing.assert_array_equal(Cross("difference", (0, 1)).read([first, second]), [-0.5, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(Cross("product", (0, 1)).read([first, second]), [3.0, np.nan, np.inf, np.nan])
    np.testing.assert_array_equal(
        Cross("centered", (0, 1), (9.0, 1.0, 2.0, 0.5)).read([first, np.array([2, 1, 0, -1])]), [1, np.nan, np.inf, -7]
    )
    np.testing.assert_array_equal(level_numbers(np.array([0, -1, np.nan, 3])), [1, 0, 0, 4])


def test_float32_columns_are_computed_in_double_precision():
    first, second = rng.normal(size=(2, 50)).astype(np.float32)
    np.testing.assert_array_equal(Cross("product", (0, 1)).read([first, second]), first.astype(float) * second.astype(float))


@pytest.mark.parametrize("weighted", [False, True])
def test_same_predictions_as_with_columns(weighted):
    weight = np.arange(N) % 3 + 0.0 if weighted else None
    crossed = BoostingRegressor(**SMALL, cross_features=CROSSES).fit(FRAME, Y, sample_weight=weight)
    columns = BoostingRegressor(**SMALL).fit(by_hand(FRAME, weight), Y, sample_weight=weight)
    assert_allclose(crossed.predict(FRAME), columns.predict(by_hand(FRAME, weight)), rtol=1e-9)
    used = {int(f) for tree in crossed.model_.trees for f in tree.feature}
    assert used & {3, 4, 5}


def test_a_row_alone_and_all_rows():
    fitted = BoostingRegressor(**SMALL, cross_features=CROSSES).fit(FRAME, Y)
    np.testing.assert_array_equal([fitted.predict(FRAME.iloc[i : i + 1])[0] for i in range(40)], fitted.predict(FRAME)[:40])


def test_a_row_of_weight_zero_is_absent():
    weight = (np.arange(N) % 4 > 0).astype(float)
    frame = FRAME.assign(length=np.where(weight > 0, FRAME["length"], 1e6))
    own = BoostingRegressor(**SMALL, cross_features=CROSSES[2:]).fit(frame, Y, sample_weight=weight)
    kept = BoostingRegressor(**SMALL, cross_features=CROSSES[2:]).fit(FRAME[weight > 0], Y[weight > 0])
    assert own.model_.encoding.crosses[3].means == kept.model_.encoding.crosses[3].means


@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_threads_and_partitions_give_the_same_bytes(estimator):
    numbers = FRAME.assign(town=pd.factorize(FRAME["town"])[0].astype(float)).to_numpy()
    crosses = [("difference", 0, 1), ("product", 0, 1), ("centered", 0, 2)]
    make = partial(estimator, **SMALL, cross_features=crosses, categorical_features=[2])
    assert_same_bytes(make, numbers, Y if estimator is BoostingRegressor else Y > 1)


def test_explanations_add_up():
    fitted = BoostingRegressor(**SMALL, cross_features=CROSSES).fit(FRAME, Y)
    found = fitted.explain(FRAME)
    assert found.values.shape == (N, 3)
    assert_allclose(found.values.sum(axis=1) + found.base_values, fitted.predict(FRAME), rtol=1e-9)


def test_averages_of_models_keep_their_features():
    one = BoostingRegressor(**SMALL, cross_features=CROSSES).fit(FRAME, Y)
    frame = FRAME[["town", "width", "length"]].assign(town=FRAME["town"].replace("Bonn", "Aachen"))
    other = BoostingRegressor(**SMALL, cross_features=CROSSES[1:]).fit(frame, -Y)
    merged = sapwood.merge([one, other], weights="mean")
    both = FRAME.assign(town=rng.choice(["Aachen", "Bonn", "Köln"], N))
    assert_allclose(merged.predict(both), (one.predict(both) + other.predict(both[frame.columns])) / 2, rtol=1e-9)


def test_a_model_is_continued_with_its_own_means():
    fitted = BoostingRegressor(**SMALL, cross_features=CROSSES, warm_start=True).fit(FRAME, Y)
    fitted.set_params(max_iter=12).fit(FRAME, Y)
    assert fitted.n_iter_ == 12
    with pytest.raises(ValueError, match="continues a model with other cross features: do not change cross_features"):
        fitted.set_params(max_iter=15, cross_features=CROSSES[:2]).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([("sum", "length", "width")], r"must be a list of \(operation, column, column\).*got \('sum', 'length', 'width'\)"),
        ([("product", "length")], r"got \('product', 'length'\)"),
        (["product"], "got 'product'"),
        ([("product", "length", "town")], "needs a number, but the column 'town' is a category"),
        ([("centered", "length", "width")], "needs a category, but the column 'width' is a number"),
        ([("product", "length", "height")], "cross_features names the feature 'height'"),
        ([CROSSES[0], CROSSES[0]], "twice"),
    ],
)
def test_wrong_values(value, message):
    with pytest.raises(ValueError, match=message):
        BoostingRegressor(**SMALL, cross_features=value).fit(FRAME, Y)


def test_monotonic_columns_cannot_be_crossed():
    with pytest.raises(ValueError, match="monotonic_cst cannot be combined with cross_features for column 'width'"):
        BoostingRegressor(**SMALL, cross_features=CROSSES, monotonic_cst={"width": 1}).fit(FRAME, Y)
    BoostingRegressor(**SMALL, cross_features=CROSSES[2:], monotonic_cst={"width": 1}).fit(FRAME, Y)


def test_interaction_constraints_hold():
    fitted = BoostingRegressor(**SMALL, cross_features=CROSSES, interaction_cst=[["length", "town"], ["width"]]).fit(FRAME, Y)
    used = {int(f) for tree in fitted.model_.trees for f in tree.feature}
    assert not used & {3, 4}


class TestDamagedFiles:
    @pytest.fixture
    def parts(self):
        model = BoostingRegressor(**SMALL, cross_features=CROSSES).fit(FRAME, Y).model_
        return model.encoding, {**model.encoding.arrays(), "kinds": model.encoding.kinds, "cuts_begin": model.binning.begin}

    @pytest.mark.parametrize(
        ("feature", "change", "message"),
        [
            ("3", {"operation": "sum"}, "unknown operation"),
            ("3", {"means": [1.0]}, "other entries"),
            ("3", {"columns": [0, 3]}, "columns out of range"),
            ("3", {"columns": [0, -1]}, "columns out of range"),
            ("3", {"columns": [0, True]}, "columns out of range"),
            ("3", {"columns": [0]}, "columns out of range"),
            ("5", {"means": [1.0, None, 1.0, 1.0]}, "not a finite number"),
            ("5", {"means": [1.0, float("nan"), 1.0, 1.0]}, "not a finite number"),
            ("5", {"means": 3}, "not a finite number"),
        ],
    )
    def test_descriptions(self, parts, feature, change, message):
        encoding, arrays = parts
        about = encoding.to_json()
        about["crosses"][feature] |= change
        with pytest.raises(ValueError, match=message):
            type(encoding).from_data(about, arrays, 6)

    @pytest.mark.parametrize("crosses", [[], {"x": {}}, {"2": {}}, {"6": {}}, {"3": []}])
    def test_other_data(self, parts, crosses):
        encoding, arrays = parts
        with pytest.raises(ValueError, match="invalid"):
            type(encoding).from_data(encoding.to_json() | {"crosses": crosses}, arrays, 6)

    def test_a_feature_twice(self, parts):
        encoding, arrays = parts
        about = encoding.to_json() | {"parts": {"3": {"column": 0, "part": "hour"}}}
        with pytest.raises(ValueError, match="described twice or not at all"):
            type(encoding).from_data(about, arrays, 6)

    @pytest.mark.parametrize(
        ("feature", "cross"),
        [
            (3, Cross("difference", (0, 2))),
            (3, Cross("product", (2, 0))),
            (5, Cross("centered", (0, 1), (0.0,))),
            (5, Cross("centered", (0, 2), (0.0,))),
        ],
    )
    def test_columns_of_another_kind(self, parts, feature, cross):
        encoding = replace(parts[0], crosses={**parts[0].crosses, feature: cross})
        model = BoostingRegressor(**SMALL, cross_features=CROSSES).fit(FRAME, Y).model_
        with pytest.raises(ValueError, match="does not match its columns"):
            encoding.check(model.schema)
        model.encoding = encoding
        with pytest.raises(ModelFormatError):
            type(model).from_bytes(model.to_bytes())

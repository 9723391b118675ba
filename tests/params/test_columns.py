"""What users say of columns: by name, position, type or function, alone or in one FeatureSpec, also behind a pipeline."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import BoostingRegressor, FeatureSpec
from sapwood.params.columns import Features

rng = np.random.default_rng(0)
N_ROWS = 300
FRAME = pd.DataFrame(
    {
        "age": rng.normal(size=N_ROWS),
        "rooms": rng.integers(1, 9, N_ROWS),
        "width": rng.normal(size=N_ROWS).astype("f4"),
        "member": rng.random(N_ROWS) < 0.5,
    }
)
Y = FRAME["age"] ** 2 + FRAME["rooms"] + rng.normal(size=N_ROWS)


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 5, "min_samples_leaf": 5} | parameters))


def model_bytes(X=FRAME, **parameters):
    return regressor(**parameters).fit(X, Y).model_.to_bytes()


def features(frame, names=None):
    return Features(len(frame.columns), names or list(frame.columns), frame)


class TestSelectors:
    @pytest.mark.parametrize(
        ("columns", "found"),
        [
            ("rooms", [1]),
            (2, [2]),
            (["width", 0], [0, 2]),
            ([True, False, False, True], [0, 3]),
            (float, [0, 2]),
            (int, [1]),
            (np.number, [0, 1, 2]),
            (bool, [3]),
            (np.dtype("f4"), [2]),
            ([bool, "age"], [0, 3]),
            (make_column_selector(pattern="o"), [1]),
            (make_column_selector(dtype_include=np.floating), [0, 2]),
            (lambda X: [name for name in X.columns if len(name) == 5], [1, 2]),
            (lambda X: X.columns == "member", [3]),
            (slice(1, 3), [1, 2]),
        ],
    )
    def test_columns_of_pandas(self, columns, found):
        assert features(FRAME).positions(columns, "max_bins") == found

    @pytest.mark.parametrize(
        ("columns", "found"), [(pl.Float32, [2]), (pl.Float64(), [0]), (float, [0, 2]), (pl.Boolean, [3]), (str, []), ("member", [3])]
    )
    def test_columns_of_polars(self, columns, found):
        assert features(pl.from_pandas(FRAME)).positions(columns, "max_bins") == found

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ("colour", "max_bins names the feature 'colour', which X does not have"),
            (9, "max_bins selects the feature 9, but X has 4 features"),
            ([True, False], r"boolean mask should have shape \(4,\), got: \(2,\)"),
            (None, "max_bins must select columns by name, position, dtype or callable; got None"),
        ],
    )
    def test_what_is_not_there_is_named(self, columns, message):
        with pytest.raises(ValueError, match=message):
            features(FRAME).positions(columns, "max_bins")

    def test_an_array_has_no_types(self):
        with pytest.raises(ValueError, match="X is not a data frame: use positions"):
            Features(2, None, np.ones((3, 2))).positions(float, "max_bins")

    def test_behind_a_pipeline(self):
        names = ["num__age", "num__rooms", "cat__a__rooms", "cat__colour"]
        table = Features(4, names)
        assert table.position("colour", "max_bins") == 3
        assert table.position("a__rooms", "max_bins") == 2
        assert table.position("num__rooms", "max_bins") == 1
        with pytest.raises(ValueError, match="which matches 'num__rooms', 'cat__a__rooms': use the full name"):
            table.position("rooms", "max_bins")


@pytest.mark.parametrize(
    "columns", ["rooms", 1, int, make_column_selector(pattern="rooms"), ("rooms",)], ids=["name", "position", "type", "function", "tuple"]
)
def test_every_parameter_takes_every_way_to_name_columns(columns):
    expected = model_bytes(monotonic_cst=[0, -1, 0, 0], max_bins=[255, 3, 255, 255], feature_weights=[1, 9, 1, 1], interaction_cst=[[1]])
    said = {"monotonic_cst": {columns: -1}, "max_bins": {columns: 3}, "feature_weights": {columns: 9}}
    assert model_bytes(**said, interaction_cst=[[columns]]) == expected
    assert model_bytes(cut_points={columns: [2.5, 4.5]}) == model_bytes(cut_points={1: [2.5, 4.5]}) != model_bytes()


class TestSpec:
    SPEC = FeatureSpec({"rooms": {"monotonic": -1, "max_bins": 3}, float: {"weight": 2.0}}, interactions=[["age", "rooms"]])
    SAID = {  # noqa: RUF012
        "monotonic_cst": {"rooms": -1},
        "max_bins": {"rooms": 3},
        "feature_weights": {"age": 2.0, "width": 2.0},
        "interaction_cst": [["age", "rooms"]],
    }

    def test_says_it_all_at_once(self):
        assert model_bytes(feature_spec=self.SPEC) == model_bytes(**self.SAID) != model_bytes()

    def test_stands_in_for_a_parameter(self):
        assert model_bytes(monotonic_cst=self.SPEC) == model_bytes(monotonic_cst={"rooms": -1})
        assert model_bytes(interaction_cst=self.SPEC) == model_bytes(interaction_cst=[["age", "rooms"]])

    def test_leaves_other_columns_the_common_number_of_bins(self):
        fitted = regressor(feature_spec=FeatureSpec({"rooms": {"max_bins": 3}}), max_bins=20).fit(FRAME, Y)
        assert np.diff(fitted.model_.binning.begin).tolist() == [19, 2, 19, 1]

    def test_names_categories_besides_those_of_their_type(self):
        frame = FRAME.assign(paint=np.where(FRAME["age"] > 0, "red", "blue"))
        spec = FeatureSpec({"rooms": {"categorical": True, "encoding": "onehot"}, "paint": {"encoding": "count"}})
        fitted = regressor(feature_spec=spec).fit(frame, Y)
        assert fitted.model_.schema.categories == [1, 4]
        said = {"categorical_features": ["rooms", str], "categorical_encoding": {"rooms": "onehot", "paint": "count"}}
        assert fitted.model_.to_bytes() == model_bytes(frame, **said)

    def test_does_not_contradict(self):
        with pytest.raises(ValueError, match="monotonic_cst cannot be combined with the same setting in feature_spec"):
            model_bytes(feature_spec=self.SPEC, monotonic_cst={"age": 1})

    def test_knows_its_words(self):
        with pytest.raises(
            ValueError,
            match="FeatureSpec has an unknown setting 'monotone' of the column 'age'; choose from categorical, encoding",
        ):
            FeatureSpec({"age": {"monotone": 1}})

    def test_is_cloned_and_pickled(self):
        spec = FeatureSpec({"rooms": {"monotonic": -1}})
        estimator = pickle.loads(pickle.dumps(clone(regressor(feature_spec=spec))))
        assert estimator.feature_spec == spec
        assert repr(spec) == "FeatureSpec({'rooms': {'monotonic': -1}})"

    def test_written_for_the_raw_table_serves_behind_a_pipeline(self):
        scale = ColumnTransformer([("scaled", StandardScaler(), ["age", "rooms"])], remainder="passthrough").set_output(transform="pandas")
        spec = FeatureSpec({"rooms": {"monotonic": -1}, "member": {"weight": 3.0}})
        fitted = make_pipeline(scale, regressor(feature_spec=spec)).fit(FRAME, Y)
        transformed = scale.fit_transform(FRAME)
        direct = regressor(monotonic_cst={"scaled__rooms": -1}, feature_weights={"remainder__member": 3.0}).fit(transformed, Y)
        assert fitted[-1].model_.to_bytes() == direct.model_.to_bytes()


class TestDescription:
    def test_before_the_fit(self):
        frame = pl.DataFrame(
            {"size": [1.5, None, 3.0], "when": [None, None, "2024-05-01"], "paint": ["red", None, "blue"], "gone": [None, None, None]}
        ).with_columns(pl.col("when").str.to_datetime())
        rows = {row["name"]: row for row in regressor(feature_weights={"size": 2}).describe_features(frame).to_dicts()}
        assert rows["size"] | {"missing": 0} == {
            "name": "size", "kind": "number", "values": "1.5 to 3", "missing": 0, "bins": None, "constraints": "weight 2", "features": "",
        }  # fmt: skip
        assert rows["when"]["kind"] == "datetime"
        assert rows["when"]["values"] == "2024-05-01 00:00:00 to 2024-05-01 00:00:00"
        assert rows["paint"]["values"] == "2: blue, red"
        assert_array_equal([row["missing"] for row in rows.values()], [1 / 3, 2 / 3, 1 / 3, 1])

    def test_after_the_fit(self):
        said = {"max_bins": {"age": 8}, "monotonic_cst": {float: 1}, "interaction_cst": [["age", "rooms"]]}
        fitted = regressor(**said).fit(FRAME, Y)
        for given in (None, FRAME[["member", "width", "age", "rooms"]]):
            columns = fitted.describe_features(given).columns
            assert [column.name for column in columns] == list(FRAME.columns)
            assert [column.bins for column in columns] == [8, 8, 255, 2]
            assert [column.constraints for column in columns] == ["rises, group 0", "group 0", "rises, group 1", "group 1"]
        assert columns[1].values == f"{FRAME['rooms'].min()} to {FRAME['rooms'].max()}"

    def test_nothing_to_describe(self):
        with pytest.raises(ValueError, match=r"describe_features\(X\)"):
            regressor().describe_features()

    def test_does_not_touch_the_estimator(self):
        estimator = regressor()
        estimator.describe_features(FRAME)
        assert not hasattr(estimator, "n_features_in_")

    def test_what_categories_are_made_into(self):
        frame = FRAME.assign(word=pd.Categorical(np.array(["a", "b", "c"])[np.arange(len(FRAME)) % 3]), more=["x", "y"] * (len(FRAME) // 2))
        fitted = regressor(categorical_encoding={"word": ["partition", "target"], "more": "onehot"}, max_combination=2, max_iter=2)
        y = np.arange(len(frame)) % 7
        columns = {c.name: c for c in fitted.fit(frame, y).describe_features().columns}
        bins = np.diff(fitted.model_.binning.begin) + 1
        further = list(range(frame.shape[1], fitted.model_.n_features))
        assert columns["more"].bins == 2
        assert columns["word"].features == f"sets of levels: 3, statistic: {bins[further[0]]}, statistic with more: {bins[further[1]]}"
        assert columns["more"].features == f"single levels: 2, statistic with word: {bins[further[1]]}"
        assert all(c.features == "" for name, c in columns.items() if name not in ("word", "more") and c.kind == "number")

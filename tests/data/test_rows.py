"""One row of a frame, and rows as dicts: the same predictions, bit for bit, as the rows of a table."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.data.rows import dicts_table, read_row
from sapwood.uncertainty import ConformalRegressor

RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "i": RNG.integers(-5, 5, N),
        "b": RNG.random(N) < 0.5,
        "word": pd.Categorical(np.array(["u", "v", "w", None], dtype=object)[RNG.integers(0, 4, N)]),
        "code": pd.Categorical(RNG.integers(0, 6, N)),
        "size": pd.Categorical(np.array(["s", "m", "l"])[RNG.integers(0, 3, N)], categories=["s", "m", "l"], ordered=True),
        "many": RNG.integers(0, 200, N).astype(str),
    }
)
FRAME.loc[::7, "a"] = np.nan
Y = np.nan_to_num(FRAME["a"].to_numpy()) + FRAME["b"] + (FRAME["word"] == "u") + RNG.normal(scale=0.1, size=N)
NUMBERS = FRAME[["a", "i"]]
SMALL = {"max_iter": 15, "min_samples_leaf": 3}
MODELS = {
    "numbers": (BoostingRegressor(**SMALL), ["a", "i"]),
    "bools": (BoostingRegressor(**SMALL), ["a", "b", "i"]),
    "categories": (BoostingRegressor(**SMALL), list(FRAME)),
    "target statistics": (BoostingRegressor(**SMALL, categorical_encoding="target", max_combination=2), list(FRAME)),
    "counts": (BoostingRegressor(**SMALL, categorical_encoding=["partition", "count"]), ["word", "many", "a"]),
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    estimator, columns = MODELS[request.param]
    x = FRAME[columns]
    return estimator.fit(x, Y), x


def test_a_row_is_predicted_as_in_its_table(case):
    fitted, x = case
    expected = fitted.predict(x)
    polars = pl.from_pandas(x)
    for i in range(40):
        row = x.iloc[[i]]
        assert read_row(row, fitted.model_.schema) is not None
        assert fitted.predict(row)[0] == expected[i]
        assert fitted.predict(row[row.columns[::-1]])[0] == expected[i]
        assert read_row(polars[i], fitted.model_.schema) is not None
        assert fitted.predict(polars[i])[0] == expected[i]
        record = dict(zip(polars.columns, polars.row(i), strict=True))
        assert read_row(record, fitted.model_.schema) is not None
        assert fitted.predict(record)[0] == expected[i]
        assert fitted.model_.predict(record)[0] == expected[i]
    assert_array_equal(fitted.predict(polars.to_dicts()), expected)
    assert_array_equal(fitted.predict(polars.to_dicts()[:1]), expected[:1])


def test_unseen_levels_and_missing_values(case):
    fitted, x = case
    rows = x.iloc[[3, 3]].astype({name: object for name in x if name in ("word", "many")})
    for name, value in (("word", "new"), ("many", "new"), ("word", None), ("a", None), ("a", np.nan), ("b", None), ("code", 99)):
        if name in x:
            changed = [{**row, name: value} for row in rows.to_dict("records")]
            assert fitted.predict(changed[0])[0] == fitted.predict(changed)[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": "text"}, "Column 'a' had kind number when the model was fitted; now it has kind category"),
        ({"word": 3}, "Column 'word' had kind category of 3 levels"),
        ({"code": "3"}, "Column 'code' had kind category of 6 levels"),
        ({"more": 1}, "Feature names unseen at fit time:\n- more"),
        ({"a": [1.0, 2.0]}, "X as a dict is one row: the value of 'a' in row 0 must be a number, text or a date, not list"),
    ],
)
def test_errors_are_those_of_tables(change, message):
    fitted = BoostingRegressor(max_iter=2).fit(FRAME[["a", "word", "code"]], Y)
    record = FRAME[["a", "word", "code"]].to_dict("records")[0]
    with pytest.raises(ValueError) as error:
        fitted.predict({**record, **change})
    assert message in str(error.value)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- word"):
        fitted.predict({"a": 1.0, "code": 2})


def test_what_takes_a_column_to_read_is_left_to_tables():
    moments = FRAME[["a"]].assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N), unit="D"))
    fitted = BoostingRegressor(**SMALL, datetime_features="auto").fit(moments, Y)
    expected = fitted.predict(moments)
    assert read_row(moments.iloc[[5]], fitted.model_.schema) is None
    assert fitted.predict(moments.iloc[[5]])[0] == expected[5]
    assert fitted.predict({"a": moments["a"][5], "day": datetime.datetime(2024, 1, 6)})[0] == expected[5]
    nullable = FRAME[["a", "i"]].astype({"i": "Int64", "a": "Float64"})
    numbers = BoostingRegressor(**SMALL).fit(NUMBERS, Y)
    assert numbers.predict(nullable.iloc[[5]])[0] == numbers.predict(NUMBERS)[5]
    absent = BoostingRegressor(**SMALL, missing=-5).fit(NUMBERS, Y)
    assert read_row(NUMBERS.iloc[[0]], absent.model_.schema) is None
    assert_array_equal([absent.predict(NUMBERS.iloc[[i]])[0] for i in range(30)], absent.predict(NUMBERS)[:30])


def test_dicts_are_rows_to_fit_on():
    records = FRAME.astype({"word": object, "code": object, "size": object}).to_dict("records")
    from_records = BoostingClassifier(**SMALL).fit(records, Y > 1)
    assert from_records.feature_names_in_.tolist() == list(FRAME)
    assert from_records.is_categorical_.tolist() == [False, False, False, True, False, True, True]
    assert from_records.predict_proba(records[3]).shape == (1, 2)
    assert_array_equal(from_records.predict_proba(records[3]), from_records.predict_proba(records)[3:4])
    table = dicts_table([{"a": 1.0, "b": "x"}, {"a": 2.0}])
    assert table.schema.names == ("a", "b")
    assert table.columns[1].values.tolist() == [0, -1]


def test_dicts_in_wrappers():
    records = NUMBERS.to_dict("records")
    fitted = ConformalRegressor(BoostingRegressor(**SMALL)).fit(records, Y)
    assert_array_equal(fitted.predict_interval(records[4]), fitted.predict_interval(records)[4:5])


def test_a_list_of_dicts_and_something_else():
    with pytest.raises(TypeError, match="X is a list of dicts, but row 1 is int"):
        BoostingRegressor().fit([{"a": 1}, 3], [1, 2])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        BoostingRegressor().fit([{}, {}], [1, 2])


def test_a_model_without_names_has_no_use_for_them():
    fitted = BoostingRegressor(max_iter=2).fit(NUMBERS.to_numpy(), Y)
    with pytest.warns(UserWarning, match="X has feature names, but BoostingRegressor was fitted without"):
        fitted.predict({"a": 1.0, "i": 2})

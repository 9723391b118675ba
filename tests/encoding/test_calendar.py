"""Calendar parts compared with Python's datetime, and in estimators."""

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingRegressor, load, merge
from sapwood.data.columns import ColumnError
from sapwood.encoding.calendar import PARTS, CalendarPart
from sapwood.model import Model
from sapwood.model.conditions import condition
from sapwood.model.export import ExportError

RNG = np.random.default_rng(0)
N = 400
UTC = datetime.UTC
START = datetime.datetime(2023, 3, 1)
MOMENTS = [START + datetime.timedelta(minutes=int(m)) for m in RNG.integers(0, 600 * 1440, N)]
MOMENTS[7] = None
OTHER = RNG.normal(size=N)
HOURS = np.array([0 if moment is None else moment.hour for moment in MOMENTS])
Y = (HOURS % 12) + 0.1 * OTHER

EXPECTED = {
    "year": lambda t: t.year,
    "quarter": lambda t: (t.month - 1) // 3 + 1,
    "month": lambda t: t.month,
    "week": lambda t: t.isocalendar().week,
    "day": lambda t: t.day,
    "dayofyear": lambda t: t.timetuple().tm_yday,
    "weekday": lambda t: t.weekday(),
    "hour": lambda t: t.hour,
    "minute": lambda t: t.minute,
    "second": lambda t: t.second,
}


def microseconds(moment):
    return (moment - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1)


class TestParts:
    @pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"])
    def test_parts_of_local_time(self, zone):
        assert set(EXPECTED) == set(PARTS)
        ends = [microseconds(datetime.datetime(year, 1, 1, tzinfo=UTC)) for year in (1901, 2100)]
        moments = RNG.integers(*ends, 300)
        around = microseconds(datetime.datetime(2024, 3, 31, 1, tzinfo=UTC)) + np.arange(-3, 4) * 1_800_000_000 + 1
        weeks = [
            microseconds(datetime.datetime(year, month, day, 12, tzinfo=UTC))
            for year in range(2015, 2027)
            for month, day in ((1, 1), (12, 31))
        ]
        moments = np.concatenate([moments, around, weeks, [-1, 0, 1]])
        clocks = [datetime.datetime.fromtimestamp(0, UTC) + datetime.timedelta(microseconds=int(m)) for m in moments]
        clocks = clocks if zone is None else [t.astimezone(ZoneInfo(zone)) for t in clocks]
        for part, of in EXPECTED.items():
            found = CalendarPart(0, part, zone).read([np.append(moments.astype(float), np.nan)])
            assert_array_equal(found, [*map(of, clocks), np.nan])

    def test_zones_with_a_fixed_offset(self):
        moments = np.array([0.0])
        for zone, hour in (("+02:30", 2), ("-01:00", 23), ("UTC+05:00", 5)):
            assert CalendarPart(0, "hour", zone).read([moments])[0] == hour
        with pytest.raises(ColumnError, match="time zone 'Nowhere/At_all'"):
            CalendarPart(0, "hour", "Nowhere/At_all").read([moments])


def frames(zone=None):
    """The same table in several libraries: datetimes with or without a time zone."""
    moments = MOMENTS if zone is None else [None if t is None else t.replace(tzinfo=ZoneInfo(zone)) for t in MOMENTS]
    arrow = pa.table({"other": OTHER, "when": pa.array(moments, pa.timestamp("us", zone))})
    return {
        "pyarrow": arrow,
        "pandas": arrow.to_pandas(),
        "pandas on arrow": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.from_arrow(arrow),
    }


def regressor(**parameters):
    return BoostingRegressor(**{"max_iter": 15, "datetime_features": ["hour", "weekday"]} | parameters)


class TestEstimators:
    @pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
    @pytest.mark.parametrize("parts", ["auto", ["hour", "weekday"]])
    def test_the_same_bytes_for_every_frame(self, zone, parts):
        tables = frames(zone)
        fitted = {name: regressor(datetime_features=parts).fit(table, Y) for name, table in tables.items()}
        expected = fitted["pyarrow"].model_.to_bytes()
        for name, model in fitted.items():
            assert model.model_.to_bytes() == expected, name
            assert_array_equal(model.predict(tables[name]), fitted["pyarrow"].predict(tables["pyarrow"]))

    def test_parts_of_local_time_are_learned(self):
        table = frames("Europe/Berlin")["polars"]
        assert regressor().fit(table, Y).score(table, Y) > 0.9
        assert regressor(datetime_features=None).fit(table, Y).score(table, Y) < 0.7

    def test_another_zone_is_converted_to_the_zone_of_the_fit(self):
        table = frames("Europe/Berlin")["polars"]
        fitted = regressor().fit(table, Y)
        tokyo = table.with_columns(pl.col("when").dt.convert_time_zone("Asia/Tokyo"))
        assert_array_equal(fitted.predict(tokyo), fitted.predict(table))

    def test_parts_belong_to_their_column(self):
        table = frames()["pandas"]
        fitted = regressor().fit(table, Y)
        model = fitted.model_
        assert model.n_features == 4
        assert [model.encoding.columns_of(f) for f in range(4)] == [(0,), (1,), (1,), (1,)]
        assert fitted.feature_importances_.shape == (2,)
        assert fitted.feature_importances_[1] > 0.9
        explanation = fitted.explain(table)
        assert explanation.values.shape == (N, 2)
        np.testing.assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, fitted.predict(table), atol=1e-9)
        described = fitted.describe_features()
        assert described.columns[1].features == "hour: 24, weekday: 7"
        assert described.columns[0].features == ""
        assert "hour: 24, weekday: 7" in str(described)
        by_name = {condition(model, tree, node).partition(" ≤")[0] for tree in model.trees for node in np.flatnonzero(tree.feature >= 0)}
        assert "hour of when" in by_name

    def test_automatic_parts_vary_between_rows(self):
        days = pd.DataFrame({"when": pd.date_range("2024-02-01", periods=60)})
        fitted = regressor(datetime_features="auto", min_samples_leaf=5).fit(days, np.arange(60))
        assert [part.part for part in fitted.model_.encoding.parts.values()] == ["month", "day", "weekday"]

    def test_by_column(self):
        table = frames()["pandas"].assign(then=frames()["pandas"]["when"])
        fitted = regressor(datetime_features={"then": "year", "when": ["month", "day"]}).fit(table, Y)
        assert [(part.column, part.part) for part in fitted.model_.encoding.parts.values()] == [(1, "month"), (1, "day"), (2, "year")]

    def test_kept_in_files(self, tmp_path):
        table = frames("America/New_York")["pandas"]
        table["word"] = pd.Categorical(np.array(["a", "b", "c"])[RNG.integers(0, 3, N)])
        fitted = regressor(categorical_encoding=["partition", "target"]).fit(table, Y)
        again = Model.from_bytes(fitted.model_.to_bytes())
        assert again.encoding.parts == fitted.model_.encoding.parts
        assert again.to_bytes() == fitted.model_.to_bytes()
        fitted.save(tmp_path / "model")
        assert_array_equal(load(tmp_path / "model").predict(table), fitted.predict(table))

    def test_other_uses(self):
        table = frames()["pandas"]
        for parameters in (
            {"tree_method": "exact"},
            {"interaction_cst": "no_interactions"},
            {"early_stopping": True},
            {"boosting": "ordered"},
        ):
            assert regressor(**parameters, max_iter=40).fit(table, Y).score(table, Y) > 0.8
        objects = table.astype(object).to_numpy()
        assert regressor().fit(objects, Y).score(objects, Y) > 0.9

    @pytest.mark.parametrize(
        ("parameters", "words"),
        [
            ({"datetime_features": ["hours"]}, "datetime_features must be 'auto', or consist of year, .*; got 'hours'"),
            ({"datetime_features": []}, "must be a non-empty list without duplicates"),
            ({"datetime_features": {"other": "auto"}}, "datetime_features names the column 'other', which is a number, not a datetime"),
            ({"datetime_features": {"when": "era"}}, "got 'era'"),
            ({"monotonic_cst": {"when": 1}}, "monotonic_cst cannot be combined with datetime_features for column 'when'"),
        ],
    )
    def test_errors(self, parameters, words):
        with pytest.raises(ValueError, match=words):
            regressor(**parameters).fit(frames()["pandas"], Y)

    def test_formats_without_calendar_parts_raise(self):
        with pytest.raises(ExportError, match=r"does not support calendar parts of datetimes \(of when\)"):
            regressor().fit(frames()["pandas"], Y).export("lightgbm")

    def test_merge(self):
        table = frames("Europe/Berlin")["pandas"]
        one = regressor(datetime_features=["hour", "month"]).fit(table, Y)
        other = regressor(datetime_features=["weekday", "hour"]).fit(table[["when", "other"]], -OTHER * Y)
        merged = merge([one, other])
        assert [part.part for part in merged.model_.encoding.parts.values()] == ["hour", "month", "weekday"]
        np.testing.assert_allclose(merged.predict(table), one.predict(table) + other.predict(table), rtol=1e-12)
        assert_array_equal(Model.from_bytes(merged.model_.to_bytes()).predict(table), merged.predict(table))

    def test_warm_start(self):
        table = frames()["pandas"]
        fitted = regressor(warm_start=True, max_iter=5).fit(table, Y)
        assert fitted.set_params(max_iter=15).fit(table, Y).model_.to_bytes() == regressor().fit(table, Y).model_.to_bytes()
        with pytest.raises(ValueError, match="do not change datetime_features"):
            fitted.set_params(max_iter=16, datetime_features=None).fit(table, Y)

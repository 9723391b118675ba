"""Columns: levels, codes of fitted levels, schemas as JSON."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sapwood.data.columns import NUMBER, Column, ColumnError, Kind, Schema
from sapwood.data.tables import ArrayTable, FrameTable


def category(*values):
    """Categorical column of these values; None is missing."""
    found = list(dict.fromkeys(value for value in values if value is not None))
    return Column.of_levels(np.array([-1 if value is None else found.index(value) for value in values]), found)


def test_levels_are_sorted_and_unused_levels_are_dropped():
    column = Column.of_levels(np.array([2, 0, -1, 2]), ["b", "unused", "a"])
    assert column.kind == Kind("category", ("a", "b"))
    assert_array_equal(column.values, [0, 1, -1, 0])
    assert column.values.dtype == np.int32


def test_an_ordered_type_keeps_its_order_and_all_levels():
    column = Column.of_levels(np.array([2, 0, -1]), ["low", "middle", "high"], ordered=True)
    assert column.kind == Kind("category", ("low", "middle", "high"), ordered=True)
    assert_array_equal(column.values, [2, 0, -1])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([np.int8(3), 1], (1, 3)),
        ([2.0, 1.5], (1.5, 2)),
        ([True, False], (False, True)),
        (["b", 3, "a", 20], (3, 20, "a", "b")),
        ([np.nan, 1.0, None], (1,)),
        ([np.datetime64("2020-01-02"), np.datetime64("2020-01-01")], ("2020-01-01", "2020-01-02")),
    ],
)
def test_levels_are_plain_values(given, kept):
    column = Column.of_levels(np.arange(len(given)), given)
    assert column.kind.levels == kept
    assert [type(level) for level in column.kind.levels] == [type(level) for level in kept]


def test_codes_are_those_of_the_fitted_levels():
    fitted = category("red", "green", "blue").kind
    assert_array_equal(category("green", None, "pink", "red").match(fitted, "'paint'").values, [1, -1, -1, 2])


def test_numbers_are_read_as_a_category_of_numbers():
    fitted = Column(NUMBER, np.array([3.0, 1.0, np.nan, 3.0])).as_category()
    assert fitted.kind == Kind("category", (1, 3))
    assert_array_equal(fitted.values, [1, 0, -1, 1])
    assert_array_equal(Column(NUMBER, np.array([1, 2, 3])).match(fitted.kind, "'grade'").values, [0, -1, 1])


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (category("a").kind, Column(NUMBER, np.ones(2))),
        (NUMBER, category("a")),
        (NUMBER, Column(Kind("datetime"), np.ones(2))),
        (Kind("duration"), Column(Kind("datetime"), np.ones(2))),
        (Kind("datetime"), Column(NUMBER, np.ones(2))),
        (Kind("datetime", zone="UTC"), Column(Kind("datetime"), np.ones(2))),
    ],
)
def test_another_kind_than_in_the_fit_raises(then, now):
    with pytest.raises(ColumnError, match=r"Column 'paint' h(eld|ad) .* when the model was fitted; now it h"):
        now.match(then, "'paint'")


@pytest.mark.parametrize("kind", [NUMBER, Kind("datetime"), category("a", "b").kind, Kind("bool")])
def test_a_missing_column_can_have_any_kind(kind):
    matched = Column(NUMBER, np.full(3, np.nan)).match(kind, "'paint'")
    assert matched.is_missing


def test_bools_and_numbers_are_interchangeable():
    flags = Column(Kind("bool"), np.array([True, False]))
    assert_array_equal(flags.match(NUMBER, "'flag'").values, [1, 0])
    assert_array_equal(Column(NUMBER, np.array([1.0, 0.0])).match(Kind("bool"), "'flag'").values, [1, 0])


def test_missing_values():
    assert_array_equal(Column(NUMBER, np.array([1, -999, 3])).without(frozenset([-999, "?"])).values, [1, np.nan, 3])
    column = category("b", "?", "a").without(frozenset([-999, "?"]))
    assert column.kind.levels == ("a", "b")
    assert_array_equal(column.values, [1, -1, 0])
    assert_array_equal(ArrayTable(np.array([[1, -9]]), frozenset([-9.0])).read(slice(0, 1), 0, 2), [[1, np.nan]])


def test_a_table_is_matched_by_name():
    table = FrameTable([Column(NUMBER, np.ones(2)), category("x", "y")], ["a", 7])
    turned = FrameTable([category("y", "z"), Column(NUMBER, np.zeros(2))], [7, "a"]).match(table.schema)
    assert turned.schema == table.schema
    assert_array_equal(turned.dense(slice(0, 2)), [[0, 1], [0, -1]])


def test_an_array_with_categories():
    table = ArrayTable(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]])).with_categories([1])
    assert table.schema == Schema(2, None, {1: Kind("category", (4, 5))})
    assert_array_equal(table.dense(slice(0, 3)), [[1, 1], [2, 1], [3, 0]])
    assert_array_equal(ArrayTable(np.array([[9.0, 4.0]])).match(table.schema).dense(slice(0, 1)), [[9, 0]])


SCHEMA = Schema(4, ("a", 2, "ü", "d"), {1: Kind("category", (0, 2.5, "x", True), True), 2: Kind("datetime", zone="UTC"), 3: Kind("bool")})


@pytest.mark.parametrize("schema", [SCHEMA, Schema(3)])
def test_a_schema_as_json(schema):
    assert Schema.from_json(json.loads(json.dumps(schema.to_json())), schema.n_features) == schema


@pytest.mark.parametrize("data", [None, {"names": None}, {"names": None, "kinds": [], "absent": [], "sparse_missing": False}])
def test_an_incomplete_schema_raises(data):
    with pytest.raises(ValueError, match="the description of the features is incomplete"):
        Schema.from_json(data, 2)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"names": ["a"]}, "one for each feature"),
        ({"names": ["a", "a"]}, "unique"),
        ({"names": ["a", None]}, "strings or integers"),
        ({"kinds": {"2": {"kind": "bool"}}}, "'2' is not the number of a feature"),
        ({"kinds": {"-1": {"kind": "bool"}}}, "'-1' is not the number of a feature"),
        ({"kinds": {"0": {"kind": "colour"}}}, "unknown kind"),
        ({"kinds": {"0": "bool"}}, "unknown kind"),
        ({"kinds": {"0": {"kind": "category", "levels": [None]}}}, "levels must be strings"),
        ({"kinds": {"0": {"kind": "category", "levels": ["a", "a"]}}}, "invalid kind"),
        ({"kinds": {"0": {"kind": "category", "levels": ["a"], "ordered": 1}}}, "invalid kind"),
        ({"kinds": {"0": {"kind": "category", "levels": "a"}}}, "levels must be a list"),
        ({"kinds": {"0": {"kind": "datetime", "zone": 3}}}, "invalid kind"),
        ({"kinds": {"0": {"kind": "datetime", "zone": "+99:99"}}}, "invalid kind"),
        ({"absent": 3}, "levels must be a list"),
        ({"absent": [None]}, "neither a string nor a float"),
        ({"absent": [True]}, "neither a string nor a float"),
        ({"absent": [10**400]}, "neither a string nor a float"),
        ({"sparse_missing": 0}, "must be true or false"),
    ],
)
def test_an_invalid_schema_raises(broken, message):
    with pytest.raises(ValueError, match=message):
        Schema.from_json(Schema(2).to_json() | broken, 2)

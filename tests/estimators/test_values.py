"""Values of parameters as data and back: what is no data is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

from sapwood.estimators.values import MAX_DEPTH, NotData, Unsaved, array_from_data, from_data, to_data

VALUES = [
    None,
    True,
    "text",
    5,
    -0.5,
    [1, [2, "x"]],
    (1, 2),
    {1, 2},
    {"a": 1, 2: (3,)},
    range(1, 9, 2),
    slice(1, None),
    Path("a/b"),
    int,
    Unsaved("a function"),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_round_trip(value):
    again = from_data(to_data(value))
    assert again == value and type(again) is type(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinities(value):
    assert from_data(to_data(value)) == value
    assert math.isnan(from_data(to_data(math.nan)))


@pytest.mark.parametrize("array", [np.arange(6).reshape(2, 3), np.array(["a", "bc"]), np.array([1.5]), np.array(["2020-01-01"], "M8[D]")])
def test_arrays(array):
    again = from_data(to_data(array))
    assert again.dtype == array.dtype and (again == array).all()


STRUCTURED = np.array([(1, 2)], dtype="i4,i4")


@pytest.mark.parametrize("value", [print, lambda: 0, object(), STRUCTURED, np.array([1j]), np.array([b"x"]), [print], {"a": print}])
def test_what_is_no_data(value):
    with pytest.raises(NotData):
        to_data(value)


def nest(depth, name=None):
    data = 1
    for _ in range(depth):
        data = [data] if name is None else {name: [[data, data]] if name == "dict" else [data]}
    return data


def test_depth():
    assert from_data(nest(MAX_DEPTH)) == nest(MAX_DEPTH)
    for name in (None, "tuple", "set", "dict", "slice"):
        with pytest.raises(ValueError, match="nested too deeply"):
            from_data(nest(MAX_DEPTH + 1, name))


ARRAY = {"dtype": "<i4", "shape": [2], "values": [1, 2]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "one entry; got 0"),
        ({"tuple": [], "set": []}, "one entry; got 2"),
        ({"unknown": 1}, "'unknown'"),
        ({"number": "five"}, "'number'"),
        ({"type": "os.system"}, "'type'"),
        ({"range": [1, "x"]}, "'range'"),
        ({"range": [0, 1, 0]}, "zero"),
        ({"set": [[1]]}, "'set'"),
        ({"dict": [[[1], 2]]}, "'dict'"),
        ({"dict": [1]}, "'dict'"),
        ({"path": 5}, "5 is not a string"),
        ({"unsaved": None}, "None is not a string"),
        ({"FeatureSpec": [1]}, "unpack"),
        ({"array": 5}, "'array'"),
        ({"array": {**ARRAY, "dtype": 5}}, "5 is not a string"),
        ({"array": {**ARRAY, "dtype": "V8"}}, "'V8' are not supported"),
        ({"array": {**ARRAY, "dtype": "i4,i4"}}, "'i4,i4' are not supported"),
        ({"array": {**ARRAY, "values": 5}}, "not supported"),
        ({"array": {**ARRAY, "shape": [3]}}, "reshape"),
        ({"array": {**ARRAY, "values": [1, 2**40]}}, "too large"),
        ({"array": {**ARRAY, "dtype": "M8[D]", "values": [2**70, 1]}}, "too large"),
        ({"array": {"dtype": "<U1000000", "shape": [1], "values": ["a"]}}, "wider than its strings"),
        ({"array": {"dtype": "<U2", "shape": [0], "values": []}}, "wider than its strings"),
    ],
)
def test_malformed(data, message):
    with pytest.raises(ValueError, match=message):
        from_data(data)


def test_widths_of_text():
    assert array_from_data({"dtype": "<U3", "shape": [2], "values": ["a", "abc"]}).tolist() == ["a", "abc"]
    assert array_from_data({"dtype": "<U1", "shape": [0], "values": []}).tolist() == []

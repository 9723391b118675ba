import math
from xml.etree import ElementTree

from sapwood.runtime.svg import curves


def test_curves_are_valid_svg():
    found = curves({"<train>": [3.0, 2.0, 1.0], "test": [3.0, math.nan, 2.0]}, "a < b", first=5, mark=6)
    root = ElementTree.fromstring(found)
    lines = [element.attrib["points"].split() for element in root.iter("polyline")]
    assert [len(points) for points in lines] == [3, 2]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert heights == sorted(heights)
    texts = [element.text for element in root.iter("text")]
    assert {"<train>", "test", "5", "7", "a < b"} <= set(texts)


def test_nothing_to_draw():
    assert curves({}, "") == curves({"a": [1.0]}, "") == curves({"a": [math.nan, math.inf]}, "") == ""


def test_constant_and_long_curves():
    assert "<polyline" in curves({"a": [0.0, 0.0]}, "")
    assert len(curves({"a": list(range(100_000))}, "")) < 10_000

import numpy as np
import pytest

from sapwood.data.columns import Kind
from sapwood.report.drift import compare
from sapwood.report.subject import ReportColumn

RNG = np.random.default_rng(0)


def numbers(values):
    return ReportColumn("x", Kind(), np.asarray(values, dtype=float))


def levels(codes, n=3):
    return ReportColumn("x", Kind("category", tuple("abcdefghijklmnop"[:n])), np.asarray(codes, dtype=float))


def test_same_distribution_is_small():
    found = compare(numbers(RNG.normal(size=300)), numbers(RNG.normal(size=200)))
    assert found.verdict == "small" and found.distance < 0.15


def test_shift_is_large():
    found = compare(numbers(RNG.normal(size=3000)), numbers(RNG.normal(2, size=3000)))
    assert found.verdict == "large" and found.distance == pytest.approx(0.68, abs=0.05)
    assert found.reference.sum() == pytest.approx(1) and found.current.sum() == pytest.approx(1)


def test_index_by_hand():
    found = compare(levels([0] * 50 + [1] * 50), levels([0] * 80 + [1] * 20))
    assert found.labels == ["a", "b"]
    assert found.psi == pytest.approx(0.3 * np.log(0.8 / 0.5) - 0.3 * np.log(0.2 / 0.5))
    assert found.distance == pytest.approx(0.3)


def test_missing_values_are_a_bin():
    found = compare(numbers([1, 2, 3, np.nan]), numbers([1, np.nan, np.nan, np.nan]))
    assert found.labels[-1] == "missing" and found.missing == (0.25, 0.75)
    assert found.current[-1] == 0.75


def test_rare_levels_are_one_bin():
    found = compare(levels(np.arange(160) % 16, 16), levels(np.arange(160) % 16, 16))
    assert found.labels[-1] == "other" and len(found.labels) == 11 and found.psi == 0
    assert found.reference[-1] == pytest.approx(6 / 16)


def test_values_that_the_reference_does_not_have():
    found = compare(numbers([0, 1] * 50), numbers(np.arange(100)))
    assert found.verdict == "large" and found.labels[-1] == "other"


def test_empty_columns():
    found = compare(numbers([np.nan] * 5), numbers([1.0] * 5))
    assert found.distance == 1 and found.verdict == "large"

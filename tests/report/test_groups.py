import numpy as np
import pandas as pd
import pytest

from sapwood.data.columns import Kind
from sapwood.report.groups import chosen_columns, group_rows
from sapwood.report.subject import ReportColumn, Subject
from tests.report.kinds import regression


def test_numbers_are_divided_at_quantiles():
    found = group_rows(ReportColumn("x", Kind(), np.append(np.arange(100.0), np.nan)))
    assert found.labels == ["≤ 19.8", "19.8 to 39.6", "39.6 to 59.4", "59.4 to 79.2", "> 79.2", "missing"]
    assert np.bincount(found.of_row).tolist() == [20, 20, 20, 20, 20, 1]


def test_few_values_are_groups():
    found = group_rows(ReportColumn("x", Kind("bool"), np.array([0.0, 1, 1, np.nan])))
    assert found.labels == ["false", "true", "missing"] and found.of_row.tolist() == [0, 1, 1, 2]


def test_rare_levels_are_one_group():
    kind = Kind("category", tuple(f"level {i}" for i in range(20)))
    codes = np.concatenate([np.repeat(np.arange(8.0), 3), np.arange(8.0, 20), [-1]])
    found = group_rows(ReportColumn("x", kind, codes))
    assert found.labels == [*(f"level {i}" for i in range(8)), "12 other levels", "missing"]
    assert np.bincount(found.of_row).tolist() == [3] * 8 + [12, 1]


def test_columns_of_the_user():
    model, X, y, _ = regression()
    subject = Subject(model, X, y)
    assert [one.name for one in chosen_columns(subject, ["size", "town"], "slice_by")] == ["size", "town"]
    assert chosen_columns(subject, None, "slice_by") == []
    (team,) = chosen_columns(subject, pd.Series(["a", None] * (len(X) // 2), name="team"), "sensitive")
    assert team.name == "team" and team.kind.levels == ("a",) and team.missing.mean() == 0.5
    (age,) = chosen_columns(subject, {"age": np.arange(len(X))}, "sensitive")
    assert age.kind == Kind() and len(group_rows(age)) == 5
    with pytest.raises(ValueError, match="unknown"):
        chosen_columns(subject, "age", "sensitive")

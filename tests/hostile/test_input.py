"""Input that is broken, extreme or unusual (1 - 26)."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRegressor, load
from tests.hostile import holds, slow

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
Y = X[:, 0] * X[:, 1]
LABELS = Y > 0


def regressor(**more):
    return BoostingRegressor(max_iter=3, n_jobs=1, **more)


def classifier(**more):
    return BoostingClassifier(max_iter=3, n_jobs=1, **more)


@holds(1)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_broken_targets(value):
    y = Y.copy()
    y[7] = value
    model = regressor()
    with pytest.raises(ValueError, match=r"Input y contains .*1 in total, the first in row 7"):
        model.fit(X, y)
    assert not hasattr(model, "model_")


@holds(2)
@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -1e300, 5e-324, 1e-310])
def test_extreme_features(value):
    x = X.copy()
    x[::3, 1] = value
    assert np.isfinite(regressor().fit(x, Y).predict(x)).all()


@holds(3, 5)
def test_tables_with_nothing_to_learn():
    empty = np.full_like(X, np.nan)
    column = np.column_stack([np.full(len(X), np.nan), X])
    for x, y in ((empty, Y), (column, Y), (np.ones_like(X), Y), (X, np.ones(len(X))), (X[:1], Y[:1])):
        assert np.isfinite(regressor().fit(x, y).predict(x)).all()
    assert (classifier().fit(X, np.zeros(len(X), dtype=int)).predict(X) == 0).all()


@holds(4)
@pytest.mark.parametrize(("shape", "what"), [((0, 4), r"0 sample\(s\)"), ((5, 0), r"0 feature\(s\)")])
def test_no_rows_or_columns(shape, what):
    with pytest.raises(ValueError, match=what):
        regressor().fit(np.empty(shape), np.zeros(shape[0]))


@holds(6)
def test_lengths():
    with pytest.raises(ValueError, match=r"120.*119"):
        regressor().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"119.*120"):
        regressor().fit(X, Y, sample_weight=np.ones(119))


@holds(7)
def test_weights():
    for weight in (np.full(120, -1.0), np.full(120, np.nan), np.zeros(120)):
        with pytest.raises(ValueError, match="sample_weight"):
            regressor().fit(X, Y, sample_weight=weight)
    weight = np.ones(120)
    weight[::3] = 0
    kept = weight > 0
    assert regressor().fit(X, Y, sample_weight=weight).model_.to_bytes() == regressor().fit(X[kept], Y[kept]).model_.to_bytes()


@holds(8)
def test_whole_weights_are_repetitions():
    """To the precision of fixed-point gradients, whose scale depends on the largest weight; not bit for bit."""
    weight = rng.integers(1, 4, 120)
    rows = np.repeat(np.arange(120), weight)
    weighted, repeated = regressor(min_samples_leaf=1).fit(X, Y, sample_weight=weight), regressor(min_samples_leaf=1).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


@holds(9)
@pytest.mark.parametrize("scale", [1e300, 1e-300, 2.0**62])
def test_extreme_targets(scale):
    assert np.isfinite(regressor().fit(X, Y / np.abs(Y).max() * scale).predict(X)).all()


@holds(10, 11)
def test_labels():
    for labels in (np.array(["a", "b"]), np.array([False, True]), np.array([1, 2]), np.array([-5, 1000], dtype=np.int16)):
        model = classifier().fit(X, labels[LABELS.astype(int)])
        assert model.classes_.dtype == labels.dtype and set(model.predict(X)) <= set(labels)
    broken = np.where(LABELS, "a", "b").astype(object)
    broken[3] = None
    with pytest.raises(ValueError, match="missing labels"):
        classifier().fit(X, broken)
    with pytest.raises(ValueError, match="numeric"):
        regressor().fit(X, np.where(LABELS, "a", "b"))
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier().fit(X, Y)


@holds(12, 13)
def test_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = regressor().fit(frame, Y)
    np.testing.assert_array_equal(model.predict(frame[list("dcba")]), model.predict(frame))
    with pytest.raises(ValueError, match="missing:\n- d"):
        model.predict(frame[list("abc")])
    with pytest.raises(ValueError, match="unseen at fit time:\n- e"):
        model.predict(frame.assign(e=1.0))
    with pytest.raises(ValueError, match="'a'"):
        regressor().fit(frame.set_axis(["a", "a", "c", "d"], axis=1), Y)


@holds(14)
@pytest.mark.parametrize("value", [[1], 1 + 2j, b"x", {"a": 1}], ids=["lists", "complex", "bytes", "dicts"])
def test_columns_that_are_no_numbers(value):
    frame = pd.DataFrame({"good": X[:, 0], "odd": [value] * 120})
    with pytest.raises((ValueError, TypeError), match="odd"):
        regressor().fit(frame, Y)


@holds(15)
def test_categories_go_by_value():
    levels = rng.choice(["red", "green", "blue"], 120)
    frame = pd.DataFrame({"color": pd.Categorical(levels), "x": X[:, 0]})
    model = regressor().fit(frame, Y)
    renumbered = frame.assign(color=pd.Categorical(levels, categories=["red", "blue", "green", "other"]))
    np.testing.assert_array_equal(model.predict(renumbered), model.predict(frame))
    unseen, missing = frame.assign(color="purple"), frame.assign(color=pd.Categorical([None] * 120, categories=["red"]))
    np.testing.assert_array_equal(model.predict(unseen), model.predict(missing))


@holds(16)
@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False] * 60),
        pd.Series([1, None] * 60, dtype="Int64"),
        pd.Series([True, None] * 60, dtype="boolean"),
        pd.Series([1.5, None] * 60, dtype="double[pyarrow]"),
        pd.Series([datetime.datetime(2020, 1, 1)] * 120),
        pd.Series([decimal.Decimal(1), decimal.Decimal(2)] * 60),
    ],
    ids=["bool", "Int64", "boolean", "arrow", "datetime", "decimal"],
)
def test_types_of_columns(column):
    frame = pd.DataFrame({"c": column, "x": X[:, 0]})
    try:
        model = regressor().fit(frame, Y)
    except ValueError as error:
        assert "'c'" in str(error)
    else:
        assert np.isfinite(model.predict(frame)).all()


@slow
@holds(16)
def test_a_hundred_thousand_levels():
    levels = pd.Categorical([f"level {i}" for i in range(100_000)])
    frame, y = pd.DataFrame({"c": levels, "x": np.arange(100_000.0)}), np.arange(100_000.0)
    assert np.isfinite(regressor().fit(frame, y).predict(frame)).all()


@holds(17)
def test_libraries_leave_no_trace():
    frame = pd.DataFrame(X, columns=list("abcd"))
    made = {regressor().fit(table, Y).to_bytes() for table in (frame, pl.from_pandas(frame), pa.table(frame))}
    assert len(made) == 1


@holds(18)
def test_what_is_no_table():
    for table in (iter(X), (row for row in X), "text", 5):
        with pytest.raises((ValueError, TypeError)):
            regressor().fit(table, Y)


@holds(19)
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse(form, kind):
    dense = np.where(X > 0.5, X, 0.0)
    expected = regressor().fit(dense, Y)
    made = getattr(sparse, f"{form}_{kind}")(dense)
    assert regressor().fit(made, Y).model_.to_bytes() == expected.model_.to_bytes()
    np.testing.assert_array_equal(expected.predict(made), expected.predict(dense))


@holds(20, 22)
def test_types_and_layouts():
    x = np.round(X * 4)
    x.flags.writeable = False
    expected = regressor().fit(x, Y)
    for other in (
        x.astype(np.float16),
        x.astype(np.float32),
        x.astype(">f8"),
        np.asfortranarray(x),
        np.repeat(x, 2, axis=0)[::2],
        x[:, ::-1][:, ::-1],
    ):
        before = other.tobytes()
        assert regressor().fit(other, Y).model_.to_bytes() == expected.model_.to_bytes()
        np.testing.assert_array_equal(expected.predict(other), expected.predict(x))
        assert other.tobytes() == before


@holds(21)
def test_masked_arrays():
    masked = np.ma.masked_array(X, mask=X > 1)
    np.testing.assert_array_equal(
        regressor().fit(masked, Y).predict(masked), regressor().fit(masked.filled(np.nan), Y).predict(X * np.where(X > 1, np.nan, 1))
    )


@holds(23, 24)
def test_parameters():
    with pytest.raises(ValueError, match=r"learning_rate.*\(0.*Got -1"):
        regressor(learning_rate=-1).fit(X, Y)
    with pytest.raises(TypeError, match="learning_rate"):
        BoostingRegressor(learning_rat=0.1)
    with pytest.raises(ValueError, match="max_depth"):
        regressor(max_depth="3").fit(X, Y)
    assert regressor(max_depth=np.int64(3)).fit(X, Y).to_bytes() == regressor(max_depth=3).fit(X, Y).to_bytes()


@holds(25)
@pytest.mark.parametrize("name", ["ü", "'\"", "a\nb", "<script>alert(1)</script>", "x" * 10_000, "\x00", "__class__"])
def test_names(name, tmp_path):
    frame = pd.DataFrame(X, columns=[name, "b", "c", "d"])
    model = regressor().fit(frame, Y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert list(again.feature_names_in_) == list(frame.columns)
    assert "<script>alert" not in again._repr_html_()
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


@holds(26)
def test_more_than_there_is():
    assert np.isfinite(regressor(max_bins=255).fit(np.round(X), Y).predict(X)).all()
    assert len(np.unique(regressor(min_samples_leaf=1000).fit(X, Y).predict(X))) == 1

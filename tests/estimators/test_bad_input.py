"""What users hand over by mistake, and what is odd but right: a clear error, or the right answer; never a silent wrong one."""

import hashlib
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingClassifier, BoostingRegressor
from tests.nameless import nameless_bytes

N_ROWS = 200
NAMES = ["rooms", "age", "area", "year"]
LOSSES = ["squared_error", "absolute_error", "poisson", "gamma"]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}

rng = np.random.default_rng(0)
X = rng.normal(size=(N_ROWS, 4))
Y = np.exp(X[:, 0] + 0.1 * rng.normal(size=N_ROWS))
LABELS = (Y > 1).astype(int)


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 10, "min_samples_leaf": 5} | parameters))


def classifier(**parameters):
    return BoostingClassifier(**({"max_iter": 10, "min_samples_leaf": 5} | parameters))


def put(array, where, value):
    """A copy with some values replaced."""
    array = np.array(array, dtype=float)
    array[where] = value
    return array


def model_bytes(estimator, *args, **kwargs):
    return estimator.fit(*args, **kwargs).model_.to_bytes()


def frame_of(kind, columns):
    return FRAMES[kind](columns)


# Targets and weights


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("estimator", "y"), [(regressor(), Y), (classifier(), LABELS)], ids=["regressor", "classifier"])
def test_a_broken_target_is_named_with_its_row_and_nothing_is_fitted(estimator, y, value):
    with pytest.raises(ValueError, match=r"Input y contains NaN.*: 2 in total, the first in row 7"):
        estimator.fit(X, put(y, [7, 9], value))
    assert not hasattr(estimator, "model_")
    assert not hasattr(estimator, "n_features_in_")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_validation_target_is_named(value):
    with pytest.raises(ValueError, match=r"Input y_val contains NaN.*row 3"):
        regressor().fit(X, Y, X_val=X, y_val=put(Y, 3, value))


@pytest.mark.parametrize("scale", [1e300, 1e-300])
@pytest.mark.parametrize("loss", LOSSES)
def test_huge_and_tiny_targets_give_finite_predictions(loss, scale):
    predictions = regressor(loss=loss).fit(X, Y * scale).predict(X)
    assert np.isfinite(predictions).all()
    assert 0.1 * Y.min() * scale <= predictions.min()
    assert predictions.max() <= 10 * Y.max() * scale


def test_targets_at_the_ends_of_int64():
    ends = np.iinfo(np.int64)
    y = np.where(LABELS, ends.max, ends.min)
    predictions = regressor(max_iter=50).fit(X, y).predict(X)
    assert np.isfinite(predictions).all()
    assert_array_equal(predictions > 0, LABELS == 1)
    assert_array_equal(classifier(max_iter=50).fit(X, y).predict(X), y)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_constant_target_is_predicted_exactly(loss):
    predictions = regressor(loss=loss).fit(X, np.full(N_ROWS, 3.0)).predict(X)
    np.testing.assert_allclose(predictions, 3.0, rtol=1e-14)


@pytest.mark.parametrize(("loss", "value", "allowed"), [("poisson", -1.0, "non-negative"), ("gamma", 0.0, "strictly positive")])
def test_a_target_outside_the_range_of_the_loss(loss, value, allowed):
    with pytest.raises(ValueError, match=f"loss='{loss}' requires {allowed} y.*got y={value:g} in row 5"):
        regressor(loss=loss).fit(X, put(Y, 5, value))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"y": Y[:-1]}, "X has 200, y has 199"),
        ({"sample_weight": np.ones(5)}, r"sample_weight.shape == \(5,\), expected \(200,\)"),
        ({"X_val": X[:9], "y_val": Y[:7]}, "X_val has 9, y_val has 7"),
        (
            {"X_val": X[:9], "y_val": Y[:9], "sample_weight_val": np.ones(7)},
            r"sample_weight_val.shape == \(7,\), expected \(9,\)",
        ),
    ],
    ids=lambda case: case if isinstance(case, str) else ",".join(case),
)
def test_a_mismatch_of_lengths_tells_both(lengths, message):
    with pytest.raises(ValueError, match=message):
        regressor().fit(**({"X": X, "y": Y} | lengths))


@pytest.mark.parametrize("name", ["sample_weight", "sample_weight_val"])
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (put(np.ones(N_ROWS), 3, -1.5), "must not be negative; got -1.5 in row 3"),
        (put(np.ones(N_ROWS), 3, np.nan), "contains NaN.*row 3"),
        (put(np.ones(N_ROWS), 3, np.inf), "contains NaN, infinity.*row 3"),
        (np.zeros(N_ROWS), "must not be zero for all rows"),
        (np.ones((N_ROWS, 2)), r"shape == \(200, 2\), expected \(200,\)"),
        (np.ma.masked_less(np.arange(N_ROWS), 2), "must not have masked values: 2 in total, the first in row 0"),
    ],
    ids=["negative", "nan", "infinite", "zeros", "2d", "masked"],
)
def test_weights_that_mean_nothing_are_refused(name, weight, message):
    validation = {} if name == "sample_weight" else {"X_val": X, "y_val": Y}
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        regressor().fit(X, Y, **validation, **{name: weight})


ZERO_WEIGHT_CASES = [
    *[(regressor(loss=loss), Y) for loss in LOSSES],
    (classifier(), LABELS),
    (classifier(), np.digitize(Y, [0.5, 2])),
    (regressor(early_stopping=True, random_state=0), Y),
    (classifier(max_features=0.5, random_state=0), LABELS),
]


@pytest.mark.parametrize(("estimator", "y"), ZERO_WEIGHT_CASES, ids=lambda case: str(case)[:90])
def test_zero_weights_equal_dropped_rows_bit_for_bit(estimator, y):
    weight = np.random.default_rng(1).integers(0, 3, size=N_ROWS).astype(float)
    kept = weight > 0
    dropped = model_bytes(estimator, X[kept], y[kept], sample_weight=weight[kept])
    assert model_bytes(estimator, X, y, sample_weight=weight) == dropped


@pytest.mark.parametrize("loss", LOSSES)
def test_whole_weights_equal_repeated_rows(loss):
    weight = np.random.default_rng(2).integers(0, 4, size=N_ROWS)
    weighted = regressor(loss=loss, min_samples_leaf=1).fit(X, Y, sample_weight=weight)
    repeated = regressor(loss=loss, min_samples_leaf=1).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


# Labels


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([1, 2]),
        np.array([-3, 100], dtype=np.int8),
        np.array([1.0, 2.0]),
        np.array(["a", "b", "d"]),
        np.array([10, 20, 40]),
    ],
    ids=lambda classes: f"{classes.dtype}-{len(classes)}",
)
def test_labels_come_back_in_their_own_type(classes):
    encoded = LABELS if len(classes) == 2 else np.digitize(Y, [0.5, 2])
    fitted = classifier().fit(X, classes[encoded])
    assert_array_equal(fitted.classes_, classes, strict=True)
    predictions = fitted.predict(X)
    assert predictions.dtype == classes.dtype
    assert (predictions == classes[encoded]).mean() > 0.9


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_is_an_error(missing):
    labels = np.array(["no", "yes"], dtype=object)[LABELS]
    labels[4] = missing
    with pytest.raises(ValueError, match="y contains missing labels: 1 in total, the first in row 4"):
        classifier().fit(X, labels)


def test_a_classifier_refuses_measurements():
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier().fit(X, Y)


@pytest.mark.parametrize("dtype", [str, object])
def test_a_regressor_refuses_words(dtype):
    with pytest.raises(ValueError, match=r"y must be numeric: .*'cheap'"):
        regressor().fit(X, np.array(["dear", "cheap"], dtype=dtype)[LABELS])


@pytest.mark.parametrize("estimator", [regressor(), classifier()], ids=["regressor", "classifier"])
def test_a_masked_target_is_an_error(estimator):
    with pytest.raises(ValueError, match="y must not have masked values: 1 in total, the first in row 2"):
        estimator.fit(X, np.ma.masked_array(LABELS, mask=np.arange(N_ROWS) == 2))


# Tables that are odd, but have an answer


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, -1e300, 5e-324, -5e-324, np.finfo(float).max])
@pytest.mark.parametrize("estimator", [regressor(), classifier()], ids=["regressor", "classifier"])
def test_infinite_huge_and_denormal_features_sort_like_other_numbers(estimator, value):
    table = X.copy()
    table[LABELS == 1, 1] = value
    table[LABELS == 0, 1] = 0.0
    estimator.fit(table[:, 1:2], LABELS)
    raw = estimator.predict(table[:, 1:2]) if isinstance(estimator, BoostingRegressor) else estimator.decision_function(table[:, 1:2])
    assert np.isfinite(raw).all()
    assert raw[LABELS == 1].min() > raw[LABELS == 0].max()


def test_both_infinities_and_missing_values_in_one_column():
    column = np.repeat([-np.inf, 0.0, np.inf, np.nan], 50)[:, None]
    y = np.repeat([1.0, 2.0, 3.0, 4.0], 50)
    predictions = regressor(learning_rate=1).fit(column, y).predict(column)
    np.testing.assert_allclose(predictions, y)


TABLES = {
    "a column of nothing but NaN": put(X, (slice(None), 1), np.nan),
    "nothing but NaN": np.full_like(X, np.nan),
    "constant": np.ones_like(X),
    "one row": X[:1],
    "a column of NaN and one constant": put(put(X, (slice(None), 1), 2.0), (slice(0, 100), 1), np.nan),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("loss", LOSSES)
def test_tables_with_little_in_them_fit_and_predict(loss, table):
    y = Y[: len(table)]
    fitted = regressor(loss=loss).fit(table, y)
    predictions = fitted.predict(X)
    assert np.isfinite(predictions).all()
    assert y.min() <= predictions.min()
    assert predictions.max() <= y.max()


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_tables_with_little_in_them_can_be_classified(table):
    probabilities = classifier().fit(table, LABELS[: len(table)]).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_with_a_column_of_nothing_but_nan(kind):
    table = put(X, (slice(None), 1), np.nan)
    frame = frame_of(kind, dict(zip(NAMES, table.T, strict=True)))
    assert nameless_bytes(regressor().fit(frame, Y).model_) == model_bytes(regressor(), table, Y)


def test_one_class_is_predicted_everywhere():
    fitted = classifier().fit(X, np.full(N_ROWS, "only"))
    assert_array_equal(fitted.predict(X), "only")
    assert_array_equal(fitted.predict_proba(X), np.ones((N_ROWS, 1)))


@pytest.mark.parametrize(("table", "what"), [(X[:0], r"0 sample\(s\)"), (X[:, :0], r"0 feature\(s\)")], ids=["rows", "columns"])
@pytest.mark.parametrize("kind", ["numpy", *FRAMES])
def test_no_rows_or_no_columns_is_an_error(kind, table, what):
    data = table if kind == "numpy" else frame_of(kind, dict(zip(NAMES, table.T, strict=False)))
    with pytest.raises(ValueError, match=f"Found array with {what}.*while a minimum of 1 is required"):
        regressor().fit(data, Y[: len(table)])


@pytest.mark.parametrize("parameters", [{"max_bins": 255}, {"max_bins": 2}])
def test_more_bins_than_values_and_fewer(parameters):
    column = (X[:, :1] > 0).astype(float)
    predictions = regressor(**parameters).fit(column, Y).predict([[0.0], [1.0]])
    assert predictions[0] < Y.mean() < predictions[1]


def test_leaves_larger_than_the_table_predict_the_mean():
    predictions = regressor(min_samples_leaf=N_ROWS).fit(X, Y).predict(X)
    np.testing.assert_allclose(predictions, Y.mean())


# The same numbers in another guise

WHOLE = rng.integers(-50, 50, size=(N_ROWS, 5))
ROUNDED = np.round(WHOLE[:, 0] + WHOLE[:, 1] / 7)


def strided(table):
    holes = np.full((3 * len(table), 2 * table.shape[1]), np.nan)
    holes[::3, ::2] = table
    return holes[::3, ::2]


def unaligned(table):
    memory = np.zeros(table.nbytes + 1, dtype=np.uint8)
    view = np.ndarray(table.shape, dtype=table.dtype, buffer=memory.data, offset=1)
    view[:] = table
    return view


def read_only(table):
    table = table.copy()
    table.flags.writeable = False
    return table


LAYOUTS = {
    **{dtype: (lambda table, dtype=dtype: table.astype(dtype)) for dtype in ("f2", "f4", "f8", "longdouble")},
    **{dtype: (lambda table, dtype=dtype: table.astype(dtype)) for dtype in (">f4", ">f8", ">i2", "i1", "i2", "i4", "i8", "O")},
    "F-order": np.asfortranarray,
    "F-order f4": lambda table: np.asfortranarray(table.astype("f4")),
    "strided": strided,
    "rows backwards": lambda table: table[::-1].copy()[::-1],
    "columns backwards": lambda table: table[:, ::-1].copy()[:, ::-1],
    "transposed and backwards": lambda table: np.asfortranarray(table[::-1, ::-1])[::-1, ::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "list": lambda table: table.tolist(),
}


@pytest.fixture(scope="module")
def whole_model():
    return regressor().fit(WHOLE.astype(float), ROUNDED)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_type_and_layout_of_the_table_leave_no_trace(layout, whole_model):
    table = layout(WHOLE.astype(float))
    assert model_bytes(regressor(), table, ROUNDED) == whole_model.model_.to_bytes()
    assert_array_equal(whole_model.predict(table), whole_model.predict(WHOLE.astype(float)))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "bool"])
def test_unsigned_and_boolean_tables(dtype):
    table = (WHOLE > 0 if dtype == "bool" else WHOLE + 50).astype(dtype)
    fitted = regressor().fit(table.astype(float), ROUNDED)
    assert nameless_bytes(regressor().fit(table, ROUNDED).model_) == fitted.model_.to_bytes()
    assert_array_equal(fitted.predict(table), fitted.predict(table.astype(float)))


def test_a_memory_mapped_table(tmp_path, whole_model):
    writable = np.memmap(tmp_path / "table", dtype="f8", mode="w+", shape=WHOLE.shape)
    writable[:] = WHOLE
    writable.flush()
    table = np.memmap(tmp_path / "table", dtype="f8", mode="r", shape=WHOLE.shape)
    assert model_bytes(regressor(), table, ROUNDED) == whole_model.model_.to_bytes()
    assert_array_equal(whole_model.predict(table), whole_model.predict(WHOLE))


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f4", "longdouble"])
def test_fractions_of_other_precision_equal_their_float64(dtype):
    table = X.astype(dtype)
    fitted = regressor().fit(table.astype(float), Y)
    assert nameless_bytes(regressor().fit(table, Y).model_) == fitted.model_.to_bytes()
    assert_array_equal(fitted.predict(table), fitted.predict(table.astype(float)))


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "i2", "i8", "O"])
def test_type_of_target_and_weights_leaves_no_trace(dtype, whole_model):
    ones = np.ones(N_ROWS)
    reference = model_bytes(regressor(), WHOLE, ROUNDED, sample_weight=ones)
    assert model_bytes(regressor(), WHOLE, ROUNDED.astype(dtype), sample_weight=ones.astype(dtype)) == reference
    assert model_bytes(regressor(), WHOLE, ROUNDED.astype(dtype)) == whole_model.model_.to_bytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_what_is_masked_is_missing(dtype):
    mask = X > 1
    masked = np.ma.masked_array((10 * X).astype(dtype), mask=mask)
    with_nan = np.where(mask, np.nan, (10 * X).astype(dtype))
    fitted = regressor().fit(masked, Y)
    assert fitted.model_.to_bytes() == model_bytes(regressor(), with_nan, Y)
    assert_array_equal(fitted.predict(masked), fitted.predict(with_nan))


def digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_are_never_changed(dtype, order):
    table = np.array(100 * X, dtype=dtype, order=order)
    weight = np.random.default_rng(3).integers(0, 3, size=N_ROWS).astype(float)
    arrays = {"table": table, "y": Y.copy(), "weight": weight, "labels": LABELS.copy(), "names": np.array(["n", "y"])[LABELS]}
    before = {name: digest(array) for name, array in arrays.items()}
    validation = {"X_val": table, "sample_weight_val": weight}
    regressor(early_stopping=True).fit(table, arrays["y"], weight, y_val=arrays["y"], **validation).predict(table)
    poisson = regressor(loss="poisson", early_stopping=True, scoring="neg_mean_poisson_deviance")
    list(poisson.fit(table, arrays["y"], weight).staged_predict(table))
    balanced = classifier(class_weight="balanced", early_stopping=True, scoring="neg_log_loss")
    balanced.fit(table, arrays["names"], weight, y_val=arrays["names"], **validation).predict_proba(table)
    classifier().fit(table, arrays["labels"], weight).decision_function(table)
    assert {name: digest(array) for name, array in arrays.items()} == before


def test_a_frame_is_never_changed():
    frame = pd.DataFrame(put(X, (3, 1), np.nan), columns=NAMES)
    before = frame.copy(deep=True)
    regressor().fit(frame, Y).predict(frame)
    pd.testing.assert_frame_equal(frame, before)


# Columns


def frame(kind, names=NAMES, table=X):
    return frame_of(kind, dict(zip(names, table.T, strict=True)))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["rooms", "age", "area"], r"yet now missing:\n- year"),
        (["rooms", "age", "area", "year", "colour"], r"unseen at fit time:\n- colour"),
        (["rooms", "age", "area", "month"], r"unseen at fit time:\n- month\n.*yet now missing:\n- year"),
    ],
    ids=["missing", "extra", "renamed"],
)
def test_other_columns_at_predict_are_an_error_that_lists_them(kind, names, message):
    fitted = regressor().fit(frame(kind), Y)
    table = np.column_stack([X, X])[:, : len(names)]
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        fitted.predict(frame(kind, names, table))


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_in_another_order_are_found_by_name(kind):
    fitted = regressor().fit(frame(kind), Y)
    order = [3, 1, 0, 2]
    other = frame(kind, [NAMES[f] for f in order], X[:, order])
    assert_array_equal(fitted.predict(other), fitted.predict(frame(kind)))
    watched = [regressor(early_stopping=True).fit(frame(kind), Y, X_val=val, y_val=Y) for val in (other, frame(kind))]
    assert_array_equal(watched[0].validation_score_, watched[1].validation_score_)


@pytest.mark.parametrize("n_columns", [3, 5])
def test_another_number_of_columns_is_an_error(n_columns):
    fitted = regressor().fit(X, Y)
    with pytest.raises(ValueError, match=f"X has {n_columns} features, but BoostingRegressor is expecting 4"):
        fitted.predict(np.ones((3, n_columns)))


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_duplicate_column_names_are_named(kind):
    names = ["age", "year", "age", "year"]
    frame = pd.DataFrame(X, columns=names) if kind == "pandas" else pa.table(list(X.T), names=names)
    with pytest.raises(ValueError, match="must be unique; these come more than once: 'age', 'year'"):
        regressor().fit(frame, Y)


NOT_NUMBERS = {
    "lists": ([[1.0], [2.0, 3.0]], "object|List", "convert it to numbers or drop it"),
    "records": ([{"a": 1}, {"a": 2}], "object|Struct", "convert it to numbers or drop it"),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(("values", "dtype", "fix"), NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_a_column_that_is_not_made_of_numbers_is_named_with_its_dtype_and_a_fix(kind, values, dtype, fix):
    frame = frame_of(kind, {"rooms": X[:, 0], "paint": values * (N_ROWS // 2)})
    with pytest.raises(ValueError, match=f"Column 'paint' has dtype ({dtype}).*not a number: .*{fix}"):
        regressor().fit(frame, Y)


def test_a_column_of_complex_numbers_is_named():
    frame = pd.DataFrame({"rooms": X[:, 0], "phase": X[:, 1] + 1j})
    with pytest.raises(ValueError, match="Column 'phase' has dtype complex128"):
        regressor().fit(frame, Y)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.full(X.shape, "red"), "not compatible with arrays of bytes/strings"),
        (X + 1j, "Complex data not supported"),
        (np.full(X.shape, {"a": 1}, dtype=object), "Column 0 has dtype object and holds dict"),
        (X[0], "Expected 2D array, got 1D array"),
        (X[None], "Found array with dim 3"),
        ([[1, 2], [3]], "inhomogeneous shape"),
    ],
    ids=["strings", "complex", "dicts", "1d", "3d", "nested"],
)
def test_an_array_that_is_no_table_of_numbers_is_an_error(table, message):
    with pytest.raises(ValueError, match=message):
        regressor().fit(table, Y)


HOSTILE_NAMES = ["größe ☃", 'it\'s "quoted"', "two\nlines", "<script>alert(1)</script>", "x" * 10_000, "", "0", "a,b;c\t{d}%s"]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: repr(name[:12]))
@pytest.mark.parametrize("kind", FRAMES)
def test_any_text_can_be_a_column_name(kind, name):
    frame = frame_of(kind, {"age": X[:, 1], name: X[:, 0]})
    fitted = regressor().fit(frame, Y)
    fitted = pickle.loads(pickle.dumps(fitted))
    assert fitted.feature_names_in_.tolist() == ["age", name]
    assert_array_equal(fitted.predict(frame), regressor().fit(X[:, [1, 0]], Y).predict(X[:, [1, 0]]))
    assert_array_equal(fitted.predict(frame_of(kind, {name: X[:, 0], "age": X[:, 1]})), fitted.predict(frame))
    with pytest.raises(ValueError, match=re.escape(f"missing:\n- {name}")):
        fitted.predict(frame_of(kind, {"age": X[:, 1]}))


# Parameters


@pytest.mark.parametrize("cls", [BoostingRegressor, BoostingClassifier])
@pytest.mark.parametrize(
    ("wrong", "right"),
    [("learning_rat", "learning_rate"), ("max_iters", "max_iter"), ("min_sample_leaf", "min_samples_leaf"), ("njobs", "n_jobs")],
)
def test_a_misspelt_parameter_is_told_the_nearest_name(cls, wrong, right):
    message = f"{cls.__name__} has no parameter '{wrong}'; did you mean '{right}'"
    with pytest.raises(TypeError, match=message):
        cls(**{wrong: 1})
    with pytest.raises(ValueError, match=message):
        cls().set_params(**{wrong: 1})


def test_a_name_like_no_other_is_told_all_names():
    with pytest.raises(TypeError, match=r"no parameter 'zzz'\. The parameters are: loss, .*learning_rate"):
        BoostingRegressor(zzz=1)


def test_a_set_of_parameters_with_a_misspelt_one_changes_nothing():
    estimator = regressor(max_iter=10)
    with pytest.raises(ValueError, match="max_itr"):
        estimator.set_params(max_iter=20, max_itr=30)
    assert estimator.max_iter == 10


@pytest.mark.parametrize(
    ("parameters", "allowed"),
    [
        ({"learning_rate": 0}, "(0.0, inf)"),
        ({"learning_rate": np.nan}, "(0.0, inf)"),
        ({"learning_rate": "0.1"}, "(0.0, inf)"),
        ({"learning_rate": True}, "(0.0, inf)"),
        ({"max_iter": 0}, "[1, 2147483647]"),
        ({"max_iter": 2.5}, "[1, 2147483647]"),
        ({"max_iter": "10"}, "[1, 2147483647]"),
        ({"max_iter": True}, "[1, 2147483647]"),
        ({"max_leaf_nodes": 1}, "[2, 2147483647]"),
        ({"max_depth": 0}, "[1, 2147483647]"),
        ({"min_samples_leaf": 0}, "[1, 2147483647]"),
        ({"l2_regularization": -1}, "[0.0, inf)"),
        ({"max_features": 1.5}, "(0.0, 1.0]"),
        ({"max_bins": 1}, "[2, 65535]"),
        ({"max_bins": 65_536}, "[2, 65535]"),
        ({"validation_fraction": 1.0}, "(0.0, 1.0), an int in the range [1, 2147483647] or None"),
        ({"n_iter_no_change": 0}, "[1, 2147483647]"),
        ({"tol": -1}, "[0.0, inf)"),
        ({"warm_start": 1}, "'bool'"),
        ({"early_stopping": "yes"}, "'per_output'"),
        ({"verbose": -1}, "[0, inf)"),
        ({"random_state": "a"}, "[0, 4294967295]"),
        ({"n_jobs": 1.5}, "an int in the range [-2147483647, 2147483647] or None"),
        ({"grow_policy": "sideways"}, "leafwise"),
        ({"loss": "hinge"}, "squared_error"),
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_told_name_range_and_value(parameters, allowed):
    ((name, value),) = parameters.items()
    estimator = BoostingRegressor(**parameters)  # scikit-learn's rule: a constructor checks no values
    message = f"'{name}' parameter of BoostingRegressor must be .*{re.escape(allowed)}.*Got {re.escape(repr(value))}"
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_iter": np.int8(10)},
        {"learning_rate": np.float64(0.1)},
        {"max_leaf_nodes": np.int64(31)},
        {"max_features": 1},
        {"l2_regularization": np.int32(0)},
        {"warm_start": np.False_},
        {"n_jobs": np.int64(1)},
        {"random_state": np.int64(0)},
    ],
    ids=str,
)
def test_numpy_numbers_are_as_good_as_pythons(parameters):
    plain = {name: value.item() if isinstance(value, np.generic) else float(value) for name, value in parameters.items()}
    assert model_bytes(regressor(**parameters), X, Y) == model_bytes(regressor(**plain), X, Y)


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (regressor(early_stopping=True, validation_fraction=N_ROWS), Y),
        (classifier(early_stopping=True, validation_fraction=1), LABELS),
        (classifier(early_stopping=True), np.arange(N_ROWS) == 0),
    ],
    ids=["all rows", "fewer rows than classes", "a class of one row"],
)
def test_a_validation_set_that_cannot_be_cut_names_the_parameter(estimator, y):
    with pytest.raises(ValueError, match=r"validation_fraction=\S+ of 200 rows cannot be held out.*give X_val"):
        estimator.fit(X, y)

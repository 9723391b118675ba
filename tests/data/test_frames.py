"""Every kind of data frame with every kind of column is read as the same table, or raises."""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from sapwood import BoostingRegressor
from sapwood.data.columns import UNSEEN, ColumnError, Kind
from sapwood.data.frames import array_table, frame_table, open_frame
from tests.nameless import nameless_bytes

N_ROWS = 60
rng = np.random.default_rng(0)
ABSENT = rng.random(N_ROWS) < 0.2
TEN = rng.integers(0, 10, N_ROWS)
Y = TEN + ABSENT + rng.normal(size=N_ROWS)
START = datetime.datetime(2024, 3, 30, 22, 30, 0, 250)
UTC = datetime.UTC


class Stream:
    """Object that supports only the Arrow stream interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def in_duckdb(arrow):
    halves = [pa.field(f.name, pa.float32()) if f.type == pa.float16() else f for f in arrow.schema]  # it does not know them
    return duckdb.connect().from_arrow(arrow.cast(pa.schema(halves)))


def in_polars(arrow):
    frame = pl.from_arrow(arrow)  # which forgets the order of levels
    return frame.with_columns(pl.col("ordered").cast(pl.Enum(["small", "middle", "large"]))) if "ordered" in frame.columns else frame


NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.float32(): pd.Float32Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
FRAMES = {
    "pandas": lambda arrow: arrow.to_pandas(),
    "pandas nullable": lambda arrow: arrow.to_pandas(types_mapper=NULLABLE.get),
    "pandas on arrow": lambda arrow: arrow.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": in_polars,
    "pyarrow": lambda arrow: arrow,
    "pyarrow batch": lambda arrow: arrow.combine_chunks().to_batches()[0],
    "duckdb": in_duckdb,
    "arrow stream": lambda arrow: Stream(in_polars(arrow)),
    "numpy objects": lambda arrow: arrow.to_pandas().astype(object).to_numpy(),
}


def column(values, type=None):
    """Arrow column in two chunks, with every fifth value missing."""
    values = [None if absent else value for value, absent in zip(values, ABSENT, strict=True)]
    return pa.chunked_array([pa.array(values[:25], type), pa.array(values[25:], type)])


def ordered():
    codes = pa.array([None if absent else int(i) % 3 for i, absent in zip(TEN, ABSENT, strict=True)], pa.int32())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, ["small", "middle", "large"], ordered=True)])


WORDS = ["zebra", "ärger", "Abel", "abel", "", "fig", "10", "9", "grape", "x" * 100]
COLUMNS = {  # the column, and how it is read
    "float16": (column(TEN.astype(np.float16), pa.float16()), Kind()),
    "float32": (column((TEN / 3).astype(np.float32), pa.float32()), Kind()),
    "int64": (column(TEN, pa.int64()), Kind()),
    "uint8": (pa.chunked_array([pa.array(TEN, pa.uint8())]), Kind()),
    "decimal": (column([Decimal(int(i)) / 100 + 12345678 for i in TEN], pa.decimal128(12, 2)), Kind()),
    "bool": (column([bool(i > 4) for i in TEN]), Kind("bool")),
    "text": (column([WORDS[i] for i in TEN]), Kind("category", tuple(sorted({WORDS[i] for i in TEN[~ABSENT]})))),
    "category": (column([WORDS[i] for i in TEN]).dictionary_encode(), Kind("category", tuple(sorted({WORDS[i] for i in TEN[~ABSENT]})))),
    "ordered": (ordered(), Kind("category", ("small", "middle", "large"), ordered=True)),
    "date": (column([(START + datetime.timedelta(days=int(i))).date() for i in TEN]), Kind("datetime")),
    "datetime": (column([START + datetime.timedelta(hours=int(i)) for i in TEN], pa.timestamp("us")), Kind("datetime")),
    "zoned": (
        column([START.replace(tzinfo=UTC) + datetime.timedelta(hours=int(i)) for i in TEN], pa.timestamp("us", "UTC")),
        Kind("datetime", zone="UTC"),
    ),
    "duration": (column([datetime.timedelta(milliseconds=int(i)) for i in TEN], pa.duration("us")), Kind("duration")),
    "time": (column([datetime.time(int(i), 30) for i in TEN]), Kind("duration")),
    "nothing": (column([None] * N_ROWS, pa.null()), Kind()),
}
REFUSED = {
    "list": column([[1.0]] * N_ROWS),
    "struct": column([{"a": 1}] * N_ROWS),
    "bytes": column([b"a"] * N_ROWS),
}


def read(kind, arrow):
    frame = FRAMES[kind](arrow)
    return array_table(frame) if isinstance(frame, np.ndarray) else frame_table(open_frame(frame))


@pytest.mark.parametrize("what", COLUMNS)
@pytest.mark.parametrize("kind", FRAMES)
def test_every_column_is_read_the_same_from_every_frame(kind, what):
    arrow, expected = COLUMNS[what]
    table = read(kind, pa.table({"other": Y, what: arrow}))
    if what == "ordered" and kind in ("duckdb", "numpy objects"):  # they do not know of an order
        expected = Kind("category", ("large", "middle", "small"))
    found = table.columns[1].kind
    assert found == expected
    values = table.read(slice(0, N_ROWS), 1, 2)[:, 0]
    if expected.is_category:
        words = [WORDS[i] for i in TEN] if what != "ordered" else [("small", "middle", "large")[i % 3] for i in TEN]
        codes = [UNSEEN if absent else expected.levels.index(word) for word, absent in zip(words, ABSENT, strict=True)]
        assert values.dtype == np.int32
        assert_array_equal(values, codes)
    else:
        assert_array_equal(np.isnan(values.astype(float)), np.zeros(N_ROWS, bool) if what == "uint8" else ABSENT | (what == "nothing"))
        assert_array_equal(values, read("pyarrow", pa.table({"other": Y, what: arrow})).read(slice(0, N_ROWS), 1, 2)[:, 0])


@pytest.mark.parametrize("what", COLUMNS)
@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_gives_the_same_bytes_of_model(kind, what):
    arrow = pa.table({"other": Y[::-1], what: COLUMNS[what][0]})
    fitted, expected = (BoostingRegressor(max_iter=3, min_samples_leaf=3).fit(FRAMES[k](arrow), Y) for k in (kind, "pyarrow"))
    if what == "ordered" and kind in ("duckdb", "numpy objects"):  # they do not know of an order: other codes
        assert fitted.model_.schema.kind(1).levels == ("large", "middle", "small")
    elif kind == "numpy objects" and COLUMNS[what][1].is_category:  # its names, and so its bytes, are others
        assert_array_equal(fitted.predict(FRAMES[kind](arrow)), expected.predict(arrow))
    elif kind == "numpy objects":
        assert nameless_bytes(fitted.model_) == nameless_bytes(expected.model_)
    else:
        assert fitted.model_.to_bytes() == expected.model_.to_bytes()
        turned = FRAMES[kind](arrow.select([what, "other"]))
        predicted = fitted.predict(turned)
        assert_array_equal(np.concatenate(list(predicted)) if kind == "duckdb" else predicted, expected.predict(arrow))


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("kind", FRAMES)
def test_columns_that_cannot_be_read_raise(kind, what):
    with pytest.raises(ColumnError, match=f"Column ('{what}'|1) has dtype .*which is not a number"):
        read(kind, pa.table({"other": Y, what: REFUSED[what]}))


def test_missing_values():
    frame = pl.DataFrame({"age": np.where(TEN > 6, -999, TEN), "size": TEN / 7})
    numbers = frame.with_columns(pl.when(pl.col("age") >= 0).then(pl.col("age")))
    fitted = BoostingRegressor(max_iter=3, min_samples_leaf=3, missing=-999).fit(frame, Y)
    expected = BoostingRegressor(max_iter=3, min_samples_leaf=3, missing=-999).fit(numbers, Y)
    assert fitted.model_.to_bytes() == expected.model_.to_bytes()
    assert_array_equal(fitted.predict(frame), expected.predict(numbers))
    plain = BoostingRegressor(max_iter=3, min_samples_leaf=3).fit(numbers, Y)
    assert_array_equal(plain.predict(numbers), expected.predict(numbers))
    assert not np.array_equal(plain.predict(frame), expected.predict(frame))  # which do not know of -999
    by_array = BoostingRegressor(max_iter=3, min_samples_leaf=3, missing=(-999, "?")).fit(frame.to_numpy(), Y)
    assert_array_equal(by_array.predict(frame.to_numpy()), expected.predict(frame))


def test_names_that_are_not_strings():
    frame = pd.DataFrame({0: TEN, "a": Y[::-1], (1, "b"): ABSENT})
    fitted = BoostingRegressor(max_iter=3, min_samples_leaf=3).fit(frame, Y)
    assert fitted.model_.schema.names == (0, "a", "(1, 'b')")
    assert_array_equal(fitted.predict(frame[[(1, "b"), 0, "a"]]), fitted.predict(frame))
    with pytest.raises(ValueError, match="yet now missing:\n- 0"):
        fitted.predict(frame.rename(columns={0: "0"}))


def test_microseconds_whatever_the_unit():
    moments = np.array(["2024-01-01T00:00:00.000001234", "NaT", "1890-05-06", "2200-01-01T12:00"], dtype="M8[ns]")
    nanoseconds = array_table(moments[:, None]).read(slice(0, 4), 0, 1)[:, 0]
    assert_array_equal(nanoseconds, [1704067200000001.25, np.nan, -2513721600000000, 7258161600000000])
    seconds = array_table(moments.astype("M8[s]")[:, None]).read(slice(0, 4), 0, 1)[:, 0]
    assert_array_equal(seconds[1:], nanoseconds[1:])


def test_datetimes_with_and_without_a_zone_raise():
    table = np.array([[START], [START.replace(tzinfo=UTC)]], dtype=object)
    with pytest.raises(ColumnError, match="Column 0 mixes datetimes with and without a time zone"):
        array_table(table)


def test_mixed_objects_raise():
    with pytest.raises(ColumnError, match="Column 'mixed' has dtype object and holds int and str"):
        frame_table(open_frame(pd.DataFrame({"mixed": [1, "a"]})))

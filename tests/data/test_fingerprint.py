"""Fingerprints: the same for the same data in any form; different for other data, with a description of the difference."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sapwood.data import tables
from sapwood.data.fingerprint import Fingerprint
from sapwood.data.frames import frame_table, open_frame
from sapwood.data.sparse import SparseTable
from sapwood.data.tables import ArrayTable
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from tests.reference import fingerprint as twin

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 40)).round(1)
X[X < 0] = 0
X[5, 3] = np.nan
Y = RNG.normal(size=300)
FRAME = {"a": [1.5, None, 3.0], "word": ["x", "y", None], "yes": [True, False, True]}


def of(x, **arrays):
    return Fingerprint.of(ArrayTable(x), arrays)


def of_frame(frame):
    return Fingerprint.of(frame_table(open_frame(frame), frozenset()), {})


@pytest.mark.parametrize("block", [1, 7, 300])
def test_blocks_leave_no_trace(monkeypatch, block):
    whole = of(X, y=Y)
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", block)
    monkeypatch.setattr(tables, "HASHED_COLUMNS", 3)
    assert Fingerprint.of(ArrayTable(X, frozenset([77.0])), {"y": Y}) == whole  # a table that is converted block by block


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint64, np.int32, np.uint8, np.int8, np.bool_])
@pytest.mark.parametrize("shape", [(1, 1), (1_000, 3), (20_000, 5)])
def test_sums_are_those_of_plain_numpy_on_any_number_of_threads(dtype, shape):
    x = (RNG.normal(size=shape) * 100).astype(dtype)
    expected = twin.hash_columns(x, 7)
    for table, n_threads in ((x, 1), (np.asfortranarray(x), 2), (np.repeat(x, 2, axis=0)[::2], 3)):
        sums = np.zeros(shape[1], dtype=np.uint64)
        kernels.hash_columns(table, 7, sums, n_threads)
        np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_of_sparse_rows_are_those_of_dense_ones(n_threads):
    x = sparse.random_array((9_000, 6), density=0.1, rng=1).tocsr()
    x.data[:50] = np.nan
    sums = np.zeros(6, dtype=np.uint64)
    SparseTable(x).native.hash_columns(sums, n_threads)
    np.testing.assert_array_equal(sums, twin.hash_columns(x.toarray(), 0))


def test_layout_and_type_leave_no_trace():
    whole = of(X)
    assert of(np.asfortranarray(X)) == whole
    for n_threads in (1, 3):
        assert Fingerprint.of(SparseTable(sparse.csc_array(X)), {}, Execution(n_threads)) == whole
    half = np.floor(X * 2)
    assert of(half.astype(np.float32)) == of(half)
    assert of(-np.zeros((3, 2))) == of(np.zeros((3, 2)))


def test_libraries_leave_no_trace():
    one = of_frame(pd.DataFrame(FRAME))
    assert of_frame(pl.DataFrame(FRAME)) == one
    assert list(one.columns) == ["'a'", "'word'", "'yes'"]


@pytest.mark.parametrize("row", range(0, 300, 37))
def test_every_value_counts(row):
    other = X.copy()
    other[row, 7] += 0.1
    assert of(X).difference(of(other)) == "the values of column 7 differ"


def test_bits_at_either_end_count():
    """Small integers differ only in their highest bits; signs in one bit."""
    x = RNG.integers(0, 2, size=(64, 50)).astype(np.float64)
    assert len({of(x[:, [k]]).digest for k in range(50)}) == 50
    signs = np.where(x > 0, 1.0, -1.0)
    assert len({of(signs[:, [k]]).digest for k in range(50)}) == 50


def test_the_order_of_rows_counts():
    assert of(X).difference(of(X[::-1].copy())) is not None


def test_differences_are_described():
    whole = of(X, y=Y, sample_weight=None)
    assert whole.difference(of(X, y=Y)) is None
    assert whole.difference(of(X, y=Y + 1)) == "the values of y differ"
    assert whole.difference(of(X, y=Y, sample_weight=Y)) == "the values of sample_weight differ"
    assert whole.difference(of(X[:200], y=Y[:200])) == "the number of rows was 300, now it is 200"
    assert whole.difference(of(X + 1, y=Y)) == "the values of columns 0, 1, 2 and 37 more differ"
    frame, renamed = of_frame(pd.DataFrame(FRAME)), of_frame(pd.DataFrame(FRAME).rename(columns={"a": "b"}))
    assert frame.difference(renamed) == "the columns differ: 'a' removed; 'b' added"
    assert frame.difference(of_frame(pd.DataFrame(FRAME)[["yes", "a", "word"]])) == "the columns differ: their order changed"
    levels = of_frame(pd.DataFrame(FRAME | {"word": ["x", "z", None]}))
    assert frame.difference(levels) == "the values of column 'word' differ"  # the codes are the same


def test_json_round_trip():
    whole = of(X, y=Y)
    assert Fingerprint.from_json(whole.to_json()) == whole
    assert len(whole.digest) == 64

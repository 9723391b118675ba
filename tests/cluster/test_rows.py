"""Rows of workers: pieces are joined, columns are taken by name, queries are made whole."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sapwood.cluster.rows import complete_rows, join, read_rows, take_named
from tests.partitions import run

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"], "y": [0, 1, 0]})


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas, lambda f: pa.Table.from_pandas(f, preserve_index=False)])
def test_frames(make):
    rows = read_rows({"X": [make(FRAME[:1]), make(FRAME[1:])], "y": "y"}, "train")
    taken = take_named(rows, "train")
    assert list(getattr(taken["X"], "column_names", None) or taken["X"].columns) == ["a", "b"]
    assert np.asarray(taken["y"]).tolist() == [0, 1, 0]


def test_arrays():
    np.testing.assert_array_equal(join([np.eye(2), np.ones((1, 2))]), [[1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(
        join([sparse.eye_array(2, format="csr"), sparse.csr_array(np.ones((1, 2)))]).toarray(), [[1, 0], [0, 1], [1, 1]]
    )
    with pytest.raises(TypeError, match="partitions of type dict are not supported"):
        join([{}, {}])


def test_categories_of_all_pieces():
    pieces = [pd.DataFrame({"c": pd.Categorical([level])}) for level in "ba"]
    joined = join(pieces)
    assert joined["c"].dtype.categories.tolist() == ["a", "b"]
    assert joined["c"].tolist() == ["b", "a"]
    assert join([piece["c"] for piece in pieces]).tolist() == ["b", "a"]


def test_lengths_are_compared():
    with pytest.raises(ValueError, match="y of train has 1 rows in a partition where X has 2"):
        read_rows({"X": [np.ones((2, 1)), np.ones((2, 1))], "y": [np.ones(2), np.ones(1)]}, "train")


def test_unknown_columns_are_named():
    with pytest.raises(ValueError, match=r"y\[0\] of train.*='z' is not a column of X, whose columns are 'a', 'b', 'y'"):
        take_named({"X": FRAME, "y": "z"}, "train")


@pytest.mark.parametrize("cuts", [[3, 6], [0, 5], [5, 5], [1, 2], [7, 8], [4, 4], [9, 9]])
def test_queries_are_whole(cuts):
    """All rows of a query are with the worker that has its first row; the order stays."""
    qid = np.array([1, 1, 2, 2, 2, 2, 3, 3, 4])
    ends = [0, *cuts, 9]

    def complete(execution):
        own = slice(ends[execution.collective.rank], ends[execution.collective.rank + 1])
        rows = {"X": np.arange(9.0)[own, None], "qid": qid[own]}
        return complete_rows(rows, "train", execution)

    parts = run(3, complete)
    np.testing.assert_array_equal(np.concatenate([part["X"][:, 0] for part in parts]), np.arange(9.0))
    owners = [rank for rank, part in enumerate(parts) for _ in np.unique(part["qid"])]
    assert len(owners) == 4, "a query is in two partitions"


def test_a_worker_without_pieces_gets_an_empty_table():
    def complete(execution):
        rows = {"X": FRAME, "y": "y"} if execution.collective.rank == 1 else {"X": None, "y": "y"}
        return complete_rows(rows, "train", execution)

    empty, full = run(2, complete)
    assert list(empty["X"].columns) == list(full["X"].columns) == ["a", "b"]
    assert (len(empty["X"]), len(full["X"])) == (0, 3)

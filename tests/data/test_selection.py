import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from sapwood.data.selection import count_rows, take_rows

ROWS = np.array([3, 0, 3])
VALUES = [10.0, 11.0, 12.0, 13.0]
TABLE = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    "values",
    [
        np.array(VALUES),
        VALUES,
        tuple(VALUES),
        pd.Series(VALUES, index=list("abcd")),
        pl.Series(VALUES),
        pa.chunked_array([VALUES]),
        pd.array(VALUES),
    ],
    ids=lambda values: type(values).__module__.partition(".")[0] + " " + type(values).__name__,
)
def test_one_value_per_row(values):
    assert np.asarray(take_rows(values, ROWS)).tolist() == [13.0, 10.0, 13.0]
    assert count_rows(values) == 4


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.tolist(),
        sparse.coo_array(TABLE),
        pd.DataFrame(TABLE, columns=["a", "b"]),
        pl.DataFrame(TABLE, schema=["a", "b"]),
        pa.table({"a": TABLE[:, 0], "b": TABLE[:, 1]}),
        [{"a": a, "b": b} for a, b in TABLE],
    ],
    ids=lambda table: type(table).__module__.partition(".")[0] + " " + type(table).__name__,
)
def test_tables(table):
    taken = take_rows(table, ROWS)
    assert count_rows(table) == 4
    assert count_rows(taken) == 3
    if not isinstance(table, list) and not sparse.issparse(table):
        assert type(taken) is type(table)
    if isinstance(taken, pa.Table | list):
        taken = pd.DataFrame(taken.to_pylist() if isinstance(taken, pa.Table) else taken)
    numbers = taken.toarray() if sparse.issparse(taken) else np.asarray(taken, dtype=float)
    np.testing.assert_array_equal(numbers, TABLE[ROWS])

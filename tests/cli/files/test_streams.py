"""Large files are read in batches: the same types, the same rows, the same models."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import sapwood
from sapwood.cli.errors import CommandError
from sapwood.cli.files import csv, reading
from sapwood.cli.files.paths import Reading
from sapwood.cli.files.reading import open_tables, read_tables
from sapwood.cli.files.streams import Files, StoredRows
from sapwood.cli.main import main
from sapwood.cli.roles import Roles, divide
from tests.cli.conftest import table

N = 3000
LATE = N - 5  # a row far behind the first block


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setattr(reading, "LARGE", 0)
    monkeypatch.setattr(csv, "STREAM_BLOCK", 4096)


def column(early, late=None):
    return [early] * LATE + [early if late is None else late] * (N - LATE)


COLUMNS = {
    "int": column(1),
    "then float": column(1, 1.5),
    "then bool": column(1, "true"),
    "bool": column("true"),
    "then text": column("true", "x"),
    "empty": column(""),
    "empty, then int": column("", 3),
    "empty, then text": column("", "x"),
    "date": column("2024-01-01"),
    "then time": column("2024-01-01", "2024-01-01 10:00:00"),
    "then nanoseconds": column("2024-01-01 10:00:00", "2024-01-01 10:00:00.000000001"),
    "time of day": column("10:00:00"),
    "float, then date": column(0.5, "2024-01-01"),
    "text": column("x", "y"),
}


def test_types_are_those_of_all_rows(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "d.csv", index=False)
    whole, files = read_tables([str(tmp_path / "d.csv")], Reading()), open_tables([str(tmp_path / "d.csv")], Reading())
    assert isinstance(files, Files)
    assert files.schema == whole.schema
    batches = list(files.batches(None))
    assert len(batches) > 10
    assert pa.concat_tables(batches).equals(whole)


def test_types_are_those_of_all_files(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv(tmp_path / "1.csv", index=False)
    pd.DataFrame({"b": [1.5, 2.5], "a": [0.5, 1.0]}).to_csv(tmp_path / "2.csv", index=False)
    parquet.write_table(pa.table({"a": pa.array([7], pa.int32()), "b": ["z"]}), tmp_path / "3.parquet")
    feather.write_feather(pa.table({"b": ["q"], "a": [8]}), tmp_path / "4.feather", compression="uncompressed")
    paths = [str(tmp_path / name) for name in ("1.csv", "2.csv", "3.parquet", "4.feather")]
    assert pa.concat_tables(open_tables(paths, Reading()).batches(["a", "b"])).to_pydict() == {
        "a": [1.0, 2.0, 0.5, 1.0, 7.0, 8.0],
        "b": ["x", "y", "1.5", "2.5", "z", "q"],
    }


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("a,b,c\n1,2,3\n", r"1.csv has no column 'c', but .*2.csv has"),
        ("a\n1\n", r"2.csv has no column 'b', but .*1.csv has"),
        ("a,b\n1,2,3\n", r"2.csv: line 2 has 3 values, but the header has 2 columns"),
    ],
)
def test_files_that_do_not_fit(tmp_path, second, message):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text(second)
    with pytest.raises(CommandError, match=message):
        open_tables([str(tmp_path / "1.csv"), str(tmp_path / "2.csv")], Reading())


def test_a_column_that_occurs_twice(tmp_path):
    (tmp_path / "d.csv").write_text("a,a\n1,2\n")
    with pytest.raises(CommandError, match="the column 'a' occurs twice"):
        open_tables([str(tmp_path / "d.csv")], Reading())


def test_stored_rows(tmp_path):
    pd.DataFrame({"a": range(N), "b": [f"level {i % 3}" for i in range(N)], "y": [None if i % 2 else i for i in range(N)]}).to_csv(
        tmp_path / "d.csv", index=False
    )
    rows = divide(open_tables([str(tmp_path / "d.csv")], Reading()), Roles(target=["y"]))
    assert isinstance(rows.X, StoredRows)
    assert rows.X.shape == (N // 2, 2)
    assert rows.names == ["a", "b"]
    assert rows.n_dropped == N // 2
    np.testing.assert_array_equal(rows.y, np.arange(0, N, 2))
    taken = rows.take(np.array([0, 5, N // 2 - 1]))
    assert taken.in_memory().X.to_pydict() == {"a": [0, 10, N - 2], "b": ["level 0", "level 1", f"level {(N - 2) % 3}"]}
    assert rows.head(700).column("a").to_pylist() == list(range(0, 1400, 2))
    assert taken.take(np.array([1])).head(5).num_rows == 1


@pytest.mark.parametrize(
    "flags",
    [
        ["--max-iter", "5"],
        ["--max-iter", "5", "--report", "r.html"],
        ["--max-iter", "3", "--cv", "2", "--preset", "classic"],
        ["--max-iter", "3", "--holdout", "0", "--weight", "size2"],
        ["--max-iter", "3", "--test", "d.csv"],
        ["--max-iter", "3", "--group", "colour"],
        ["--max-iter", "3", "--tree-method", "exact", "--preset", "classic"],
    ],
    ids=lambda flags: flags[-2],
)
def test_models_are_the_same_as_in_memory(tmp_path, monkeypatch, capsys, flags):
    monkeypatch.chdir(tmp_path)
    rows = pd.concat([table(seed) for seed in range(3)])
    rows["size2"] = rows["size"].fillna(1) ** 2
    rows.iloc[3, -2] = None  # of y
    rows.to_csv("d.csv", index=False)
    found = []
    for large in (0, 1 << 40):
        monkeypatch.setattr(reading, "LARGE", large)
        assert not main(["train", "d.csv", "--target", "y", "--output", f"{large}.sapwood", "--json", "--quiet", *flags])
        result = json.loads(capsys.readouterr().out)
        found.append((result["scores"], result["n_rows"], result["n_test_rows"], sapwood.load(f"{large}.sapwood").model_.to_bytes()))
    assert found[0] == found[1]

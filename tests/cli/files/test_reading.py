"""Tables of files: formats, several files, types, broken files."""

import gzip

import pyarrow as pa
import pyarrow.feather
import pytest

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import Reading, expand, format_by_name
from sapwood.cli.files.reading import read_tables
from sapwood.cli.files.sparse import SparseTable

TEXT = "a,b\n1,x\n2,\n,z\n"


def test_formats_give_the_same_table(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "t.tsv").write_text(TEXT.replace(",", "\t"))
    first = read_tables([str(tmp_path / "t.csv")], Reading())
    pyarrow.feather.write_feather(first, tmp_path / "t.arrow")
    with pa.ipc.new_stream(str(tmp_path / "t.ipc"), first.schema) as stream:
        stream.write_table(first)
    assert first.to_pydict() == {"a": [1, 2, None], "b": ["x", None, "z"]}
    for name in ("t.csv.gz", "t.tsv", "t.arrow", "t.ipc"):
        assert read_tables([str(tmp_path / name)], Reading()).equals(first)


def test_types_are_common_to_all_files(tmp_path):
    (tmp_path / "1.csv").write_text("n,code,day\n1,7,2024-01-01\n")
    (tmp_path / "2.csv").write_text("day,n,code\n2024-01-01 10:00:00,1.5,07a\n")
    table = read_tables([str(tmp_path / "*.csv")], Reading())
    assert table["n"].to_pylist() == [1.0, 1.5]
    assert table["code"].to_pylist() == ["7", "07a"]
    assert pa.types.is_timestamp(table["day"].type)


def test_types_of_the_whole_file(tmp_path):
    """A column of integers may have text far below."""
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 300_000 + "x,2.5\n")
    assert [field.type for field in read_tables([str(tmp_path / "t.csv")], Reading()).schema] == [pa.string(), pa.float64()]


def test_null_values_quotes_and_line_breaks(tmp_path):
    (tmp_path / "t.csv").write_text('a,"b ""c"""\n?,"x\ny"\n3,"u,v"\n')
    table = read_tables([str(tmp_path / "t.csv")], Reading(null=["?"]))
    assert table.to_pydict() == {"a": [None, 3], 'b "c"': ["x\ny", "u,v"]}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "", "t.csv: the file is empty"),
        ("t.csv", "a,b\n1,2\n3\n4,5\n", "line 3 has 1 values, but the header has 2 columns: '3'"),
        ("t.csv", "a,a\n1,2\n", "the column 'a' occurs twice"),
        ("t.parquet", "a,b\n", "not a Parquet file"),
        ("t.arrow", "a,b\n", "not an Arrow file"),
        ("t.svm", "1 1:2\n0 2:x\n", r"line 2 of .*t.svm is not svmlight"),
        ("t.xls", "", "'.xls' is unknown"),
    ],
)
def test_broken_files(name, text, words, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match=words):
        read_tables([str(tmp_path / name)], Reading())


def test_files_with_other_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(CommandError, match=r"2.csv has no column 'b', but .*1.csv has"):
        read_tables([str(tmp_path)], Reading())


def test_svmlight(tmp_path):
    (tmp_path / "1.svm").write_text("1 qid:1 1:0.5 3:2\n0 qid:1 2:1\n")
    (tmp_path / "2.svm").write_text("1 qid:2 4:1\n")
    table = read_tables([str(tmp_path / "1.svm"), str(tmp_path / "2.svm")], Reading())
    assert isinstance(table, SparseTable)
    assert table.X.toarray().tolist() == [[0.5, 0, 2, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert table.qid.tolist() == [1, 1, 2]


def test_names_of_files(tmp_path):
    assert format_by_name("a/b.CSV.gz") == "csv"
    (tmp_path / "empty").mkdir()
    for path, words in {"no*.csv": "no file matches", "none.csv": "no such file", str(tmp_path / "empty"): "has no files"}.items():
        with pytest.raises(CommandError, match=words):
            expand([path])

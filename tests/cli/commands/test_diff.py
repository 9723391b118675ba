"""`sapwood diff` of models and of tables."""

import json

import sapwood as library
from tests.cli.conftest import table
from tests.cli.processes import assert_refused, call


def test_models(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    run = call(capsys, "diff", "m.sapwood", "m.sapwood", "--exit-code")
    assert (run.returncode, run.stdout) == (0, "the files have the same content\n")
    library.load("m.sapwood")[:15].save("short.sapwood")
    run = call(capsys, "diff", "m.sapwood", "short.sapwood", "--exit-code", "--json", "--data", "d.csv")
    result = json.loads(run.stdout)
    assert (run.returncode, result["identical"], result["equal_trees"]) == (1, False, 15)
    assert result["changed"]["rounds"] == [20, 15]
    assert result["predictions"]["rows"] == 400
    assert result["predictions"]["largest difference"] > 0
    assert set(result["scores"]) == {"roc_auc", "log_loss", "accuracy"}
    text = call(capsys, "diff", "m.sapwood", "short.sapwood", "--data", "d.csv").stdout
    assert "the first 15 trees are equal" in text


def test_tables(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    other = table(1).assign(size=lambda d: d["size"] + 2, new=1).drop(columns="old")
    other.loc[:50, "colour"] = "violet"
    other.to_csv("other.csv", index=False)
    result = json.loads(call(capsys, "diff", "d.csv", "other.csv", "--json").stdout)
    columns = {one["name"]: one for one in result["columns"]}
    assert columns["size"]["change"] == "large drift"
    assert columns["size"]["distance"] > 0.5
    assert "new: violet" in columns["colour"]["change"]
    assert columns["day"]["change"] == "small drift"
    assert (columns["new"]["change"], columns["old"]["change"]) == ("new", "gone")
    assert call(capsys, "diff", "d.csv", "d.csv", "--exit-code").returncode == 0
    assert call(capsys, "diff", "d.csv", "other.csv", "--exit-code").returncode == 1
    assert_refused(call(capsys, "diff", "d.csv", "m.sapwood"), "one is a model file and the other is not")

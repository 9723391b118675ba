"""`sapwood inspect` and `sapwood parameters` in processes of their own."""

import json

import pandas as pd

from tests.cli.processes import assert_refused, call


def test_model(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    run = call(capsys, "inspect", "m.sapwood", "--json")
    result = json.loads(run.stdout)
    assert (result["estimator"], result["rounds"], result["classes"]) == ("BoostingClassifier", 20, ["no", "yes"])
    assert result["columns"][0]["name"] == "size"
    assert abs(sum(column["importance"] for column in result["columns"]) - 1) < 1e-9
    text = call(capsys, "inspect", "m.sapwood").stdout
    for words in ("BoostingClassifier", "log_loss", "max_iter", "colour", "3: blue, green, red"):
        assert words in text


def test_tree(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    text = call(capsys, "inspect", "m.sapwood", "--tree", "0").stdout.splitlines()
    assert "320 rows" in text[0]
    assert sum(" value " in f" {line}" for line in text) == sum("yes: " in line for line in text) + 1
    assert_refused(call(capsys, "inspect", "m.sapwood", "--tree", "99"), "from 0 to 19")


def test_table_with_hostile_names(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    names = ["<script>alert(1)</script>", "[bold]x[/bold]", "\x1b[31mred", "a\nb", "é" * 10_000, "quote'\""]
    pd.DataFrame([[1.5] * len(names)], columns=names).to_parquet(folder / "names.parquet")
    run = call(capsys, "inspect", "names.parquet")
    assert run.returncode == 0, run.stderr
    assert "\x1b" not in run.stdout
    assert "[bold]x[/bold]" in run.stdout
    assert len(run.stdout.splitlines()) == 2 + len(names)
    run = call(capsys, "inspect", "names.parquet", "--json")
    assert [column["name"] for column in json.loads(run.stdout)["columns"]] == names


def test_hostile_names_survive_training(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    names = ["<script>", "[/bold]", "a\nb", "é" * 10_000]
    frame = pd.DataFrame({name: range(60) for name in names}).assign(y=[0.5, 1.5, 3.5] * 20)
    frame.to_parquet(folder / "hostile.parquet")
    run = call(capsys, "train", "hostile.parquet", "--target", "y", "--output", "h.sapwood")
    assert run.returncode == 0, run.stderr
    run = call(capsys, "inspect", "h.sapwood", "--json")
    assert {column["name"] for column in json.loads(run.stdout)["columns"]} == set(names)


def test_parameters(capsys):
    run = call(capsys, "parameters", "--task", "ranking", "--json")
    assert json.loads(run.stdout)["rank_metric"]["default"] == "ndcg"
    assert (
        "shrinkage" in call(capsys, "parameters", "--learning-rate").stdout
        or "shrinkage" in call(capsys, "parameters", "learning_rate").stdout
    )
    assert_refused(call(capsys, "parameters", "nonsense"), "nonsense is no parameter of regression")

"""`sapwood train` in processes of its own."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

import sapwood as library
from tests.cli.conftest import table
from tests.cli.processes import assert_refused, call, start


def test_model_is_that_of_the_library(folder):
    """Same rows, same parameters: same trees."""
    result = json.loads((folder / "train.json").read_text())
    model = library.load(folder / "m.sapwood")
    assert result["task"] == "classification"
    assert result["n_rounds"] == model.n_iter_ == 20
    assert set(result["scores"]) == {"roc_auc", "log_loss", "accuracy"}
    for score in result["scores"].values():
        assert score["low"] < score["score"] < score["high"]
    assert result["scores"]["roc_auc"]["score"] > 0.8
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.provenance_["target"] == "y"
    assert not list(folder.glob("*.checkpoint*"))
    shown = (folder / "train.txt").read_text()
    for text in (
        "400 rows x 4 features",
        "target of text, 2 values",
        "1 number, 1 category, 1 datetime, 1 bool",
        "80 test rows",
        "Saved    m.sapwood",
    ):
        assert text in shown
    assert "\x1b" not in shown  # no colours outside of a terminal


def test_regression_with_toml_cv_and_several_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = table().assign(y=lambda d: np.nan_to_num(d["size"]) * 3 + (d["colour"] == "red"))
    frame[:200].to_parquet(tmp_path / "part-1.parquet")
    frame[200:].to_parquet(tmp_path / "part-2.parquet")
    (tmp_path / "p.toml").write_text('[parameters]\nmax_iter = 5\nmonotonic-cst = {size = 1}\nmax_depth = "none"\n')
    arguments = ["--target", "y", "--config", "p.toml", "--max-iter", "8", "--cv", "3", "--metric", "rmse", "--drop", "day", "--json", "-q"]
    run = call(capsys, "train", "part-*.parquet", *arguments)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    result = json.loads(run.stdout)
    assert (result["task"], result["n_rounds"], result["n_rows"]) == ("regression", 8, 400)
    assert list(result["scores"]) == ["rmse"]
    model = library.load(tmp_path / "model.sapwood")
    assert model.monotonic_cst == {"size": 1}
    assert model.feature_names_in_.tolist() == ["size", "colour", "old"]


def test_ranking_of_svmlight(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = []
    for query in range(30):
        for _ in range(8):
            values = rng.random(4)
            lines.append(f"{int(values[0] * 3)} qid:{query + 1} " + " ".join(f"{k + 1}:{value:.3f}" for k, value in enumerate(values)))
    (tmp_path / "rank.svm").write_text("\n".join(lines))
    run = call(capsys, "train", "rank.svm", "--max-iter", "10", "--json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["task"] == "ranking"
    assert result["scores"]["ndcg@10"]["score"] > 0.7
    predicted = call(capsys, "predict", "model.sapwood", "rank.svm")
    assert len(predicted.stdout.splitlines()) == 241


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["d.csv", "--target", "colur"], ["--target colur", "did you mean 'colour'?"]),
        (["d.csv"], ["--target is missing"]),
        (["nothing.csv", "--target", "y"], ["nothing.csv: no such file"]),
        (["d.csv", "--target", "y", "--output", "no/such/m.sapwood"], ["--output no/such/m.sapwood", "does not exist"]),
        (["d.csv", "--target", "y", "--output", "."], ["it is a folder"]),
        (["d.csv", "--target", "y", "--learning-rat", "1"], ["--learning-rat", "Did you mean --learning-rate?"]),
        (["d.csv", "--target", "y", "--learning-rate", "-1"], ["learning_rate", "-1"]),
        (["broken.csv", "--target", "y"], ["broken.csv: line 4 has 3 values", "2 columns", "'3,no,9'"]),
        (["d.csv", "--target", "y", "--tweedie-power", "1.5"], ["--tweedie-power is no parameter of classification"]),
    ],
)
def test_errors_are_one_line_with_exit_code_2(arguments, words, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "broken.csv").write_text("x,y\n1,no\n2,yes\n3,no,9\n4,yes\n")
    assert_refused(call(capsys, "train", *arguments), *words)


def wide(path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    pd.DataFrame(X).add_prefix("x").assign(y=X[:, 0] + X[:, 1] * X[:, 2]).to_parquet(path)


@pytest.mark.parametrize(("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")])
def test_signals_leave_a_checkpoint_that_the_same_command_resumes(number, code, word, tmp_path, capsys, monkeypatch):
    wide(tmp_path / "d.parquet")
    command = ["train", "d.parquet", "--target", "y", "--max-iter", "200", "--holdout", "0", "--checkpoint-every", "10", "--output"]
    process = start(*command, "m.sapwood", cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    while not (tmp_path / "m.sapwood.checkpoint").exists():
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(number)
    out, messages = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, ""), messages
    assert f"sapwood: {word}: " in messages
    assert "rounds are saved in m.sapwood.checkpoint; the same command resumes from it" in messages
    assert not (tmp_path / "m.sapwood").exists()
    monkeypatch.chdir(tmp_path)
    resumed = call(capsys, *command, "m.sapwood")
    assert resumed.returncode == 0, resumed.stderr
    assert "Resuming from m.sapwood.checkpoint" in resumed.stderr
    assert call(capsys, *command, "whole.sapwood").returncode == 0
    assert (tmp_path / "m.sapwood").read_bytes() == (tmp_path / "whole.sapwood").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.parquet", "m.sapwood", "whole.sapwood"]


def test_checkpoint_of_another_fit_is_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv(tmp_path / "d.csv", index=False)
    command = ["train", "d.csv", "--target", "y", "--checkpoint", "c", "--max-iter", "5"]
    assert call(capsys, *command).returncode == 0
    assert_refused(call(capsys, *command, "--max-leaf-nodes", "7"), "belongs to another fit", "--restart")
    assert call(capsys, *command, "--max-leaf-nodes", "7", "--restart").returncode == 0
    assert os.path.exists(tmp_path / "c")


def test_report_and_live_page(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("d.csv", index=False)
    run = call(capsys, "train", "d.csv", "--target", "y", "--max-iter", "3", "--watch", "--report", "r.html")
    assert run.returncode == 0, run.stderr
    assert "Watch    http://127.0.0.1:" in run.stderr
    assert (tmp_path / "r.html").read_text().lower().startswith("<!doctype html>")
    assert_refused(call(capsys, "train", "d.csv", "--target", "y", "--report", "no/r.html"), "--report no/r.html", "does not exist")

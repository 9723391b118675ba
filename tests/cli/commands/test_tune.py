"""`sapwood tune`: the study is resumed, and its parameters train a model."""

import json
import signal
import subprocess
import tomllib

import pytest

from tests.cli.conftest import table
from tests.cli.processes import assert_refused, call, start


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("d.csv", index=False)
    (tmp_path / "space.toml").write_text("learning_rate = {low = 0.05, high = 0.3, log = true}\nmax_leaf_nodes = {low = 3, high = 8}\n")
    return ["d.csv", "--target", "y", "--max-iter", "30", "--space", "space.toml", "--cv", "2"]


def test_study_is_resumed(data, capsys, tmp_path):
    run = call(capsys, "tune", *data, "--trials", "2", "--json")
    assert run.returncode == 0, run.stderr
    first = json.loads(run.stdout)
    assert (first["metric"], first["trials"]) == ("log_loss", 2)
    run = call(capsys, "tune", *data, "--trials", "4", "--output", "best.toml")
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    assert "2 trials so far" in run.stderr
    assert sum(line.startswith("Trial ") for line in run.stderr.splitlines()) == 2
    best = tomllib.loads((tmp_path / "best.toml").read_text())
    assert 3 <= best["max_leaf_nodes"] <= 8
    assert best["early_stopping"] is False
    assert best["max_iter"] >= 1
    trained = call(capsys, "train", "d.csv", "--target", "y", "--config", "best.toml", "--json")
    assert json.loads(trained.stdout)["n_rounds"] == best["max_iter"]


def test_errors(data, capsys, tmp_path):
    assert call(capsys, "tune", *data, "--trials", "1").returncode == 0
    assert_refused(call(capsys, "tune", *data, "--trials", "2", "--metric", "accuracy"), "of another search: the metric has changed")
    assert_refused(call(capsys, "tune", *data, "--metric", "nonsense"), "--metric nonsense is unknown")
    (tmp_path / "space.toml").write_text("learning_rate = 3\n")
    assert_refused(call(capsys, "tune", *data, "--study", "other"), "learning_rate must be a list of choices")


def test_interrupt_keeps_the_study(data, tmp_path):
    process = start("tune", *data, "--trials", "1000", stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in process.stderr:
        if line.startswith("Trial 1"):
            break
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "are saved in tune.journal; the same command continues the study" in rest

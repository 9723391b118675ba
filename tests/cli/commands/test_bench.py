"""`sapwood bench`."""

import json

from tests.cli.processes import assert_refused, call


def test_comparison(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    command = ["bench", "d.csv", "--target", "y", "--rounds", "5", "--repeat", "1", "--threads", "1"]
    run = call(capsys, *command, "--library", "sapwood", "--library", "lightgbm", "--library", "sklearn", "--json")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["metric"] == "log_loss"
    assert list(result["libraries"]) == ["sapwood", "lightgbm", "sklearn"]
    scores = [one["score"] for one in result["libraries"].values()]
    assert max(scores) - min(scores) < 0.1
    assert all(one["fit_seconds"] > 0 for one in result["libraries"].values())
    assert_refused(call(capsys, *command, "--library", "weka"), "weka is unknown")

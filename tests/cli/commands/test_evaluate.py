"""`sapwood evaluate` in processes of its own."""

import json

import pandas as pd
from sklearn.metrics import accuracy_score, roc_auc_score

from tests.cli.commands.test_predict import expected
from tests.cli.conftest import table
from tests.cli.processes import assert_refused, call


def test_scores_are_those_of_scikit_learn(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    run = call(capsys, "evaluate", "m.sapwood", "d.csv", "--json", "--metric", "roc_auc", "--metric", "accuracy")
    assert run.returncode == 0, run.stderr
    result, (labels, probabilities) = json.loads(run.stdout), expected(folder, table())
    assert result["n_rows"] == 400
    assert result["scores"]["accuracy"]["score"] == accuracy_score(table()["y"], labels)
    assert abs(result["scores"]["roc_auc"]["score"] - roc_auc_score(table()["y"] == "yes", probabilities[:, 1])) < 1e-12


def test_table_on_stdout_and_messages_on_stderr(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    run = call(capsys, "evaluate", "m.sapwood", "d.csv", "--level", "0.9")
    assert run.returncode == 0
    assert run.stdout.splitlines()[0].split() == ["metric", "score", "90", "%", "interval"]
    assert [line.split()[0] for line in run.stdout.splitlines()[1:]] == ["roc_auc", "log_loss", "accuracy"]
    assert run.stderr == "400 rows\n"


def test_errors(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    table().assign(y="maybe").to_csv(folder / "other.csv", index=False)
    assert_refused(call(capsys, "evaluate", "m.sapwood", "other.csv"), "class 'maybe'", "does not know")
    assert_refused(call(capsys, "evaluate", "m.sapwood", "d.csv", "--metric", "f2"), "--metric f2 is unknown")
    pd.DataFrame({"size": [1.0]}).to_csv(folder / "small.csv", index=False)
    assert_refused(call(capsys, "evaluate", "m.sapwood", "small.csv"), "--target y: there is no such column")

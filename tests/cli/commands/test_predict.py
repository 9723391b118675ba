"""`sapwood predict` in processes of its own."""

import io
import subprocess

import numpy as np
import pandas as pd
import pytest

import sapwood as library
from tests.cli.conftest import table
from tests.cli.processes import COMMAND, ENVIRONMENT, assert_refused, call, sapwood


def expected(folder, frame):
    model = library.load(folder / "m.sapwood")
    X = frame.assign(day=pd.to_datetime(frame["day"]))[model.feature_names_in_.tolist()]
    return model.predict(X), model.predict_proba(X)


def test_csv_on_stdout(folder):
    run = sapwood("predict", "m.sapwood", "d.csv", "--keep", "colour", cwd=folder)
    assert (run.returncode, run.stderr) == (0, "")
    frame, (labels, probabilities) = pd.read_csv(io.StringIO(run.stdout)), expected(folder, table())
    assert frame.columns.tolist() == ["colour", "prediction", "probability_no", "probability_yes"]
    assert frame["prediction"].tolist() == labels.tolist()
    np.testing.assert_array_equal(frame[["probability_no", "probability_yes"]].to_numpy(), probabilities)
    assert frame["colour"].tolist() == table()["colour"].tolist()


def test_stdin_files_and_other_column_orders(folder):
    shuffled = table(1)[["y", "old", "colour", "day", "size"]].assign(other=1)
    run = sapwood("predict", "m.sapwood", "-", "--no-proba", cwd=folder, stdin=shuffled.to_csv(index=False))
    assert run.returncode == 0, run.stderr
    assert pd.read_csv(io.StringIO(run.stdout))["prediction"].tolist() == expected(folder, table(1))[0].tolist()
    shuffled.assign(day=pd.to_datetime(shuffled["day"])).to_parquet(folder / "new.parquet")
    run = sapwood("predict", "m.sapwood", "new.parquet", "--raw", "--output", "p.parquet", cwd=folder)
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    raw = pd.read_parquet(folder / "p.parquet")["raw"]
    np.testing.assert_allclose(1 / (1 + np.exp(-raw)), expected(folder, table(1))[1][:, 1], rtol=1e-12)
    assert not list(folder.glob(".p.parquet*"))


@pytest.mark.parametrize(
    ("arguments", "text", "words"),
    [
        (["m.sapwood", "new.csv"], "size,colour\n1,red\n", ["new.csv has no column 'day'"]),
        (["m.sapwood", "new.csv"], "size,colour,day,old\ntall,red,2024-01-01,true\n", ["'size'", "must be double", "'tall'"]),
        (["d.csv", "new.csv"], "", ["d.csv", "not a Sapwood model"]),
        (["m.sapwood", "new.csv", "--output", "p.xlsx"], "size,colour,day,old\n1,red,2024-01-01,true\n", ["'.xlsx' is unknown"]),
    ],
)
def test_errors(arguments, text, words, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "new.csv").write_text(text)
    assert_refused(call(capsys, "predict", *arguments), *words)


def test_closed_pipe(folder):
    """`sapwood predict ... | head -1` ends without a traceback."""
    big = pd.concat([table()] * 300)
    big.to_csv(folder / "big.csv", index=False)
    command = [*COMMAND, "predict", "m.sapwood", "big.csv"]
    process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"prediction,probability_no,probability_yes\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()

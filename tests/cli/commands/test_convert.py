"""`sapwood convert`: to every format and back, with the predictions of the model."""

import json
import shutil
import subprocess

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

import sapwood as library
from tests.cli.processes import assert_refused, call

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
Y = X["a"] * 2 + (X["b"] > 0)


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    estimator = library.BoostingRegressor(max_iter=10).fit(X, Y)
    estimator.save("m.sapwood")
    return estimator


def test_formats_of_other_libraries(model, tmp_path, capsys):
    run = call(capsys, "convert", "m.sapwood", "m.txt")
    assert (run.returncode, run.stdout) == (0, ""), run.stderr
    np.testing.assert_allclose(lightgbm.Booster(model_file="m.txt").predict(X), model.predict(X), rtol=1e-12)
    assert call(capsys, "convert", "m.sapwood", "m.json", "-q").returncode == 0
    np.testing.assert_allclose(xgboost.Booster(model_file="m.json").predict(xgboost.DMatrix(X)), model.predict(X), rtol=1e-4, atol=1e-5)
    for name in ("m.onnx", "m.tl"):
        assert call(capsys, "convert", "m.sapwood", name).returncode == 0
        assert (tmp_path / name).stat().st_size > 1000
    for name, tolerance in {"m.txt": 1e-12, "m.json": 1e-4}.items():
        assert call(capsys, "convert", name, "back.sapwood").returncode == 0
        np.testing.assert_allclose(library.load("back.sapwood").predict(X), model.predict(X), rtol=tolerance, atol=tolerance)


def test_c_source_on_stdout_compiles(model, tmp_path, capfdbinary):
    from sapwood.cli.main import main

    assert main(["convert", "m.sapwood", "--to", "c", "--name", "mine"]) == 0
    source = capfdbinary.readouterr().out
    assert b"mine_predict" in source
    if shutil.which("cc"):
        subprocess.run(["cc", "-std=c99", "-x", "c", "-c", "-", "-o", "m.o"], input=source, check=True)


def test_readable_json(model, capfdbinary):
    from sapwood.cli.main import main

    assert main(["convert", "m.sapwood", "--to", "json"]) == 0
    document = json.loads(capfdbinary.readouterr().out)
    assert len(document["rounds"]) == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["m.sapwood"], ["name the file to write"]),
        (["m.sapwood", "m.pkl"], ["'.pkl' is unknown"]),
        (["d.csv", "m.sapwood"], ["no model file"]),
        (["m.sapwood", "m.onnx", "--name", "x"], ["--name is for C source"]),
        (["none.sapwood", "m.onnx"], ["No such file"]),
    ],
)
def test_errors(arguments, words, model, capsys):
    X.to_csv("d.csv")
    assert_refused(call(capsys, "convert", *arguments), *words)

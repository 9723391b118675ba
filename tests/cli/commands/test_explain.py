"""`sapwood explain`."""

import io
import json

import numpy as np
import pandas as pd

import sapwood as library
from tests.cli.conftest import table
from tests.cli.processes import assert_refused, call


def expected(folder):
    frame, model = table(), library.load(folder / "m.sapwood")
    return model.explain(frame.assign(day=pd.to_datetime(frame["day"]))[model.feature_names_in_.tolist()])


def test_values(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    run = call(capsys, "explain", "m.sapwood", "d.csv", "--keep", "y")
    assert (run.returncode, run.stderr) == (0, "")
    frame, found = pd.read_csv(io.StringIO(run.stdout)), expected(folder)
    assert frame.columns.tolist() == ["y", "base_value", "shap_size", "shap_colour", "shap_day", "shap_old"]
    np.testing.assert_array_equal(frame.iloc[:, 2:].to_numpy(), found.values)


def test_summary_and_row(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    found = expected(folder)
    summary = json.loads(call(capsys, "explain", "m.sapwood", "d.csv", "--summary", "--json").stdout)
    assert next(iter(summary)) == "size"
    np.testing.assert_allclose(summary["size"], np.abs(found.values[:, 0]).mean())
    row = json.loads(call(capsys, "explain", "m.sapwood", "d.csv", "--row", "7", "--json").stdout)[0]
    np.testing.assert_allclose(row["shap"]["colour"], found.values[7, 1])
    text = call(capsys, "explain", "m.sapwood", "d.csv", "--row", "7").stdout
    assert "(base value)" in text
    assert table()["colour"][7] in text
    assert_refused(call(capsys, "explain", "m.sapwood", "d.csv", "--row", "400"), "from 0 to 399")


def test_several_classes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = table()
    X = frame[["size"]].fillna(0.0)
    library.BoostingClassifier(max_iter=3).fit(X, frame["colour"]).save("m.sapwood")
    X.to_csv("d.csv", index=False)
    header = call(capsys, "explain", "m.sapwood", "d.csv").stdout.splitlines()[0]
    assert header.split(",")[:4] == ["base_value_blue", "shap_size_blue", "base_value_green", "shap_size_green"]

"""The formats of other libraries, read by them."""

import json

import lightgbm
import numpy as np
import pytest
import treelite
import xgboost

from sapwood.data.tables import ArrayTable
from sapwood.model.export import ExportError
from sapwood.model.export.xgboost import first_above
from sapwood.runtime.execution import SERIAL
from tests.model.export import kinds

PEERS = ("treelite", "lightgbm", "xgboost")
EXPRESSIBLE = [
    kind for kind in kinds.MAKERS if kind not in ("combinations", "quantiles", "own missing values", *kinds.CALENDARS, *kinds.CROSSED)
]


def flat(predicted):
    return np.asarray(predicted).reshape(len(predicted), -1)


def run_lightgbm(text, x, raw):
    return flat(lightgbm.Booster(model_str=text).predict(x, raw_score=raw, num_threads=1))


def run_treelite(model, x, raw):
    return flat(treelite.gtil.predict(model, np.ascontiguousarray(x), nthread=1, pred_margin=raw))


def run_xgboost(document, x, raw):
    booster = xgboost.Booster({"nthread": 1}, model_file=bytearray(json.dumps(document).encode()))
    table = xgboost.DMatrix(x, feature_types=booster.feature_types, feature_names=booster.feature_names, enable_categorical=True, nthread=1)
    return flat(booster.predict(table, output_margin=raw))


class TestDouble:
    @pytest.mark.parametrize("kind", EXPRESSIBLE)
    def test_lightgbm(self, kind):
        text, x = kinds.fitted(kind).export("lightgbm"), kinds.matrix(kind)
        np.testing.assert_array_equal(run_lightgbm(text, x, True), kinds.raw(kind))
        np.testing.assert_allclose(run_lightgbm(text, x, False), kinds.linked(kind), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("kind", EXPRESSIBLE)
    def test_treelite(self, kind):
        model, x = kinds.fitted(kind).export("treelite"), kinds.matrix(kind)
        np.testing.assert_allclose(run_treelite(model, x, True), kinds.raw(kind), rtol=1e-12, atol=1e-12)
        digits = 1e-6 if "class" in kind else 1e-12  # Treelite's softmax is of float32
        np.testing.assert_allclose(run_treelite(model, x, False), kinds.linked(kind), rtol=digits, atol=digits)


@pytest.mark.parametrize("kind", EXPRESSIBLE)
def test_xgboost(kind):
    """On numbers of float32, as it has no others."""
    estimator, x = kinds.fitted(kind), kinds.matrix(kind).astype(np.float32)
    expected = estimator.model_.predict_raw(ArrayTable(x), SERIAL)  # of codes
    document = estimator.export("xgboost")
    np.testing.assert_allclose(run_xgboost(document, x, True), expected, rtol=1e-5, atol=1e-5)
    linked = estimator.model_.apply_link(np.ascontiguousarray(expected), SERIAL)
    np.testing.assert_allclose(run_xgboost(document, x, False), linked, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("format", PEERS)
def test_what_cannot_be_said_has_a_name(format):
    with pytest.raises(ExportError, match=rf"format='{format}' does not support combined categories \(of color, kind\): use 'c' or 'onnx'"):
        kinds.fitted("combinations").export(format)
    with pytest.raises(ExportError, match=rf"format='{format}' does not support the link 'sorted'.*raw=True"):
        kinds.fitted("quantiles").export(format)


@pytest.mark.parametrize("run", [run_treelite, run_lightgbm, run_xgboost])
def test_raw(run):
    format = run.__name__.removeprefix("run_")
    x = kinds.matrix("quantiles").astype(np.float32).astype(float)
    found = run(kinds.fitted("quantiles").export(format, raw=True), x, False)
    np.testing.assert_allclose(found, kinds.fitted("quantiles")._raw_predict(x), rtol=1e-5, atol=1e-5)


def test_lightgbm_knows_levels_in_frames():
    x = kinds.rows("sets of levels")
    booster = lightgbm.Booster(model_str=kinds.fitted("sets of levels").export("lightgbm"))
    np.testing.assert_array_equal(booster.predict(x, num_threads=1), kinds.fitted("sets of levels").predict(x))


@pytest.mark.parametrize("format", PEERS)
def test_files(format, tmp_path):
    estimator, path = kinds.fitted("two classes"), tmp_path / "model.json"
    estimator.export(format, path)
    x = kinds.matrix("two classes").astype(np.float32).astype(float)
    read = {
        "treelite": lambda: run_treelite(treelite.Model.deserialize(path), x, False),
        "lightgbm": lambda: lightgbm.Booster(model_file=path).predict(x, num_threads=1),
        "xgboost": lambda: xgboost.Booster({"nthread": 1}, model_file=path).predict(xgboost.DMatrix(x, nthread=1)),
    }[format]()
    np.testing.assert_allclose(np.ravel(read), estimator.predict_proba(x)[:, 1], rtol=1e-5)


def test_first_above():
    t = np.array([0.0, -0.0, 1.0, 0.1, -0.1, 1e-50, -1e-50, 1e39, -1e39, np.inf, 16777217.0])
    found = first_above(t)
    assert found.dtype == np.float32
    for threshold, own in zip(t[:-2], found, strict=False):
        assert float(own) > threshold
        with np.errstate(over="ignore"):
            assert float(np.nextafter(own, np.float32(-np.inf))) <= threshold
    assert found[-2] == np.inf


@pytest.mark.parametrize("kind", ["deep sets of levels", "means of levels"])
@pytest.mark.parametrize("run", [run_treelite, run_lightgbm, run_xgboost])
@pytest.mark.parametrize("code", [-1, 1000])
def test_codes_that_are_none_count_as_missing(kind, run, code):
    estimator, missing = kinds.fitted(kind), kinds.matrix(kind).astype(np.float32).astype(float)
    x = missing.copy()
    for column in estimator.model_.schema.categories:
        missing[::3, column], x[::3, column] = np.nan, code
    made = estimator.export(run.__name__.removeprefix("run_"))
    np.testing.assert_array_equal(run(made, x, True), run(made, missing, True))
    np.testing.assert_allclose(run(made, x, True), estimator.model_.predict_raw(ArrayTable(missing), SERIAL), rtol=1e-5, atol=1e-5)

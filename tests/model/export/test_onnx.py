import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from sapwood.data.reading import read_any
from tests.model.export import kinds


def feed(model, x):
    if model.graph.input[0].name == "X":
        table = read_any(x, frozenset(), False)
        return {"X": table.dense(slice(0, table.n_rows)).astype(np.float64)}
    columns = {}
    for one in model.graph.input:
        own = x[one.name]
        text = one.type.tensor_type.elem_type == onnx.TensorProto.STRING
        column = own.astype(object).where(own.notna(), "").to_numpy(dtype=object) if text else own.to_numpy(dtype=np.float64)
        columns[one.name] = column[:, None]
    return columns


def run(model, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([out.name for out in session.get_outputs()], session.run(None, feed(model, x)), strict=True))


@pytest.mark.parametrize("kind", kinds.MAKERS)
def test_it_predicts_the_same(kind):
    estimator, x = kinds.fitted(kind), kinds.rows(kind)
    found = run(estimator.export("onnx"), x)
    if hasattr(estimator, "predict_proba") and not estimator.multilabel_:
        assert list(found) == ["label", "probabilities"]
        assert found["label"].tolist() == estimator.predict(x).tolist()
        np.testing.assert_allclose(found["probabilities"], estimator.predict_proba(x), rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_allclose(found["variable"], kinds.linked(kind), rtol=1e-12, atol=1e-12)
    raw = run(estimator.export("onnx", raw=True), x)["variable"]
    np.testing.assert_allclose(raw, kinds.raw(kind), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["squares", "two outputs", "two classes", "sets of levels", "calendar"])
def test_the_reference_agrees(kind):
    model, x = kinds.fitted(kind).export("onnx", raw=True), kinds.rows(kind)[:40]
    found = ReferenceEvaluator(model).run(None, feed(model, x))[0]
    np.testing.assert_allclose(found, kinds.raw(kind)[:40], rtol=1e-12, atol=1e-12)


def test_it_is_written(tmp_path):
    made = kinds.fitted("two classes").export("onnx", tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == made


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"format='onnx' needs onnx: pip install onnx"):
        kinds.fitted("squares").export("onnx")

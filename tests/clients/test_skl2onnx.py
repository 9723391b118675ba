"""Pipelines become ONNX graphs with the same predictions."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import skl2onnx
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.datasets import make_sales
from sapwood.integrations.skl2onnx import to_onnx

pytestmark = pytest.mark.filterwarnings("default")


def outputs(model, inputs):
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels", ["numbers", "strings"])
def test_classifier_in_a_pipeline(dtype, labels):
    X, y = load_iris(return_X_y=True)
    y = y if labels == "numbers" else np.array(["a", "b", "c"])[y]
    pipeline = make_pipeline(StandardScaler(), BoostingClassifier(max_iter=10)).fit(X, y)
    label, probabilities = outputs(to_onnx(pipeline, X.astype(dtype)), {"X": X.astype(dtype)})
    np.testing.assert_array_equal(label, pipeline.predict(X))
    np.testing.assert_allclose(probabilities, pipeline.predict_proba(X), atol=1e-6 if dtype is np.float32 else 1e-12)


def test_regressor_with_missing_values(diabetes):
    X, y = (part.to_numpy() for part in diabetes)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    pipeline = make_pipeline(StandardScaler(), BoostingRegressor(max_iter=10)).fit(X, y)
    (predicted,) = outputs(to_onnx(pipeline, X), {"X": X})
    np.testing.assert_allclose(predicted[:, 0], pipeline.predict(X), rtol=1e-12)


def test_in_an_ensemble():
    X, y = load_iris(return_X_y=True)
    members = [("trees", BoostingClassifier(max_iter=5)), ("line", LogisticRegression(max_iter=1000))]
    ensemble = VotingClassifier(members, voting="soft", flatten_transform=False).fit(X, y)
    _, probabilities = outputs(to_onnx(ensemble, X.astype(np.float32)), {"X": X.astype(np.float32)})
    np.testing.assert_allclose(probabilities, ensemble.predict_proba(X), atol=1e-5)


def test_columns_of_strings():
    X, y = make_sales(300)
    X = X[["product", "price"]]
    model = BoostingRegressor(max_iter=10).fit(X, y)
    types = [("product", StringTensorType([None, 1])), ("price", DoubleTensorType([None, 1]))]
    inputs = {"product": X[["product"]].to_numpy().astype(object), "price": X[["price"]].to_numpy()}
    (predicted,) = outputs(to_onnx(model, initial_types=types), inputs)
    np.testing.assert_allclose(predicted[:, 0], model.predict(X), rtol=1e-5)


def test_skl2onnx_alone_says_what_to_use(classifier, cancer):
    with pytest.raises(RuntimeError, match=r"convert with sapwood.integrations.skl2onnx.to_onnx"):
        skl2onnx.to_onnx(classifier, cancer[0].to_numpy())

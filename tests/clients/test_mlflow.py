"""MLflow saves, loads and logs models, with this flavour and with its own for scikit-learn."""

from __future__ import annotations

import mlflow
import numpy as np
import pytest

import sapwood.integrations.mlflow as flavor
from sapwood import BoostingClassifier
from sapwood.integrations.skops import TRUSTED

pytestmark = pytest.mark.filterwarnings("default")  # MLflow's own


@pytest.fixture(autouse=True)
def tracking(tmp_path):
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.create_experiment("tests", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment("tests")


def test_saved_models_load(classifier, cancer, tmp_path):
    X, _ = cancer
    flavor.save_model(classifier, tmp_path / "model", input_example=X[:3])
    loaded = flavor.load_model(str(tmp_path / "model"))
    assert type(loaded) is BoostingClassifier
    np.testing.assert_array_equal(loaded.predict_proba(X), classifier.predict_proba(X))
    with pytest.raises(mlflow.MlflowException, match="already exists and is not empty"):
        flavor.save_model(classifier, tmp_path / "model")


def test_logged_models_are_python_functions(classifier, cancer):
    X, _ = cancer
    with mlflow.start_run():
        logged = flavor.log_model(classifier, input_example=X[:3])
    function = mlflow.pyfunc.load_model(logged.model_uri)
    np.testing.assert_array_equal(function.predict(X), classifier.predict(X))
    assert function.metadata.signature is not None
    assert type(function.get_raw_model()) is BoostingClassifier


def test_autolog(cancer):
    X, y = cancer
    flavor.autolog()
    try:
        model = BoostingClassifier(max_iter=5, max_depth=3)
        model.fit(X[:400], y[:400], eval_sets={"valid": (X[400:], y[400:])}, eval_metric="log_loss")
    finally:
        flavor.autolog(disable=True)
    run = mlflow.last_active_run()
    assert run.data.params["max_depth"] == "3"
    assert run.data.params["learning_rate"] == "0.1"  # what 'auto' was resolved to
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "valid_log_loss")
    np.testing.assert_allclose([one.value for one in history], model.evals_result_["valid"]["log_loss"])
    (logged,) = mlflow.search_logged_models(output_format="list")
    np.testing.assert_array_equal(flavor.load_model(logged.model_uri).predict(X), model.predict(X))
    BoostingClassifier(max_iter=2).fit(X, y)
    assert mlflow.last_active_run().info.run_id == run.info.run_id  # it is off again


def test_the_flavour_of_scikit_learn(classifier, cancer, tmp_path):
    X, _ = cancer
    mlflow.sklearn.save_model(classifier, tmp_path / "model", skops_trusted_types=TRUSTED)
    np.testing.assert_array_equal(mlflow.sklearn.load_model(str(tmp_path / "model")).predict_proba(X), classifier.predict_proba(X))

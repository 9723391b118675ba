"""MLflow: a model flavour, and automatic logging of fits.

MLflow finds flavours by the module that a saved model names; it has no entry point for them. `mlflow.pyfunc.load_model` therefore loads
models of this flavour wherever Sapwood is installed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import mlflow
from mlflow.models import Model, ModelSignature, infer_signature
from mlflow.models.model import MLMODEL_FILE_NAME
from mlflow.utils.autologging_utils import autologging_integration, safe_patch

import sapwood
from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

FLAVOR_NAME = "sapwood"
FILE = "model.sapwood"

__all__ = ["autolog", "load_model", "log_model", "save_model"]


def save_model(
    sapwood_model: Any,
    path: str | os.PathLike[str],
    *,
    mlflow_model: Model | None = None,
    signature: ModelSignature | None = None,
    input_example: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Save a fitted estimator as an MLflow model, with the flavours `sapwood` and `python_function`.

    Parameters
    ----------
    sapwood_model : fitted estimator, or wrapper of `sapwood.uncertainty`
    path : str or path
        Folder to write. It must not exist, or be empty.
    mlflow_model : mlflow.models.Model, optional
        Model to add the flavours to.
    signature : mlflow.models.ModelSignature, optional
        None: inferred from `input_example`, if given.
    input_example : table, optional
        Some rows of X.
    pip_requirements : list of str, optional
        None: this version of Sapwood.
    metadata : dict, optional
    """
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise mlflow.MlflowException(f"Path '{folder}' already exists and is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    model = mlflow_model if mlflow_model is not None else Model()
    if signature is None and input_example is not None:
        signature = infer_signature(input_example, sapwood_model.predict(input_example))
    if signature is not None:
        model.signature = signature
    if metadata is not None:
        model.metadata = metadata
    sapwood_model.save(folder / FILE)
    requirements = pip_requirements if pip_requirements is not None else [f"sapwood=={sapwood.__version__}"]
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n", encoding="utf-8")
    mlflow.pyfunc.add_to_model(model, loader_module="sapwood.integrations.mlflow", data=FILE)
    model.add_flavor(FLAVOR_NAME, sapwood_version=sapwood.__version__, data=FILE, model_class=type(sapwood_model).__name__)
    model.save(str(folder / MLMODEL_FILE_NAME))


def log_model(sapwood_model: Any, name: str = "model", **kwargs: Any) -> Any:
    """Log a fitted estimator to the active run.

    Parameters
    ----------
    sapwood_model : fitted estimator
    name : str, default='model'
        Name of the logged model.
    **kwargs
        `signature`, `input_example`, `registered_model_name`, and other arguments of `mlflow.models.Model.log` and `save_model`.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    import sapwood.integrations.mlflow as flavor

    return Model.log(artifact_path=None, name=name, flavor=flavor, sapwood_model=sapwood_model, **kwargs)


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Load an estimator that was logged or saved with this flavour.

    Parameters
    ----------
    model_uri : str
        Such as `models:/name/1` or `runs:/id/model`, or a path.
    dst_path : str, optional
        Folder to download to.

    Returns
    -------
    fitted estimator
    """
    local = mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path)
    return sapwood.load(Path(local) / FILE)


def _load_pyfunc(path: str) -> Any:
    """Load a model for `mlflow.pyfunc`. `path` is the model file."""
    return _Predictor(sapwood.load(path))


class _Predictor:
    """Model with the interface of `mlflow.pyfunc`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def get_raw_model(self) -> Any:
        return self.model

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> Any:
        """Return the predictions. `params={'method': 'predict_proba'}` calls another method."""
        options = dict(params or {})
        return getattr(self.model, options.pop("method", "predict"))(data, **options)


@autologging_integration(FLAVOR_NAME)
def autolog(log_models: bool = True, disable: bool = False, exclusive: bool = False, silent: bool = False) -> None:
    """Log parameters, scores of each round and the model of every `fit` of an estimator, to the active run or a new one.

    Parameters
    ----------
    log_models : bool, default=True
        Whether to log the fitted model.
    disable : bool, default=False
        Whether to turn automatic logging off.
    exclusive : bool, default=False
        Whether to log only to runs that were started automatically.
    silent : bool, default=False
        Whether to suppress MLflow's messages.
    """

    def patched(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
        fitted = original(self, *args, **kwargs)
        log_fit(self, log_models)
        return fitted

    for kind in (BoostingClassifier, BoostingRegressor, BoostingRanker):
        safe_patch(FLAVOR_NAME, kind, "fit", patched, manage_run=True)


def log_fit(model: Any, log_models: bool) -> None:
    """Log a fitted estimator to the active run."""
    parameters = {name: value for name, value in model.get_params().items() if value is not None} | dict(model.resolved_params_)
    mlflow.log_params({name: str(value)[:500] for name, value in parameters.items()})
    for on, scores in model.evals_result_.items():
        for metric, values in scores.items():
            for step, value in enumerate(values, start=1):
                mlflow.log_metric(f"{on}_{metric}", value, step=step)
    mlflow.log_metrics({"n_iter": model.n_iter_, "best_iteration": model.best_iteration_})
    if log_models:
        log_model(model)

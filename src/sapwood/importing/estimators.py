"""Estimators of imported models."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.targets import ClassLabels
from sapwood.importing.base import ImportedModelError
from sapwood.losses import BINARY, MULTICLASS, RANKING, REGRESSION
from sapwood.model import Model, ModelFormatError
from sapwood.version import __version__


def loss_name(link: str, n_outputs: int, classes: bool, wanted: str | None = None) -> str:
    """Return the name of the loss of an imported model: `wanted` if Sapwood has it, otherwise a loss with the same link."""
    if classes:
        return (BINARY if n_outputs == 1 else MULTICLASS)["log_loss"].name
    if wanted in REGRESSION and REGRESSION[wanted].link == link:
        return wanted
    return wanted if wanted in RANKING else {"identity": "squared_error", "log": "poisson", "logit": "log_loss"}[link]


def as_classifier(model: Model, source: str, classes: Any, kind: type[ClassLabels] = ClassLabels, **parameters: Any) -> BoostingClassifier:
    estimator = _estimator(BoostingClassifier(**parameters), model, source)
    estimator.classes_ = np.asarray(classes)
    estimator._kind = kind(estimator.classes_)
    return estimator


def as_regressor(model: Model, source: str, **parameters: Any) -> BoostingRegressor:
    estimator = _estimator(BoostingRegressor(loss=model.loss, **parameters), model, source)
    estimator._n_columns = model.n_outputs
    return estimator


def as_ranker(model: Model, source: str, **parameters: Any) -> BoostingRanker:
    return _estimator(BoostingRanker(**parameters), model, source)


def _estimator(estimator: Any, model: Model, source: str) -> Any:
    """Set the fitted attributes of an estimator. `source` is the name of the other library."""
    # The training data is unknown; a hash of the model takes the place of its digest.
    provenance: dict[str, str | int] = {"sapwood": __version__, "imported from": source}
    try:
        provenance["data"] = hashlib.sha256(model.to_bytes()).hexdigest()
    except ModelFormatError as error:  # `to_bytes` checks all parts
        raise ImportedModelError(f"the model of {source} cannot be imported: {error}") from None
    estimator._store(FitResult(model, constraints=[""] * model.schema.n_features, provenance=provenance))
    return estimator

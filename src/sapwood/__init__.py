"""Sapwood: gradient-boosted trees behind scikit-learn's API.

Reading order of the source: `estimators` (API) -> `training.boosting` (the round loop) -> `data` (tables to bins), `losses` (gradients),
`sampling`, `trees` (the growing loop), `model` (prediction, files) -> `kernels` (C++ loops over rows, bins and nodes).
"""

import importlib
from typing import TYPE_CHECKING, Any

from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor, merge
from sapwood.estimators.cross_validation import cv
from sapwood.loading import load
from sapwood.losses import Loss
from sapwood.losses.check import check_loss
from sapwood.losses.registry import register_loss
from sapwood.model import Model, ModelFormatError
from sapwood.params.columns import FeatureSpec
from sapwood.training.checkpoint import Checkpoint, CheckpointError
from sapwood.version import __version__

if TYPE_CHECKING:
    from sapwood.importing import from_lightgbm, from_sklearn, from_xgboost, import_model

__all__ = [
    "BoostingClassifier",
    "BoostingRanker",
    "BoostingRegressor",
    "Checkpoint",
    "CheckpointError",
    "FeatureSpec",
    "Loss",
    "Model",
    "ModelFormatError",
    "__version__",
    "check_loss",
    "cv",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "import_model",
    "load",
    "merge",
    "register_loss",
]


LAZY = ("callbacks", "inspection", "metrics", "plots", "uncertainty")  # packages that are imported when first used


def __getattr__(name: str) -> Any:
    """Import packages on first use, and the functions of `sapwood.importing`, which import all of scikit-learn's ensembles."""
    if name in LAZY:
        return importlib.import_module(f"sapwood.{name}")
    if name in ("from_lightgbm", "from_sklearn", "from_xgboost", "import_model"):
        return getattr(importlib.import_module("sapwood.importing"), name)
    raise AttributeError(f"module 'sapwood' has no attribute {name!r}")

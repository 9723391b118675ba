"""Sapwood: gradient-boosted trees behind scikit-learn's API.

Reading order of the source: `estimators` (API) -> `training.boosting` (the round loop) -> `data` (tables to bins), `losses` (gradients),
`sampling`, `trees` (the growing loop), `model` (prediction, files) -> `kernels` (C++ loops over rows, bins and nodes).

Names are imported when they are first used (PEP 562): the command line prints its help without NumPy and scikit-learn.
"""

import importlib
from typing import TYPE_CHECKING, Any

from sapwood.version import __version__

if TYPE_CHECKING:
    from sapwood.data.streams import scan
    from sapwood.device.devices import DeviceError, devices
    from sapwood.estimators import BoostingClassifier, BoostingRanker, BoostingRegressor, merge
    from sapwood.estimators.cross_validation import cv
    from sapwood.estimators.page_folder import Pages
    from sapwood.importing import from_lightgbm, from_sklearn, from_xgboost, import_model
    from sapwood.loading import load
    from sapwood.losses import Loss
    from sapwood.losses.check import check_loss
    from sapwood.losses.registry import register_loss
    from sapwood.model import Model, ModelFormatError
    from sapwood.params.columns import FeatureSpec
    from sapwood.training.checkpoint import Checkpoint, CheckpointError
    from sapwood.versions import show_versions

__all__ = [
    "BoostingClassifier",
    "BoostingRanker",
    "BoostingRegressor",
    "Checkpoint",
    "CheckpointError",
    "DeviceError",
    "FeatureSpec",
    "Loss",
    "Model",
    "ModelFormatError",
    "Pages",
    "__version__",
    "check_loss",
    "cv",
    "devices",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "import_model",
    "load",
    "merge",
    "register_loss",
    "scan",
    "show_versions",
]

MODULES = {  # module -> its public names here
    "data.streams": ("scan",),
    "device.devices": ("DeviceError", "devices"),
    "estimators": ("BoostingClassifier", "BoostingRanker", "BoostingRegressor", "merge"),
    "estimators.cross_validation": ("cv",),
    "estimators.page_folder": ("Pages",),
    "importing": ("from_lightgbm", "from_sklearn", "from_xgboost", "import_model"),
    "loading": ("load",),
    "losses": ("Loss",),
    "losses.check": ("check_loss",),
    "losses.registry": ("register_loss",),
    "model": ("Model", "ModelFormatError"),
    "params.columns": ("FeatureSpec",),
    "training.checkpoint": ("Checkpoint", "CheckpointError"),
    "versions": ("show_versions",),
}
MODULE_OF = {name: module for module, names in MODULES.items() for name in names}
PACKAGES = (
    "callbacks",
    "compat",
    "datasets",
    "estimators",
    "importing",
    "inspection",
    "losses",
    "metrics",
    "model",
    "plots",
    "report",
    "uncertainty",
)


def __getattr__(name: str) -> Any:
    """Import public names and packages on first use."""
    if name in PACKAGES:
        return importlib.import_module(f"sapwood.{name}")
    if name not in MODULE_OF:
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sapwood.{MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *PACKAGES, *globals()})

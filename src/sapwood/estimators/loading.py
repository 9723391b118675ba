"""From a file to the estimator that was saved."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sapwood.estimators.classifier import BoostingClassifier
from sapwood.estimators.ranker import BoostingRanker
from sapwood.estimators.regressor import BoostingRegressor
from sapwood.estimators.saving import read_parts
from sapwood.model import ModelFormatError, disk, file

CLASSES: dict[str, type] = {cls.__name__: cls for cls in (BoostingClassifier, BoostingRegressor, BoostingRanker)}


def load(path: disk.Path, *, init: Any = None) -> Any:
    """The fitted estimator that `save` wrote; from a file of `Model.to_bytes`, the model.

    A file is data: nothing in it is run, and all of it is checked before it is used, so files of strangers do no harm. Pickles are
    never read.

    Parameters
    ----------
    path : str or path
    init : fitted estimator, optional
        Where predictions start, if the estimator was fitted with an `init` that is not Sapwood's: its file cannot hold it.

    Returns
    -------
    BoostingClassifier, BoostingRegressor, BoostingRanker, Model, or what `sapwood.uncertainty` has

    Raises
    ------
    ModelFormatError
        For a file that is damaged, of a newer version, or something else.
    OSError
        If there is none, or it cannot be read.
    """
    try:
        return read_file(disk.read(path), init)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)}: {error}") from None


def read_file(data: bytes | np.ndarray, init: Any, depth: int = 0) -> Any:
    """What a file holds: an estimator, a model alone, or a wrapper with the files of estimators in it."""
    arrays, about = file.unseal(data)
    if "wrapper" in about:
        from sapwood.uncertainty.saving import read_wrapper  # which needs what is here

        return read_wrapper(arrays, about, depth=depth)
    file.check(arrays, about)
    return read_parts(arrays, about, CLASSES, init, depth)

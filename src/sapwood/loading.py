"""Loading of estimators, wrappers and models from files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.estimators.saving import CLASSES, read_parts
from sapwood.model import ModelFormatError, disk, file

if TYPE_CHECKING:
    from sapwood.typing import Path, Predictor


def load(path: Path, *, init: Predictor | None = None) -> Any:
    """Load a fitted estimator that `save` wrote, or a model from a file of `Model.to_bytes`.

    Untrusted files are safe to load: a file is data, nothing in it is executed, and all of it is checked before it is used. Pickles are
    not read.

    Parameters
    ----------
    path : str or path
    init : fitted estimator, optional
        The `init` of the saved estimator, if it is not a Sapwood estimator: the file does not contain it.

    Returns
    -------
    BoostingClassifier, BoostingRegressor, BoostingRanker, Model, or an estimator of `sapwood.uncertainty`

    Raises
    ------
    ModelFormatError
        If the file is damaged, of a newer version, or not a Sapwood file.
    OSError
        If the file does not exist or cannot be read.
    """
    try:
        return read_file(disk.read(path), init)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)}: {error}") from None


def read_file(data: bytes | np.ndarray, init: Any = None) -> Any:
    """Return the estimator, model or wrapper of a file."""
    arrays, about = file.unseal(data)
    if "wrapper" in about:
        from sapwood.uncertainty.saving import read_wrapper  # slow to import, and needed for few files

        return read_wrapper(arrays, about)
    file.check(arrays, about)
    return read_parts(arrays, about, CLASSES, init, 0)

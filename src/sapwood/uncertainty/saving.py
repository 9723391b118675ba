"""Save and load wrappers: the files of the wrapped estimators, and the state fitted on held-out rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.data.container import DAMAGE
from sapwood.estimators.saving import CLASSES, MAX_DEPTH, SavedEstimator, read_parts, read_unfitted, unfitted_data
from sapwood.estimators.values import NotData, Unsaved, array_from_data, describe, from_data, to_data
from sapwood.model import Model, ModelFormatError, disk, file
from sapwood.params.constraints import validate_parameter_constraints

FROZEN = {"estimator": "frozen"}  # value of the parameter `estimator`: the first wrapped estimator, frozen
WRAPPERS: dict[str, type[SavedWrapper]] = {}


class SavedWrapper:
    """Mixin that saves and loads wrappers. A class that appears in files is declared as `class Name(SavedWrapper, in_files=True)`.

    Subclasses implement `_fitted_parts` and its inverse `_set_fitted_parts`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    def __init_subclass__(cls, in_files: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if in_files:
            WRAPPERS[cls.__name__] = cls

    def save(self, path: disk.Path) -> None:
        """Write the fitted wrapper and its estimators to a file that `sapwood.load` reads. The file holds data only, no code.

        The wrapped estimators, and the estimators given as their `init`, must be Sapwood's. Parameters that are not data (a splitter, a
        random generator) cannot be saved; a warning names them. They are not needed for predictions.

        Parameters
        ----------
        path : str or path
        """
        disk.write(path, self._to_readable_bytes(stacklevel=4))

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` writes."""
        return self._to_readable_bytes(stacklevel=4)

    def _to_readable_bytes(self, stacklevel: int) -> bytes:
        """Return what `_to_bytes` gives, after it was read again: parameters may have been set to values that no file may have."""
        data = self._to_bytes(stacklevel)
        try:
            read_wrapper(*file.unseal(np.frombuffer(data, dtype=np.uint8)))
        except ModelFormatError as error:
            raise ValueError(f"{type(self).__name__} cannot be saved: {error}") from None
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Any:
        """Return the wrapper that `to_bytes` wrote. A subclass also reads the files of its base classes."""
        arrays, about = file.unseal(data)
        if "wrapper" not in about:
            raise ModelFormatError("the file does not contain a wrapper: use sapwood.load")
        return read_wrapper(arrays, about, {own.__name__: cls for own in cls.__mro__ if own.__name__ in WRAPPERS})

    @abstractmethod
    def _fitted_parts(self) -> tuple[list[Any], dict[str, np.ndarray], dict[str, Any]]:
        """Return the wrapped estimators, the fitted arrays and JSON data about both."""

    @abstractmethod
    def _set_fitted_parts(self, estimators: list[Any], arrays: dict[str, np.ndarray], data: dict[str, Any]) -> None:
        """Restore what `_fitted_parts` returned. Raises ValueError if it is not valid."""

    def _to_bytes(self, stacklevel: int, depth: int = 0) -> bytes:
        check_is_fitted(self)
        estimators, arrays, fitted = self._fitted_parts()
        own = wrapper_data(self)
        if depth >= MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} nested estimators cannot be saved")
        for number, estimator in enumerate(estimators):
            bare = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
            foreign = _foreign(bare)
            if foreign is not None:
                raise ValueError(
                    f"{type(self).__name__} containing {describe(foreign)} cannot be saved: the file can hold only estimators of Sapwood"
                )
            arrays[f"estimator_{number}"] = np.frombuffer(bare._to_bytes(stacklevel + 1, depth + 1), dtype=np.uint8)
        lost = [f"{name}={data['unsaved']}" for name, data in own["parameters"].items() if isinstance(data, dict) and "unsaved" in data]
        if lost:
            text = f"{', '.join(lost)} cannot be saved: set it again on the loaded wrapper before refitting"
            warnings.warn(text, UserWarning, stacklevel=stacklevel)
        return file.seal(arrays, {"wrapper": {**own, "fitted": fitted}})


def _foreign(estimator: Any) -> Any:
    """Return the estimator, or the innermost `init` of it, if it is not Sapwood's. Each fold has its own, so `load` cannot be given it."""
    while isinstance(estimator, SavedEstimator):
        estimator = estimator.init_
    return None if estimator is None or isinstance(estimator, Model | SavedWrapper) else estimator


def wrapper_data(wrapper: SavedWrapper) -> dict[str, Any]:
    """Return the class name and parameters of a wrapper as JSON data."""
    cls: Any = next(own for own in type(wrapper).__mro__ if WRAPPERS.get(own.__name__) is own)
    return {"class": cls.__name__, "parameters": {name: _parameter(name, getattr(wrapper, name)) for name in cls._get_param_names()}}


def _parameter(name: str, value: Any) -> Any:
    if name == "estimator" and isinstance(value, FrozenEstimator):
        return FROZEN
    if name == "estimator" and isinstance(value, SavedEstimator):
        return {"unfitted": unfitted_data(value)}
    if name == "estimator" and isinstance(value, SavedWrapper):
        return {"wrapper": wrapper_data(value)}
    try:
        return to_data(value)
    except NotData as what:
        return {"unsaved": str(what)}


def read_wrapper(arrays: dict[str, np.ndarray], about: dict[str, Any], classes: dict[str, type] | None = None, depth: int = 0) -> Any:
    """Return the wrapper from the contents of its file. Raises ModelFormatError if they are not valid."""
    data, learned = about["wrapper"], dict(arrays)
    try:
        if not isinstance(data, dict) or not isinstance(data.get("fitted"), dict):
            raise ValueError("the entry 'wrapper' is incomplete")
        if depth >= MAX_DEPTH:
            raise ValueError(f"more than {MAX_DEPTH} estimators are nested")
        estimators: list[Any] = []
        while (own := learned.pop(f"estimator_{len(estimators)}", None)) is not None:
            if own.dtype != np.uint8 or own.ndim != 1:
                raise ValueError("an estimator must be a one-dimensional array of bytes")
            estimators.append(_read_estimator(own.copy(), depth + 1))
        if not estimators or any(isinstance(estimator, Model) for estimator in estimators):
            raise ValueError("it contains no estimator, or a model without one")
        wrapper = _read_unfitted(data, WRAPPERS if classes is None else classes, estimators, depth)
        wrapper._set_fitted_parts(estimators, learned, data["fitted"])
    except DAMAGE as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"damaged Sapwood model: invalid wrapper: {error}") from None
    return wrapper


def _read_estimator(data: np.ndarray, depth: int) -> Any:
    """Estimator or wrapper within a wrapper."""
    arrays, about = file.unseal(data)
    if "wrapper" in about:
        return read_wrapper(arrays, about, depth=depth)
    file.check(arrays, about)
    return read_parts(arrays, about, CLASSES, None, depth)


def _read_unfitted(data: Any, classes: dict[str, Any], estimators: list[Any], depth: int) -> Any:
    name, given = data.get("class"), data.get("parameters")
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"the class {name!r} is unknown, or not the expected class")
    if not isinstance(given, dict) or depth > MAX_DEPTH:
        raise ValueError("the parameters are missing")
    cls = classes[name]
    values = {key: _read_parameter(key, own, estimators, depth) for key, own in given.items()}
    unknown = set(values) - set(cls._get_param_names())
    if unknown:
        raise ValueError(f"the parameter {min(unknown)[:60]!r} is unknown to this version: upgrade Sapwood")
    # The same checks as in `fit`: predictions rely on valid parameters.
    saved = {key: value for key, value in values.items() if not isinstance(value, Unsaved)}
    validate_parameter_constraints(cls._parameter_constraints, saved, name)
    return cls(**values)


def _read_parameter(name: str, data: Any, estimators: list[Any], depth: int) -> Any:
    if name == "estimator" and isinstance(data, dict):
        if data == FROZEN and estimators:
            return FrozenEstimator(estimators[0])
        if set(data) == {"unfitted"} and isinstance(data["unfitted"], dict):
            return read_unfitted(data["unfitted"], CLASSES, None, depth + 1)
        if set(data) == {"wrapper"} and isinstance(data["wrapper"], dict):
            return _read_unfitted(data["wrapper"], WRAPPERS, [], depth + 1)
    return from_data(data)


def read_classes(data: dict[str, Any]) -> np.ndarray:
    """Return the classes, (n_classes,), in ascending order."""
    classes = array_from_data(data["classes"])
    if classes.ndim != 1 or not len(classes) or not np.array_equal(np.unique(classes), classes):
        raise ValueError("classes must be a one-dimensional array in ascending order")
    return classes

"""Saving and loading of estimators: model, parameters and other results of the fit."""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sapwood.data.container import DAMAGE
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.values import NotData, Unsaved, describe, from_data, to_data
from sapwood.losses.registry import REGISTERED, is_valid_name
from sapwood.model import Model, ModelFormatError, disk, file
from sapwood.params import resolve
from sapwood.params.constraints import validate_parameter_constraints
from sapwood.params.presets import Choice, ResolvedParams
from sapwood.params.table import Parameter, changed, constraints, is_stored

if TYPE_CHECKING:
    from typing import Self

    from sapwood.estimators.base import BaseBoosting
    from sapwood.typing import Path

NOT_SAVED = (
    "n_jobs",
    "device",
    "verbose",
    "memory_limit",
    "pages_dir",
    "pages_compression",
)  # parameters that do not affect the model: the same fit gives the same file
MAX_DEPTH = 4  # of `init` estimators that have an `init` themselves
STORED = {"init": "stored"}  # `init_` is in this file
FITTED = {"init": "fitted"}  # the parameter `init` is the same object as `init_`
CLASSES: dict[str, type] = {}  # classes of estimators that files may contain, by name


class SavedEstimator(ABC):
    """Mixin of estimators: saving and loading. Subclasses add their fitted attributes to `_fitted_data` and `_set_fitted_data`."""

    _parameters: ClassVar[dict[str, Parameter]]
    model_: Model
    init_: Any
    train_score_: np.ndarray
    validation_score_: np.ndarray
    do_early_stopping_: bool
    provenance_: dict[str, str | int]
    resolved_params_: ResolvedParams
    time_limit_reached_: bool
    _constraints: list[str]
    _scores: dict[str, dict[str, list[float]]]
    evals_result_: dict[str, dict[str, list[float]]]

    def save(self, path: Path) -> None:
        """Save the fitted estimator to a file that `sapwood.load` reads. The file contains data only, no code.

        The file is replaced atomically. Parameters that are not data (a function as `loss`, a splitter, a random generator) cannot be
        saved; a warning names them, and predictions do not need them. An `init` that is not a Sapwood estimator cannot be saved either;
        predictions need it, so it must be passed to `load` again.

        Parameters
        ----------
        path : str or path

        Examples
        --------
        >>> import tempfile, sapwood
        >>> from pathlib import Path
        >>> model = sapwood.BoostingRegressor().fit([[0], [1]], [0.0, 1.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.sapwood")
        ...     sapwood.load(Path(folder) / "model.sapwood").n_iter_
        100
        """
        disk.write(path, self._to_readable_bytes(stacklevel=4))

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes."""
        return self._to_readable_bytes(stacklevel=4)

    def _to_readable_bytes(self, stacklevel: int) -> bytes:
        """Return what `_to_bytes` gives, after it was read again: parameters may have been set to values that no file may have."""
        data = self._to_bytes(stacklevel)
        try:
            read(np.frombuffer(data, dtype=np.uint8), CLASSES, getattr(self, "init_", None))
        except ModelFormatError as error:
            raise ValueError(f"{type(self).__name__} cannot be saved: {error}") from None
        return data

    @classmethod
    def from_bytes(cls, data: bytes, *, init: Any = None) -> Self:
        """Load an estimator from the output of `to_bytes`; `init` as in `sapwood.load`. A subclass also reads files of its base class."""
        return cast("Self", read_estimator(*file.unpack(data), {own.__name__: cls for own in cls.__mro__}, init))

    def _to_bytes(self, stacklevel: int, depth: int = 0) -> bytes:
        check_is_fitted(self)
        arrays, header = self.model_.to_parts()
        parameters = self._parameters_data()
        unsaved = [f"{name}={data['unsaved']}" for name, data in parameters.items() if isinstance(data, dict) and "unsaved" in data]
        if unsaved:
            text = f"{', '.join(unsaved)} cannot be saved: set it on the loaded estimator before you fit it again"
            warnings.warn(text, UserWarning, stacklevel=stacklevel)
        init = self._init_to_data()
        if init == STORED:
            if depth >= MAX_DEPTH:
                raise ValueError(f"init cannot be saved: more than {MAX_DEPTH} nested estimators")
            arrays["init"] = np.frombuffer(_bytes_of(self.init_, stacklevel + 2, depth + 1), dtype=np.uint8)
        name = next(cls.__name__ for cls in type(self).__mro__ if "_parameters" in vars(cls))
        header["estimator"] = {"class": name, "parameters": parameters, "init": init, "fitted": self._fitted_data()}
        return file.pack(arrays, header)

    def _parameters_data(self) -> dict[str, Any]:
        """Return the parameters as JSON data."""
        stored = [name for name, parameter in self._parameters.items() if is_stored(parameter, getattr(self, name))]
        return {name: self._to_data(name) for name in stored if name not in NOT_SAVED}

    def _to_data(self, name: str) -> Any:
        """Return a parameter as JSON data."""
        value = getattr(self, name)
        if name == "init" and value is not None:
            fitted = getattr(self, "init_", None)
            if _is_ours(value):
                return FITTED if value is fitted else {"unfitted": unfitted_data(value)}
        if name == "loss" and isinstance(value, type):  # save a registered class by its name
            value = next((name for name, cls in REGISTERED.items() if cls is value), value)
        try:
            return to_data(value)
        except NotData as error:
            return {"unsaved": str(error)}

    def _init_to_data(self) -> Any:
        init = getattr(self, "init_", None)
        return None if init is None else STORED if _is_ours(init) else {"init": "given", "what": describe(init)}

    def _fitted_data(self) -> dict[str, Any]:
        """Return the results of the fit besides the model, as JSON data."""
        return {
            "constraints": self._constraints,
            "early_stopping": self.do_early_stopping_,
            **({"timed_out": True} if self.time_limit_reached_ else {}),
            "scores": to_data(self._scores),
            "train_score": to_data(self.train_score_.tolist()),
            "validation_score": to_data(self.validation_score_.tolist()),
            "provenance": self.provenance_,
            **self._resolved_data(),
        }

    def _resolved_data(self) -> dict[str, Any]:
        """Return the values chosen for parameters that were 'auto', if there are any."""
        chosen = self.resolved_params_
        return {"resolved": {name: [to_data(value), chosen.reasons[name]] for name, value in chosen.items()}} if chosen else {}

    @abstractmethod
    def _store(self, result: FitResult) -> None:
        """Set the fitted attributes from the result of a fit."""

    def _set_fitted_data(self, data: dict[str, Any], model: Model, init: Any) -> None:
        """Set the fitted attributes from a model and the output of `_fitted_data`. Raise a ValueError if the data is malformed."""
        texts, scores = data["constraints"], from_data(data["scores"])
        if not _is_list(texts, str) or len(texts) != model.schema.n_features:
            raise ValueError("constraints must be a list of strings, one for each column")
        if not isinstance(scores, dict) or not all(isinstance(of, dict) for of in scores.values()):
            raise ValueError("scores must be a dict of data set -> metric -> list")
        stopping = [from_data(data[f"{name}_score"]) for name in ("train", "validation")]
        for values in [*stopping, *(values for of in scores.values() for values in of.values())]:
            if not _is_list(values, float, int):
                raise ValueError("scores must be lists of numbers")
            np.array(values, dtype=np.float64)  # OverflowError for an int that is too large for float64
        provenance = data["provenance"]
        if not isinstance(provenance, dict) or not all(type(value) in (str, int) for value in provenance.values()):
            raise ValueError("provenance must be a dict of strings and integers")
        train_score, validation_score = (np.array(values, dtype=np.float64) for values in stopping)
        self._store(
            FitResult(
                model,
                init=init,
                constraints=texts,
                stops=data.get("early_stopping") is True,
                timed_out=data.get("timed_out") is True,
                scores=scores,
                train_score=train_score,
                validation_score=validation_score,
                provenance=provenance,
                resolved=_resolved(data.get("resolved", {}), self._parameters),
            )
        )


def _resolved(data: Any, known: Mapping[str, Parameter]) -> ResolvedParams:
    """Values chosen for parameters that were 'auto'; older files have none."""
    if not isinstance(data, dict) or not set(data) <= set(known):
        raise ValueError("resolved parameters must be named")
    if not all(_is_pair(pair) for pair in data.values()):
        raise ValueError("a resolved parameter must be a value and a reason")
    values = {name: from_data(value) for name, (value, _) in data.items()}
    validate_parameter_constraints(constraints(known), values, "resolved_params_")
    return ResolvedParams({name: Choice(values[name], reason) for name, (_, reason) in data.items()})


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], str)


def _is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list) and all(type(item) in kinds for item in value)


def _is_ours(value: Any) -> bool:
    """Return whether a value is a Sapwood model or estimator, which a file can contain."""
    return isinstance(value, Model | SavedEstimator)


def _bytes_of(init: Any, stacklevel: int, depth: int) -> bytes:
    return init.to_bytes() if isinstance(init, Model) else init._to_bytes(stacklevel, depth)


def unfitted_data(estimator: Any) -> dict[str, Any]:
    """Return the class and the parameters of an estimator as JSON data."""
    name = next(cls.__name__ for cls in type(estimator).__mro__ if "_parameters" in vars(cls))
    return {"class": name, "parameters": estimator._parameters_data()}


def read_path(path: Path, init: Any = None) -> Any:
    """Read an estimator or a model from a file."""
    try:
        return read(disk.read(path), CLASSES, init)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)}: {error}") from None


def read(data: bytes | np.ndarray, classes: dict[str, type], init: Any, depth: int = 0) -> Any:
    """Read the content of a file: an estimator of these classes, or a model."""
    return read_parts(*file.unpack(data), classes, init, depth)


def read_parts(arrays: dict[str, np.ndarray], header: dict[str, Any], classes: dict[str, type], init: Any, depth: int) -> Any:
    """Read an estimator or a model from the checked arrays and header of a file."""
    if "estimator" in header:
        return read_estimator(arrays, header, classes, init, depth)
    return Model.from_parts(arrays, header)


def read_estimator(
    arrays: dict[str, np.ndarray], header: dict[str, Any], classes: dict[str, type], init: Any = None, depth: int = 0
) -> BaseBoosting:
    """Read an estimator from the arrays and header of a file. Raise a ModelFormatError if they are malformed."""
    data = header.get("estimator")
    if not isinstance(data, dict):
        raise ModelFormatError("the file contains a model without an estimator: use Model.from_bytes")
    fitted_init = _read_init(arrays, data.get("init"), classes, init, depth)
    try:
        estimator = read_unfitted(data, classes, fitted_init, depth)
        fitted = data.get("fitted")
        if not isinstance(fitted, dict):
            raise ValueError("'fitted' is missing")
        estimator._set_fitted_data(fitted, Model.from_parts(arrays, header), fitted_init)
    except DAMAGE as error:
        raise ModelFormatError(f"damaged Sapwood model: estimator: {error}") from None
    return estimator


def _read_init(arrays: dict[str, np.ndarray], data: Any, classes: dict[str, type], init: Any, depth: int) -> Any:
    """Read the estimator or model of the initial raw predictions. `init` is the argument of `load`."""
    if data == STORED and "init" in arrays:
        if depth >= MAX_DEPTH:
            raise ModelFormatError(f"damaged Sapwood model: init: more than {MAX_DEPTH} nested estimators")
        return read(arrays["init"].copy(), classes, init, depth + 1)
    if isinstance(data, dict) and data.get("init") == "given":
        if init is None:
            raise ModelFormatError(
                f"the file does not contain the init of this estimator, {str(data.get('what'))[:200]}: pass it to load(path, init=...)"
            )
        return init
    if data is not None:
        raise ModelFormatError("damaged Sapwood model: its init is missing")
    return None


def read_unfitted(data: dict[str, Any], classes: dict[str, type], init: Any, depth: int) -> Any:
    """Read an estimator without fitted attributes. `init` is the value of its parameter `init`, if that is fitted."""
    name, parameters = data.get("class"), data.get("parameters")
    if not isinstance(name, str) or name not in classes or not hasattr(classes[name], "_parameters"):
        raise ValueError(f"class {name!r} is unknown, or not the requested one")
    if not isinstance(parameters, dict) or depth > MAX_DEPTH:
        raise ValueError("'parameters' is missing, or nested too deeply")
    cls: Any = classes[name]
    known = cls._parameters
    values: dict[str, Any] = {}
    for key, saved in parameters.items():
        if key not in known or key in NOT_SAVED:
            raise ValueError(f"the parameter {key[:60]!r} is unknown to this version: upgrade Sapwood")
        if key == "init" and isinstance(saved, dict) and set(saved) == {"unfitted"} and isinstance(saved["unfitted"], dict):
            values[key] = read_unfitted(saved["unfitted"], classes, None, depth + 1)
        else:
            values[key] = init if saved == FITTED and key == "init" else from_data(saved)
    if isinstance(values.get("init"), Unsaved) and init is not None:
        values["init"] = init
    _check(values, known, name)
    return cls(**values)


def _check(values: dict[str, Any], known: dict[str, Parameter], name: str) -> None:
    """Validate parameters as `fit` does: predictions rely on some of them."""
    checked = {key: value for key, value in changed(known, values).items() if not isinstance(value, Unsaved)}
    loss = checked.get("loss")
    if isinstance(loss, str) and is_valid_name(loss):  # it may be registered in another process
        del checked["loss"]
    validate_parameter_constraints(constraints(known), checked, name)
    resolve.missing_values(values.get("missing"))

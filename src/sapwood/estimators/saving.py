"""Files of estimators: the model, the parameters, and the other results of the fit."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from sapwood.data.container import DAMAGE
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.values import NotData, Unsaved, describe, from_data, to_data
from sapwood.losses.registry import REGISTERED, is_valid_name
from sapwood.model import Model, ModelFormatError, disk, file
from sapwood.params import resolve
from sapwood.params.table import Parameter, changed, constraints, is_stored

if TYPE_CHECKING:
    from typing import Self

    from sapwood.estimators.base import BaseBoosting
    from sapwood.typing import Path

OF_THE_MACHINE = ("n_jobs", "verbose")  # parameters that no file holds: the same fit gives the same bytes
DEEPEST = 4  # estimators that start from others
STORED, FITTED = {"init": "stored"}, {"init": "fitted"}  # what `init` and `init_` may be: in this file; the same object as `init_`
CLASSES: dict[str, type] = {}  # estimators that files may hold, by name


class SavedEstimator:
    """Saving and loading of estimators. Subclasses add their fitted attributes to `_fitted_data` and `_set_fitted_data`."""

    _parameters: ClassVar[dict[str, Parameter]]
    model_: Model
    init_: Any
    train_score_: np.ndarray
    validation_score_: np.ndarray
    do_early_stopping_: bool
    provenance_: dict[str, str | int]
    _constraints: list[str]
    _scores: dict[str, dict[str, list[float]]]
    evals_result_: dict[str, dict[str, list[float]]]

    def save(self, path: Path) -> None:
        """Save the fitted estimator to a file that `sapwood.load` reads. The file contains data only, no code.

        The file is replaced atomically: an old one stays until the new one is on the disk. Parameters that are not data (a function as
        `loss`, a splitter, a generator) cannot be saved; a warning names them, and predictions do not need them. An `init` that is not
        Sapwood's cannot be saved either; predictions need it, so it must be given to `load` again.

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
        disk.write(path, self._to_bytes(stacklevel=3))

    def to_bytes(self) -> bytes:
        """Content of the file that `save` writes."""
        return self._to_bytes(stacklevel=3)

    @classmethod
    def from_bytes(cls, data: bytes, *, init: Any = None) -> Self:
        """Load an estimator from the output of `to_bytes`; `init` as in `sapwood.load`. A subclass reads files of its base class."""
        return cast("Self", read_estimator(*file.unpack(data), {own.__name__: cls for own in cls.__mro__}, init))

    def _to_bytes(self, stacklevel: int, depth: int = 0) -> bytes:
        check_is_fitted(self)
        arrays, about = self.model_.to_parts()
        parameters = self._parameters_data()
        lost = [f"{name}={data['unsaved']}" for name, data in parameters.items() if isinstance(data, dict) and "unsaved" in data]
        if lost:
            text = f"{', '.join(lost)} cannot be saved: set it again on the loaded estimator before you fit it again"
            warnings.warn(text, UserWarning, stacklevel=stacklevel)
        init = self._init_to_data()
        if init == STORED:
            if depth >= DEEPEST:
                raise ValueError(f"more than {DEEPEST} estimators that start from each other cannot be saved")
            arrays["init"] = np.frombuffer(_bytes_of(self.init_, stacklevel + 2, depth + 1), dtype=np.uint8)
        name = next(own.__name__ for own in type(self).__mro__ if "_parameters" in vars(own))
        about["estimator"] = {"class": name, "parameters": parameters, "init": init, "fitted": self._fitted_data()}
        return file.pack(arrays, about)

    def _parameters_data(self) -> dict[str, Any]:
        """Parameters as data for JSON."""
        stored = [name for name, parameter in self._parameters.items() if is_stored(parameter, getattr(self, name))]
        return {name: self._to_data(name) for name in stored if name not in OF_THE_MACHINE}

    def _to_data(self, name: str) -> Any:
        """A parameter as data for JSON."""
        value = getattr(self, name)
        if name == "init" and value is not None:
            fitted = getattr(self, "init_", None)
            if _is_ours(value):
                return FITTED if value is fitted else {"unfitted": unfitted_data(value)}
        if name == "loss" and isinstance(value, type):  # a class that has a name
            value = next((known for known, made in REGISTERED.items() if made is value), value)
        try:
            return to_data(value)
        except NotData as what:
            return {"unsaved": str(what)}

    def _init_to_data(self) -> Any:
        init = getattr(self, "init_", None)
        return None if init is None else STORED if _is_ours(init) else {"init": "given", "what": describe(init)}

    def _fitted_data(self) -> dict[str, Any]:
        """Results of the fit besides the model, as plain data."""
        return {
            "constraints": self._constraints,
            "early_stopping": self.do_early_stopping_,
            "scores": to_data(self._scores),
            "train_score": to_data(self.train_score_.tolist()),
            "validation_score": to_data(self.validation_score_.tolist()),
            "provenance": self.provenance_,
        }

    def _store(self, result: FitResult) -> None:
        raise NotImplementedError

    def _set_fitted_data(self, data: dict[str, Any], model: Model, init: Any) -> None:
        """Take what `_fitted_data` gave, for a model; ValueError if it makes no sense."""
        texts, scores = data["constraints"], from_data(data["scores"])
        if not _is_list(texts, str) or len(texts) != model.schema.n_features:
            raise ValueError("constraints must be texts, one for each column")
        if not isinstance(scores, dict) or not all(isinstance(of, dict) for of in scores.values()):
            raise ValueError("scores must be named")
        ends = [from_data(data[f"{part}_score"]) for part in ("train", "validation")]
        for values in [*ends, *(values for of in scores.values() for values in of.values())]:
            if not _is_list(values, float, int):
                raise ValueError("scores must be numbers")
            np.array(values, dtype=np.float64)  # OverflowError for an int that no double holds
        provenance = data["provenance"]
        if not isinstance(provenance, dict) or not all(type(value) in (str, int) for value in provenance.values()):
            raise ValueError("provenance must be text and whole numbers")
        train_score, validation_score = (np.array(values, dtype=np.float64) for values in ends)
        self._store(
            FitResult(
                model,
                init=init,
                constraints=texts,
                stops=data.get("early_stopping") is True,
                scores=scores,
                train_score=train_score,
                validation_score=validation_score,
                provenance=provenance,
            )
        )


def _is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list) and all(type(one) in kinds for one in value)


def _is_ours(value: Any) -> bool:
    return isinstance(value, Model | SavedEstimator)


def _bytes_of(init: Any, stacklevel: int, depth: int) -> bytes:
    return init.to_bytes() if isinstance(init, Model) else init._to_bytes(stacklevel, depth)


def unfitted_data(estimator: Any) -> dict[str, Any]:
    """Class and parameters of an estimator."""
    name = next(own.__name__ for own in type(estimator).__mro__ if "_parameters" in vars(own))
    return {"class": name, "parameters": estimator._parameters_data()}


def read_path(path: Path, init: Any = None) -> Any:
    """Estimator or model of a file."""
    try:
        return read(disk.read(path), CLASSES, init)
    except ModelFormatError as error:
        raise ModelFormatError(f"{os.fspath(path)}: {error}") from None


def read(data: bytes | np.ndarray, classes: dict[str, type], init: Any, depth: int = 0) -> Any:
    """Content of a file: an estimator of these classes, or a model."""
    return read_parts(*file.unpack(data), classes, init, depth)


def read_parts(arrays: dict[str, np.ndarray], about: dict[str, Any], classes: dict[str, type], init: Any, depth: int) -> Any:
    """The same from the parts of the file, which are checked."""
    if "estimator" in about:
        return read_estimator(arrays, about, classes, init, depth)
    return Model.from_parts(arrays, about)


def read_estimator(
    arrays: dict[str, np.ndarray], about: dict[str, Any], classes: dict[str, type], init: Any = None, depth: int = 0
) -> BaseBoosting:
    """An estimator from the parts of its file; ModelFormatError if they make no sense."""
    data = about.get("estimator")
    if not isinstance(data, dict):
        raise ModelFormatError("it holds a model, but no estimator: use Model.from_bytes")
    start = _read_init(arrays, data.get("init"), classes, init, depth)
    try:
        estimator = read_unfitted(data, classes, start, depth)
        fitted = data.get("fitted")
        if not isinstance(fitted, dict):
            raise ValueError("the result of the fit is not described")
        estimator._set_fitted_data(fitted, Model.from_parts(arrays, about), start)
    except DAMAGE as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"damaged Sapwood model: its estimator: {error}") from None
    return estimator


def _read_init(arrays: dict[str, np.ndarray], data: Any, classes: dict[str, type], given: Any, depth: int) -> Any:
    """Estimator or model of the initial raw predictions."""
    if data == STORED and "init" in arrays:
        if depth >= DEEPEST:
            raise ModelFormatError(f"damaged Sapwood model: more than {DEEPEST} estimators that start from each other")
        return read(arrays["init"].copy(), classes, given, depth + 1)
    if isinstance(data, dict) and data.get("init") == "given":
        if given is None:
            raise ModelFormatError(
                f"this estimator starts from the predictions of {str(data.get('what'))[:200]}, which its file could not hold: "
                "give it again, load(path, init=...)"
            )
        return given
    if data is not None:
        raise ModelFormatError("damaged Sapwood model: what its predictions start from is not there")
    return None


def read_unfitted(data: dict[str, Any], classes: dict[str, type], start: Any, depth: int) -> Any:
    """An estimator that is not fitted."""
    name, given = data.get("class"), data.get("parameters")
    if not isinstance(name, str) or name not in classes or not hasattr(classes[name], "_parameters"):
        raise ValueError(f"the class {name!r} is unknown, or not the one that is asked for")
    if not isinstance(given, dict) or depth > DEEPEST:
        raise ValueError("it has no parameters")
    cls: Any = classes[name]
    known = cls._parameters
    values: dict[str, Any] = {}
    for key, own in given.items():
        if key not in known or key in OF_THE_MACHINE:
            raise ValueError(f"the parameter {key[:60]!r} is unknown to this version: upgrade Sapwood")
        if key == "init" and isinstance(own, dict) and set(own) == {"unfitted"} and isinstance(own["unfitted"], dict):
            values[key] = read_unfitted(own["unfitted"], classes, None, depth + 1)
        else:
            values[key] = start if own == FITTED and key == "init" else from_data(own)
    if isinstance(values.get("init"), Unsaved) and start is not None:
        values["init"] = start
    _check(values, known, name)
    return cls(**values)


def _check(values: dict[str, Any], known: dict[str, Parameter], name: str) -> None:
    """As `fit` would, so that nothing stands where predictions need something else."""
    checked = {key: value for key, value in changed(known, values).items() if not isinstance(value, Unsaved)}
    loss = checked.get("loss")
    if isinstance(loss, str) and is_valid_name(loss):  # it may be registered elsewhere
        del checked["loss"]
    validate_parameter_constraints(constraints(known), checked, name)
    resolve.missing_values(values.get("missing"))

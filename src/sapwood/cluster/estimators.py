"""Base class of estimators that are fitted on a cluster."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from sapwood.cluster.rows import n_rows
from sapwood.estimators.base import BaseBoosting
from sapwood.estimators.saving import CLASSES
from sapwood.params.names import check_names
from sapwood.params.signatures import FitArguments
from sapwood.runtime.execution import Execution

FROM_RAW = {"predict": "_predict_from_raw", "predict_proba": "_probabilities", "decision_function": "_decisions"}


class ClusterEstimator(BaseBoosting):
    """Mixin of estimators that are fitted on a cluster. It comes before the class of the estimator.

    `fit`, `partial_fit` and `refit` take collections of the engine and run on its workers; the fitted estimator is that of the same rows in
    one process, byte for byte. Predictions of collections are lazy collections; those of other tables are computed here.

    Attributes
    ----------
    communication_ : dict
        Numbers of workers, restarts, and collective operations ("rounds") and bytes for each tree.
    """

    _settings: ClassVar[dict[str, Any]]  # arguments of the constructor besides the parameters, with their defaults
    _hidden: ClassVar[tuple[str, ...]] = ()  # settings that are not parameters for scikit-learn, since they cannot be copied
    communication_: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        local = next((base for base in cls.__mro__ if CLASSES.get(base.__name__) is base), None)
        if local is not None:
            given = inspect.signature(local).parameters
            own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in cls._settings.items()]
            cls.__init__ = _constructor(local, [*given.values(), *own])  # type: ignore[method-assign]
            cls._local_class = local

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*cls._parameters, *(name for name in cls._settings if name not in cls._hidden)])

    def set_params(self, **params: Any) -> Self:
        for name in [name for name in params if name in self._settings]:
            setattr(self, name, params.pop(name))
        check_names(type(self), params, [*self._parameters, *self._settings], ValueError)
        return super().set_params(**params)

    def to_local(self) -> Any:
        """Return the estimator without the cluster: a BoostingClassifier, BoostingRegressor or BoostingRanker, fitted if this one is."""
        local: Any = self._local_class.__new__(self._local_class)
        local.__dict__.update({name: value for name, value in self.__dict__.items() if name not in {*self._settings, "communication_"}})
        return local

    def to_bytes(self) -> bytes:
        """Return the content of the file that `save` writes: that of the estimator without the cluster."""
        data: bytes = self.to_local().to_bytes()
        return data

    def save(self, path: Any) -> None:
        """Save the fitted estimator without the cluster, as `to_local` returns it."""
        self.to_local().save(path)

    def __getstate__(self) -> Any:
        return {name: None if name in self._hidden else value for name, value in super().__getstate__().items()}

    # Fitting

    def _train(self, method: str, arguments: FitArguments, execution: Execution | None = None) -> Self:
        fitted, communication = self._fit_on_cluster(self.to_local(), method, arguments)
        kept = {name: self.__dict__[name] for name in [*self._parameters, *self._settings]}
        self.__dict__ = {**fitted.__dict__, **kept, "communication_": communication}
        return self

    @abstractmethod
    def _fit_on_cluster(self, local: BaseBoosting, method: str, arguments: FitArguments) -> tuple[BaseBoosting, dict[str, Any]]:
        """Fit the estimator without the cluster. Return it and the attribute `communication_`."""

    # Predicting

    @abstractmethod
    def _is_collection(self, X: Any) -> bool:
        """Return whether a table is a collection of the engine."""

    @abstractmethod
    def _predict_collection(self, predict: Callable[..., np.ndarray], sample: np.ndarray, X: Any, offset: Any) -> Any:
        """Return the lazy predictions of a collection. `sample` is the prediction of one row, of the right type and shape."""

    @abstractmethod
    def _compute(self, values: Any) -> Any:
        """Return the values of a lazy collection; other values as they are."""

    def _lazily(self, method: str, X: Any, options: dict[str, Any]) -> Any:
        check_is_fitted(self)
        local, offset = self.to_local(), options.pop("offset", None)
        sample = np.zeros((1, self.model_.n_outputs))
        if method in FROM_RAW:
            sample = getattr(local, FROM_RAW[method])(sample)
        return self._predict_collection(partial(_predict, local, method, options, sample[:0]), sample, X, offset)

    def predict(self, X: Any, **options: Any) -> Any:
        """Predict. For a collection of the engine, the result is lazy. Arguments as in the class without the cluster."""
        return self._lazily("predict", X, options) if self._is_collection(X) else super().predict(X, **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> float:
        """Return the score of the predictions. Collections are predicted on the cluster; predictions and targets are scored here."""
        if not self._is_collection(X):
            return super().score(X, y, sample_weight, **options)
        raw, local = self._compute(self._lazily("_raw_predict", X, {"offset": options.pop("offset", None)})), self.to_local()
        local._raw_predict = lambda *_: raw
        rows = np.broadcast_to(0.0, (len(raw), self.n_features_in_))
        given = {name: self._compute(value) for name, value in options.items()}
        return float(local.score(rows, self._compute(y), self._compute(sample_weight), **given))


class ClusterClassifier(ClusterEstimator):
    """ClusterEstimator with the methods of a classifier."""

    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Predict the probabilities of the classes. For a collection of the engine, the result is lazy."""
        if self._is_collection(X):
            return self._lazily("predict_proba", X, options)
        return super().predict_proba(X, **options)

    def decision_function(self, X: Any, **options: Any) -> Any:
        """Return raw predictions. For a collection of the engine, the result is lazy."""
        if self._is_collection(X):
            return self._lazily("decision_function", X, options)
        return super().decision_function(X, **options)


def _constructor(local: Any, parameters: list[inspect.Parameter]) -> Callable[..., None]:
    """Return a constructor that takes the settings of the class besides the parameters of the estimator without the cluster."""

    def __init__(self: Any, **parameters: Any) -> None:
        for name, default in type(self)._settings.items():
            setattr(self, name, parameters.pop(name, default))
        local.__init__(self, **parameters)

    of_self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(__init__)["__signature__"] = inspect.Signature([of_self, *parameters])
    return __init__


def _predict(local: Any, method: str, options: dict[str, Any], empty: np.ndarray, X: Any, offset: Any = None) -> np.ndarray:
    """Predict a piece of a collection. Columns that the model does not know, such as the targets, are left out."""
    if n_rows(X) == 0:
        return empty
    known = getattr(local, "feature_names_in_", None)
    if known is not None and hasattr(X, "columns"):
        frame = nw.from_native(X, eager_only=True)
        if len(frame.columns) > len(known) and set(known) <= set(frame.columns):
            X = frame.select(list(known)).to_native()
    if offset is not None:
        options = {**options, "offset": offset}
    result: np.ndarray = getattr(local, method)(X, **options)
    return result

"""Base class of the estimators: parameters, fit, raw predictions."""

from __future__ import annotations

import copy
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.data.checks import refuse_large
from sapwood.data.named_columns import take_columns
from sapwood.data.reading import Source, plain_array, read_table
from sapwood.data.rows import read_row
from sapwood.data.tables import Table
from sapwood.estimators.explaining import ExplainedEstimator
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.fitted_view import Prototype
from sapwood.estimators.fitting import fit
from sapwood.estimators.init_score import check_early_exit, initial_raw
from sapwood.estimators.inputs import FitCall
from sapwood.estimators.saving import CLASSES, SavedEstimator
from sapwood.estimators.scikit_callbacks import CallbackSupportMixin, with_callbacks
from sapwood.estimators.state import from_plain, to_plain
from sapwood.estimators.streaming import predict_in_batches, prediction_names
from sapwood.estimators.tables import column_attributes
from sapwood.estimators.tasks import Task
from sapwood.estimators.warm_start import warm_start_of_fit, warm_start_of_partial_fit, warm_start_of_refit
from sapwood.model import Model
from sapwood.params.arguments import INTRODUCTIONS
from sapwood.params.constraints import validate_parameter_constraints
from sapwood.params.names import check_names, constructor_names, with_checked_arguments
from sapwood.params.presets import ResolvedParams
from sapwood.params.signatures import CommonParameters, FitArguments
from sapwood.params.table import Parameter, changed, constraints
from sapwood.runtime.execution import Execution, local_execution, prediction_execution
from sapwood.runtime.float_mode import DefaultFloatMode
from sapwood.training.warm_start import WarmStart

if TYPE_CHECKING:
    from sapwood.typing import ArrayLike, Path, Rounds, TableLike


class BaseBoosting(SavedEstimator, ExplainedEstimator, CallbackSupportMixin, BaseEstimator, CommonParameters):
    """Base class of the estimators.

    Define a subclass with `class Name(NameSignatures, BaseBoosting, parameters=TABLE)`. `NameSignatures` has the constructor and the fit
    methods; it comes first because jedi does not follow Python's method resolution order.
    """

    # With scikit-learn's metadata routing, `groups` goes to the splitter of a search and not to `fit`, unless it is requested.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"groups": False}
    _parameters: ClassVar[dict[str, Parameter]]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    _task: ClassVar[type[Task[Any]]]
    model_: Model
    n_features_in_: int
    train_score_: np.ndarray
    validation_score_: np.ndarray
    evals_result_: dict[str, dict[str, list[float]]]
    resolved_params_: ResolvedParams
    time_limit_reached_: bool

    def __init_subclass__(cls, parameters: dict[str, Parameter] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if parameters is not None:
            cls._parameters, cls._parameter_constraints = parameters, constraints(parameters)
            cls.__doc__ = _with_parameters(cls)
            for method in INTRODUCTIONS:
                setattr(cls, method, with_checked_arguments(getattr(cls, method), parameters))
            for name, request in [*vars(cls).items()]:
                if name.startswith("set_") and name.endswith("_request"):
                    setattr(cls, name, ShortHelp(request, f"Request arguments of `{name[4:-8]}` under scikit-learn's metadata routing."))
            CLASSES[cls.__name__] = cls

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the sorted names of the parameters, as scikit-learn does, which reads the signature each time."""
        known = constructor_names(cls.__init__)
        return super()._get_param_names() if known is None else sorted(known - {"self"})

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        check_names(type(self), {name.partition("__")[0]: value for name, value in params.items()}, self._parameters, ValueError)
        return super().set_params(**params)

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        return to_plain(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(from_plain(state))

    # Fitting

    def _train(self, method: str, arguments: FitArguments, execution: Execution | None = None) -> Self:
        """Fit a copy and take over its attributes at the end: a fit that fails or is interrupted does not change the estimator."""
        fresh = copy.copy(self)
        with DefaultFloatMode():
            fresh._store(fresh._fit(FitCall.of(arguments), self._warm_start(method, arguments), execution))
        self.__dict__ = fresh.__dict__
        return self

    def _warm_start(self, method: str, arguments: FitArguments) -> WarmStart:
        if method == "refit":
            return warm_start_of_refit(self, arguments.decay)
        return warm_start_of_partial_fit(self) if method == "partial_fit" else warm_start_of_fit(self, arguments.init_model)

    @with_callbacks
    def _fit(self, call: FitCall, start: WarmStart, execution: Execution | None = None) -> FitResult:
        self._validate_params()
        values = self._values()
        return fit(values, self._task(values), Prototype(self), call, start, execution or local_execution(values.n_jobs))

    def _values(self) -> Any:
        """Return the values of all parameters, typed as `CommonParameters`."""
        return cast(CommonParameters, SimpleNamespace(**{name: getattr(self, name) for name in self._parameters}))

    def _validate_params(self) -> None:
        """Validate the parameters as scikit-learn does, but only those that differ from their default."""
        values = changed(self._parameters, self.get_params(deep=False))
        validate_parameter_constraints(self._parameter_constraints, values, caller_name=type(self).__name__)

    def _store(self, result: FitResult) -> None:
        """Set the fitted attributes from the result of a fit. No other method sets them."""
        for name in "feature_names_in_", "device_transfers_":  # not every fit has them
            self.__dict__.pop(name, None)
        self.__dict__.update(self._fitted_attributes(result))

    def _fitted_attributes(self, result: FitResult) -> dict[str, Any]:
        """Return the fitted attributes by name."""
        return {
            "model_": result.model,
            "init_": result.init,
            **column_attributes(result.model.schema),
            "do_early_stopping_": result.stops,
            "train_score_": result.train_score,
            "validation_score_": result.validation_score,
            "evals_result_": {on: {name: list(values[1:]) for name, values in of.items()} for on, of in result.scores.items()},
            "provenance_": result.provenance,
            "resolved_params_": result.resolved,
            "time_limit_reached_": result.timed_out,
            **({} if result.transfers is None else {"device_transfers_": result.transfers}),
            "_scores": result.scores,
            "_constraints": result.constraints,
        }

    @property
    def _digest(self) -> str | None:
        """Digest of the training data; None if unknown, as for an imported model."""
        digest = getattr(self, "provenance_", {}).get("data")
        return None if digest is None else str(digest)

    @property
    def _known_targets(self) -> Any:
        """Targets that a continued fit must have; None if there is no such condition."""
        return None

    # Using the model

    def __getitem__(self, rounds: slice) -> Self:
        """Return a copy with a contiguous range of rounds: `estimator[:50]`, `estimator[50:]`.

        The raw predictions of consecutive slices add up to those of the estimator: only the slice with the first round has `init` and the
        base score.
        """
        check_is_fitted(self)
        model = self.model_[rounds]
        first, last, _ = rounds.indices(self.model_.n_rounds)

        def cut(scores: Any) -> Any:
            """Return the scores of the range. Continued training may have scores of its last rounds only; these are dropped."""
            return scores[first : last + 1] if len(scores) == self.model_.n_rounds + 1 else scores[:0]

        sliced = copy.copy(self)
        sliced._store(
            FitResult(
                model,
                init=None if first > 0 else self.init_,
                constraints=self._constraints,
                stops=self.do_early_stopping_,
                scores={on: {name: cut(scores) for name, scores in of.items()} for on, of in self._scores.items()},
                train_score=cut(self.train_score_),
                validation_score=cut(self.validation_score_),
                provenance=self.provenance_,
                timed_out=self.time_limit_reached_,
                resolved=self.resolved_params_,
            )
        )
        return sliced

    def _raw_predict(self, X: Any, offset: Any = None, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """Return the (n_rows, n_outputs) float64 raw predictions."""
        if "model_" not in self.__dict__:
            check_is_fitted(self)
        schema, source = self.model_.schema, X
        table: Table | None = read_row(X, schema) if schema.names else plain_array(X, schema)  # fast paths for single rows
        if table is None:
            table = self._read(source := Source.of(X))
        if early_exit is not None:
            check_early_exit(early_exit, offset, self.init_)
        raw = self.model_.predict_raw(table, prediction_execution(table.n_rows, self.n_jobs), rounds, early_exit)
        if offset is None and self.init_ is None:
            return raw
        initial = self._initial_raw(Source.of(source), offset, len(raw))
        return raw if initial is None else raw + initial

    def _in_batches(
        self,
        predict: Callable[[Any, Any], np.ndarray],
        X: Any,
        offset: Any,
        path: Path | None,
        names: Callable[[int], list[str]] = prediction_names,
    ) -> Any:
        """Return the predictions of a table; for a stream an iterator over those of its batches. With a path, write them to a file."""
        if type(X) is np.ndarray and path is None:  # fast path for single rows
            return predict(X, offset)
        if "model_" not in self.__dict__:
            check_is_fitted(self)
        return predict_in_batches(predict, X, offset, path, self.model_.schema.text_names, names)

    def _with_values(self, X: Any, y: Any, sample_weight: Any, offset: Any, **more: Any) -> list[Any]:
        """Return the arguments of `score`, with the values of columns of X in the place of their names."""
        given = {"y": y, "sample_weight": sample_weight, "offset": offset, **more}
        X, values = take_columns(Source(X), {name: value for name, value in given.items() if value is not None})
        given |= values
        for name in ("y", "sample_weight"):  # the metrics of scikit-learn do not name them
            refuse_large(given[name], name)
        return [X, *given.values()]

    def _read(self, source: Source) -> Table:
        return read_table(source, self.model_.schema, type(self).__name__)

    def _initial_raw(self, source: Source, offset: Any, n_rows: int) -> np.ndarray | None:
        return initial_raw(self.init_, source, offset, n_rows, self.model_, self.n_jobs, type(self).__name__)

    @abstractmethod
    def _predict_from_raw(self, raw: np.ndarray) -> np.ndarray:
        """Return the output of `predict` for raw predictions, (n_rows, n_outputs)."""

    @abstractmethod
    def _score_predicted(self, y: Any, predicted: np.ndarray, sample_weight: Any) -> float:
        """Return the output of `score` for the output of `predict`."""

    def apply(self, X: TableLike, *, rounds: Rounds = None) -> np.ndarray:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        rounds : int or (first, last), optional
            As in `predict`.

        Returns
        -------
        (n_rows, n_rounds) int32, or (n_rows, n_rounds, trees_per_round) if a round has several trees
            Node indices.
        """
        check_is_fitted(self)
        return self.model_.leaves(self._read(Source(X)), local_execution(self.n_jobs), rounds)

    def _staged_raw(self, X: Any, offset: ArrayLike | None = None) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        source = Source(X)
        table = self._read(source)
        initial = self._initial_raw(source, offset, table.n_rows)
        stages = self.model_.staged_raw(table, local_execution(self.n_jobs))
        return stages if initial is None else (raw + initial for raw in stages)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    @property
    def n_iter_(self) -> int:
        """Number of training rounds. Prediction uses the first `best_iteration_` of them."""
        check_is_fitted(self)
        return self.model_.n_rounds

    @property
    def best_iteration_(self) -> int:
        """Number of rounds that prediction uses: all, or with early stopping those up to the best score."""
        check_is_fitted(self)
        return self.model_.n_rounds_used

    @property
    def n_trees_per_iteration_(self) -> int:
        """Trees of a round: one for each output, or those that the outputs share."""
        check_is_fitted(self)
        return self.model_.trees_per_round

    @property
    def is_categorical_(self) -> np.ndarray | None:
        """(n_features,) bool: which columns are categorical; None if there is none."""
        check_is_fitted(self)
        schema = self.model_.schema
        mask = np.zeros(schema.n_features, dtype=bool)
        mask[schema.categories] = True
        return mask if schema.categories else None


class ShortHelp:
    """Descriptor that gives the methods of another one a short docstring: scikit-learn generates a page for each `set_*_request`."""

    def __init__(self, wrapped: Any, doc: str) -> None:
        self._wrapped, self._doc = wrapped, doc

    def __get__(self, instance: Any, owner: type) -> Any:
        method = self._wrapped.__get__(instance, owner)
        method.__doc__ = self._doc
        return method


def _with_parameters(cls: type) -> str | None:
    """Return the docstring of a class with the "Parameters" section of its constructor."""
    doc, section = cls.__doc__, cls.__init__.__doc__  # type: ignore[misc]
    if doc is None or section is None:  # python -OO removes docstrings
        return doc
    section = inspect.cleandoc(section).partition("\n\n")[2]
    head, heading, tail = inspect.cleandoc(doc).partition("Attributes\n----------\n")
    return f"{head}{section}\n\n{heading}{tail}"

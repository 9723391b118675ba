"""What the estimators share: parameters, fit, raw predictions."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from sapwood.callbacks import Callback
from sapwood.data.checks import check_weights
from sapwood.data.dataset import Dataset
from sapwood.data.tables import Table
from sapwood.estimators.explaining import ExplainedEstimator
from sapwood.estimators.fitting import fit
from sapwood.estimators.init_score import check_early_exit, initial_raw
from sapwood.estimators.inputs import FitInput, FitOptions, refuse_more
from sapwood.estimators.saving import SavedEstimator
from sapwood.estimators.scikit_callbacks import CallbackSupportMixin, with_callbacks
from sapwood.estimators.tables import table_like
from sapwood.estimators.warm_start import warm_start_of_fit, warm_start_of_partial_fit, warm_start_of_refit
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.model.rounds import Rounds
from sapwood.params import table as config
from sapwood.runtime.execution import Execution, local_execution, prediction_execution
from sapwood.training.boosting import Rows
from sapwood.training.checkpoint import Checkpoint
from sapwood.training.warm_start import WarmStart

ATTRIBUTES = """n_iter_ : int
        Rounds of training.
    best_iteration_ : int
        Rounds that prediction uses.
    train_score_, validation_score_ : (n_iter_ + 1,) arrays
        Scores before the first round and after each; empty without early stopping (or without validation rows).
    evals_result_ : dict of set -> metric -> list
        What was measured after each round, on "train" and "validation" where early stopping watches, and on `eval_sets`.
    provenance_ : dict
        Where the model comes from: the version of Sapwood, the number of training rows, and a hash of all data that decided on it.
    feature_importances_ : (n_features,) array
    model_ : Model"""


class BaseBoosting(SavedEstimator, ExplainedEstimator, CallbackSupportMixin, BaseEstimator):
    """A scikit-learn estimator whose constructor takes the parameters of a table.

    Subclasses say which: `class Name(BaseBoosting, parameters=...)`.
    """

    # Under scikit-learn's metadata routing `groups` goes to splitters of a search, not here, unless asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}
    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {"groups": False}
    _parameters: ClassVar[dict[str, config.Parameter]]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    model_: Model
    train_score_: np.ndarray
    validation_score_: np.ndarray
    evals_result_: dict[str, dict[str, list[float]]]

    def __init_subclass__(cls, parameters: dict[str, config.Parameter] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if parameters is not None:
            cls._parameters, cls._parameter_constraints = parameters, config.constraints(parameters)
            cls.__init__ = config.constructor(parameters)  # type: ignore[method-assign]

    def __new__(cls, *args: Any, **kwargs: Any) -> BaseBoosting:
        known = inspect.signature(cls.__init__).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            config.check_names(cls, [name for name in kwargs if name not in known], cls._parameters, TypeError)
        return super().__new__(cls)

    def set_params(self, **params: Any) -> BaseBoosting:
        """Set parameters by name."""
        config.check_names(type(self), [name.partition("__")[0] for name in params], self._parameters, ValueError)
        return super().set_params(**params)

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        eval_sets: Any = None,
        eval_metric: Any = None,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
        init_model: Any = None,
    ) -> BaseBoosting:
        """Train on a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers, bools, dates, times and categories. NaN, None and what is masked are missing.
        y : array of shape (n_rows,), or (n_rows, n_outputs) for a regressor
            With several columns NaN means that a target is missing: it counts for nothing.
        sample_weight : array of shape (n_rows,), optional
            Not negative; a row of weight 0 is as good as absent.
        X_val, y_val, sample_weight_val : optional
            Rows for early stopping, instead of some of the training rows.
        offset, offset_val : array of shape (n_rows,), or (n_rows, n_outputs), optional
            What the raw predictions of each row start from: the logarithm of its exposure, say, for a loss with a log link. Predictions
            take the same argument.
        groups : array of shape (n_rows,), optional
            For the splitter `validation_split`: which rows belong together.
        eval_sets : dict of name -> (X, y), (X, y, sample_weight) or (X, y, sample_weight, offset), or a list of such, optional
            More rows to watch; they decide nothing. Instead of a tuple, a dict of arguments of `fit` does, too: {"X": X, "y": y,
            "offset": offset}. Weights or offsets that are None are as good as not given.
        eval_metric : a metric's name (see `sapwood.metrics.METRICS`, or a scorer's of scikit-learn), a `Metric`, a function
            (y, predicted) -> float, a scikit-learn scorer, or a list of these; optional
            What is measured on `eval_sets` and on rows for early stopping, each round; the results are in `evals_result_`.
        callbacks : list of Callback, optional
            What listens to this training: see `sapwood.callbacks`. They belong to one fit and keep its state, so they are no parameter of
            the estimator: a clone would copy that state.
        checkpoint : path of a file or Checkpoint, optional
            Where to keep the state of training, so that the same call goes on from there if this one is cut off, and gives the same bytes:
            see `sapwood.Checkpoint`.
        init_model : fitted estimator of the same kind, Model, or path of a file with one, optional
            What to go on from: `max_iter` rounds are added to those it predicts with, on these rows, which may be new, with its bins and
            its tables of categories; a level that it does not know is as good as missing. It stays as it is. A Model does not know its
            classes: they are those of y.

        Returns
        -------
        self
        """
        validation = FitInput(X_val, y_val, sample_weight_val, suffix="_val", offset=offset_val)
        watching = FitOptions(groups, eval_sets, eval_metric, callbacks or (), checkpoint)
        return self._fit_anew(FitInput(X, y, sample_weight, offset=offset), validation, watching, warm_start_of_fit(self, init_model))

    def _fit_anew(self, given: FitInput, given_validation: FitInput, watching: FitOptions, start: WarmStart) -> BaseBoosting:
        """A refit that fails or is interrupted leaves the old model as it was: all that is new is set at the end."""
        fresh = copy.copy(self)
        fresh._fit(given, given_validation, watching, start)
        self.__dict__ = fresh.__dict__
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        eval_sets: Any = None,
        eval_metric: Any = None,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> BaseBoosting:
        """Train on more rows.

        The first call is a fit: it makes the bins, and the tables of categories. Each further one adds `max_iter` rounds on the new rows
        alone, with the old bins and tables: the rows are looked up as rows to be predicted are, so they must be new ones. A level that was
        not there at first is as good as missing. Trees that early stopping found too many are left out.

        Parameters are those of `fit`, without `init_model`: it goes on from the estimator's own model.
        """
        validation = FitInput(X_val, y_val, sample_weight_val, suffix="_val", offset=offset_val)
        watching = FitOptions(groups, eval_sets, eval_metric, callbacks or (), checkpoint)
        return self._fit_anew(FitInput(X, y, sample_weight, offset=offset), validation, watching, warm_start_of_partial_fit(self))

    def refit(self, X: Any, y: Any, sample_weight: Any = None, *, decay: float = 0.9, offset: Any = None) -> BaseBoosting:
        """Give the trees new values, learnt from other rows; their splits stay as they are.

        One tree after the other, and the constant before them, has its values worked out on these rows as if it had just been grown, with
        the parameters of this estimator. Rounds that early stopping found too many are left out. Leaves that no row reaches keep their
        values; a tree's gains and numbers of rows stay those of the old ones.

        Parameters
        ----------
        X, y, sample_weight, offset : as for `fit`
            The rows should be new ones: their categories are looked up in the old tables.
        decay : float from 0 to 1
            How much of the old values is kept: new value = decay * old + (1 - decay) * what these rows say.
        """
        return self._refit(FitInput(X, y, sample_weight, offset=offset), decay)

    def _refit(self, given: FitInput, decay: float) -> BaseBoosting:
        start = warm_start_of_refit(self, decay)
        return self._fit_anew(given, FitInput(None, None, suffix="_val"), FitOptions(None, None, None, ()), start)

    def __getitem__(self, rounds: slice) -> BaseBoosting:
        """A copy with some of the rounds, side by side: `estimator[:50]`, `estimator[50:]`. Raw predictions of pieces add up to those of
        the whole: an `init` belongs to the first round, as the constant does."""
        check_is_fitted(self)
        part = copy.copy(self)
        part.model_ = self.model_[rounds]
        first, last, _ = rounds.indices(self.model_.n_rounds)
        if first > 0:
            part.init_ = None

        def cut(scores: Any) -> Any:
            """Of scores before the first round and after each; training that went on from a model may have fewer."""
            return scores[first : last + 1] if len(scores) == self.model_.n_rounds + 1 else scores[:0]

        part._set_scores({on: {name: cut(scores) for name, scores in of.items()} for on, of in self._scores.items()})
        part.train_score_, part.validation_score_ = cut(self.train_score_), cut(self.validation_score_)
        return part

    @property
    def _digest(self) -> str | None:
        """Of the data that decided on the model, if that is known: a model may come from elsewhere."""
        digest = getattr(self, "provenance_", {}).get("data")
        return None if digest is None else str(digest)

    @property
    def _known_targets(self) -> Any:
        """What a fit that goes on must know of the targets before."""
        return None

    def _validate_params(self) -> None:
        """As scikit-learn's, but for what was left at its default."""
        changed = config.changed(self._parameters, self.get_params(deep=False))
        validate_parameter_constraints(self._parameter_constraints, changed, caller_name=type(self).__name__)

    @with_callbacks
    def _fit(self, given: FitInput, given_validation: FitInput, watching: FitOptions, start: WarmStart) -> None:
        self._validate_params()
        fit(self, given, given_validation, watching, start)

    # What subclasses have ways of their own for, besides `_targets`, `_validation_targets` and `_original_targets`

    def _first_model(self, rows: Rows, loss: Loss, shared: int, execution: Execution) -> Model | None:
        """A model without trees to start from; None for what suits the loss."""
        return None

    def _part(self, given: FitInput, table: Table, y: np.ndarray) -> Dataset:
        refuse_more(given)
        return Dataset(table, y, self._weights(given.sample_weight, y, table.n_rows, f"sample_weight{given.suffix}"))

    def _weights(self, weight: Any, y: np.ndarray, n_rows: int, name: str) -> np.ndarray | None:
        return check_weights(weight, n_rows, name)

    def _meant_metric(self, given: Any) -> Any:
        """What is to be measured where the user gave this."""
        return given

    @property
    def _has_strata(self) -> bool:
        """Whether the targets are classes that a split should have the same shares of."""
        return False

    def _seed(self) -> int:
        """Drawn as scikit-learn draws it, so that early stopping keeps the same rows aside."""
        return (
            0 if self.random_state is None else int(check_random_state(self.random_state).randint(np.iinfo(np.uint32).max, dtype=np.uint64))
        )

    # Using the model

    def _raw_predict(self, X: Any, offset: Any = None, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """(n_rows, n_outputs) float64."""
        if "model_" not in self.__dict__:
            check_is_fitted(self)
        table = table_like(self, X, self.model_.schema)
        if early_exit is not None:
            check_early_exit(early_exit, offset, self.init_)
        raw = self.model_.predict_raw(table, prediction_execution(table.n_rows, self.n_jobs), rounds, early_exit)
        if offset is None and self.init_ is None:
            return raw
        start = initial_raw(self, X, offset, len(raw), self.model_)
        return raw if start is None else raw + start

    def apply(self, X: Any, *, rounds: Rounds = None) -> np.ndarray:
        """(n_rows, n_rounds) int32: the leaf that a row reaches in each round's tree, as its number among the nodes; where a round has
        several trees, (n_rows, n_rounds, trees_per_round). `rounds` as in `predict`."""
        check_is_fitted(self)
        return self.model_.leaves(table_like(self, X, self.model_.schema), local_execution(self.n_jobs), rounds)

    def _staged_raw(self, X: Any, offset: Any = None) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        table = table_like(self, X, self.model_.schema)
        start = initial_raw(self, X, offset, table.n_rows, self.model_)
        stages = self.model_.staged_raw(table, local_execution(self.n_jobs))
        return stages if start is None else (raw + start for raw in stages)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    @property
    def n_iter_(self) -> int:
        """Rounds of training. Prediction uses the first `best_iteration_` of them."""
        check_is_fitted(self)
        return self.model_.n_rounds

    @property
    def best_iteration_(self) -> int:
        """Rounds that prediction uses: all, or up to the best score where early stopping watched."""
        check_is_fitted(self)
        return self.model_.n_rounds_used

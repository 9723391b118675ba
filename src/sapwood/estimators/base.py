"""What the estimators share: fit and its checks, raw predictions, importances."""

from __future__ import annotations

import copy
import inspect
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from os import PathLike
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sapwood import config, kernels, resolve
from sapwood.boosting import Rows, train
from sapwood.callbacks import TRAIN, VALIDATION, Callback, EarlyStopping, Log, Measure, ProgressBar, Remember, Round, Scores
from sapwood.checks import check_finite, refuse_mask
from sapwood.data.columns import Schema
from sapwood.data.fingerprint import Fingerprint, join_digests
from sapwood.data.frames import open_frame
from sapwood.data.reading import filled, plain_array, read_any
from sapwood.data.tables import Table
from sapwood.describe import Description, describe
from sapwood.estimators.inputs import Given, Part, Watching, refuse_more, split_by
from sapwood.estimators.saving import SavedEstimator
from sapwood.estimators.scikit_callbacks import CallbackSupportMixin, ScikitCallbacks, with_callbacks
from sapwood.estimators.start import check_early_exit, check_offset, fitted_init, linked_predictions
from sapwood.export import ExportError, export
from sapwood.going_on import Start
from sapwood.identity import Identity, as_text
from sapwood.inspection.recursion import recursion_of
from sapwood.losses import Loss
from sapwood.metrics import METRICS, Metric, as_metric
from sapwood.model import Explanation, Model
from sapwood.model.explain import TreeExplainer
from sapwood.model.model import IMPORTANCES
from sapwood.model.rounds import Rounds
from sapwood.plan import (
    make_builder,
    make_encoding,
    make_mode,
    make_row_sampler,
    make_step,
    make_strategy,
    make_tree_config,
    refuse_categories,
    seen_levels,
)
from sapwood.refit import Refit
from sapwood.resolve import Features
from sapwood.snapshots import Snapshot, Snapshots
from sapwood.threads import resolve_threads, threads_for
from sapwood.version import __version__

WITH_ROWS = ("permutation", "shap")  # importances that are of rows, not of the trees alone
AUTO_EARLY_STOPPING_ROWS = 10_000
HISTOGRAMS = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"
SCORED_TRAINING_ROWS = 10_000  # of the training rows, for a scorer other than the loss


class BaseBoosting(SavedEstimator, CallbackSupportMixin, BaseEstimator):
    """A scikit-learn estimator whose constructor takes the parameters of a table.

    Subclasses say which: `class Name(BaseBoosting, parameters=...)`.
    """

    # Under scikit-learn's metadata routing `groups` goes to splitters of a search, not here, unless asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}
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
        snapshot: Snapshot | str | PathLike[str] | None = None,
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
        snapshot : path of a file or Snapshot, optional
            Where to keep the state of training, so that the same call goes on from there if this one is cut off, and gives the same bytes:
            see `sapwood.Snapshot`.
        init_model : fitted estimator of the same kind, Model, or path of a file with one, optional
            What to go on from: `max_iter` rounds are added to those it predicts with, on these rows, which may be new, with its bins and
            its tables of categories; a level that it does not know is as good as missing. It stays as it is. A Model does not know its
            classes: they are those of y.

        Returns
        -------
        self
        """
        validation = Given(X_val, y_val, sample_weight_val, suffix="_val", offset=offset_val)
        watching = Watching(groups, eval_sets, eval_metric, callbacks or (), snapshot)
        return self._fit_anew(Given(X, y, sample_weight, offset=offset), validation, watching, self._start(init_model))

    def _fit_anew(self, given: Given, given_validation: Given, watching: Watching, start: Start) -> BaseBoosting:
        """A refit that fails or is interrupted leaves the old model as it was: all that is new is set at the end."""
        fresh = copy.copy(self)
        fresh._fit(given, given_validation, watching, start)
        self.__dict__ = fresh.__dict__
        return self

    def _start(self, init_model: Any) -> Start:
        """What `fit` goes on from."""
        if isinstance(init_model, Start):
            return init_model
        own = self.model_ if hasattr(self, "model_") and self.warm_start else None
        if init_model is None:
            if own is None:
                return Start("warm_start" if self.warm_start else "")
            return Start("warm_start", own, targets=self._known_targets, init=self.init_, data=self._digest)
        if own is not None:
            raise ValueError("init_model and warm_start=True do not go together: both say what to go on from")
        if self.init is not None:
            raise ValueError("init_model and init do not go together: raw predictions start where those of init_model do")
        if isinstance(init_model, str | PathLike):
            from sapwood.estimators.loading import load

            init_model = load(init_model)
        if isinstance(init_model, Model):
            return Start("init_model", init_model[: init_model.n_rounds_used], more_rounds=True)
        if not isinstance(init_model, BaseBoosting) or init_model._parameters is not self._parameters:
            raise TypeError(f"init_model must be a fitted {type(self).__name__} or a Model; got {type(init_model).__name__}")
        check_is_fitted(init_model)
        model = init_model.model_
        return Start(
            "init_model", model[: model.n_rounds_used], True, False, init_model._known_targets, init_model.init_, init_model._digest
        )

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> BaseBoosting:
        """Train on more rows.

        The first call is a fit: it makes the bins, and the tables of categories. Each further one adds `max_iter` rounds on the new rows
        alone, with the old bins and tables: the rows are looked up as rows to be predicted are, so they must be new ones. A level that was
        not there at first is as good as missing. Trees that early stopping found too many are left out.

        Parameters are those of `fit`, but for `init_model`.
        """
        return self.fit(X, y, sample_weight, init_model=self._start_of_more(more), **more)

    def _start_of_more(self, arguments: dict[str, Any]) -> Start:
        """What `partial_fit` goes on from."""
        if "init_model" in arguments:
            raise TypeError("partial_fit takes no init_model: it goes on from the estimator's own model")
        if not hasattr(self, "model_"):
            return Start("partial_fit")
        model = self.model_
        return Start("partial_fit", model[: model.n_rounds_used], True, True, self._known_targets, self.init_, self._digest)

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
        return self._refit(Given(X, y, sample_weight, offset=offset), decay)

    def _refit(self, given: Given, decay: float) -> BaseBoosting:
        check_is_fitted(self)
        if isinstance(decay, bool) or not isinstance(decay, Real) or not 0 <= decay <= 1:
            raise ValueError(f"decay must be a number from 0 to 1; got {decay!r}")
        if self.boosting == "dart":
            raise ValueError("boosting='dart' and refit do not go together: the values that trees were grown with are not kept")
        model = self.model_[: self.model_.n_rounds_used]
        start = Refit("refit", model, False, True, self._known_targets, self.init_, self._digest, float(decay))
        return self._fit_anew(given, Given(None, None, suffix="_val"), Watching(None, None, None, ()), start)

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

    @with_callbacks
    def _fit(self, given: Given, given_validation: Given, watching: Watching, start: Start) -> None:
        self._validate_params()
        n_threads, previous, n_rounds = resolve_threads(self.n_jobs), start.model, start.rounds(self.max_iter)
        if previous is not None:
            self._note_names(previous.schema)
        table = self._table(given.X, previous.schema if previous else None)
        table = table if previous else self._with_categories(table, given.X)
        y, loss = self._targets(given.y, table.n_rows, start)
        start.check_loss(loss)
        part = self._part(given, table, y)
        if part.weight is not None and not part.weight.all():
            part = replace(part, rows=np.flatnonzero(part.weight))
        if y.ndim == 2 and (missing := np.isnan(part.take(y)).all(axis=1)).any():  # a row without any target is as good as absent
            part = replace(part, rows=part.take(np.arange(table.n_rows))[~missing])
            if part.n_rows == 0:
                raise ValueError("y has no row with a target: all are missing")
        if part.rows is not None and table.schema.categories and not previous:
            table = table.match(seen_levels(table, part.rows))
            part = replace(part, table=table)
        schema = previous.schema if previous else replace(table.schema, **self._missing())
        seed = self._seed()
        stops = start.grows and self._stops_early(part.n_rows, given_validation.X, watching.callbacks, loss)
        validation = None
        if not given_validation.any and stops and (self.validation_fraction is not None or self.validation_split is not None):
            part, validation = self._split(part, given.X, watching.groups, seed)
        loss.check_targets(part.take(part.y))
        self.init_ = fitted_init(self.init, given.X, given.y, part.weight, part.rows) if previous is None else start.init
        offset = self._offset(given.X, given.offset, table.n_rows, loss.n_outputs, loss.link, "offset")
        part = replace(part, offset=offset)
        if given_validation.any:
            validation = self._given_validation(given_validation, schema, loss)
        elif validation is not None:
            validation = replace(validation, offset=offset)
        sets = {} if validation is None else {VALIDATION: validation}
        sets |= {name: self._given_validation(one, schema, loss) for name, one in watching.named_sets().items()}

        features = Features(table.n_features, schema.names, given.X, self.feature_spec)
        strategy = start.strategy(make_strategy(self, loss, part.n_rows, start))
        ways = make_row_sampler(self), make_mode(self, loss, start), make_step(self, loss), strategy
        forced = resolve.forced_splits(self.forced_splits, features)
        refuse_categories(schema, resolve.monotonic(self.monotonic_cst, features), forced, resolve.cut_points(self.cut_points, features))
        data = part.fingerprint(n_threads=n_threads)
        encoded = make_encoding(self, table, features, loss, y, part.weight, part.rows, seed, start, start.data in (None, data.digest))
        encoding = encoded.encoding
        tree_config = make_tree_config(self, features, encoding, loss, part.weight, part.rows)
        build = make_builder(self, encoded.features, encoding, features, part.weight, part.rows, seed, n_threads, forced, previous)
        pages = build(encoded.features)
        train_rows = part.on(pages)
        watched = {name: one.on(pages if one.table is table else build(encoding.apply(one.table))) for name, one in sets.items()}
        del pages

        measures = self._measures(stops, sets, watching.eval_metric, n_threads)
        scores = Scores(measures, getattr(self, "_scores", None) if start.how == "warm_start" else None)
        callbacks: list[Callback] = [Remember(schema, encoding), scores]
        if stops:
            callbacks.append(EarlyStopping(self.n_iter_no_change, min_delta=self.tol, on=VALIDATION if validation is not None else TRAIN))
        if self.verbose:
            callbacks.append(ProgressBar() if self.verbose == 1 else Log())
        model = start.own_model(train_rows, loss, n_threads) or self._first_model(train_rows, loss, strategy.shared, n_threads)
        if forced is not None:
            tree_config = replace(tree_config, forced=forced.on(train_rows.pages.binning))
        callbacks += watching.callbacks
        if ScikitCallbacks.wanted(self):
            callbacks.append(ScikitCallbacks(self, given.X, given.y))
        snapshots = Snapshots()
        if watching.snapshot is not None:
            others = {name: one.fingerprint(part.table, n_threads) for name, one in sets.items()}
            snapshots = Snapshot.of(watching.snapshot).open(
                self._identity({TRAIN: data, **others}, measures, seed, start, watching.callbacks)
            )
        self.model_ = train(train_rows, watched, loss, tree_config, n_rounds, seed, n_threads, callbacks, model, *ways, snapshots)
        self._constraints = resolve.constraints(self, features)
        self.do_early_stopping_ = stops
        self._keep_scores(scores, stops)
        self.provenance_ = {"sapwood": __version__, "n_rows": part.n_rows, "data": join_digests(filter(None, (start.data, data.digest)))}

    def _identity(
        self,
        data: dict[str, Fingerprint],
        measures: dict[str, list[Measure]],
        seed: int,
        start: Start,
        callbacks: Sequence[Callback],
    ) -> Identity:
        """What decides on the bytes of the model, and on the scores."""
        free = {"n_jobs", "verbose", "random_state", "warm_start"} | ({"max_iter"} if self.boosting != "forest" else set())
        settings = {"the estimator": as_text(type(self).__name__)}
        settings |= {name: as_text(value) for name, value in self.get_params(deep=False).items() if name not in free}
        settings |= {
            "random_state": f"the seed {seed}",
            "the classes": as_text(getattr(self, "classes_", None)),
            "the model to go on from": as_text(start.model),
            "what is measured": as_text({on: [measure.name for measure in of] for on, of in measures.items()}),
            "callbacks": as_text([(type(callback), callback.settings()) for callback in callbacks]),
            "the version of Sapwood": __version__,
        }
        return Identity(settings, data)

    def _first_model(self, rows: Rows, loss: Loss, shared: int, n_threads: int) -> Model | None:
        """A model without trees to start from; None for what suits the loss."""
        return None

    def _part(self, given: Given, table: Table, y: np.ndarray) -> Part:
        refuse_more(given)
        return Part(table, y, self._weights(given.sample_weight, y, table.n_rows, f"sample_weight{given.suffix}"))

    def _keep_scores(self, scores: Scores, stops: bool) -> None:
        self._set_scores(scores.values)

        def watched(on: str) -> np.ndarray:
            if not stops or on not in scores.measures:
                return np.array([])
            measure = scores.measures[on][0]
            return np.array(scores.values[on][measure.name]) * (1.0 if measure.higher_is_better else -1.0)

        self.train_score_, self.validation_score_ = watched(TRAIN), watched(VALIDATION)

    def _with_categories(self, table: Table, X: Any) -> Table:
        """The table with the columns as categories that the user says are some."""
        features = Features(table.n_features, table.schema.names, X, self.feature_spec)
        named = resolve.categories(self.categorical_features, features, table.schema.categories)
        if named is None:
            return table
        for f in table.schema.categories:
            if f not in named:
                raise ValueError(
                    f"Column {table.schema.name(f)} holds {table.schema.kind(f).describe()}, which is not a number: "
                    "name it in categorical_features too, or drop it"
                )
        return table.with_categories(named)

    def _table(self, X: Any, schema: Schema | None) -> Table:
        """X as a Table: that of a fit, whose features are noted, or one with the features of a schema."""
        if schema is not None and not hasattr(self, "feature_names_in_") and (plain := plain_array(X, schema)) is not None:
            return plain  # which scikit-learn would find nothing wrong with
        frame = open_frame(X)
        if isinstance(X, np.ma.MaskedArray):
            X = filled(X)
        if frame is None:
            own = isinstance(X, np.ndarray) and X.dtype.kind in "OmM" and X.ndim == 2
            dtype = None if own or sparse.issparse(X) else "numeric"
            X = validate_data(self, X, reset=schema is None, accept_sparse=True, dtype=dtype, ensure_all_finite=False)
        missing = self._missing() if schema is None else {"absent": schema.absent, "sparse_missing": schema.sparse_missing}
        table = read_any(X if frame is None else frame, **missing)
        if frame is not None:
            self._note_names(table.schema) if schema is None else self._check_names(table.schema, schema)
        return table if schema is None else table.match(schema)

    def _missing(self) -> dict[str, Any]:
        """What the user says is missing, as a schema keeps it."""
        return {"absent": resolve.missing_values(self.missing), "sparse_missing": self.sparse_absent == "missing"}

    def _note_names(self, schema: Schema) -> None:
        """In scikit-learn's attributes, which know text only."""
        self.n_features_in_ = schema.n_features
        if schema.names and all(isinstance(name, str) for name in schema.names):
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_names(self, given: Schema, fitted: Schema) -> None:
        """Without names to match them by, columns go by their number."""
        if fitted.names is None:
            if given.n_features != fitted.n_features:
                what = f"{type(self).__name__} is expecting {fitted.n_features} features as input"
                raise ValueError(f"X has {given.n_features} features, but {what}.")
            warnings.warn(f"X has feature names, but {type(self).__name__} was fitted without feature names", stacklevel=4)

    def _weights(self, weight: Any, y: np.ndarray, n_rows: int, name: str) -> np.ndarray | None:
        if weight is None:
            return None
        if isinstance(weight, Real):
            weight = np.full(n_rows, weight)
        refuse_mask(weight, name)
        weight = check_array(weight, ensure_2d=False, ensure_min_samples=0, dtype=np.float64, ensure_all_finite=False, input_name=name)
        if weight.shape != (n_rows,):
            raise ValueError(f"{name}.shape == {weight.shape}, expected {(n_rows,)}!")
        check_finite(weight, name)
        if (weight < 0).any():
            row = int(np.argmax(weight < 0))
            raise ValueError(f"{name} must not be negative; got {weight[row]:g} in row {row}")
        if not weight.any():
            raise ValueError(f"{name} must not be zero everywhere: no row would be left")
        return np.ascontiguousarray(weight)

    def _seed(self) -> int:
        """Drawn as scikit-learn draws it, so that early stopping keeps the same rows aside."""
        return (
            0 if self.random_state is None else int(check_random_state(self.random_state).randint(np.iinfo(np.uint32).max, dtype=np.uint64))
        )

    def _stops_early(self, n_rows: int, X_val: Any, callbacks: Sequence[Callback], loss: Loss) -> bool:
        if self.boosting == "forest":
            if self.early_stopping is True or X_val is not None:
                raise ValueError("boosting='forest' and early stopping do not go together: trees do not know of each other")
            return False
        if self.early_stopping == "auto":
            if X_val is not None or self.validation_split is not None:
                return True
            watchable = loss.has_values or self.scoring != "loss"
            own = any(isinstance(callback, EarlyStopping) for callback in callbacks)
            return n_rows > AUTO_EARLY_STOPPING_ROWS and watchable and not own
        if X_val is not None and not self.early_stopping:
            raise ValueError("X_val and y_val are passed to fit while at the same time early_stopping is False: they would not be used")
        return bool(self.early_stopping)

    def _given_validation(self, given: Given, schema: Schema, loss: Loss) -> Part:
        if given.X is None or given.y is None:
            pair = {f"{name}{given.suffix}": getattr(given, name) for name in ("X", "y", "sample_weight")}
            some = next(name for name, value in [*pair.items(), *given.more.items()] if value is not None)
            missing = next(name for name, value in pair.items() if value is None)
            raise ValueError(f"{some} is provided, but {missing} was not provided")
        table = self._table(given.X, schema)
        y = self._validation_targets(given.y, table.n_rows, f"y{given.suffix}")
        loss.check_targets(y)
        offset = self._offset(given.X, given.offset, table.n_rows, loss.n_outputs, loss.link, f"offset{given.suffix}")
        return replace(self._part(given, table, y), offset=offset)

    def _split(self, part: Part, X: Any, groups: Any, seed: int) -> tuple[Part, Part]:
        """Training rows and validation rows, both ascending."""
        rows = np.arange(part.table.n_rows) if part.rows is None else part.rows
        if self.validation_split is not None:
            train_rows, val_rows = split_by(self.validation_split, X, part.y, self._groups(part, groups), self._has_strata)
            train_rows, val_rows = (np.intersect1d(some, rows) for some in (train_rows, val_rows))
            if not len(train_rows) or not len(val_rows):
                raise ValueError(
                    f"validation_split={self.validation_split!r} leaves {len(train_rows)} training and {len(val_rows)} validation rows"
                )
        else:
            try:
                train_rows, val_rows = self._split_at_random(part, rows, seed)
            except ValueError as error:
                raise ValueError(
                    f"validation_fraction={self.validation_fraction} of {len(rows)} rows cannot be kept aside for early stopping "
                    f"({error}); give X_val and y_val, or early_stopping=False"
                ) from None
        return replace(part, rows=np.sort(train_rows)), replace(part, rows=np.sort(val_rows))

    def _groups(self, part: Part, groups: Any) -> Any:
        """What a splitter must not split."""
        return groups

    def _split_at_random(self, part: Part, rows: np.ndarray, seed: int) -> list[np.ndarray]:
        stratify = part.y[rows] if self._has_strata else None
        return train_test_split(rows, test_size=self.validation_fraction, stratify=stratify, random_state=seed)

    # Scoring while training

    def _measures(self, stops: bool, sets: dict[str, Part], eval_metric: Any, n_threads: int) -> dict[str, list[Measure]]:
        """What is measured on each set; first what early stopping watches."""
        scoring = [self._measure(self.scoring, n_threads)] if stops else []
        listed = eval_metric if isinstance(eval_metric, (list, tuple)) else [] if eval_metric is None else [eval_metric]
        asked = [self._measure(one, n_threads) for one in listed]
        if asked and not sets:
            raise ValueError("eval_metric is given, but no rows to measure: give eval_sets, or let early stopping keep some aside")
        default = [self._measure("loss", n_threads)]
        measures = {TRAIN: scoring} if stops else {}
        for name in sets:
            chosen = [*scoring, *asked] if name == VALIDATION else asked or scoring or default
            measures[name] = list({measure.name: measure for measure in chosen}.values())
        return measures

    def _measure(self, given: Any, n_threads: int) -> Measure:
        if isinstance(given, str) and given == "loss":
            return Measure("loss", False, lambda state, rows: rows.loss.mean(rows.y, rows.raw, rows.weight, n_threads))
        # As a parameter a function is a scorer, (estimator, X, y) -> float; for `eval_metric` it is one of (y, predicted).
        plain = given is None or isinstance(given, _BaseScorer) or (given is self.scoring and not isinstance(given, (str, Metric)))
        metric = None if plain else as_metric(given)
        if metric is not None:
            return Measure(metric.name, metric.higher_is_better, partial(self._by_metric, metric))
        if isinstance(given, str) and given not in get_scorer_names():
            raise ValueError(f"metric {given!r} is unknown; choose from loss, {', '.join(METRICS)}, or a scorer of scikit-learn")
        return Measure(scorer_name(given), True, partial(self._by_scorer, check_scoring(self, given)))

    def _by_metric(self, metric: Metric, state: Round, rows: Rows) -> float:
        if not hasattr(self, metric.response):
            raise ValueError(f"the metric {metric.name!r} needs {metric.response}, which {type(self).__name__} does not have")
        known, ids, chosen = self._known(state, rows, all_rows=metric.of_queries)
        predicted = getattr(known, metric.response)(ids)
        y = rows.y[chosen] if metric.response == "predict_proba" else self._original_targets(rows.y[chosen])
        return metric(y, predicted, None if rows.weight is None else rows.weight[chosen], rows.queries)

    def _by_scorer(self, scorer: Any, state: Round, rows: Rows) -> float:
        known, ids, chosen = self._known(state, rows)
        weights = {} if rows.weight is None else {"sample_weight": rows.weight[chosen]}
        return float(scorer(known, ids, self._original_targets(rows.y[chosen]), **weights))

    def _known(self, state: Round, rows: Rows, all_rows: bool = False) -> tuple[BaseBoosting, np.ndarray, Any]:
        """An estimator that answers from the raw predictions kept for the rows, what to ask it, and which rows that is: of training rows
        not more than a score needs."""
        n_rows, chosen = rows.pages.n_rows, slice(None)
        if rows is state.rows and not all_rows and n_rows > SCORED_TRAINING_ROWS:
            chosen = kernels.sample_rows(n_rows, 0, SCORED_TRAINING_ROWS / n_rows, 0)
        raw = rows.raw[:, chosen].T
        known = copy.copy(self)
        known.model_ = state.model
        known.__dict__["_raw_predict"] = lambda X, *_: raw[X[:, 0]]  # no need to walk the trees again
        return known, np.broadcast_to(np.arange(len(raw))[:, None], (len(raw), self.n_features_in_)), chosen

    # Using the model

    def _raw_predict(self, X: Any, offset: Any = None, rounds: Rounds = None, early_exit: float | None = None) -> np.ndarray:
        """(n_rows, n_outputs) float64."""
        if "model_" not in self.__dict__:
            check_is_fitted(self)
        table = self._table(X, self.model_.schema)
        if early_exit is not None:
            check_early_exit(early_exit, offset, self.init_)
        raw = self.model_.predict_raw(table, threads_for(table.n_rows, self.n_jobs), rounds, early_exit)
        if offset is None and self.init_ is None:
            return raw
        start = self._offset(X, offset, len(raw), raw.shape[1], self.model_.link, "offset")
        return raw if start is None else raw + start

    def apply(self, X: Any, *, rounds: Rounds = None) -> np.ndarray:
        """(n_rows, n_rounds) int32: the leaf that a row reaches in each round's tree, as its number among the nodes; where a round has
        several trees, (n_rows, n_rounds, trees_per_round). `rounds` as in `predict`."""
        check_is_fitted(self)
        return self.model_.leaves(self._table(X, self.model_.schema), resolve_threads(self.n_jobs), rounds)

    def _staged_raw(self, X: Any, offset: Any = None) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        table = self._table(X, self.model_.schema)
        start = self._offset(X, offset, table.n_rows, self.model_.n_outputs, self.model_.link, "offset")
        stages = self.model_.staged_raw(table, resolve_threads(self.n_jobs))
        return stages if start is None else (raw + start for raw in stages)

    def _offset(self, X: Any, offset: Any, n_rows: int, n_outputs: int, link: str, name: str) -> np.ndarray | None:
        """(n_rows, n_outputs): what raw predictions start from besides the model's constant; None for nothing."""
        start, init = check_offset(offset, n_rows, n_outputs, name), getattr(self, "init_", None)
        if init is None:
            return start
        if isinstance(init, Model | BaseBoosting):
            model = init if isinstance(init, Model) else init.model_
            if (model.link, model.n_outputs) != (link, n_outputs):
                raise ValueError(
                    f"init={init!r} has the link {model.link!r} and {model.n_outputs} output(s), this model {link!r} and {n_outputs}: "
                    "its raw predictions cannot be its start"
                )
            if isinstance(init, BaseBoosting):
                own = init._raw_predict(X)
            else:
                own = model.predict_raw(self._table(X, model.schema), resolve_threads(self.n_jobs))
        else:
            own = linked_predictions(init, X, link, n_outputs)
        return own if start is None else own + start

    @property
    def _has_strata(self) -> bool:
        """Whether the targets are classes that a split should have the same shares of."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        """Asked by scikit-learn. Its `inspection` asks this first, and then for a class, not a method, where it might use "recursion"."""
        asked_for = sys.modules.get(HISTOGRAMS)  # imported by whoever asks: by us it would be for nothing, mostly, and takes a while
        if asked_for is not None:
            asked_for.BaseHistGradientBoosting.register(BaseBoosting)
        return hasattr(self, "model_")

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: np.ndarray) -> np.ndarray:
        """(n_outputs, n_points): asked by `sklearn.inspection`, which knows columns by their number in its X; ours are those of the fit."""
        check_is_fitted(self)
        return recursion_of(self.model_, grid, target_features, isinstance(self, RegressorMixin))

    def describe_features(self, X: Any = None) -> Description:
        """What is taken for what: name, kind, levels or range, share of missing values, bins and constraints of each column; after the fit
        also the features that categories and datetimes are made into.

        Parameters
        ----------
        X : table, optional
            Before the fit: a table that might be fitted on. After it: one to predict, or none.

        Examples
        --------
        >>> import pandas as pd
        >>> from sapwood import BoostingRegressor
        >>> X = pd.DataFrame({"age": [20, 35, None], "member": [True, False, True]})
        >>> print(BoostingRegressor(monotonic_cst={"age": 1}).describe_features(X))
        name   | kind   | values   | missing | bins | constraints
        -------+--------+----------+---------+------+------------
        age    | number | 20 to 35 | 33.3%   |      | rises
        member | bool   | 0 to 1   | 0.0%    |      |
        """
        model = getattr(self, "model_", None)
        if model is None:
            if X is None:
                raise ValueError("Before the fit, describe_features needs a table: describe_features(X)")
            new = self._with_categories(copy.copy(self)._table(X, None), X)
            features = Features(new.n_features, new.schema.names, X, self.feature_spec)
            return describe(new.schema, new, None, resolve.constraints(self, features))
        schema, table = model.schema, None if X is None else self._table(X, model.schema)
        return describe(schema, table, model, self._constraints)

    def explain(self, X: Any, *, background: Any = None, interactions: bool = False, offset: Any = None) -> Explanation:
        """What each feature adds to each row's raw prediction: exact Shapley values of the trees.

        Parameters
        ----------
        X : table of shape (n_rows, n_features)
        background : table, optional
            Rows that stand for features that are not known ("interventional" values); without, the training rows do, as each tree counted
            them ("path-dependent" values).
        interactions : bool
            Whether to give values for each two features. They add up to those of each feature.
        offset : array, optional
            As given to `predict`: where the raw predictions start. It counts among the base values.

        Returns
        -------
        Explanation
            With the attributes and shapes of a `shap.Explanation`: `values` add up to the raw prediction less `base_values`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_diabetes
        >>> from sapwood import BoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = BoostingRegressor().fit(X, y)
        >>> found = model.explain(X[:3])
        >>> bool(np.allclose(found.values.sum(axis=1) + found.base_values, model.predict(X[:3])))
        True
        """
        check_is_fitted(self)
        if background is not None and interactions:
            raise ValueError("background and interactions=True do not go together: interactions are path-dependent")
        schema, n_threads = self.model_.schema, resolve_threads(self.n_jobs)
        table = self._table(X, schema)
        explainer = TreeExplainer(self.model_, background=None if background is None else self._table(background, schema))
        values, base = (explainer.interactions if interactions else explainer.values)(table, n_threads)
        start = self._offset(X, offset, len(base), self.model_.n_outputs, self.model_.link, "offset")
        base = base if start is None else base + start
        names = getattr(self, "feature_names_in_", None)
        one = self.model_.n_outputs == 1
        return Explanation(values[..., 0] if one else values, base[:, 0] if one else base, X, None if names is None else list(names))

    def export(self, format: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The model in another form, for prediction without this library.

        Parameters
        ----------
        format : {"c", "onnx", "treelite", "lightgbm", "xgboost", "shap"}
        path : optional
            Where to write it.
        options : of the format
            See docs/export.md.

        Returns
        -------
        str, dict or an object of the library whose format it is
        """
        check_is_fitted(self)
        if getattr(self, "init_", None) is not None:
            raise ExportError(f"init={self.init!r} is not part of the trees: export it on its own, and the trees by model_.export")
        return export(self.model_, format, path, self._export_classes, options)

    @property
    def _export_classes(self) -> list[Any] | None:
        """The labels that an exported model predicts."""
        return None

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

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in the total gain of splits; see `importances` for other kinds."""
        gains = self.importances("gain")
        if not gains.any():
            return gains
        gains /= gains.max()  # the sum of the largest might not be a number
        return gains / gains.sum()

    def importances(
        self,
        kind: str = "gain",
        X: Any = None,
        y: Any = None,
        *,
        scoring: Any = None,
        n_repeats: int = 5,
        sample_weight: Any = None,
        random_state: Any = 0,
    ) -> np.ndarray:
        """(n_features,): how much each feature matters.

        Parameters
        ----------
        kind : {"gain", "split", "cover", "permutation", "shap"}
            How trees used a feature: total gain of its splits, their number, or the training rows they sent on. Or how much it matters for
            the rows X: "permutation": how much the score of (X, y) falls when the feature's values change rows; "shap": the mean of the
            absolute Shapley values, added up over outputs.
        X, y : rows for "permutation", and (without y) for "shap"
        scoring, n_repeats, sample_weight, random_state : of "permutation", as for `sklearn.inspection.permutation_importance`
        """
        check_is_fitted(self)
        if kind not in WITH_ROWS:
            if kind not in IMPORTANCES:
                raise ValueError(f"kind={kind!r} is unknown; choose from {', '.join([*IMPORTANCES, *WITH_ROWS])}")
            return self.model_.importances(kind)
        for name, value in {"X": X, "y": y}.items():
            if value is None and (name == "X" or kind == "permutation"):
                raise ValueError(f"kind={kind!r} needs {name}: importances({kind!r}, X{', y' if kind == 'permutation' else ''})")
        if kind == "shap":
            values = np.abs(self.explain(X).values).mean(axis=0)
            return values if values.ndim == 1 else values.sum(axis=1)
        if scoring is None and not isinstance(self, ClassifierMixin | RegressorMixin):
            raise ValueError(f"kind='permutation' needs scoring for {type(self).__name__}: a function (estimator, X, y) -> float")
        rest = {"n_repeats": n_repeats, "random_state": random_state, "sample_weight": sample_weight}
        from sklearn.inspection import permutation_importance  # here, for it takes all of scikit-learn's ensembles with it

        return permutation_importance(self, X, y, scoring=scoring, **rest).importances_mean


def scorer_name(scorer: Any) -> str:
    function = getattr(scorer, "_score_func", scorer)
    return scorer if isinstance(scorer, str) else getattr(function, "__name__", "score")

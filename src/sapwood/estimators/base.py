"""What the estimators share: fit and its checks, raw predictions, importances."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sapwood import config, kernels, resolve
from sapwood.boosting import Rows, train
from sapwood.callbacks import Callback, EarlyStopping, Progress, Round
from sapwood.checks import check_finite, refuse_mask
from sapwood.data.columns import Schema
from sapwood.data.frames import array_table, frame_table, open_frame
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import Table
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.plan import make_builder, make_mode, make_row_sampler, make_tree_config
from sapwood.resolve import Features
from sapwood.threads import resolve_threads

AUTO_EARLY_STOPPING_ROWS = 10_000
SCORED_TRAINING_ROWS = 10_000  # of the training rows, for a scorer other than the loss


class BaseBoosting(BaseEstimator):
    """A scikit-learn estimator whose constructor takes the parameters of a table.

    Subclasses say which: `class Name(BaseBoosting, parameters=...)`.
    """

    _parameters: ClassVar[dict[str, config.Parameter]]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]
    model_: Model
    train_score_: np.ndarray
    validation_score_: np.ndarray

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
        config.check_names(type(self), params, self._parameters, ValueError)
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
    ) -> BaseBoosting:
        """Train on a table.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Numbers, bools, dates and times. NaN, None and what is masked are missing.
        y : array of shape (n_rows,)
        sample_weight : array of shape (n_rows,), optional
            Not negative; a row of weight 0 is as good as absent.
        X_val, y_val, sample_weight_val : optional
            Rows for early stopping, instead of some of the training rows.

        Returns
        -------
        self
        """
        # A refit that fails or is interrupted leaves the old model as it was: all that is new is set at the end.
        fresh = copy.copy(self)
        fresh._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any) -> None:
        self._validate_params()
        self._refuse_what_is_not_there_yet()
        n_threads = resolve_threads(self.n_jobs)
        previous = getattr(self, "model_", None) if self.warm_start else None
        if previous is not None and self.max_iter < previous.n_rounds:
            raise ValueError(f"max_iter={self.max_iter} must be larger than or equal to n_iter_={previous.n_rounds} when warm_start==True")
        table = self._table(X, previous.schema if previous else None)
        schema = table.schema
        self._refuse_categories(schema)
        y, loss = self._targets(y, table.n_rows, previous)
        weight = self._weights(sample_weight, y, table.n_rows, "sample_weight")
        rows = None if weight is None or weight.all() else np.flatnonzero(weight)
        seed = self._seed()
        validation = None
        stops = self._stops_early(table.n_rows if rows is None else len(rows), X_val)
        if X_val is not None or y_val is not None or sample_weight_val is not None:
            validation = self._given_validation(X_val, y_val, sample_weight_val, schema, loss)
        elif stops and self.validation_fraction is not None:
            rows, val_rows = self._split(y, weight, rows, table.n_rows, seed)
            validation = table, y, weight, val_rows
        loss.check_targets(y if rows is None else y[rows])

        features = Features(table.n_features, schema.names)
        ways = make_row_sampler(self), make_mode(self)
        forced = resolve.forced_splits(self.forced_splits, features)
        tree_config = make_tree_config(self, features, loss, weight, rows)
        build = make_builder(self, table, features, weight, rows, seed, n_threads, forced, previous)
        pages = build(table)
        train_rows = _take(pages, y, weight, rows)
        val_table, val_rows = None, None
        if validation is not None:
            val_table, val_y, val_weight, chosen = validation
            val_rows = _take(pages if val_table is table else build(val_table), val_y, val_weight, chosen)
        del pages

        callbacks: list[Callback] = []
        stopping = None
        if stops:
            history = (list(self.train_score_), list(self.validation_score_)) if previous and hasattr(self, "train_score_") else None
            stopping = EarlyStopping(self._score_function(n_threads), self.n_iter_no_change, self.tol, history)
            callbacks.append(stopping)
        if self.verbose:
            callbacks.append(Progress(self.max_iter, stopping))
        model = copy.copy(previous) if previous else None
        if model is not None:
            model.trees, model.best_round = list(model.trees), None
        if forced is not None:
            tree_config = replace(tree_config, forced=forced.on(train_rows.pages.binning))
        self.model_ = train(train_rows, val_rows, loss, tree_config, self.max_iter, seed, n_threads, callbacks, model, *ways)
        self.model_.schema = schema
        self.do_early_stopping_ = stops
        self.train_score_ = np.array(stopping.train_scores if stopping else [])
        self.validation_score_ = np.array(stopping.validation_scores if stopping else [])

    def _refuse_what_is_not_there_yet(self) -> None:
        for name in ("categorical_features", "quantile"):
            value, default = getattr(self, name, None), self._parameters.get(name)
            if value is not None and not (isinstance(value, str) and value == getattr(default, "default", None)):
                raise ValueError(f"{name} is not supported by this version of sapwood: leave it at its default (got {value!r})")

    def _refuse_categories(self, schema: Schema) -> None:
        for f in schema.categories:
            raise ValueError(
                f"Column {schema.name(f)} holds {schema.kind(f).describe()}, which is not a number: "
                "encode it as numbers (e.g. with sklearn.preprocessing.OrdinalEncoder)"
            )

    def _table(self, X: Any, schema: Schema | None) -> Table:
        """X as a Table: that of a fit, whose features are noted, or one with the features of a schema."""
        frame, absent = open_frame(X), resolve.missing_values(self.missing)
        if frame is None:
            if isinstance(X, np.ma.MaskedArray):  # what is masked is missing
                X = np.ma.filled(X.astype(np.float64), np.nan)
            own = isinstance(X, np.ndarray) and X.dtype.kind in "OmM" and X.ndim == 2
            dtype = None if own else "numeric"
            table = array_table(validate_data(self, X, reset=schema is None, dtype=dtype, ensure_all_finite=False), absent)
        else:
            if 0 in frame.shape:
                what = "feature(s)" if frame.shape[1] == 0 else "sample(s)"
                raise ValueError(f"Found array with 0 {what} (shape={frame.shape}) while a minimum of 1 is required.")
            table = frame_table(frame, absent)
            self._note_names(table.schema) if schema is None else self._check_names(table.schema, schema)
        return table if schema is None else table.match(schema)

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

    def _stops_early(self, n_rows: int, X_val: Any) -> bool:
        if self.boosting == "forest":
            if self.early_stopping is True or X_val is not None:
                raise ValueError("boosting='forest' and early stopping do not go together: trees do not know of each other")
            return False
        if self.early_stopping == "auto":
            return X_val is not None or n_rows > AUTO_EARLY_STOPPING_ROWS
        if X_val is not None and not self.early_stopping:
            raise ValueError("X_val and y_val are passed to fit while at the same time early_stopping is False: they would not be used")
        return bool(self.early_stopping)

    def _given_validation(self, X_val: Any, y_val: Any, weight_val: Any, schema: Schema, loss: Loss) -> tuple:
        if X_val is None or y_val is None:
            pair = {"X_val": X_val, "y_val": y_val, "sample_weight_val": weight_val}
            given = next(name for name, value in pair.items() if value is not None)
            missing = next(name for name, value in pair.items() if value is None)
            raise ValueError(f"{given} is provided, but {missing} was not provided")
        table = self._table(X_val, schema)
        y = self._validation_targets(y_val, table.n_rows)
        loss.check_targets(y)
        return table, y, self._weights(weight_val, y, table.n_rows, "sample_weight_val"), None

    def _split(self, y: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, n_rows: int, seed: int) -> tuple:
        """Training rows and validation rows, both ascending."""
        rows = np.arange(n_rows) if rows is None else rows
        stratify = y[rows] if isinstance(self, ClassifierMixin) else None
        try:
            train_rows, val_rows = train_test_split(rows, test_size=self.validation_fraction, stratify=stratify, random_state=seed)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {len(rows)} rows cannot be kept aside for early stopping "
                f"({error}); give X_val and y_val, or early_stopping=False"
            ) from None
        return np.sort(train_rows), np.sort(val_rows)

    def _score_function(self, n_threads: int) -> Any:
        """From a Round to (training score, validation score or None)."""
        if self.scoring == "loss":

            def by_loss(state: Round) -> tuple[float, float | None]:
                def score(rows: Rows) -> float:
                    return -state.loss.mean(rows.y, rows.raw, rows.weight, n_threads)

                return score(state.rows), None if state.validation is None else score(state.validation)

            return by_loss
        scorer = check_scoring(self, self.scoring)

        def by_scorer(state: Round) -> tuple[float, float | None]:
            def score(rows: Rows, most: int | None) -> float:
                chosen = slice(None)
                if most is not None and rows.pages.n_rows > most:
                    chosen = kernels.sample_rows(rows.pages.n_rows, 0, most / rows.pages.n_rows, 0)
                raw, y = rows.raw[:, chosen].T, self._original_targets(rows.y[chosen])
                ids = np.broadcast_to(np.arange(len(y))[:, None], (len(y), self.n_features_in_))
                known = copy.copy(self)
                known.model_ = state.model
                known.__dict__["_raw_predict"] = lambda X: raw[X[:, 0]]  # the rows are known: no need to walk the trees again
                weights = {} if rows.weight is None else {"sample_weight": rows.weight[chosen]}
                return float(scorer(known, ids, y, **weights))

            train_score = score(state.rows, SCORED_TRAINING_ROWS)
            return train_score, None if state.validation is None else score(state.validation, None)

        return by_scorer

    # Using the model

    def _raw_predict(self, X: Any) -> np.ndarray:
        """(n_rows, n_outputs) float64."""
        check_is_fitted(self)
        return self.model_.predict_raw(self._table(X, self.model_.schema), resolve_threads(self.n_jobs))

    def _staged_raw(self, X: Any) -> Iterator[np.ndarray]:
        check_is_fitted(self)
        return self.model_.staged_raw(self._table(X, self.model_.schema), resolve_threads(self.n_jobs))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
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

    def importances(self, kind: str = "gain") -> np.ndarray:
        """How much each feature was used: total "gain" of its splits, number of "split"s, or rows they sent on ("cover")."""
        check_is_fitted(self)
        return self.model_.importances(kind)


def _take(pages: Pages | SortedRows, y: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None) -> Rows:
    if rows is None:
        return Rows(pages, y, weight)
    return Rows(pages.take(rows), y[rows], None if weight is None else weight[rows])

"""The sets of rows that a fit works on: those that trees grow on, and those that are watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import check_cv

from sapwood.callbacks import VALIDATION, Callback, EarlyStopping
from sapwood.data.columns import Schema
from sapwood.data.dataset import Dataset
from sapwood.estimators.init_score import fitted_init, initial_raw
from sapwood.estimators.inputs import FitInput, FitOptions
from sapwood.estimators.tables import first_table, note_names, table_like, what_is_missing
from sapwood.losses import Loss
from sapwood.params.preparing import seen_levels
from sapwood.sampling.held_out import hold_out
from sapwood.training.warm_start import WarmStart

if TYPE_CHECKING:
    from sapwood.estimators.base import BaseBoosting

AUTO_EARLY_STOPPING_ROWS = 10_000


@dataclass(frozen=True)
class FitData:
    """What a fit was given, checked.

    Attributes
    ----------
    train : the rows that trees grow on
    watched : the rows that are measured besides, by name
    schema : the columns of the model
    loss : for the targets there are
    seed : of all that is random in the fit
    stops : whether training may stop early
    """

    train: Dataset
    watched: dict[str, Dataset]
    schema: Schema
    loss: Loss
    seed: int
    stops: bool


def read_sets(estimator: BaseBoosting, given: FitInput, given_validation: FitInput, watching: FitOptions, start: WarmStart) -> FitData:
    """Read and check what the user gave. What a fit leaves behind of targets, columns and `init` is set in the estimator."""
    previous = start.model
    if previous is None:
        table = first_table(estimator, given.X)
    else:
        note_names(estimator, previous.schema)
        table = table_like(estimator, given.X, previous.schema)
    y, loss = estimator._targets(given.y, table.n_rows, start)
    start.check_loss(loss)
    train = estimator._part(given, table, y).counting()
    if train.rows is not None and table.schema.categories and previous is None:
        train = replace(train, table=table.match(seen_levels(table, train.rows)))
    schema = replace(train.table.schema, **what_is_missing(estimator)) if previous is None else previous.schema
    seed, validation = estimator._seed(), None
    stops = start.grows and stops_early(estimator, train.n_rows, given_validation.X, watching.callbacks, loss)
    if not given_validation.any and stops and (estimator.validation_fraction is not None or estimator.validation_split is not None):
        train, validation = split(estimator, train, given.X, watching.groups, seed)
    loss.check_targets(train.take(train.y))
    estimator.init_ = fitted_init(estimator.init, given.X, given.y, train.weight, train.rows) if previous is None else start.init
    train = replace(train, offset=initial_raw(estimator, given.X, given.offset, table.n_rows, loss))
    if given_validation.any:
        validation = _other_part(estimator, given_validation, schema, loss)
    elif validation is not None:
        validation = replace(validation, offset=train.offset)
    watched = {} if validation is None else {VALIDATION: validation}
    watched |= {name: _other_part(estimator, one, schema, loss) for name, one in watching.named_sets().items()}
    return FitData(train, watched, schema, loss, seed, stops)


def _other_part(estimator: BaseBoosting, given: FitInput, schema: Schema, loss: Loss) -> Dataset:
    """Rows that are not trained on."""
    if given.X is None or given.y is None:
        pair = {f"{name}{given.suffix}": getattr(given, name) for name in ("X", "y", "sample_weight")}
        some = next(name for name, value in [*pair.items(), *given.more.items()] if value is not None)
        missing = next(name for name, value in pair.items() if value is None)
        raise ValueError(f"{some} is provided, but {missing} was not provided")
    table = table_like(estimator, given.X, schema)
    y = estimator._validation_targets(given.y, table.n_rows, f"y{given.suffix}")
    loss.check_targets(y)
    offset = initial_raw(estimator, given.X, given.offset, table.n_rows, loss, f"offset{given.suffix}")
    return replace(estimator._part(given, table, y), offset=offset)


def stops_early(estimator: BaseBoosting, n_rows: int, X_val: Any, callbacks: Sequence[Callback], loss: Loss) -> bool:
    """Whether an estimator may stop early, from its parameters and what it is given."""
    if estimator.boosting == "forest":
        if estimator.early_stopping is True or X_val is not None:
            raise ValueError("boosting='forest' and early stopping do not go together: trees do not know of each other")
        return False
    if estimator.early_stopping == "auto":
        if X_val is not None or estimator.validation_split is not None:
            return True
        watchable = loss.has_values or estimator.scoring != "loss"
        own = any(isinstance(callback, EarlyStopping) for callback in callbacks)
        return n_rows > AUTO_EARLY_STOPPING_ROWS and watchable and not own
    if X_val is not None and not estimator.early_stopping:
        raise ValueError("X_val and y_val are passed to fit while at the same time early_stopping is False: they would not be used")
    return bool(estimator.early_stopping)


def split(estimator: BaseBoosting, part: Dataset, X: Any, groups: Any, seed: int) -> tuple[Dataset, Dataset]:
    """Training rows and validation rows, both ascending. Queries stay whole."""
    rows = np.arange(part.table.n_rows) if part.rows is None else part.rows
    if estimator.validation_split is not None:
        train_rows, val_rows = _split_by(estimator, part, X, groups, rows)
    else:
        try:
            train_rows, val_rows = _split_at_random(estimator, part, rows, seed)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={estimator.validation_fraction} of {len(rows)} rows cannot be kept aside for early stopping "
                f"({error}); give X_val and y_val, or early_stopping=False"
            ) from None
    return replace(part, rows=train_rows), replace(part, rows=val_rows)


def _split_by(estimator: BaseBoosting, part: Dataset, X: Any, groups: Any, rows: np.ndarray) -> list[np.ndarray]:
    """The last split of a splitter of scikit-learn. For those that shuffle or fold it is like any other; for those that keep the order of
    time it is the one that trains on all but the latest rows."""
    splitter, of_row = estimator.validation_split, None if part.queries is None else part.queries.of_row
    folds = check_cv(splitter, part.y, classifier=estimator._has_strata)
    *_, both = folds.split(X, part.y, of_row if groups is None else groups)
    twice = np.intersect1d(*both)
    if len(twice):
        raise ValueError(f"validation_split={splitter!r} puts row {twice[0]} into both training and validation rows")
    both = [np.intersect1d(some, rows) for some in both]
    if not len(both[0]) or not len(both[1]):
        raise ValueError(f"validation_split={splitter!r} leaves {len(both[0])} training and {len(both[1])} validation rows")
    if part.queries is not None and of_row is not None and len(cut := np.intersect1d(of_row[both[0]], of_row[both[1]])):
        raise ValueError(
            f"validation_split={splitter!r} splits the query that begins in row {part.queries.begin[cut[0]]}: use a splitter that keeps "
            "groups whole, such as GroupShuffleSplit, which is given the queries as groups"
        )
    return both


def _split_at_random(estimator: BaseBoosting, part: Dataset, rows: np.ndarray, seed: int) -> list[np.ndarray]:
    """Some of the rows, in the shares of their classes; or some of the queries."""
    units = rows if part.queries is None else np.unique(part.queries.of_row[rows])
    strata = part.y[rows] if estimator._has_strata else None
    both = list(hold_out(units, estimator.validation_fraction, strata, seed))
    return both if part.queries is None else [rows[np.isin(part.queries.of_row[rows], some)] for some in both]

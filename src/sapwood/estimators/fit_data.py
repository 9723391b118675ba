"""Data sets of a fit: training set and evaluation sets, read and checked."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sapwood.callbacks import TRAIN, VALIDATION, Callback, EarlyStopping
from sapwood.data.columns import Schema
from sapwood.data.dataset import Dataset
from sapwood.data.reading import read_table
from sapwood.data.tables import Table
from sapwood.estimators.init_score import fitted_init, initial_raw
from sapwood.estimators.inputs import FitCall, FitInput
from sapwood.estimators.shape import has_separate_outputs, shape_of
from sapwood.estimators.tables import first_table, missing_settings
from sapwood.estimators.targets import Targets
from sapwood.estimators.tasks import Task
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.params.columns import Features
from sapwood.params.presets import PER_OUTPUT, ResolvedParams, Shape, resolve_parameters
from sapwood.params.signatures import CommonParameters, ResolvedParameters
from sapwood.runtime.execution import Execution
from sapwood.sampling.folds import fold_of_units
from sapwood.sampling.held_out import hold_out
from sapwood.training.warm_start import WarmStart

AUTO_EARLY_STOPPING_ROWS = 10_000
RUN_KEY = 0xD1342543DE82EF95  # odd: seeds of training runs differ
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class FitData:
    """Checked data of a fit.

    Attributes
    ----------
    given : parameters as the user gave them
    shape : facts that the values of parameters that were 'auto' were chosen by
    parameters : without 'auto'
    resolved : values chosen for parameters that were 'auto'
    train : training set
    eval_sets : evaluation sets by name; "validation" is that of early stopping
    schema : columns of the model
    features : columns by the names that parameters use
    targets : kind of the targets
    loss : loss for these targets
    init : estimator or model of the initial raw predictions
    seed : random seed of the fit
    stop_set : name of the data set that early stopping uses; None if training does not stop early
    splits : pairs of training set and validation set, for procedures with several training runs
    """

    given: CommonParameters
    shape: Shape
    parameters: ResolvedParameters
    resolved: ResolvedParams
    train: Dataset
    eval_sets: dict[str, Dataset]
    schema: Schema
    features: Features
    targets: Targets
    loss: Loss
    init: Any
    seed: int
    stop_set: str | None
    splits: tuple[tuple[Dataset, Dataset], ...] = ()


def read_data(parameters: CommonParameters, task: Task[Any], call: FitCall, start: WarmStart, reader: str, execution: Execution) -> FitData:
    """Read and check the data of a call of `fit`. `reader` is the name of the estimator, for error messages."""
    inputs, previous = call.train, start.model
    allow_empty = not execution.is_local  # a partition may have no rows
    if previous is None:
        table = first_table(parameters, inputs.source, reader, execution)
    else:
        table = read_table(inputs.source, previous.schema, reader, allow_empty)
    targets, y = task.read_targets(inputs.y, table.n_rows, start, execution)
    loss = task.loss(targets)
    start.check_loss(loss)
    train = task.dataset(inputs, table, y, targets, execution).without_empty(execution)
    if train.rows is not None and table.schema.categories and previous is None and not table.is_stored:
        train = replace(train, table=table.match(seen_levels(table, train.rows, execution)))
    schema = replace(train.table.schema, **missing_settings(parameters)) if previous is None else previous.schema
    shape = shape_of(train, loss, call, parameters.scoring, execution)
    p, resolved = resolve_parameters(parameters, shape, continues=bool(start.how))
    seed, validation = draw_seed(p.random_state), None
    named = call.options.named_sets()
    check_output_stopping(p, loss)
    stops = start.grows and stops_early(p, execution.total(train.n_rows), call.validation.X, call.options.callbacks, loss)
    stop_set = None
    splits: list[tuple[Dataset, Dataset]] = []
    if trains_several(p):
        _check_procedure(p, call, start, stops)
        splits, stop_set = (
            _splits(p, train, splittable(inputs, table), call.options.groups, seed, targets.has_strata, execution),
            VALIDATION,
        )
    elif stops:
        stop_set = choose_stop_set(p, call.validation.any, named)
    if not splits and stop_set == VALIDATION and not call.validation.any:
        train, validation = split(p, train, splittable(inputs, table), call.options.groups, seed, targets.has_strata, execution)
    loss.check_all_targets(train.take(train.y), execution)
    _check_init(p.init, execution)
    init = fitted_init(p.init, inputs.X, inputs.y, train.weight, train.rows) if previous is None else start.init
    train = replace(train, offset=initial_raw(init, inputs.source, inputs.offset, table.n_rows, loss, p.n_jobs, reader))

    def eval_set(inputs: FitInput) -> Dataset:
        _check_complete(inputs)
        table = read_table(inputs.source, schema, reader, allow_empty)
        y = targets.encode(inputs.y, table.n_rows, f"y{inputs.suffix}")
        loss.check_all_targets(y, execution)
        offset = initial_raw(init, inputs.source, inputs.offset, table.n_rows, loss, p.n_jobs, reader, f"offset{inputs.suffix}")
        return replace(task.dataset(inputs, table, y, targets, execution), offset=offset)

    if call.validation.any:
        validation = eval_set(call.validation)
    elif validation is not None:
        validation = replace(validation, offset=train.offset)
    eval_sets = {} if validation is None else {VALIDATION: validation}
    eval_sets |= {name: eval_set(given) for name, given in named.items()}
    features = Features(table.n_features, schema.names, inputs.source, p.feature_spec)
    offset = train.offset
    splits = [(replace(kept, offset=offset), replace(held_out, offset=offset)) for kept, held_out in splits]
    return FitData(parameters, shape, p, resolved, train, eval_sets, schema, features, targets, loss, init, seed, stop_set, tuple(splits))


def splittable(inputs: FitInput, table: Table) -> Any:
    """Return the table for a splitter of scikit-learn: X, or as many empty rows as a stream has."""
    return inputs.X if table.random_access else np.empty((table.n_rows, 0))


def _check_complete(inputs: FitInput) -> None:
    """Raise a ValueError if X or y is missing while another argument of the evaluation set is given."""
    if inputs.X is None or inputs.y is None:
        arguments = {f"{name}{inputs.suffix}": getattr(inputs, name) for name in ("X", "y", "sample_weight", "offset")}
        present = next(name for name, value in [*arguments.items(), *inputs.more.items()] if value is not None)
        missing = next(name for name, value in arguments.items() if value is None)
        raise ValueError(f"{present} is provided, but {missing} was not provided")


def _check_init(init: Any, execution: Execution) -> None:
    """Raise a ValueError if `init` would have to be fitted to the rows of several partitions."""
    if not execution.is_local and init is not None and not isinstance(init, Model):
        try:
            check_is_fitted(init)
        except NotFittedError:
            raise ValueError(f"init={init!r} cannot be combined with several partitions of the rows: fit it first") from None


def seen_levels(table: Table, rows: np.ndarray, execution: Execution) -> Schema:
    """Return the schema of a table without the levels that do not occur in these rows."""
    schema, kinds = table.schema, dict(table.schema.kinds)
    for column in schema.categories:
        used = np.unique(execution.gather(np.unique(table.column(column)[rows])))
        if not kinds[column].ordered:
            kinds[column] = replace(kinds[column], levels=tuple(kinds[column].levels[code] for code in used if code >= 0))
    return replace(schema, kinds=kinds)


def draw_seed(random_state: Any) -> int:
    """Draw the seed of a fit as scikit-learn does, so that early stopping holds out the same rows."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(np.iinfo(np.uint32).max, dtype=np.uint64))


def run_seed(seed: int, number: int) -> int:
    """Return the seed of one of several training runs. That of the first is the seed of the fit."""
    return (seed + number * RUN_KEY) & MASK


def check_output_stopping(p: ResolvedParameters, loss: Loss) -> None:
    """Raise a ValueError if `early_stopping='per_output'` does not fit the targets and the other parameters."""
    if p.early_stopping != PER_OUTPUT:
        return
    if not has_separate_outputs(loss):
        raise ValueError("early_stopping='per_output' needs several targets, each with a loss of its own; use early_stopping=True")
    clashes = {
        f"scoring={p.scoring!r}": p.scoring != "loss",
        f"multi_strategy={p.multi_strategy!r}": p.multi_strategy == "multi_output_tree",
        f"boosting={p.boosting!r}": p.boosting != "plain",
    }
    for other, clash in clashes.items():
        if clash:
            raise ValueError(f"early_stopping='per_output' cannot be combined with {other}: use early_stopping=True")


def stops_early(p: ResolvedParameters, n_rows: int, X_val: Any, callbacks: Sequence[Callback], loss: Loss) -> bool:
    """Return whether training may stop early."""
    if p.boosting == "forest":
        if p.early_stopping in (True, PER_OUTPUT) or X_val is not None:
            raise ValueError(
                "boosting='forest' cannot be combined with early stopping: trees are independent of each other; leave X_val out"
            )
        return False
    if p.early_stopping == "auto":
        if X_val is not None or p.validation_split is not None or trains_several(p):
            return True
        has_score = loss.has_loss_values or p.scoring != "loss"
        has_callback = any(isinstance(callback, EarlyStopping) for callback in callbacks)
        return n_rows > AUTO_EARLY_STOPPING_ROWS and has_score and not has_callback
    if X_val is not None and not p.early_stopping:
        raise ValueError("X_val and y_val are passed to fit while at the same time early_stopping is False: they would not be used")
    return bool(p.early_stopping)


def trains_several(p: ResolvedParameters) -> bool:
    """Return whether there are several training runs, on parts of the rows or on all rows again."""
    return p.validation_folds is not None or bool(p.refit_all) or p.n_models > 1


def _check_procedure(p: ResolvedParameters, call: FitCall, start: WarmStart, stops: bool) -> None:
    """Raise a ValueError for parameters and arguments that are not supported with several training runs."""
    folds, several = p.validation_folds is not None, p.n_models > 1
    name = f"validation_folds={p.validation_folds}" if folds else f"n_models={p.n_models}" if several else "refit_all=True"
    clashes = {
        f"n_models={p.n_models}": folds and several,
        "early_stopping=False": not stops,
        "X_val": call.validation.any,
        f"boosting={p.boosting!r}": p.boosting != "plain",
        f"tree_method={p.tree_method!r}": p.tree_method in ("exact", "approx"),
        "validation_split": folds and p.validation_split is not None,
        "validation_fraction=None": not folds and p.validation_fraction is None and p.validation_split is None,
        start.how or "warm_start": bool(start.how),
        "eval_sets": (folds or several) and bool(call.options.eval_sets),
        "callbacks": bool(call.options.callbacks),
    }
    for other, clash in clashes.items():
        if clash:
            raise ValueError(f"{name} cannot be combined with {other}: leave one of them out")


def _splits(
    p: ResolvedParameters, data: Dataset, X: Any, groups: Any, seed: int, strata: bool, execution: Execution
) -> list[tuple[Dataset, Dataset]]:
    """Return pairs of training set and validation set, one for each model."""
    if p.validation_folds is None:
        n_splits = 1 if p.refit_all else p.n_models  # with refit_all, further models are trained on all rows
        return [split(p, data, X, groups, run_seed(seed, number), strata, execution) for number in range(n_splits)]
    rows = np.arange(data.table.n_rows) if data.rows is None else data.rows
    if groups is not None:
        fold = fold_of_units(len(rows), p.validation_folds, None, seed, execution, np.asarray(groups)[rows])
    elif data.queries is not None:
        units, of_row = np.unique(data.queries.of_row[rows], return_inverse=True)
        fold = fold_of_units(len(units), p.validation_folds, None, seed, execution)[of_row]
    else:
        fold = fold_of_units(len(rows), p.validation_folds, data.y[rows] if strata else None, seed, execution)
    if len(empty := np.setdiff1d(np.arange(p.validation_folds), execution.gather(np.unique(fold)))):
        raise ValueError(
            f"validation_folds={p.validation_folds} leaves fold {empty[0]} without rows: {execution.total(len(rows))} rows (or their "
            "groups or queries) are too few; use fewer folds"
        )
    return [(replace(data, rows=rows[fold != k]), replace(data, rows=rows[fold == k])) for k in range(p.validation_folds)]


def choose_stop_set(p: ResolvedParameters, has_validation: bool, eval_sets: Collection[str]) -> str:
    """Return the name of the data set that early stopping uses: X_val, else a single evaluation set, else held-out rows, else the training
    set."""
    if has_validation or p.validation_split is not None:
        return VALIDATION
    if len(eval_sets) == 1:
        return next(iter(eval_sets))
    if eval_sets:
        instead = "a part of the training rows" if p.validation_fraction is not None else "the training score"
        warnings.warn(
            f"early stopping uses {instead}, because {len(eval_sets)} eval_sets are given: pass only one, or pass X_val and y_val",
            stacklevel=2,
        )
    return TRAIN if p.validation_fraction is None else VALIDATION


def split(
    p: ResolvedParameters, data: Dataset, X: Any, groups: Any, seed: int, strata: bool, execution: Execution
) -> tuple[Dataset, Dataset]:
    """Split into training set and validation set. Rows stay ascending; queries are not split."""
    rows = np.arange(data.table.n_rows) if data.rows is None else data.rows
    if p.validation_split is not None:
        train_rows, val_rows = _split_by(p.validation_split, data, X, groups, rows, strata, execution)
    else:
        try:
            train_rows, val_rows = _split_at_random(p.validation_fraction, data, rows, seed, strata, execution)
        except ValueError as error:
            raise ValueError(
                f"validation_fraction={p.validation_fraction} of {execution.total(len(rows))} rows cannot be held out for early stopping "
                f"({error}); give X_val and y_val, or early_stopping=False"
            ) from None
    return replace(data, rows=train_rows), replace(data, rows=val_rows)


def _split_by(splitter: Any, data: Dataset, X: Any, groups: Any, rows: np.ndarray, strata: bool, execution: Execution) -> list[np.ndarray]:
    """Return training and validation rows from the last split of a scikit-learn splitter. With TimeSeriesSplit, the last split validates on
    the latest rows."""
    if not execution.is_local:
        raise ValueError("validation_split cannot be combined with several partitions of the rows: use validation_fraction, or X_val")
    of_row = None if data.queries is None else data.queries.of_row
    folds = check_cv(splitter, data.y, classifier=strata)
    *_, (train, validation) = folds.split(X, data.y, of_row if groups is None else groups)
    common = np.intersect1d(train, validation)
    if len(common):
        raise ValueError(f"validation_split={splitter!r} puts row {common[0]} into both training and validation rows")
    train, validation = np.intersect1d(train, rows), np.intersect1d(validation, rows)
    if not len(train) or not len(validation):
        raise ValueError(f"validation_split={splitter!r} leaves {len(train)} training and {len(validation)} validation rows")
    if data.queries is not None and of_row is not None and len(cut := np.intersect1d(of_row[train], of_row[validation])):
        raise ValueError(
            f"validation_split={splitter!r} splits the query that begins in row {data.queries.begin[cut[0]]}: use a splitter that keeps "
            "groups together, such as GroupShuffleSplit; the queries are passed to it as groups"
        )
    return [train, validation]


def _split_at_random(fraction: Any, data: Dataset, rows: np.ndarray, seed: int, strata: bool, execution: Execution) -> list[np.ndarray]:
    """Return training and validation rows from a random split: of rows, stratified by class, or of whole queries."""
    units = rows if data.queries is None else np.unique(data.queries.of_row[rows])
    train_and_validation = list(hold_out(units, fraction, data.y[rows] if strata else None, seed, execution))
    if data.queries is None:
        return train_and_validation
    return [rows[np.isin(data.queries.of_row[rows], queries)] for queries in train_and_validation]

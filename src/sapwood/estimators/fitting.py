"""A fit: from what the user gave to a trained model, and all else that it leaves in the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sapwood.callbacks import TRAIN, VALIDATION, Callback, EarlyStopping, Log, Measure, ProgressBar, Remember, Scores
from sapwood.data.fingerprint import Fingerprint, join_digests
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import Table
from sapwood.encoding.encoding import Fitted
from sapwood.estimators.fit_data import FitData, read_sets
from sapwood.estimators.inputs import FitInput, FitOptions
from sapwood.estimators.scikit_callbacks import ScikitCallbacks
from sapwood.estimators.scorers import make_measures
from sapwood.params import resolve
from sapwood.params.plan import make_mode, make_row_sampler, make_step, make_strategy, make_tree_config
from sapwood.params.preparing import make_builder, make_encoding, refuse_categories
from sapwood.params.resolve import Features
from sapwood.runtime.execution import local_execution
from sapwood.training.boosting import Rows, train
from sapwood.training.checkpoint import Checkpoint, CheckpointWriter
from sapwood.training.fit_signature import FitSignature, as_text
from sapwood.training.warm_start import WarmStart
from sapwood.version import __version__

if TYPE_CHECKING:
    from sapwood.estimators.base import BaseBoosting


def fit(e: BaseBoosting, given: FitInput, given_validation: FitInput, watching: FitOptions, start: WarmStart) -> None:
    """Train an estimator whose parameters are checked."""
    execution, n_rounds = local_execution(e.n_jobs), start.rounds(e.max_iter)
    sets = read_sets(e, given, given_validation, watching, start)
    part, loss, seed = sets.train, sets.loss, sets.seed
    features = Features(part.table.n_features, sets.schema.names, given.X, e.feature_spec)
    strategy = start.strategy(make_strategy(e, loss, part.n_rows, start))
    ways = make_row_sampler(e), make_mode(e, loss, start), make_step(e, loss), strategy
    forced = resolve.forced_splits(e.forced_splits, features)
    refuse_categories(sets.schema, resolve.monotonic(e.monotonic_cst, features), forced, resolve.cut_points(e.cut_points, features))
    data = part.fingerprint(execution=execution)
    same_rows = start.data in (None, data.digest)
    encoded = make_encoding(e, part, features, loss, seed, start, same_rows)
    config = make_tree_config(e, features, encoded.encoding, loss, part.weights)
    build = make_builder(e, part, encoded, features, seed, execution, forced, start.model)
    rows, watched = _binned(sets, encoded, build)

    measures = make_measures(e, sets.stops, watched, watching.eval_metric, execution)
    scores = Scores(measures, getattr(e, "_scores", None) if start.how == "warm_start" else None)
    callbacks = [Remember(sets.schema, encoded.encoding), scores, *_own_callbacks(e, sets), *watching.callbacks]
    if ScikitCallbacks.wanted(e):
        callbacks.append(ScikitCallbacks(e, given.X, given.y))
    model = start.own_model(rows, loss, execution) or e._first_model(rows, loss, strategy.shared, execution)
    if forced is not None:
        config = replace(config, forced=forced.on(rows.pages.binning))
    checkpoints = CheckpointWriter()
    if watching.checkpoint is not None:
        known = {TRAIN: data, **{name: one.fingerprint(part.table, execution) for name, one in sets.watched.items()}}
        checkpoints = Checkpoint.of(watching.checkpoint).open(_identity(e, known, measures, seed, start, watching))

    e.model_ = train(rows, watched, loss, config, n_rounds, seed, execution, callbacks, model, *ways, checkpoints)
    e._constraints = resolve.constraints(e, features)
    e.do_early_stopping_ = sets.stops
    e._set_scores(scores.values)
    e.train_score_, e.validation_score_ = (_watched_scores(scores, on, sets.stops) for on in (TRAIN, VALIDATION))
    e.provenance_ = {"sapwood": __version__, "n_rows": part.n_rows, "data": join_digests(filter(None, (start.data, data.digest)))}


def _binned(sets: FitData, encoded: Fitted, build: Callable[[Table], Pages | SortedRows]) -> tuple[Rows, dict[str, Rows]]:
    """The rows of all sets; those that were set aside are of the same table as the training rows."""
    table, pages = sets.train.table, build(encoded.features)
    rows = sets.train.on(pages)
    return rows, {
        name: one.on(pages if one.table is table else build(encoded.encoding.apply(one.table))) for name, one in sets.watched.items()
    }


def _own_callbacks(estimator: BaseBoosting, sets: FitData) -> list[Callback]:
    """Those that the estimator's parameters ask for."""
    callbacks: list[Callback] = []
    if sets.stops:
        on = VALIDATION if VALIDATION in sets.watched else TRAIN
        callbacks.append(EarlyStopping(estimator.n_iter_no_change, min_delta=estimator.tol, on=on))
    if estimator.verbose:
        callbacks.append(ProgressBar() if estimator.verbose == 1 else Log())
    return callbacks


def _identity(
    estimator: BaseBoosting,
    data: dict[str, Fingerprint],
    measures: dict[str, list[Measure]],
    seed: int,
    start: WarmStart,
    watching: FitOptions,
) -> FitSignature:
    """What decides on the bytes of the model, and on the scores."""
    free = {"n_jobs", "verbose", "random_state", "warm_start"} | ({"max_iter"} if estimator.boosting != "forest" else set())
    settings = {"the estimator": as_text(type(estimator).__name__)}
    settings |= {name: as_text(value) for name, value in estimator.get_params(deep=False).items() if name not in free}
    settings |= {
        "random_state": f"the seed {seed}",
        "the classes": as_text(getattr(estimator, "classes_", None)),
        "the model to go on from": as_text(start.model),
        "what is measured": as_text({on: [measure.name for measure in of] for on, of in measures.items()}),
        "callbacks": as_text([(type(callback), callback.settings()) for callback in watching.callbacks]),
        "the version of Sapwood": __version__,
    }
    return FitSignature(settings, data)


def _watched_scores(scores: Scores, on: str, stops: bool) -> np.ndarray:
    """What early stopping watched on a set; higher is better."""
    if not stops or on not in scores.measures:
        return np.array([])
    measure = scores.measures[on][0]
    return np.array(scores.values[on][measure.name]) * (1.0 if measure.higher_is_better else -1.0)

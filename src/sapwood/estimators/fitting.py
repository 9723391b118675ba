"""A fit: from the arguments of the user to a trained model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.callbacks import TRAIN, VALIDATION, Callback, EarlyStopping, Log, Measure, ProgressBar, Scores
from sapwood.data.dataset import Dataset
from sapwood.data.fingerprint import Fingerprint, join_digests
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import Table
from sapwood.encoding.encoding import Fitted
from sapwood.estimators.fit_data import FitData, read_sets
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.fitted_view import Prototype
from sapwood.estimators.inputs import FitCall
from sapwood.estimators.scorers import Scoring
from sapwood.estimators.tasks import Task
from sapwood.params.plan import make_plan
from sapwood.params.signatures import CommonParameters
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import Rows, train
from sapwood.training.checkpoint import Checkpoint, CheckpointWriter
from sapwood.training.fit_signature import FitSignature, as_text
from sapwood.training.warm_start import WarmStart
from sapwood.version import __version__


def fit(p: CommonParameters, task: Task[Any], prototype: Prototype, call: FitCall, start: WarmStart, execution: Execution) -> FitResult:
    """Train a model. Parameters are checked; nothing is written to the estimator, which is known by its prototype only.

    Of several partitions each calls it with its own rows, and all get the same model.
    """
    sets = read_sets(p, task, call, start, prototype.name, execution)
    data, loss, seed = sets.train, sets.loss, sets.seed
    plan = make_plan(p, sets.features, sets.schema, loss, execution.total(data.n_rows), start)
    fingerprint = data.fingerprint(execution=execution)
    encoded = plan.encoding.fit(data, loss, seed, start, execution, same_rows=start.data in (None, fingerprint.digest))
    build = plan.binning.builder(data, encoded, seed, execution, start.model)
    rows, eval_sets = _binned(sets, encoded, build, execution)
    training = plan.training(encoded.encoding, rows, seed, execution)
    model = start.own_model(rows, loss, execution)
    if model is None:
        base_score = sets.targets.base_score(rows, loss, execution)
        model = training.first_model(rows, base_score, schema=sets.schema, encoding=encoded.encoding)

    result = FitResult(model, sets.targets, sets.init, plan.columns.describe(), sets.stops)
    scoring = Scoring(p.scoring, task, sets.targets, prototype, result, execution)
    measures = scoring.measures(sets.stops, eval_sets, call.options.eval_metric)
    scores = Scores(measures, start.scores)
    callbacks = [scores, *_own_callbacks(p, sets), *call.options.callbacks, *prototype.callbacks(result, call.train.X, call.train.y)]
    checkpoints = CheckpointWriter()
    if call.options.checkpoint is not None:
        if not execution.is_local:
            raise ValueError("checkpoint cannot be combined with several partitions of the rows")
        known = {TRAIN: fingerprint, **{name: one.fingerprint(data.table, execution) for name, one in sets.eval_sets.items()}}
        signature = _signature(p, prototype.name, sets, known, measures, start, call.options.callbacks)
        checkpoints = Checkpoint.of(call.options.checkpoint).open(signature)

    model = train(rows, eval_sets, model, training, execution, callbacks, checkpoints)
    digest = join_digests(filter(None, (start.data, fingerprint.digest)))
    return replace(
        result,
        model=model,
        scores=scores.values,
        train_score=_stopping_scores(scores, TRAIN, sets.stops),
        validation_score=_stopping_scores(scores, VALIDATION, sets.stops),
        provenance={"sapwood": __version__, "n_rows": execution.total(data.n_rows), "data": digest},
    )


def _binned(
    sets: FitData, encoded: Fitted, build: Callable[[Table, np.ndarray | None], Pages | SortedRows], execution: Execution
) -> tuple[Rows, dict[str, Rows]]:
    """Rows of all sets in bins. Held-out rows are a selection of the table of the training rows."""

    def binned(data: Dataset) -> Rows:
        table = encoded.features if data.table is sets.train.table else encoded.encoding.apply(data.table)
        return Rows.of(data.binned(build(table, data.rows), execution))

    return binned(sets.train), {name: binned(one) for name, one in sets.eval_sets.items()}


def _own_callbacks(p: CommonParameters, sets: FitData) -> list[Callback]:
    """Callbacks that the parameters ask for."""
    callbacks: list[Callback] = []
    if sets.stops:
        on = VALIDATION if VALIDATION in sets.eval_sets else TRAIN
        callbacks.append(EarlyStopping(p.n_iter_no_change, min_delta=p.tol, on=on))
    if p.verbose:
        callbacks.append(ProgressBar() if p.verbose == 1 else Log())
    return callbacks


def _signature(
    p: CommonParameters,
    name: str,
    sets: FitData,
    data: dict[str, Fingerprint],
    measures: dict[str, list[Measure]],
    start: WarmStart,
    callbacks: Sequence[Callback],
) -> FitSignature:
    """All that decides on the bytes of the model, and on the scores."""
    free = {"n_jobs", "verbose", "random_state", "warm_start"} | ({"max_iter"} if p.boosting != "forest" else set())
    settings = {"the estimator": as_text(name)}
    settings |= {name: as_text(value) for name, value in vars(p).items() if name not in free}
    settings |= {
        "random_state": f"the seed {sets.seed}",
        "the classes": as_text(getattr(sets.targets, "classes", None)),
        "the model to continue from": as_text(start.model),
        "what is measured": as_text({on: [measure.name for measure in of] for on, of in measures.items()}),
        "callbacks": as_text([(type(callback), callback.settings()) for callback in callbacks]),
        "the version of Sapwood": __version__,
    }
    return FitSignature(settings, data)


def _stopping_scores(scores: Scores, on: str, stops: bool) -> np.ndarray:
    """Scores of a set that early stopping uses; higher is better."""
    if not stops or on not in scores.measures:
        return np.array([])
    measure = scores.measures[on][0]
    return np.array(scores.values[on][measure.name]) * (1.0 if measure.higher_is_better else -1.0)

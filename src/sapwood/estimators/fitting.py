"""A fit: from the arguments of the user to a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.callbacks import TRAIN, Callback, EarlyStopping, Log, Measure, ProgressBar
from sapwood.data.fingerprint import Fingerprint, join_digests
from sapwood.estimators.fit_data import FitData, read_sets
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.fitted_view import Prototype
from sapwood.estimators.inputs import FitCall
from sapwood.estimators.procedures import AveragedFolds, Procedure, Replayed, Single, Trained, Trainer
from sapwood.estimators.scorers import Scoring
from sapwood.estimators.tasks import Task
from sapwood.model import Model
from sapwood.params.plan import make_plan
from sapwood.params.signatures import CommonParameters
from sapwood.runtime.execution import Execution
from sapwood.training.checkpoint import Checkpoint, CheckpointWriter
from sapwood.training.fit_signature import FitSignature, as_text
from sapwood.training.warm_start import WarmStart
from sapwood.version import __version__


def fit(p: CommonParameters, task: Task[Any], prototype: Prototype, call: FitCall, start: WarmStart, execution: Execution) -> FitResult:
    """Train a model. Parameters are checked; nothing is written to the estimator, which is known by its prototype only.

    Of several partitions each calls it with its own rows, and all get the same model.
    """
    sets = read_sets(p, task, call, start, prototype.name, execution)
    data, loss, options = sets.train, sets.loss, call.options
    plan = make_plan(p, sets.features, sets.schema, loss, execution.total(data.n_rows), start)
    fingerprint = data.fingerprint(execution=execution)
    encoded = plan.encoding.fit(data, loss, sets.seed, start, execution, same_rows=start.data in (None, fingerprint.digest))

    def result(model: Model) -> FitResult:
        return FitResult(model, sets.targets, sets.init, plan.columns.describe(), sets.stop_set is not None)

    def measures(model: Model, eval_sets: Sequence[str]) -> dict[str, list[Measure]]:
        scoring = Scoring(p.scoring, task, sets.targets, prototype, result(model), execution)
        return scoring.measures(sets.stop_set, eval_sets, options.eval_metric)

    def callbacks(model: Model) -> list[Callback]:
        return [*_own_callbacks(p, sets), *options.callbacks, *prototype.callbacks(result(model), call.train.X, call.train.y)]

    def open_checkpoint(measures: dict[str, list[Measure]]) -> CheckpointWriter:
        if options.checkpoint is None:
            return CheckpointWriter()
        if not execution.is_local:
            raise ValueError("checkpoint cannot be combined with several partitions of the rows")
        known = {TRAIN: fingerprint, **{name: one.fingerprint(data.table, execution) for name, one in sets.eval_sets.items()}}
        return Checkpoint.of(options.checkpoint).open(_signature(p, prototype.name, sets, known, measures, start, options.callbacks))

    build = plan.binning.builder(data, encoded, sets.seed, execution, start.model)
    trainer = Trainer(sets, plan, start, encoded, build, measures, callbacks, open_checkpoint, execution)
    trained = procedure_of(p).run(trainer)
    digest = join_digests(filter(None, (start.data, fingerprint.digest)))
    return replace(
        result(trained.model),
        scores=trained.scores,
        train_score=_stopping_scores(trained, None if sets.stop_set is None else TRAIN),
        validation_score=_stopping_scores(trained, None if sets.stop_set == TRAIN else sets.stop_set),
        provenance={"sapwood": __version__, "n_rows": execution.total(data.n_rows), "data": digest},
    )


def procedure_of(p: CommonParameters) -> Procedure:
    """Training procedure that the parameters ask for."""
    return AveragedFolds() if p.validation_folds is not None else Replayed() if p.refit_all else Single()


def _own_callbacks(p: CommonParameters, sets: FitData) -> list[Callback]:
    """Callbacks that the parameters ask for."""
    callbacks: list[Callback] = []
    if sets.stop_set is not None:
        callbacks.append(EarlyStopping(p.n_iter_no_change, min_delta=p.tol, on=sets.stop_set))
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


def _stopping_scores(trained: Trained, on: str | None) -> np.ndarray:
    """Scores of a set by the measure of early stopping; higher is better."""
    if on is None or on not in trained.measures:
        return np.array([])
    measure = trained.measures[on][0]
    return np.array(trained.scores[on][measure.name]) * (1.0 if measure.higher_is_better else -1.0)

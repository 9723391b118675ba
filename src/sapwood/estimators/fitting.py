"""Fit: from the arguments of the user to a trained model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from sapwood.callbacks import TRAIN, Callback, EarlyStopping, Log, Measure, ProgressBar, TimeLimit
from sapwood.callbacks.stopping import OutputStopping
from sapwood.data.fingerprint import Fingerprint, join_digests
from sapwood.estimators.alternatives import make_alternatives
from sapwood.estimators.device_choice import choose_device
from sapwood.estimators.fit_data import FitData, read_data, trains_several
from sapwood.estimators.fit_result import FitResult
from sapwood.estimators.fitted_view import Prototype
from sapwood.estimators.inputs import FitCall
from sapwood.estimators.memory_plan import check_memory, plan_storage
from sapwood.estimators.page_folder import check_pages, prepare_features
from sapwood.estimators.procedures import Folds, Procedure, Single, Trained, Trainer
from sapwood.estimators.saving import NOT_SAVED
from sapwood.estimators.scorers import Scoring
from sapwood.estimators.streaming import check_streams
from sapwood.estimators.tasks import Task
from sapwood.model import Model
from sapwood.params.plan import make_plan
from sapwood.params.presets import PER_OUTPUT
from sapwood.params.signatures import CommonParameters, ResolvedParameters
from sapwood.runtime.execution import Execution
from sapwood.training.checkpoint import Checkpoint, CheckpointWriter
from sapwood.training.fit_signature import FitSignature, as_text
from sapwood.training.warm_start import WarmStart
from sapwood.version import __version__


def fit(
    parameters: CommonParameters, task: Task[Any], prototype: Prototype, call: FitCall, start: WarmStart, execution: Execution
) -> FitResult:
    """Train a model.

    Parameters have been validated. The estimator is known only by its prototype, and is not changed. With several partitions, each calls
    this function with its own rows, and all get the same model.
    """
    began = time.monotonic()
    limits: list[TimeLimit] = []
    execution = choose_device(parameters, execution)
    check_streams(parameters, call)
    check_pages(call, parameters.pages_dir, parameters.init)
    check_memory(parameters, call)
    call = call.with_values()
    data, options = read_data(parameters, task, call, start, prototype.name, execution), call.options
    p = data.parameters
    n_rows = execution.total(data.train.n_rows)
    plan = make_plan(p, data.features, data.schema, data.loss, n_rows, start)

    @cache
    def fingerprint() -> Fingerprint:
        return data.train.fingerprint(execution=execution)  # late: the passes over a stream that come first hash it

    same_rows = start.data is None or start.data == fingerprint().digest
    storage = plan_storage(p, data)
    encoded, build = prepare_features(plan, data, call, start, storage, execution, same_rows)

    def result(model: Model) -> FitResult:
        return FitResult(model, data.targets, data.init, plan.columns.describe(), data.stop_set is not None, resolved=data.resolved)

    def measures(model: Model, eval_sets: Sequence[str]) -> dict[str, list[Measure]]:
        scoring = Scoring(p.scoring, task, data.targets, prototype, result(model), execution)
        return scoring.measures(data.stop_set, eval_sets, options.eval_metric)

    def callbacks(model: Model, until: float) -> list[Callback]:
        if p.time_limit is not None:
            limits.append(TimeLimit(max(1e-9, p.time_limit * until - (time.monotonic() - began))))
        own = [*limits[-1:], *_own_callbacks(p, data, execution)]
        all_ = [*own, *options.callbacks, *prototype.callbacks(result(model), call.train.X, call.train.y)]
        return [callback for callback in all_ if execution.collective.rank == 0 or not callback.first_partition_only]

    def open_checkpoint(measures: dict[str, list[Measure]], run: str) -> CheckpointWriter:
        if options.checkpoint is None:
            return CheckpointWriter()
        checkpoint = Checkpoint.of(options.checkpoint)
        if checkpoint.for_partitions and not isinstance(procedure, Single):
            if checkpoint.optional:
                return CheckpointWriter()
            several = "validation_folds, refit_all or n_models"
            raise ValueError(f"checkpoint cannot be combined with {several} on a cluster: leave one of them out")
        if not execution.is_local and not checkpoint.for_partitions:
            raise ValueError("checkpoint cannot be combined with several partitions of the rows")
        fingerprints = {name: eval_set.fingerprint(data.train.table, execution) for name, eval_set in data.eval_sets.items()}
        fingerprints = {TRAIN: fingerprint(), **fingerprints}
        signature = _signature(p, prototype.name, data, fingerprints, measures, start, options.callbacks, run)
        return checkpoint.of_run(run).open(signature)

    procedure = make_procedure(p)
    trainer = Trainer(data, plan, start, encoded, build, storage is not None, measures, callbacks, open_checkpoint, execution)

    def other_trainer(data: FitData) -> Trainer:
        other = make_plan(data.parameters, data.features, data.schema, data.loss, n_rows, start)
        if other.encoding.crosses == plan.encoding.crosses:
            return replace(trainer, data=data, plan=other)
        other_encoded, other_build = prepare_features(other, data, call, start, storage, execution, same_rows)
        return replace(trainer, data=data, plan=other, encoded=other_encoded, build=other_build)

    trained = procedure.run(replace(trainer, alternatives=make_alternatives(data, other_trainer)))
    if timed_out := execution.any(any(limit.reached for limit in limits)):
        warnings.warn(f"time_limit={p.time_limit} ended training: the model has {trained.model.n_rounds} rounds", UserWarning, stacklevel=2)
    digest = join_digests(filter(None, (start.data, fingerprint().digest)))
    return replace(
        result(trained.model),
        resolved=trained.resolved,
        scores=trained.scores,
        train_score=_stopping_scores(trained, None if data.stop_set is None else TRAIN),
        validation_score=_stopping_scores(trained, None if data.stop_set == TRAIN else data.stop_set),
        provenance={"sapwood": __version__, "n_rows": n_rows, "data": digest},
        timed_out=timed_out,
        transfers=None if execution.device is None else execution.device.transfers,
    )


def make_procedure(p: ResolvedParameters) -> Procedure:
    """Return the training procedure."""
    return Folds(bool(p.refit_all), p.n_models - 1 if p.refit_all else 0) if trains_several(p) else Single()


def _own_callbacks(p: ResolvedParameters, data: FitData, execution: Execution) -> list[Callback]:
    """Return the callbacks of the parameters early_stopping and verbose."""
    callbacks: list[Callback] = []
    if data.stop_set is not None and p.early_stopping == PER_OUTPUT:
        callbacks.append(OutputStopping(p.n_iter_no_change, data.stop_set, p.tol, execution))
    elif data.stop_set is not None:
        callbacks.append(EarlyStopping(p.n_iter_no_change, min_delta=p.tol, on=data.stop_set))
    if p.verbose:
        callbacks.append(ProgressBar() if p.verbose == 1 else Log())
    return callbacks


def _signature(
    p: ResolvedParameters,
    name: str,
    data: FitData,
    fingerprints: dict[str, Fingerprint],
    measures: dict[str, list[Measure]],
    start: WarmStart,
    callbacks: Sequence[Callback],
    run: str,
) -> FitSignature:
    """Return the signature of everything that determines the bytes of the model and the scores."""
    ignored = {"random_state", "warm_start", "time_limit", *NOT_SAVED} | ({"max_iter"} if p.boosting != "forest" else set())
    settings = {"the estimator": as_text(name)}
    settings |= {name: as_text(value) for name, value in vars(p).items() if name not in ignored}
    settings |= {
        "random_state": f"the seed {data.seed}",
        "the classes": as_text(getattr(data.targets, "classes", None)),
        "the model to continue": as_text(start.model),
        "the metrics": as_text({on: [measure.name for measure in of] for on, of in measures.items()}),
        "callbacks": as_text([(type(callback), callback.settings()) for callback in callbacks]),
        "the version of Sapwood": __version__,
        **({"the training run": run} if run else {}),
    }
    return FitSignature(settings, fingerprints)


def _stopping_scores(trained: Trained, on: str | None) -> np.ndarray:
    """Return the scores of early stopping on a data set; higher is better."""
    if on is None or on not in trained.measures:
        return np.array([])
    measure = trained.measures[on][0]
    return np.array(trained.scores[on][measure.name]) * (1.0 if measure.higher_is_better else -1.0)

"""Alternatives to the parameters that a preset chose: trainers with other parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sapwood.estimators.fit_data import FitData
from sapwood.estimators.procedures import Alternative, Trainer
from sapwood.model import Model
from sapwood.params.alternatives import cross_candidates, leafwise_trees, may_cross
from sapwood.params.presets import Choice, with_value

CROSS_MARGIN = 0.005  # fraction of the score by which cross features must be better than none
CROSS_ROUNDS = 50  # rounds between comparisons: training with cross features ends when they are not better

MakeTrainer = Callable[[FitData], Trainer]


def make_alternatives(data: FitData, make_trainer: MakeTrainer) -> list[Alternative]:
    """Return the alternatives of a fit. `make_trainer` returns a trainer for other parameters."""
    found = []
    if (leafwise := leafwise_trees(data.given, data.resolved, data.shape)) is not None:
        other = replace(data, parameters=leafwise[0], resolved=leafwise[1])
        found.append(Alternative("leafwise", lambda trainer, model: make_trainer(other)))
    if may_cross(data.given, data.resolved, data.shape):
        found.append(Alternative("cross", lambda trainer, model: _with_crosses(trainer, model, make_trainer), CROSS_MARGIN, CROSS_ROUNDS))
    return found


def _with_crosses(trainer: Trainer, model: Model, make_trainer: MakeTrainer) -> Trainer | None:
    data = trainer.data
    crosses = cross_candidates(model, data.schema)
    if not crosses:
        return None
    choice = Choice(crosses, "better than none on held-out rows")
    parameters, resolved = with_value(data.parameters, data.resolved, "cross_features", choice)
    return make_trainer(replace(data, parameters=parameters, resolved=resolved))

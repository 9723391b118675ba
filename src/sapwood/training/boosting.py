"""The boosting loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sapwood.callbacks import Callback, Round
from sapwood.data.columns import Schema
from sapwood.data.dataset import BinnedDataset
from sapwood.encoding.encoding import Encoding
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.sampling.rows import RowSampler
from sapwood.training.checkpoint import CheckpointWriter
from sapwood.training.line_search import Step
from sapwood.training.modes import Mode, Training
from sapwood.training.multi_output import Fit, TreePerOutput, tree_key
from sapwood.trees.binned_prediction import add_tree
from sapwood.trees.grower import TreeConfig
from sapwood.trees.growth import make_grower
from sapwood.trees.leaf_assignment import LeafAssignment


@dataclass
class Rows(BinnedDataset):
    """Binned data set whose raw predictions are kept up to date while a model is trained.

    Attributes
    ----------
    raw : (n_outputs, n_rows) float64: raw predictions so far
    loss : bound to these rows
    """

    raw: np.ndarray = field(init=False)
    loss: Loss = field(init=False)

    @classmethod
    def of(cls, data: BinnedDataset) -> Rows:
        return cls(data.pages, data.y, data.weight, data.queries, data.offset, data.row_range)

    def begin(self, model: Model, loss: Loss, execution: Execution) -> None:
        self.loss, self.raw = loss.bind(self.queries, execution), model.start_raw(self.pages, execution, self.offset)

    def constant(self, model: Model) -> np.ndarray:
        """(n_outputs, n_rows) float64: the raw predictions without any tree."""
        start = np.repeat(model.base_score[:, None], self.n_rows, axis=1)
        return start if self.offset is None else start + self.offset


@dataclass(frozen=True)
class TrainingPlan:
    """How a model is trained.

    Attributes
    ----------
    loss : for the targets of the training rows
    tree : how a tree grows
    n_rounds : of the model when training ends
    seed : of all that is random
    sampler : draws the rows of each tree
    mode : where gradients are taken, and what becomes of a round's trees
    step : factor of a tree
    strategy : trees of a round
    """

    loss: Loss
    tree: TreeConfig
    n_rounds: int
    seed: int = 0
    sampler: RowSampler = field(default_factory=RowSampler)
    mode: Mode = field(default_factory=Mode)
    step: Step = field(default_factory=Step)
    strategy: TreePerOutput = field(default_factory=TreePerOutput)

    def first_model(
        self,
        rows: BinnedDataset,
        base_score: np.ndarray | None = None,
        *,
        schema: Schema | None = None,
        encoding: Encoding | None = None,
        execution: Execution = SERIAL,
    ) -> Model:
        """Model without trees. `base_score` is its constant; None for the one with the least loss."""
        if base_score is None:
            base_score = self.loss.base_score_with_offset(rows.y, rows.weight, rows.offset, execution)
        loss, shared = self.loss, self.strategy.shared
        return Model(rows.pages.binning, base_score, loss.name, loss.link, shared=shared, schema=schema, encoding=encoding)


def train(
    rows: Rows,
    watched: Mapping[str, Rows],
    model: Model,
    plan: TrainingPlan,
    execution: Execution,
    callbacks: Sequence[Callback] = (),
    checkpoints: CheckpointWriter | None = None,
) -> Model:
    """Boost a model until it has `plan.n_rounds` rounds, or until a callback says stop.

    Predictions are kept for the evaluation sets, `watched`, too.
    """
    loss, config, seed, mode, strategy = plan.loss, plan.tree, plan.seed, plan.mode, plan.strategy
    sampler, checkpoints = plan.sampler.bind(rows.queries, rows.y, rows.rows, execution), checkpoints or CheckpointWriter()
    model = checkpoints.resume(model)
    for part in (rows, *watched.values()):
        part.begin(model, loss, execution)
    loss, raw = rows.loss, rows.raw
    state = Round(model.n_rounds, plan.n_rounds, model, rows, dict(watched), config)
    try:
        for callback in callbacks:
            callback.before_training(state)
        mode.begin(Training(model, [rows, *watched.values()], seed, execution))
        grower, leaves = make_grower(rows.pages, rows.rows.first, execution), LeafAssignment(rows.n_rows)
        config.rules.constrain(grower, config.frontier.splits_levels_jointly, rows.pages.binning.kinds)
        weight = np.ones(rows.pages.n_rows) if sampler.weights_rows and rows.weight is None else rows.weight
        strategy.begin(Fit(rows, weight, loss, sampler, mode, grower, leaves, plan.step, seed, execution))
        checkpoints.restore(state, mode, callbacks)
        while not state.over:
            for callback in callbacks:
                callback.before_round(state)
            round_ = state.n_rounds
            split_raw, leaf_raw = mode.before_round(round_)
            loss.before_round(tree_key(seed, len(model.trees)))
            for tree in strategy.trees(split_raw, leaf_raw, len(model.trees), state.config):
                outputs = model.outputs_of(len(model.trees))
                model.append(tree)
                tree.leaves.add_to(raw[outputs], leaves, execution)
                for part in watched.values():
                    add_tree(part.pages, tree, part.raw[outputs], execution)
            mode.after_round(round_)
            state.n_rounds = round_ + 1
            # Every callback hears every round.
            state.stopped = any([callback.after_round(state) for callback in callbacks])  # noqa: C419
            checkpoints.after_round(state, mode, callbacks)
    finally:
        for callback in callbacks:
            callback.after_training(state)
    mode.finish()
    model.finish(rows.pages)
    return model

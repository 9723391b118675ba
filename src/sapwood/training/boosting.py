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
from sapwood.training.modes import Mode, TrainingState
from sapwood.training.multi_output import TreeFitter, TreePerOutput, tree_key
from sapwood.trees.binned_prediction import add_tree
from sapwood.trees.grower import TreeConfig
from sapwood.trees.growth import make_grower
from sapwood.trees.leaf_fit import LeafFit


@dataclass
class BoostingDataset(BinnedDataset):
    """Binned training or evaluation set with the current raw predictions of its rows.

    Attributes
    ----------
    raw : (n_outputs, n_rows) float64 raw predictions of the trees grown so far
    loss : the loss, bound to these rows
    """

    raw: np.ndarray = field(init=False)
    loss: Loss = field(init=False)

    @classmethod
    def of(cls, data: BinnedDataset) -> BoostingDataset:
        return cls(data.pages, data.y, data.weight, data.queries, data.offset, data.row_range)

    def begin(self, model: Model, loss: Loss, execution: Execution) -> None:
        """Bind the loss and compute the raw predictions of the model."""
        self.loss, self.raw = loss.bind(self.queries, execution), model.predict_binned(self.pages, execution, self.offset)

    def base_raw(self, model: Model) -> np.ndarray:
        """Return the (n_outputs, n_rows) float64 raw predictions without trees: base score plus offset."""
        base = np.repeat(model.base_score[:, None], self.n_rows, axis=1)
        return base if self.offset is None else base + self.offset


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of the boosting loop.

    Attributes
    ----------
    loss : loss of the training rows
    tree : configuration of the tree grower
    n_rounds : number of rounds of the model when training ends
    seed : random seed
    sampler : draws the rows of each tree
    mode : boosting mode: plain, ordered, DART or forest
    step : step size of a tree before the learning rate
    strategy : one tree per output, or trees shared by all outputs
    leaf_fit : constant or linear leaves
    """

    loss: Loss
    tree: TreeConfig
    n_rounds: int
    seed: int = 0
    sampler: RowSampler = field(default_factory=RowSampler)
    mode: Mode = field(default_factory=Mode)
    step: Step = field(default_factory=Step)
    strategy: TreePerOutput = field(default_factory=TreePerOutput)
    leaf_fit: LeafFit = field(default_factory=LeafFit)

    def first_model(
        self,
        train_set: BinnedDataset,
        base_score: np.ndarray | None = None,
        *,
        schema: Schema | None = None,
        encoding: Encoding | None = None,
        execution: Execution = SERIAL,
    ) -> Model:
        """Return a model without trees. If `base_score` is None, use the constant that minimizes the loss."""
        if base_score is None:
            base_score = self.loss.base_score_with_offset(train_set.y, train_set.weight, train_set.offset, execution)
        loss, shared = self.loss, self.strategy.shared
        return Model(
            train_set.pages.binning,
            base_score,
            loss.name,
            loss.link,
            shared=shared,
            leaf_model=self.leaf_fit.leaf_model,
            schema=schema,
            encoding=encoding,
        )


def train(
    train_set: BoostingDataset,
    eval_sets: Mapping[str, BoostingDataset],
    model: Model,
    plan: TrainingPlan,
    execution: Execution,
    callbacks: Sequence[Callback] = (),
    checkpoints: CheckpointWriter | None = None,
) -> Model:
    """Add boosting rounds to a model until it has `plan.n_rounds` rounds or a callback requests a stop.

    The raw predictions of the training set and of the evaluation sets are updated after each tree.
    """
    loss, config, seed, mode, strategy = plan.loss, plan.tree, plan.seed, plan.mode, plan.strategy
    sampler = plan.sampler.bind(train_set.queries, train_set.y, train_set.rows, execution)
    checkpoints = checkpoints or CheckpointWriter()
    model = checkpoints.resume(model)
    datasets = [train_set, *eval_sets.values()]
    for dataset in datasets:
        dataset.begin(model, loss, execution)
    loss, raw = train_set.loss, train_set.raw
    state = Round(model.n_rounds, plan.n_rounds, model, train_set, dict(eval_sets), config)
    try:
        for callback in callbacks:
            callback.before_training(state)
        mode.begin(TrainingState(model, datasets, seed, execution))
        grower, leaves = make_grower(train_set.pages, train_set.rows.first, execution), plan.leaf_fit.assignment(train_set.pages)
        plan.leaf_fit.begin(train_set.pages, execution)
        config.rules.constrain(grower, config.frontier.splits_levels_jointly, train_set.pages.binning.kinds)
        weight = np.ones(train_set.n_rows) if sampler.weights_rows and train_set.weight is None else train_set.weight
        strategy.begin(TreeFitter(train_set, weight, loss, sampler, mode, grower, leaves, plan.step, plan.leaf_fit, seed, execution))
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
                for eval_set in eval_sets.values():
                    add_tree(eval_set.pages, tree, eval_set.raw[outputs], execution)
            mode.after_round(round_)
            state.n_rounds = round_ + 1
            # A list, not a generator: all callbacks are called in every round, even if one requests a stop.
            state.stopped = execution.any(any([callback.after_round(state) for callback in callbacks]))  # noqa: C419
            checkpoints.after_round(state, mode, callbacks)
    finally:
        for callback in callbacks:
            callback.after_training(state)
    mode.finish()
    model.finish(train_set.pages)
    return model

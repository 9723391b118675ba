"""The boosting loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sapwood.callbacks import Callback, Round
from sapwood.data.pages import Pages
from sapwood.data.queries import Queries
from sapwood.data.sorted import SortedRows
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.modes import Mode, Training
from sapwood.sampling.rows import RowSampler
from sapwood.steps import Step
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.tree import Leaves

MASK = (1 << 64) - 1


@dataclass
class Rows:
    """Binned rows with their targets, and what training keeps for them."""

    pages: Pages | SortedRows
    y: np.ndarray  # (n_rows,) float64
    weight: np.ndarray | None  # (n_rows,) float64
    queries: Queries | None = None  # which rows are ranked against each other
    offset: np.ndarray | None = None  # (n_outputs, n_rows) float64: what raw predictions start from, besides the model's constant
    raw: np.ndarray = field(init=False)  # (n_outputs, n_rows) float64: raw predictions so far
    loss: Loss = field(init=False)  # bound to these rows

    def begin(self, model: Model, loss: Loss, n_threads: int) -> None:
        self.loss, self.raw = loss.bind(self.queries), model.start_raw(self.pages, n_threads)
        if self.offset is not None:
            self.raw += self.offset


def train(
    rows: Rows,
    watched: Mapping[str, Rows],
    loss: Loss,
    config: TreeConfig,
    max_iter: int,
    seed: int,
    n_threads: int,
    callbacks: Sequence[Callback] = (),
    model: Model | None = None,
    sampler: RowSampler | None = None,
    mode: Mode | None = None,
    step: Step | None = None,
) -> Model:
    """Boost until `max_iter` rounds, or until a callback says stop. A given model goes on from where it is.

    Predictions are kept for the rows that are `watched`, too.
    """
    sampler, mode = (sampler or RowSampler()).bind(rows.queries, rows.y), mode or Mode()
    step = step or Step()
    if model is None:
        model = Model(rows.pages.binning, loss.start(rows.y, rows.weight, rows.offset, n_threads), loss.name, loss.link)
    for part in (rows, *watched.values()):
        part.begin(model, loss, n_threads)
    loss, raw = rows.loss, rows.raw
    state = Round(model.n_rounds, max_iter, model, rows, dict(watched), config)
    try:
        for callback in callbacks:
            callback.before_training(state)
        mode.begin(Training(model, [(part.pages, part.raw) for part in (rows, *watched.values())], seed, n_threads))
        workspace, leaves = rows.pages.workspace(n_threads), Leaves(rows.pages.n_rows)
        config.rules.constrain(workspace, config.frontier.joint, rows.pages.binning.kinds)
        weight = np.ones(rows.pages.n_rows) if sampler.multiplies and rows.weight is None else rows.weight
        for round_ in range(model.n_rounds, max_iter):
            for callback in callbacks:
                callback.before_round(state)
            config = state.config
            now = mode.before_round(round_)
            loss.before_round(tree_key(seed, len(model.trees)))
            for output, records in enumerate(loss.records(rows.y, now, weight, n_threads, sampler.headroom)):
                key = tree_key(seed, len(model.trees))
                tree = grow_tree(workspace, rows.pages.binning, records, config, key, leaves, sampler.draw(records, key, n_threads))
                if loss.renews_leaves:
                    steps = leaves.by_group(partial(loss.leaf_values, rows.y, now, rows.weight, n_threads=n_threads))
                    tree.value[leaves.nodes] = config.rules.shape_steps(steps, leaves.count, leaves.limits) * config.learning_rate
                tree.value *= step.factor(tree.value[leaves.nodes] / config.learning_rate, rows, now, output, leaves, n_threads)
                model.append(tree)
                leaves.add_values(tree.value[leaves.nodes], raw[output], n_threads)
                for part in watched.values():
                    part.pages.add_tree(tree, part.raw[output], n_threads)
            mode.after_round(round_)
            state.n_rounds = round_ + 1
            # Every callback hears every round.
            if any([callback.after_round(state) for callback in callbacks]):  # noqa: C419
                break
    finally:
        for callback in callbacks:
            callback.after_training(state)
    mode.finish()
    rows.pages.finish(model)
    return model


def tree_key(seed: int, tree: int) -> int:
    """What tells one tree's randomness from another's."""
    return (seed * 0x9E3779B97F4A7C15 + (tree + 1) * 0xBF58476D1CE4E5B9) & MASK

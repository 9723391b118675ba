"""The boosting loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sapwood.callbacks import Callback, Round
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.modes import Mode, Training
from sapwood.sampling.rows import RowSampler
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.tree import Leaves

MASK = (1 << 64) - 1


@dataclass
class Rows:
    """Binned rows with their targets, and the raw predictions for them so far."""

    pages: Pages | SortedRows
    y: np.ndarray  # (n_rows,) float64
    weight: np.ndarray | None  # (n_rows,) float64
    raw: np.ndarray = field(init=False)  # (n_outputs, n_rows) float64; training fills it


def train(
    rows: Rows,
    validation: Rows | None,
    loss: Loss,
    config: TreeConfig,
    max_iter: int,
    seed: int,
    n_threads: int,
    callbacks: Sequence[Callback] = (),
    model: Model | None = None,
    sampler: RowSampler | None = None,
    mode: Mode | None = None,
) -> Model:
    """Boost until `max_iter` rounds, or until a callback says stop. A given model goes on from where it is."""
    sampler, mode = sampler or RowSampler(), mode or Mode()
    if model is None:
        model = Model(rows.pages.binning, loss.base_score(rows.y, rows.weight), loss.name, loss.link)
    raw = rows.raw = model.start_raw(rows.pages, n_threads)
    if validation is not None:
        validation.raw = model.start_raw(validation.pages, n_threads)
    for callback in callbacks:
        callback.before_training(Round(model.n_rounds, model, rows, validation, loss))
    mode.begin(Training(model, [(part.pages, part.raw) for part in (rows, validation) if part is not None], seed, n_threads))
    workspace, leaves = rows.pages.workspace(n_threads), Leaves(rows.pages.n_rows)
    config.rules.constrain(workspace, config.frontier.joint)
    weight = np.ones(rows.pages.n_rows) if sampler.multiplies and rows.weight is None else rows.weight
    for round_ in range(model.n_rounds, max_iter):
        now = mode.before_round(round_)
        for output, records in enumerate(loss.records(rows.y, now, weight, n_threads, sampler.headroom)):
            key = tree_key(seed, len(model.trees))
            tree = grow_tree(workspace, rows.pages.binning, records, config, key, leaves, sampler.draw(records, key, n_threads))
            if loss.renews_leaves:
                steps = leaves.by_group(partial(loss.leaf_values, rows.y, now, rows.weight, n_threads=n_threads))
                tree.value[leaves.nodes] = config.rules.shape_steps(steps, leaves.count, leaves.limits) * config.learning_rate
            model.append(tree)
            leaves.add_values(tree.value[leaves.nodes], raw[output], n_threads)
            if validation is not None:
                validation.pages.add_tree(tree, validation.raw[output], n_threads)
        mode.after_round(round_)
        # Every callback hears every round.
        if any(callback.after_round(Round(round_ + 1, model, rows, validation, loss)) for callback in callbacks):
            break
    mode.finish()
    rows.pages.finish(model)
    return model


def tree_key(seed: int, tree: int) -> int:
    """What tells one tree's randomness from another's."""
    return (seed * 0x9E3779B97F4A7C15 + (tree + 1) * 0xBF58476D1CE4E5B9) & MASK

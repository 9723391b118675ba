"""The boosting loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sapwood.callbacks import Callback, Round
from sapwood.data.pages import Pages
from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.tree import Leaves

MASK = (1 << 64) - 1


@dataclass
class Rows:
    """Binned rows with their targets, and the raw predictions for them so far."""

    pages: Pages
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
) -> Model:
    """Boost until `max_iter` rounds, or until a callback says stop. A given model goes on from where it is."""
    if model is None:
        model = Model(rows.pages.binning, loss.base_score(rows.y, rows.weight), loss.name, loss.link)
    raw = rows.raw = model.start_raw(rows.pages, n_threads)
    if validation is not None:
        validation.raw = model.start_raw(validation.pages, n_threads)
    for callback in callbacks:
        callback.before_training(Round(model.n_rounds, model, rows, validation, loss))
    workspace, leaves = rows.pages.workspace(n_threads), Leaves(rows.pages.n_rows)
    for round_ in range(model.n_rounds, max_iter):
        for output, records in enumerate(loss.records(rows.y, raw, rows.weight, n_threads)):
            tree = grow_tree(workspace, model.binning, records, config, tree_key(seed, len(model.trees)), leaves)
            if loss.renews_leaves:
                steps = loss.leaf_values(rows.y, raw, rows.weight, leaves.of_row, len(leaves.nodes), n_threads)
                tree.value[leaves.nodes] = steps * config.learning_rate
            model.append(tree)
            leaves.add_values(tree.value[leaves.nodes], raw[output], n_threads)
            if validation is not None:
                model.add_tree(tree, validation.pages, validation.raw[output], n_threads)
        # Every callback hears every round.
        if any(callback.after_round(Round(round_ + 1, model, rows, validation, loss)) for callback in callbacks):
            break
    return model


def tree_key(seed: int, tree: int) -> int:
    """What tells one tree's randomness from another's."""
    return (seed * 0x9E3779B97F4A7C15 + (tree + 1) * 0xBF58476D1CE4E5B9) & MASK

"""Boosting modes: at which predictions gradients are taken, and what becomes of a round's trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sapwood.model import Model
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.binned_prediction import add_tree
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import LeafModel
from sapwood.trees.tree import Tree

if TYPE_CHECKING:
    from sapwood.training.boosting import Rows
    from sapwood.trees.grower import TreeConfig

MASK = (1 << 64) - 1


@dataclass
class Training:
    """State that a mode reads and changes: the model so far, and the raw predictions of training rows and evaluation sets."""

    model: Model
    rows: list[Rows]  # the training rows first
    seed: int
    execution: Execution

    def add(self, tree: int, factor: float) -> None:
        """Add a factor times a tree of the model to all raw predictions."""
        for part in self.rows:
            add_tree(part.pages, self.model.trees[tree], part.raw[self.model.outputs_of(tree)], self.execution, factor)


class Mode:
    """Plain boosting: gradients at the predictions of all trees so far.

    A mode's life: `begin`; each round `before_round`, which gives the raw predictions to take gradients at, `after_growth` of each tree,
    and `after_round`; `finish`.
    """

    def begin(self, training: Training) -> None:
        self.training = training

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        """(n_outputs, n_rows) float64 each: the raw predictions at which splits are sought, and those at which leaves get their values."""
        return self.training.rows[0].raw, self.training.rows[0].raw

    def after_growth(self, tree: Tree, leaves: LeafAssignment, outputs: slice, config: TreeConfig) -> Tree:
        """Replace a tree for some outputs before its leaves get their values; `leaves` has the leaf of each training row."""
        return tree

    def after_round(self, round_: int) -> None:
        """The trees of the round are in the model and in the predictions."""

    def finish(self) -> None:
        """The best round is known."""

    def keep(self) -> dict[str, np.ndarray]:
        """State that a checkpoint saves besides the model, after a round."""
        return {}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Take back what `keep` gave, after `begin`."""


class Forest(Mode):
    """A random forest: every tree takes its gradients at the base score. With steps of 1 / n_trees they add up to their mean."""

    def begin(self, training: Training) -> None:
        super().begin(training)
        self.base: np.ndarray = training.rows[0].constant(training.model)

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        return self.base, self.base


class Dart(Mode):
    """Dropout for trees (Vinayak and Gilad-Bachrach, 2015): each round leaves some of the trees out, fits what they explained anew, and
    shrinks both so that the sum keeps its size: the new tree to 1 / (k + 1), the k old ones to k / (k + 1).

    Early stopping keeps the weights that the best round had.
    """

    drop_rate: float
    skip_drop: float
    max_drop: int | None

    def __init__(self, drop_rate: float, skip_drop: float, max_drop: int | None) -> None:
        self.drop_rate, self.skip_drop, self.max_drop = drop_rate, skip_drop, max_drop

    def begin(self, training: Training) -> None:
        super().begin(training)
        self.grown: list[LeafModel] = [tree.leaves for tree in training.model.trees]  # as they were grown
        self.factors: list[list[tuple[int, float]]] = [[] for _ in self.grown]  # of each tree: the round, and what it was multiplied by

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        self.dropped: list[int] = [tree for r in self._draw(round_) for tree in self._trees(r)]
        for tree in self.dropped:
            self.training.add(tree, -1.0)
        return super().before_round(round_)

    def after_round(self, round_: int) -> None:
        model = self.training.model
        new = list(self._trees(round_))
        self.grown += [model.trees[tree].leaves for tree in new]
        self.factors += [[] for _ in new]
        k = len(self.dropped) // model.trees_per_round
        if k == 0:
            return
        for tree in new:
            self.training.add(tree, 1 / (k + 1) - 1.0)
            self._scale(tree, round_, 1 / (k + 1))
        for tree in self.dropped:
            self._scale(tree, round_, k / (k + 1))
            self.training.add(tree, 1.0)

    def finish(self) -> None:
        model = self.training.model
        last = model.n_rounds_used
        for tree, leaves, factors in zip(model.trees, self.grown, self.factors, strict=True):
            tree.leaves = leaves
            for round_, factor in factors:
                if round_ < last:
                    tree.leaves = tree.leaves.scaled(factor)
        model.changed()

    def keep(self) -> dict[str, np.ndarray]:
        return {f"grown_{name}": array for name, array in self.training.model.leaf_model.join(self.grown).items()}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Drop and rescale the trees once more, as they were grown: predictions are the sum of all that, to the last bit."""
        model = self.training.model
        arrays = {name: kept[f"grown_{name}"] for name in model.leaf_model.dtypes}
        begin = np.cumsum([0] + [len(tree.feature) for tree in model.trees]).tolist()
        for tree, leaves in zip(model.trees, model.leaf_model.split(arrays, begin), strict=True):
            tree.leaves = leaves
        for part in self.training.rows:
            part.raw[:] = part.constant(model)
        self.grown, self.factors = [], []
        for round_ in range(model.n_rounds):
            self.before_round(round_)
            for tree_number in self._trees(round_):
                self.training.add(tree_number, 1.0)
            self.after_round(round_)

    def _trees(self, round_: int) -> range:
        k = self.training.model.trees_per_round
        return range(round_ * k, (round_ + 1) * k)

    def _scale(self, tree: int, round_: int, factor: float) -> None:
        self.factors[tree].append((round_, factor))
        scaled = self.training.model.trees[tree]
        scaled.leaves = scaled.leaves.scaled(factor)

    def _draw(self, round_: int) -> np.ndarray:
        """The rounds to leave out."""
        if round_ == 0:
            return np.empty(0, dtype=np.int64)
        chances = kernels.hash_rows(round_ + 1, (self.training.seed + 0xD6E8FEB86659FD93 * (round_ + 1)) & MASK) / 2.0**32
        if chances[round_] < self.skip_drop:
            return np.empty(0, dtype=np.int64)
        drawn = np.flatnonzero(chances[:round_] < self.drop_rate)
        return drawn if self.max_drop is None else np.sort(drawn[np.argsort(chances[drawn], kind="stable")[: self.max_drop]])


BOOSTING = ("plain", "ordered", "dart", "forest")

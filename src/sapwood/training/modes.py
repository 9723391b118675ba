"""Boosting modes: plain boosting, random forest and DART."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sapwood.model import Model
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.binned_prediction import add_tree
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import LeafModel
from sapwood.trees.tree import Tree

if TYPE_CHECKING:
    from sapwood.training.boosting import BoostingDataset
    from sapwood.trees.grower import TreeConfig

MASK = (1 << 64) - 1


@dataclass
class TrainingState:
    """State that a mode reads and changes: the model, and the raw predictions of the training and evaluation sets."""

    model: Model
    datasets: list[BoostingDataset]  # the training set first
    seed: int
    execution: Execution

    @property
    def train_set(self) -> BoostingDataset:
        return self.datasets[0]

    def add(self, tree: int, factor: float) -> None:
        """Add a tree of the model, multiplied by a factor, to the raw predictions of all data sets."""
        for dataset in self.datasets:
            add_tree(dataset.pages, self.model.trees[tree], dataset.raw[self.model.outputs_of(tree)], self.execution, factor)


class Mode:
    """Plain boosting: gradients are computed at the predictions of all trees grown so far.

    Call order: `begin` once; in each round `before_round`, `after_growth` for each tree, and `after_round`; `finish` once.
    """

    keeps_rows: ClassVar[bool] = False  # whether `keep` returns values of the rows of this partition

    def begin(self, state: TrainingState) -> None:
        self.state = state

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        """Return two (n_outputs, n_rows) float64 arrays: raw predictions at which the gradients for the splits are computed, and those for
        the leaf values."""
        return self.state.train_set.raw, self.state.train_set.raw

    def after_growth(self, tree: Tree, leaves: LeafAssignment, outputs: slice, config: TreeConfig) -> Tree:
        """Return the tree to use instead of a grown one; called before leaf values are computed. `leaves` has the leaf of each training
        row."""
        return tree

    def after_round(self, round_: int) -> None:
        """Called when the trees of the round have been added to the model and to the raw predictions."""

    def finish(self) -> None:
        """Called once after the last round, when the best round is known."""

    def keep(self) -> dict[str, np.ndarray]:
        """Return the state to store in a checkpoint besides the model, after a round."""
        return {}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `keep` returned. Called after `begin`."""


class Forest(Mode):
    """Random forest: the gradients of every tree are computed at the base score. A learning rate of 1 / n_trees makes the sum a mean."""

    def begin(self, state: TrainingState) -> None:
        super().begin(state)
        self.base: np.ndarray = state.train_set.base_raw(state.model)

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        return self.base, self.base


class Dart(Mode):
    """DART, dropout for trees (Vinayak and Gilad-Bachrach, 2015).

    Each round drops k trees at random and computes the gradients without them. Then the new tree is multiplied by 1 / (k + 1) and the
    dropped trees by k / (k + 1), so that their sum keeps its scale. With early stopping, trees keep the factors of the best round.
    """

    drop_rate: float
    skip_drop: float
    max_drop: int | None

    def __init__(self, drop_rate: float, skip_drop: float, max_drop: int | None) -> None:
        self.drop_rate, self.skip_drop, self.max_drop = drop_rate, skip_drop, max_drop

    def begin(self, state: TrainingState) -> None:
        super().begin(state)
        self.grown: list[LeafModel] = [tree.leaves for tree in state.model.trees]  # unscaled
        self.factors: list[list[tuple[int, float]]] = [[] for _ in self.grown]  # (round, factor) pairs of each tree

    def before_round(self, round_: int) -> tuple[np.ndarray, np.ndarray]:
        self.dropped: list[int] = [tree for r in self._draw(round_) for tree in self._trees(r)]
        for tree in self.dropped:
            self.state.add(tree, -1.0)
        return super().before_round(round_)

    def after_round(self, round_: int) -> None:
        model = self.state.model
        new = list(self._trees(round_))
        self.grown += [model.trees[tree].leaves for tree in new]
        self.factors += [[] for _ in new]
        k = len(self.dropped) // model.trees_per_round
        if k == 0:
            return
        for tree in new:
            self.state.add(tree, 1 / (k + 1) - 1.0)
            self._scale(tree, round_, 1 / (k + 1))
        for tree in self.dropped:
            self._scale(tree, round_, k / (k + 1))
            self.state.add(tree, 1.0)

    def finish(self) -> None:
        model = self.state.model
        last = model.n_rounds_used
        for tree, leaves, factors in zip(model.trees, self.grown, self.factors, strict=True):
            tree.leaves = leaves
            for round_, factor in factors:
                if round_ < last:
                    tree.leaves = tree.leaves.scaled(factor)
        model.changed()

    def keep(self) -> dict[str, np.ndarray]:
        return {f"grown_{name}": array for name, array in self.state.model.leaf_model.join(self.grown).items()}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Replay all drops and rescalings, since the raw predictions depend on their order to the last bit."""
        model = self.state.model
        arrays = {name: kept[f"grown_{name}"] for name in model.leaf_model.dtypes}
        begin = np.cumsum([0] + [len(tree.feature) for tree in model.trees]).tolist()
        for tree, leaves in zip(model.trees, model.leaf_model.split(arrays, begin), strict=True):
            tree.leaves = leaves
        for dataset in self.state.datasets:
            dataset.raw[:] = dataset.base_raw(model)
        self.grown, self.factors = [], []
        for round_ in range(model.n_rounds):
            self.before_round(round_)
            for tree_number in self._trees(round_):
                self.state.add(tree_number, 1.0)
            self.after_round(round_)

    def _trees(self, round_: int) -> range:
        k = self.state.model.trees_per_round
        return range(round_ * k, (round_ + 1) * k)

    def _scale(self, tree: int, round_: int, factor: float) -> None:
        self.factors[tree].append((round_, factor))
        scaled = self.state.model.trees[tree]
        scaled.leaves = scaled.leaves.scaled(factor)

    def _draw(self, round_: int) -> np.ndarray:
        """Draw the rounds whose trees are dropped."""
        if round_ == 0:
            return np.empty(0, dtype=np.int64)
        chances = kernels.hash_rows(round_ + 1, (self.state.seed + 0xD6E8FEB86659FD93 * (round_ + 1)) & MASK) / 2.0**32
        if chances[round_] < self.skip_drop:
            return np.empty(0, dtype=np.int64)
        drawn = np.flatnonzero(chances[:round_] < self.drop_rate)
        return drawn if self.max_drop is None else np.sort(drawn[np.argsort(chances[drawn], kind="stable")[: self.max_drop]])


BOOSTING = ("plain", "ordered", "dart", "forest")

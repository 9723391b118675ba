"""Refit: new leaf values for the trees of a model. The splits stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import BoostingDataset
from sapwood.training.multi_output import TreeFitter, TreePerOutput
from sapwood.training.warm_start import WarmStart
from sapwood.trees.binned_prediction import leaf_of_rows
from sapwood.trees.branches import Branches
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.grower import TreeConfig
from sapwood.trees.leaf_models.base import blend
from sapwood.trees.rules import UNLIMITED
from sapwood.trees.tree import Tree


@dataclass(frozen=True)
class Refit(WarmStart):
    """Training that reuses the trees of a model, one after the other, in place of growing new ones."""

    decay: float = 0.9
    grows = False

    def rounds(self, max_iter: int) -> int:
        assert self.model is not None
        return self.model.n_rounds

    def strategy(self, strategy: TreePerOutput) -> TreePerOutput:
        assert self.model is not None
        return RefitTrees(strategy, self.model, self.decay)

    def own_model(self, train_set: BoostingDataset, loss: Loss, execution: Execution) -> Model:
        assert self.model is not None
        model = self.model[:0]
        if self.decay < 1:
            base_score = loss.base_score_with_offset(train_set.y, train_set.weight, train_set.offset, execution)
            model.base_score = blend(model.base_score, base_score, self.decay)
        return model


class RefitTrees(TreePerOutput):
    """Trees of a model with leaf values `decay * old + (1 - decay) * new`.

    `inner` is the strategy that computes the new values, with all its rules, as if it had just grown the tree.
    """

    inner: TreePerOutput
    model: Model
    decay: float
    shared: int

    def __init__(self, strategy: TreePerOutput, model: Model, decay: float) -> None:
        self.inner, self.model, self.decay, self.shared = strategy, model, decay, strategy.shared

    def begin(self, fitter: TreeFitter) -> None:
        super().begin(fitter)
        self.inner.begin(TreeRefitter(**vars(fitter), model=self.model))

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        for number, tree in enumerate(self.inner.trees(split_raw, leaf_raw, first, config), first):
            leaves = self.fitter.leaves
            reached = leaves.nodes[leaves.count > 0]  # a leaf without rows keeps its old value
            tree.leaves = self.model.trees[number].leaves.blended(tree.leaves, self.decay, reached)
            yield tree


class Replay(TreePerOutput):
    """Trees of a model, refitted to other rows; then new trees, grown on these rows."""

    n_old: int
    old: RefitTrees
    new: TreePerOutput
    shared: int

    def __init__(self, strategy: TreePerOutput, model: Model) -> None:
        self.old, self.new, self.n_old = RefitTrees(copy.copy(strategy), model, decay=0.0), strategy, len(model.trees)
        self.shared = strategy.shared

    def begin(self, fitter: TreeFitter) -> None:
        self.old.begin(fitter)
        self.new.begin(fitter)

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        return (self.old if first < self.n_old else self.new).trees(split_raw, leaf_raw, first, config)


@dataclass
class TreeRefitter(TreeFitter):
    """Returns the next tree of a model in place of growing one, and fills `leaves` with the leaf of each row."""

    model: Model
    n_used: int = 0

    def grow(self, gradients: FixedGradients, config: TreeConfig, key: int, round_: int, outputs: slice) -> Tree:
        tree = replace(self.model.trees[self.n_used])
        self.n_used += 1
        leaf_nodes = np.flatnonzero(tree.feature < 0)
        of_row = leaf_of_rows(self.train_set.pages, tree, leaf_nodes, self.execution)
        own = np.bincount(of_row if gradients.rows is None else of_row[gradients.rows], minlength=len(leaf_nodes))
        count = self.execution.sum(own)
        leaves = self.leaves
        leaves.reset(leaf_nodes, count, UNLIMITED)
        leaves.of_row[:] = of_row
        self.leaf_fit.before_growth(gradients, gradients.rows)
        gradient, hessian = self.leaf_sums([gradients])
        sums = np.array([gradient[:, 0], hessian[:, 0], count], dtype=np.int64)
        branches = config.frontier(config.max_leaves).group_leaves(tree, sums, config.rules, gradients.scale)
        if branches is None and config.rules.limits_values:
            leaves.limits = Branches.of_nodes(tree, leaf_nodes, sums).limits(gradients, config.rules)
        leaves.group(branches, gradients, config.rules)
        tree.leaves = tree.leaves.with_steps(leaf_nodes, self.newton_steps([gradients], config.rules)[:, 0] * config.learning_rate)
        return tree

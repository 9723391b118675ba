"""New values for the leaves of an old model: the trees keep their splits, and learn again from other rows what to say."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sapwood.losses import Loss
from sapwood.model import Model
from sapwood.runtime.execution import Execution
from sapwood.training.boosting import Rows
from sapwood.training.multi_output import Fit, TreePerOutput
from sapwood.training.warm_start import WarmStart
from sapwood.trees.binned_prediction import leaf_of_rows
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.grower import TreeConfig
from sapwood.trees.leaf_models.base import blend
from sapwood.trees.rules import Limits, Rules
from sapwood.trees.tree import Tree


@dataclass(frozen=True)
class Refit(WarmStart):
    """Training that starts without trees, and is given those of the model, one after the other."""

    decay: float = 0.9
    grows = False

    def rounds(self, max_iter: int) -> int:
        assert self.model is not None
        return self.model.n_rounds

    def strategy(self, strategy: TreePerOutput) -> TreePerOutput:
        assert self.model is not None
        return OldTrees(strategy, self.model, self.decay)

    def own_model(self, rows: Rows, loss: Loss, execution: Execution) -> Model:
        assert self.model is not None
        model = self.model[:0]
        if self.decay < 1:
            model.base_score = blend(model.base_score, loss.base_score_with_offset(rows.y, rows.weight, rows.offset, execution), self.decay)
        return model


class OldTrees(TreePerOutput):
    """The trees of a model, their values drawn from the old ones to those that the rows of this fit would give them.

    Another strategy works the new values out, with all its rules, as if it had just grown the tree.
    """

    inner: TreePerOutput
    model: Model
    decay: float
    shared: int

    def __init__(self, strategy: TreePerOutput, model: Model, decay: float) -> None:
        self.inner, self.model, self.decay, self.shared = strategy, model, decay, strategy.shared

    def begin(self, fit: Fit) -> None:
        super().begin(fit)
        self.inner.begin(WithoutGrowing(**vars(fit), model=self.model))

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        for number, tree in enumerate(self.inner.trees(split_raw, leaf_raw, first, config), first):
            leaves = self.fit.leaves
            there = leaves.nodes[leaves.count > 0]  # a leaf that no row reaches keeps what it knows
            tree.leaves = self.model.trees[number].leaves.blended(tree.leaves, self.decay, there)
            yield tree


class Replay(TreePerOutput):
    """The trees of a model with leaf values of other rows, and then trees that are grown on these rows."""

    old: OldTrees
    new: TreePerOutput
    shared: int

    def __init__(self, strategy: TreePerOutput, model: Model) -> None:
        self.old, self.new, self.n_old = OldTrees(copy.copy(strategy), model, decay=0.0), strategy, len(model.trees)
        self.shared = strategy.shared

    def begin(self, fit: Fit) -> None:
        self.old.begin(fit)
        self.new.begin(fit)

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        return (self.old if first < self.n_old else self.new).trees(split_raw, leaf_raw, first, config)


@dataclass
class WithoutGrowing(Fit):
    """Gives the next tree of a model where another would grow one; `leaves` tells where the rows are."""

    model: Model
    n_given: int = 0

    def grow(self, gradients: FixedGradients, config: TreeConfig, key: int, round_: int, outputs: slice) -> Tree:
        tree = replace(self.model.trees[self.n_given])
        self.n_given += 1
        at = np.flatnonzero(tree.feature < 0)
        of_row = leaf_of_rows(self.rows.pages, tree, at, self.execution)
        own = np.bincount(of_row if gradients.rows is None else of_row[gradients.rows], minlength=len(at))
        count = self.execution.sum(own)
        leaves, free = self.leaves, np.full(len(at), np.inf)
        leaves.reset(at, count, Limits(-free, free, np.zeros(len(at))))
        leaves.of_row[:] = of_row
        gradient, hessian = self.leaf_sums([gradients])
        sums = gradient[:, 0], hessian[:, 0], count
        left, frontier = np.where(tree.feature < 0, -1, tree.left), config.frontier(config.max_leaves)
        leaves.groups = frontier.group_leaves(left, tree.right, at, sums, lambda sums: config.rules.allows_leaves(sums, gradients.scale))
        if config.rules.monotonic is not None or config.rules.path_smooth:
            leaves.limits = limits_of(tree, at, sums, gradients, config.rules)
        tree.leaves = tree.leaves.with_steps(at, self.steps([gradients], config.rules)[:, 0] * config.learning_rate)
        return tree


def limits_of(
    tree: Tree, at: np.ndarray, sums: tuple[np.ndarray, np.ndarray, np.ndarray], gradients: FixedGradients, rules: Rules
) -> Limits:
    """Limits of the values of leaves with these sums, from the root down: where a feature is monotonic, the children of a split stay on
    either side of the middle of their values."""
    n, inner = len(tree.feature), np.flatnonzero(tree.feature >= 0)
    whole = [np.zeros(n, dtype=np.int64) for _ in sums]
    for all_, part in zip(whole, sums, strict=True):
        all_[at] = part
        for node in inner[::-1]:  # children come after their parents
            all_[node] = all_[tree.left[node]] + all_[tree.right[node]]
    lower, upper, anchor, value = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n)

    def values(nodes: list[int]) -> np.ndarray:
        of_nodes = Limits(lower[nodes], upper[nodes], anchor[nodes])
        return rules.leaf_steps((whole[0][nodes], whole[1][nodes], whole[2][nodes]), gradients, of_nodes)

    value[[0]] = values([0])
    for node in inner:
        children = [int(tree.left[node]), int(tree.right[node])]
        lower[children], upper[children], anchor[children] = lower[node], upper[node], value[node]
        value[children] = values(children)
        direction = 0 if rules.monotonic is None else int(rules.monotonic[tree.feature[node]])
        if direction:
            low, high = children[::direction]
            upper[low] = lower[high] = min(max(value[children].sum() / 2, lower[node]), upper[node])
            value[low], value[high] = min(value[low], upper[low]), max(value[high], lower[high])
    return Limits(lower[at], upper[at], anchor[at])

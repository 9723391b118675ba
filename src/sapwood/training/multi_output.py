"""How the gradients of several outputs become trees: one tree for each output, or trees that all outputs share."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.losses import LeafRows, Loss
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.sampling.rows import RowSampler
from sapwood.training.line_search import Step
from sapwood.trees.gradients import FixedGradients, GradientScale
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.growth import Grower
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.rules import Rules
from sapwood.trees.tree import Tree

if TYPE_CHECKING:
    from sapwood.training.boosting import Rows
    from sapwood.training.modes import Mode

MASK = (1 << 64) - 1
MIXED_ROWS = 1024  # whose gradients make a mix
DRAWS = 12  # the sum of twelve uniform numbers, less six, is about a standard normal one


@dataclass
class Fit:
    """Training rows, gradients and settings that the trees of a fit are grown with."""

    rows: Rows
    weight: np.ndarray | None  # (n_rows,) float64: of rows where gradients are taken
    loss: Loss
    sampler: RowSampler
    mode: Mode
    grower: Grower
    leaves: LeafAssignment  # of the tree grown last
    step: Step
    seed: int
    execution: Execution

    def fixed_gradients(self, now: np.ndarray) -> Iterator[FixedGradients]:
        return self.loss.fixed_gradients(self.rows.y, now, self.weight, self.execution, self.sampler.headroom)

    def leaf_gradients(self, now: np.ndarray) -> Iterator[FixedGradients]:
        """The same in memory of their own, so that both may be used at a time."""
        return self._twin.fixed_gradients(self.rows.y, now, self.weight, self.execution)

    @cached_property
    def _twin(self) -> Loss:
        return copy.deepcopy(self.loss)

    def grow(self, gradients: FixedGradients, config: TreeConfig, key: int, round_: int, outputs: slice) -> Tree:
        """Grow a tree for some outputs on what the sampler draws; the gradients are not to be used again."""
        sample = self.sampler.draw(gradients, key, self.execution, round_)
        if gradients.rows is not None:
            both = gradients.rows if sample is None else np.intersect1d(sample, gradients.rows, assume_unique=True)
            sample = both if self.execution.any(len(both) > 0) else gradients.rows
        tree = grow_tree(self.grower, self.rows.pages.binning, gradients, config, key, self.leaves, sample)
        return self.mode.after_growth(tree, self.leaves, outputs, config)

    def steps(self, outputs: list[FixedGradients], rules: Rules) -> np.ndarray:
        """(n_leaves, n_outputs) float64: the leaves' Newton steps for each output, from all rows, drawn for the tree or not."""
        leaves = self.leaves
        gradient, hessian, count = (leaves.group_sums(part) for part in (*self.leaf_sums(outputs), leaves.count))
        sums = zip(gradient.T, hessian.T, outputs, strict=True)
        return np.column_stack([rules.leaf_steps((g, h, count), gradients, leaves.limits) for g, h, gradients in sums])

    def leaf_sums(self, outputs: list[FixedGradients]) -> np.ndarray:
        """(2, n_leaves, n_outputs) int64: the exact sums of gradients and hessians in each leaf, over all partitions."""
        leaves = self.leaves
        planes, sums = [gradients.data for gradients in outputs], np.empty((2, len(leaves.nodes), len(outputs)), dtype=np.int64)
        kernels.leaf_sums(planes, leaves.data, leaves.size, gradient=sums[0], hessian=sums[1], n_threads=self.execution.n_threads)
        return self.execution.sum(sums)

    def renewed(self, now: np.ndarray, output: int) -> np.ndarray:
        """(n_leaves,) float64: the steps of the leaves that the loss itself finds best for an output, at these raw predictions."""

        def of_leaves(leaf: np.ndarray, n_leaves: int) -> np.ndarray:
            return self.loss.best_leaf_values(LeafRows(self.rows.y, now, self.rows.weight, leaf, n_leaves, output, self.execution))

        return self.leaves.by_group(of_leaves)


class TreePerOutput:
    """One tree for each output in turn, all from the gradients at the start of the round.

    A strategy's life: `begin`; each round `trees`, one after the other: whoever asks for the next has added the one before to the raw
    predictions.

    Attributes
    ----------
    shared : the number of trees in a round whose leaves hold a value for each output; 0 if there are none
    """

    shared = 0

    def begin(self, fit: Fit) -> None:
        self.fit = fit

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        """The trees of a round. Splits are sought at the first raw predictions, (n_outputs, n_rows), leaves get their values at the second,
        which mostly are the same array; `first` is the number of the first tree in the model."""
        fit, apart = self.fit, leaf_raw is not split_raw
        for_values = fit.leaf_gradients(leaf_raw) if apart and not fit.loss.renews_leaves else repeat(None)
        for output, (gradients, others) in enumerate(zip(fit.fixed_gradients(split_raw), for_values, strict=False)):
            drawn = replace(gradients, data=gradients.data.copy()) if fit.sampler.for_splits_only else gradients
            number = slice(output, output + 1)
            tree = fit.grow(drawn, config, tree_key(fit.seed, first + output), first // fit.loss.n_outputs, number)
            if fit.loss.renews_leaves:
                steps = config.rules.shape_steps(fit.renewed(leaf_raw, output), fit.leaves.count, fit.leaves.limits)
                tree.leaves = tree.leaves.with_steps(fit.leaves.nodes, steps * config.learning_rate)
            elif apart or fit.sampler.for_splits_only:
                steps = fit.steps([others or gradients], config.rules)[:, 0]
                tree.leaves = tree.leaves.with_steps(fit.leaves.nodes, steps * config.learning_rate)
            whole = tree.leaves.unscaled(config.learning_rate)
            tree.leaves = tree.leaves.scaled(fit.step.factor(whole, fit.rows, leaf_raw, number, fit.leaves, fit.execution))
            yield tree


class SharedTrees(TreePerOutput):
    """A few trees a round, with a value for each output in every leaf.

    The splits of a tree are sought on one gradient a row: a random mix of the outputs' gradients, drawn anew for each tree, so that over
    the trees every mix has its turn (Iosipoi and Vakhrushev, SketchBoost, 2022). Leaf values come from the exact sums of each output's own
    gradients and hessians, over all rows of the leaf, drawn for the tree or not.
    """

    gradient: np.ndarray
    hessian: np.ndarray

    def __init__(self, n_trees: int) -> None:
        self.shared = n_trees

    def begin(self, fit: Fit) -> None:
        super().begin(fit)
        self.range: RowRange = RowRange.of(fit.rows.pages.n_rows, fit.execution)
        self.gradient, self.hessian = np.empty((2, fit.rows.pages.n_rows))
        self.memory: np.ndarray = np.empty(fit.rows.pages.n_rows * 8, dtype=np.uint8)

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        # Projected hessians are means over the outputs; what a leaf must have of them in all is the same.
        rules = replace(config.rules, min_hessian=config.rules.min_hessian / self.fit.loss.n_outputs)
        config = replace(config, rules=rules)
        for number in range(first, first + self.shared):
            outputs, key = list(self.fit.fixed_gradients(split_raw)), tree_key(self.fit.seed, number)
            tree = self.fit.grow(self._project(outputs, key), config, key, first // self.shared, slice(None))
            if leaf_raw is not split_raw:
                outputs = list(self.fit.leaf_gradients(leaf_raw))
            whole = tree.leaves.with_steps(self.fit.leaves.nodes, self._steps(outputs, leaf_raw, rules))
            factor = self.fit.step.factor(whole, self.fit.rows, leaf_raw, slice(None), self.fit.leaves, self.fit.execution)
            tree.leaves = whole.scaled(config.learning_rate * factor)
            yield tree

    def _project(self, outputs: list[FixedGradients], key: int) -> FixedGradients:
        """FixedGradients of a random mix of the outputs."""
        fit, scales = self.fit, [gradients.scale for gradients in outputs]
        single = scales[0].constant_hessian
        mix = _normal(len(outputs), key) if fit.loss.outputs_are_comparable else _mix_of_rows(outputs, key, self.range, fit.execution)
        mix /= np.sqrt((mix**2).sum()) or 1.0
        of_gradients, of_hessians = (mix / [s.gradient for s in scales], mix**2 / [s.hessian or 1.0 for s in scales])
        planes, hessian = [gradients.data for gradients in outputs], None if single else self.hessian
        most = kernels.project_records(planes, of_gradients, of_hessians, self.gradient, hessian, fit.execution.n_threads)
        most = fit.execution.max(np.array(most)).tolist()
        scale = GradientScale.covering(most[0], most[1], constant_hessian=single, headroom=fit.sampler.headroom)
        data = self.memory[: len(self.gradient) * scale.bytes_per_row]
        sums = kernels.array_records(self.gradient, hessian, scale.destination(data), fit.execution.n_threads)
        return FixedGradients.of(data, scale, sums, fit.execution)

    def _steps(self, outputs: list[FixedGradients], now: np.ndarray, rules: Rules) -> np.ndarray:
        """(n_leaves, n_outputs) float64."""
        fit, leaves = self.fit, self.fit.leaves
        shape_steps = partial(rules.shape_steps, count=leaves.count, limits=leaves.limits)
        if fit.loss.renews_leaves:
            return np.column_stack([shape_steps(fit.renewed(now, k)) for k in range(fit.loss.n_outputs)])
        return fit.steps(outputs, rules)


def tree_key(seed: int, tree: int) -> int:
    """Key of the random numbers of a tree."""
    return (seed * 0x9E3779B97F4A7C15 + (tree + 1) * 0xBF58476D1CE4E5B9) & MASK


def _normal(n: int, key: int) -> np.ndarray:
    """(n,) float64: about standard normal numbers, by a hash."""
    return kernels.hash_rows(n * DRAWS, key).reshape(n, DRAWS).sum(axis=1, dtype=np.int64) / 2.0**32 - DRAWS / 2


def _mix_of_rows(outputs: list[FixedGradients], key: int, own: RowRange, execution: Execution) -> np.ndarray:
    """(n_outputs,) float64: the sum of some rows' gradients with random signs, each output in its own unit.

    Its covariance is that of the gradients: outputs that move together are mostly mixed with the same sign.
    """
    sizes = np.array([gradients.sums[0] / gradients.scale.gradient for gradients in outputs])
    rows = kernels.sample_rows(own.n_rows, own.first, min(1.0, MIXED_ROWS / own.total), key)
    signs = 1 - 2 * (kernels.hash_rows(len(rows), key, execution.first_row(len(rows))) & 1).astype(np.int64)
    totals = execution.totals(tuple(int((gradients.of_rows(rows) * signs).sum()) for gradients in outputs))
    sums = [total / gradients.scale.gradient for total, gradients in zip(totals, outputs, strict=True)]
    return np.divide(sums, sizes**2, out=np.zeros(len(sums)), where=sizes > 0)


STRATEGIES = ("auto", "one_output_per_tree", "multi_output_tree")

"""Multi-output strategies: one tree per output, or trees shared by all outputs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from sapwood.data.row_range import RowRange
from sapwood.losses import LeafRows, Loss
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution
from sapwood.sampling.rows import RowSampler
from sapwood.training.line_search import Step
from sapwood.trees.gradients import FixedGradients, GradientScale
from sapwood.trees.grower import TreeConfig, grow_tree
from sapwood.trees.growth import Grower
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_fit import LeafFit
from sapwood.trees.rules import Rules
from sapwood.trees.tree import Tree

if TYPE_CHECKING:
    from sapwood.training.boosting import BoostingDataset
    from sapwood.training.modes import Mode

MASK = (1 << 64) - 1
PROJECTION_ROWS = 1024  # rows whose gradients determine a random projection
DRAWS = 12  # the sum of twelve uniform numbers minus six is approximately standard normal


@dataclass
class TreeFitter:
    """Grows trees on the training set and computes their leaf values."""

    train_set: BoostingDataset
    weight: np.ndarray | None  # (n_rows,) float64: weights of the gradients
    loss: Loss
    sampler: RowSampler
    mode: Mode
    grower: Grower
    leaves: LeafAssignment  # of the last tree
    step: Step
    leaf_fit: LeafFit
    seed: int
    execution: Execution

    def fixed_gradients(self, raw: np.ndarray) -> Iterator[FixedGradients]:
        """Yield the gradients of each output at these raw predictions, for the search of splits."""
        return self.loss.fixed_gradients(self.train_set.y, raw, self.weight, self.execution, self.sampler.headroom)

    def leaf_gradients(self, raw: np.ndarray) -> Iterator[FixedGradients]:
        """Yield the gradients for the leaf values. They have their own buffers: both kinds may be used at the same time."""
        return self._value_loss.fixed_gradients(self.train_set.y, raw, self.weight, self.execution)

    @cached_property
    def _value_loss(self) -> Loss:
        return copy.deepcopy(self.loss)

    def grow(self, gradients: FixedGradients, config: TreeConfig, key: int, round_: int, outputs: slice) -> Tree:
        """Grow a tree for some outputs on the rows that the sampler draws. The sampler may change the gradients."""
        sample = self.sampler.draw(gradients, key, self.execution, round_)
        if gradients.rows is not None:
            common = gradients.rows if sample is None else np.intersect1d(sample, gradients.rows, assume_unique=True)
            sample = common if self.execution.any(len(common) > 0) else gradients.rows
        self.leaf_fit.before_growth(gradients, sample)
        tree = grow_tree(self.grower, self.train_set.pages.binning, gradients, config, key, self.leaves, sample)
        return self.mode.after_growth(tree, self.leaves, outputs, config)

    def newton_steps(self, outputs: list[FixedGradients], rules: Rules) -> np.ndarray:
        """Return the (n_leaves, n_outputs) float64 Newton steps of the leaves, from all rows, sampled or not."""
        leaves = self.leaves
        gradient, hessian = (leaves.group_sums(of_leaves) for of_leaves in self.leaf_sums(outputs))
        sums = zip(gradient.T, hessian.T, outputs, strict=True)
        return np.column_stack([rules.leaf_steps((g, h, leaves.count), gradients, leaves.limits) for g, h, gradients in sums])

    def leaf_sums(self, outputs: list[FixedGradients]) -> np.ndarray:
        """Return (2, n_leaves, n_outputs) int64: exact sums of gradients and hessians by leaf, over all partitions."""
        leaves = self.leaves
        planes, sums = [gradients.data for gradients in outputs], np.empty((2, len(leaves.nodes), len(outputs)), dtype=np.int64)
        kernels.leaf_sums(planes, leaves.data, leaves.size, gradient=sums[0], hessian=sums[1], n_threads=self.execution.n_threads)
        return self.execution.sum(sums)

    def best_steps(self, raw: np.ndarray, output: int) -> np.ndarray:
        """Return the (n_leaves,) float64 steps that minimize the loss of an output in each leaf, if the loss computes them itself."""
        y, weight = self.train_set.y, self.train_set.weight

        def of_leaves(leaf: np.ndarray, n_leaves: int) -> np.ndarray:
            return self.loss.best_leaf_values(LeafRows(y, raw, weight, leaf, n_leaves, output, self.execution))

        return self.leaves.by_group(of_leaves, self.leaves.of_row)


class TreePerOutput:
    """One tree per output and round. All trees of a round use the gradients at its start.

    Attributes
    ----------
    shared : number of trees per round that are shared by all outputs; 0 for one tree per output
    """

    shared = 0

    def begin(self, fitter: TreeFitter) -> None:
        self.fitter = fitter

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        """Yield the trees of a round. The caller adds each tree to the raw predictions before it asks for the next one.

        Parameters
        ----------
        split_raw : (n_outputs, n_rows) raw predictions at which the gradients for the splits are computed
        leaf_raw : those for the leaf values; usually the same array
        first : index of the first tree in the model
        config : configuration of the grower
        """
        fitter, raw_differs = self.fitter, leaf_raw is not split_raw
        leaf_gradients = fitter.leaf_gradients(leaf_raw) if raw_differs and not fitter.loss.renews_leaves else repeat(None)
        for output, (gradients, for_values) in enumerate(zip(fitter.fixed_gradients(split_raw), leaf_gradients, strict=False)):
            drawn = replace(gradients, data=gradients.data.copy()) if fitter.sampler.for_splits_only else gradients
            outputs = slice(output, output + 1)
            tree = fitter.grow(drawn, config, tree_key(fitter.seed, first + output), first // fitter.loss.n_outputs, outputs)
            of_all_rows: FixedGradients | None = None  # None: the leaf values are those of the sampled rows
            if fitter.loss.renews_leaves:
                steps = config.rules.shape_steps(fitter.best_steps(leaf_raw, output), fitter.leaves.count, fitter.leaves.limits)
                tree.leaves = tree.leaves.with_steps(fitter.leaves.nodes, steps * config.learning_rate)
            elif raw_differs or fitter.sampler.for_splits_only:
                of_all_rows = for_values or gradients
                steps = fitter.newton_steps([of_all_rows], config.rules)[:, 0]
                tree.leaves = tree.leaves.with_steps(fitter.leaves.nodes, steps * config.learning_rate)
            tree.leaves = fitter.leaf_fit.fit(tree, fitter.leaves, of_all_rows, config.rules, config.learning_rate)
            factor = fitter.step.factor(
                tree.leaves, config.learning_rate, fitter.train_set, leaf_raw, outputs, fitter.leaves, fitter.execution
            )
            tree.leaves = tree.leaves.scaled(factor)
            yield tree


class SharedTrees(TreePerOutput):
    """Trees with one value per output in each leaf.

    Splits are found on one gradient per row: a random projection of the gradients of all outputs, drawn for each tree (Iosipoi and
    Vakhrushev, SketchBoost, 2022). Leaf values come from the exact gradient and hessian sums of each output, over all rows of the leaf,
    sampled or not.
    """

    gradient: np.ndarray
    hessian: np.ndarray

    def __init__(self, n_trees: int) -> None:
        self.shared = n_trees

    def begin(self, fitter: TreeFitter) -> None:
        super().begin(fitter)
        n_rows = fitter.train_set.n_rows
        self.range: RowRange = RowRange.of(n_rows, fitter.execution)
        self.gradient, self.hessian = np.empty((2, n_rows))
        self.memory: np.ndarray = np.empty(n_rows * 8, dtype=np.uint8)

    def trees(self, split_raw: np.ndarray, leaf_raw: np.ndarray, first: int, config: TreeConfig) -> Iterator[Tree]:
        fitter = self.fitter
        # A projected hessian is a mean over the outputs; min_hessian applies to the sum over the outputs.
        rules = replace(config.rules, min_hessian=config.rules.min_hessian / fitter.loss.n_outputs)
        config = replace(config, rules=rules)
        for number in range(first, first + self.shared):
            outputs, key = list(fitter.fixed_gradients(split_raw)), tree_key(fitter.seed, number)
            tree = fitter.grow(self._project(outputs, key), config, key, first // self.shared, slice(None))
            if leaf_raw is not split_raw:
                outputs = list(fitter.leaf_gradients(leaf_raw))
            unscaled = tree.leaves.with_steps(fitter.leaves.nodes, self._steps(outputs, leaf_raw, rules))
            factor = fitter.step.factor(unscaled, 1.0, fitter.train_set, leaf_raw, slice(None), fitter.leaves, fitter.execution)
            tree.leaves = unscaled.scaled(config.learning_rate * factor)
            yield tree

    def _project(self, outputs: list[FixedGradients], key: int) -> FixedGradients:
        """Return a random projection of the gradients of all outputs."""
        fitter, scales = self.fitter, [gradients.scale for gradients in outputs]
        constant = scales[0].constant_hessian
        weights = (
            _normal(len(outputs), key)
            if fitter.loss.outputs_are_comparable
            else _weights_from_rows(outputs, key, self.range, fitter.execution)
        )
        weights /= np.sqrt((weights**2).sum()) or 1.0
        of_gradients, of_hessians = (weights / [s.gradient for s in scales], weights**2 / [s.hessian or 1.0 for s in scales])
        planes, hessian = [gradients.data for gradients in outputs], None if constant else self.hessian
        most = kernels.project_gradients(planes, of_gradients, of_hessians, self.gradient, hessian, fitter.execution.n_threads)
        most = fitter.execution.max(np.array(most)).tolist()
        scale = GradientScale.covering(most[0], most[1], constant_hessian=constant, headroom=fitter.sampler.headroom)
        data = self.memory[: len(self.gradient) * scale.bytes_per_row]
        sums = kernels.fix_gradients(self.gradient, hessian, scale.destination(data), fitter.execution.n_threads)
        return FixedGradients.of(data, scale, sums, fitter.execution)

    def _steps(self, outputs: list[FixedGradients], raw: np.ndarray, rules: Rules) -> np.ndarray:
        """Return the (n_leaves, n_outputs) float64 steps of the leaves."""
        fitter, leaves = self.fitter, self.fitter.leaves
        shape_steps = partial(rules.shape_steps, count=leaves.count, limits=leaves.limits)
        if fitter.loss.renews_leaves:
            return np.column_stack([shape_steps(fitter.best_steps(raw, k)) for k in range(fitter.loss.n_outputs)])
        return fitter.newton_steps(outputs, rules)


def tree_key(seed: int, tree: int) -> int:
    """Return the key of the random numbers of a tree."""
    return (seed * 0x9E3779B97F4A7C15 + (tree + 1) * 0xBF58476D1CE4E5B9) & MASK


def _normal(n: int, key: int) -> np.ndarray:
    """Return (n,) float64 approximately standard normal numbers from a hash."""
    return kernels.hash_rows(n * DRAWS, key).reshape(n, DRAWS).sum(axis=1, dtype=np.int64) / 2.0**32 - DRAWS / 2


def _weights_from_rows(outputs: list[FixedGradients], key: int, own: RowRange, execution: Execution) -> np.ndarray:
    """Return (n_outputs,) float64 projection weights: the sum of sampled rows' gradients with random signs, divided by each output's scale.

    The weights have the covariance of the gradients: correlated outputs mostly get weights of the same sign.
    """
    sizes = np.array([gradients.sums[0] / gradients.scale.gradient for gradients in outputs])
    rows = kernels.sample_rows(own.n_rows, own.first, min(1.0, PROJECTION_ROWS / own.total), key)
    signs = 1 - 2 * (kernels.hash_rows(len(rows), key, execution.first_row(len(rows))) & 1).astype(np.int64)
    totals = execution.totals(tuple(int((gradients.of_rows(rows) * signs).sum()) for gradients in outputs))
    sums = [total / gradients.scale.gradient for total, gradients in zip(totals, outputs, strict=True)]
    return np.divide(sums, sizes**2, out=np.zeros(len(sums)), where=sizes > 0)


STRATEGIES = ("auto", "one_output_per_tree", "multi_output_tree")

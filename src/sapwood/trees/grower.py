"""The growing loop: from gradients to a tree. See `growth.py` for rows in one or several partitions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.data.binning import Binning
from sapwood.runtime import kernels
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.forced import ForcedSplit
from sapwood.trees.frontier import Frontier
from sapwood.trees.gradients import FixedGradients, HistogramFormat
from sapwood.trees.growth import Grower, TreeInput
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.monotonic import MonotonicBounds
from sapwood.trees.rules import UNLIMITED, Limits, Rules
from sapwood.trees.tree import Tree

NO_LEAVES = ConstantLeaves.empty(None)


@dataclass(frozen=True)
class TreeConfig:
    """Configuration of the growth of trees."""

    frontier: type[Frontier]
    features: FeaturePolicy
    rules: Rules = field(default_factory=Rules)
    learning_rate: float = 0.1
    max_leaves: int | None = 31
    leaf_batch: int = 1
    max_depth: int | None = None
    forced: ForcedSplit | None = None
    monotonic_bounds: type[MonotonicBounds] = MonotonicBounds


def grow_tree(
    grower: Grower,
    binning: Binning,
    gradients: FixedGradients,
    config: TreeConfig,
    key: int,
    leaves: LeafAssignment,
    sample: np.ndarray | None = None,
) -> Tree:
    """Grow one tree. Leaf values are Newton steps times the learning rate. The leaf of each row is written to `leaves`.

    `key` identifies the tree: random numbers are hashes of the key and of row, node or feature ids. `sample` are the rows to grow on,
    ascending; None for all.
    """
    frontier, features, form = (
        config.frontier(config.max_leaves, config.leaf_batch),
        config.features.tree(key),
        gradients.histogram_format(),
    )
    histograms = kernels.HistogramFormat(form.mode, form.count_bits, form.gradient_shift, form.hessian_shift)
    settings = kernels.TreeSettings(histograms, config.rules.for_tree(form, key), config.max_depth or 0, key)
    gain = grower.start(TreeInput(gradients.data, settings, features.of_root(), sample))
    frontier.add(0, [gain])
    if config.forced is not None:
        config.forced.grow(grower, frontier, features)
    bounds = config.monotonic_bounds(grower, frontier, features, config.rules.monotonic)
    while chosen := frontier.choose():
        first, gains = grower.advance(chosen, not frontier.full, features.of_children(chosen, grower))
        frontier.add(first, gains)
        bounds.after_splits(chosen, first)
    bounds.finish()
    return _finish(grower, binning, gradients, form, config, frontier, leaves)


def _finish(
    grower: Grower,
    binning: Binning,
    gradients: FixedGradients,
    form: HistogramFormat,
    config: TreeConfig,
    frontier: Frontier,
    leaves: LeafAssignment,
) -> Tree:
    """Return the tree. Leaf values are computed from exact sums of gradients, not from the rounded sums of histograms."""
    grown, sets = grower.grown(form.gradient_unit), grower.sets()
    at, inner, feature, bin_, count = grown.leaves, grown.inner, grown.feature, grown.bin, grown.count
    leaves.reset(at, count[at], Limits(grown.lower, grown.upper, grown.anchor) if config.rules.limits_values else UNLIMITED)
    sums = grower.leaf_sums(at, leaves.data, leaves.size)
    threshold = np.zeros(len(feature))
    threshold[inner] = binning.thresholds(feature[inner], bin_[inner])
    if len(sets):
        by_levels = np.flatnonzero(grown.by_levels)
        threshold[by_levels], bin_[by_levels] = 0, np.arange(len(sets))
    tree = Tree(
        feature=feature,
        threshold=threshold,
        bin=bin_,
        left=grown.left,
        right=grown.right,
        missing_left=grown.missing_left,
        gain=grown.gain,
        count=count,
        leaves=NO_LEAVES,
        sets=sets,
    )
    branches = frontier.group_leaves(tree, sums, config.rules, gradients.scale)
    leaves.group(branches, gradients, config.rules)
    steps = config.rules.leaf_steps(sums if branches is None else branches.sums[:, branches.of_leaf], gradients, leaves.limits)
    tree.leaves = ConstantLeaves.of_steps(len(feature), at, steps * config.learning_rate)
    return tree

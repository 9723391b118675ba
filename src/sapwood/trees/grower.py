"""The growing loop: gradients in, a tree out. The same wherever the rows are: see `growth.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sapwood.data.binning import Binning
from sapwood.runtime import kernels
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.forced import ForcedSplit
from sapwood.trees.frontier import Frontier
from sapwood.trees.gradients import FixedGradients, HistogramFormat
from sapwood.trees.growth import Grower
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.monotonic import MonotonicBounds
from sapwood.trees.rules import Limits, Rules
from sapwood.trees.tree import Tree


@dataclass(frozen=True)
class TreeConfig:
    """How a tree is grown."""

    frontier: type[Frontier]
    features: FeaturePolicy
    rules: Rules = field(default_factory=Rules)
    learning_rate: float = 0.1
    max_leaves: int | None = 31
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
    """Grow one tree; its leaf values are Newton steps times the learning rate. `leaves` tells afterwards where the rows are.

    `key` tells this tree from all others of the model: whatever is random is a hash of it and of row, node or feature ids. `sample` holds
    the ids of the rows to grow on, ascending; None for all.
    """
    frontier, features, form = config.frontier(config.max_leaves), config.features.tree(key), gradients.histogram_format()
    histograms = kernels.HistogramFormat(form.mode, form.count_bits, form.gradient_shift, form.hessian_shift)
    gain = grower.start(gradients.data, histograms, config.rules.for_tree(form), config.max_depth or 0, key, features.of_root(), sample)
    frontier.add(0, [gain])
    if config.forced is not None:
        config.forced.grow(grower, frontier, features)
    watch = config.monotonic_bounds(grower, frontier, features, config.rules.monotonic)
    while chosen := frontier.choose():
        first, gains = grower.advance(chosen, not frontier.full, features.of_children(chosen, grower))
        frontier.add(first, gains)
        watch.after(chosen, first)
    watch.finish()
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
    """Freeze the nodes into a tree. Leaf values come from the exact sums of the rows' gradients, not from the histograms' rounded ones."""
    grown, sets = grower.grown(form.gradient_unit), grower.sets()
    at, inner, feature, bin_, count = grown.leaves, grown.inner, grown.feature, grown.bin, grown.count
    left, right = grown.left, grown.right
    leaves.reset(at, count[at], Limits(grown.lower, grown.upper, grown.anchor))
    gradient, hessian, rows = grower.leaf_sums(at, leaves.data, leaves.size)
    allows = partial(config.rules.allows_leaves, scale=gradients.scale)
    leaves.groups = frontier.group_leaves(left, right, at, (gradient, hessian, rows), allows)
    sums = leaves.group_sums(gradient), leaves.group_sums(hessian), leaves.group_sums(rows)
    steps, threshold = config.rules.leaf_steps(sums, gradients, leaves.limits), np.zeros(len(feature))
    threshold[inner] = binning.thresholds(feature[inner], bin_[inner])
    if len(sets):
        by_levels = np.flatnonzero(grown.by_levels)
        threshold[by_levels], bin_[by_levels] = 0, np.arange(len(sets))
    return Tree(
        feature=feature,
        threshold=threshold,
        bin=bin_,
        left=left,
        right=right,
        missing_left=grown.missing_left,
        gain=grown.gain,
        count=count,
        leaves=ConstantLeaves.of_steps(len(feature), at, steps * config.learning_rate),
        sets=sets,
    )

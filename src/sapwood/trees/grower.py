"""The growing loop: gradients in, a tree out. The same for one page in memory, and for many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sapwood.data.binning import Binning
from sapwood.runtime import kernels
from sapwood.trees.features import FeaturePolicy
from sapwood.trees.forced import ForcedSplit
from sapwood.trees.frontier import Frontier
from sapwood.trees.gradients import FixedGradients, HistogramFormat
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
    watch: type[MonotonicBounds] = MonotonicBounds


def grow_tree(
    workspace: kernels.GrowingTree,
    binning: Binning,
    records: FixedGradients,
    config: TreeConfig,
    key: int,
    leaves: LeafAssignment,
    sample: np.ndarray | None = None,
) -> Tree:
    """Grow one tree; its leaf values are Newton steps times the learning rate. `leaves` tells afterwards where the rows are.

    `key` tells this tree from all others of the model: whatever is random is a hash of it and of row, node or feature ids. `sample` holds
    the ids of the rows to grow on, ascending; None for all.
    """
    frontier, features, form = config.frontier(config.max_leaves), config.features.tree(key), records.format()
    start = records.data, form.mode, form.count_bits, form.gradient_shift, form.hessian_shift
    rules = config.rules.of_tree(form)
    gain = workspace.start(*start, **rules, max_depth=config.max_depth or 0, key=key, allowed=features.of_root(), sample=sample)
    frontier.add(0, [gain])
    if config.forced is not None:
        config.forced.grow(workspace, frontier, features)
    watch = config.watch(workspace, frontier, features, config.rules.monotonic)
    while chosen := frontier.choose():
        first, gains = workspace.advance(chosen, not frontier.full, features.of_children(chosen, workspace))
        frontier.add(first, gains)
        watch.after(chosen, first)
    watch.finish()
    return _finish(workspace, binning, records, form, config, frontier, leaves)


def _finish(
    workspace: kernels.GrowingTree,
    binning: Binning,
    records: FixedGradients,
    form: HistogramFormat,
    config: TreeConfig,
    frontier: Frontier,
    leaves: LeafAssignment,
) -> Tree:
    """Freeze the nodes into a tree. Leaf values come from the exact sums of the rows' gradients, not from the histograms' rounded ones."""
    grown, sets = workspace.grown(form.gradient_unit), workspace.sets()
    at, inner, feature, bin_ = (grown[name] for name in ("leaves", "inner", "feature", "bin"))
    leaves.hold(at, grown["count"][at], Limits(grown["lower"], grown["upper"], grown["anchor"]))
    sums = workspace.finish(at, leaves.data, leaves.size)
    leaves.groups = frontier.join(grown, at, sums, lambda sums: config.rules.allows(sums, records.scale))
    gradient, hessian, count = (leaves.joined(part) for part in sums)
    steps, threshold = config.rules.leaf_steps((gradient, hessian, count), records, leaves.limits), np.zeros(len(feature))
    threshold[inner] = binning.thresholds(feature[inner], bin_[inner])
    if len(sets):
        by_levels = np.flatnonzero(grown["by_levels"])
        threshold[by_levels], bin_[by_levels] = 0, np.arange(len(sets))
    return Tree(
        feature=feature,
        threshold=threshold,
        bin=bin_,
        left=grown["left"],
        right=grown["right"],
        missing_left=grown["missing_left"],
        gain=grown["gain"],
        count=grown["count"],
        leaves=ConstantLeaves.of_steps(len(feature), at, steps * config.learning_rate),
        sets=sets,
    )

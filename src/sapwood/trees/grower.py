"""The growing loop: gradients in, a tree out. The same for one page in memory, and for many."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sapwood import kernels
from sapwood.data.binning import Binning
from sapwood.sampling.features import FeatureSampler
from sapwood.trees.frontier import Frontier
from sapwood.trees.records import Format, Records
from sapwood.trees.tree import Leaves, Tree

LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True)
class TreeConfig:
    """The rules a tree is grown by."""

    frontier: type[Frontier]
    features: FeatureSampler
    learning_rate: float = 0.1
    max_leaves: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_hessian: float = 1e-3
    max_step: float = math.inf
    min_gain: float = 0.0
    l2: float = 0.0


def grow_tree(workspace: kernels.Workspace, binning: Binning, records: Records, config: TreeConfig, key: int, leaves: Leaves) -> Tree:
    """Grow one tree; its leaf values are Newton steps times the learning rate. `leaves` tells afterwards where the rows are.

    `key` tells this tree from all others of the model: whatever is random is a hash of it and of row, node or feature ids.
    """
    frontier = config.frontier(config.max_leaves)
    form = records.format()
    frontier.add(0, [_start(workspace, records, form, config, key)])
    while chosen := frontier.choose():
        allowed = config.features.choose(key, 2 * np.repeat(chosen, 2) + np.tile([1, 2], len(chosen))) if config.features.chooses else None
        frontier.add(*workspace.advance(chosen, not frontier.full, allowed))
    return _finish(workspace, binning, records, form, config, leaves)


def _start(workspace: kernels.Workspace, records: Records, form: Format, config: TreeConfig, key: int) -> float:
    """Hand the gradients over; the gain of the root's best split."""
    return workspace.start(
        records.data,
        form.mode,
        form.count_bits,
        form.gradient_shift,
        form.hessian_shift,
        config.l2,
        form.hessian_unit,
        config.min_hessian,
        config.min_gain / form.gradient_unit / form.gradient_unit,
        form.noise,
        config.min_samples_leaf,
        config.max_depth or 0,
        key,
        config.features.choose(key, np.zeros(1, dtype=np.int64))[0] if config.features.chooses else None,
    )


def _finish(workspace: kernels.Workspace, binning: Binning, records: Records, form: Format, config: TreeConfig, leaves: Leaves) -> Tree:
    """Freeze the nodes into a tree. Leaf values come from the exact sums of the rows' gradients, not from the histograms' rounded ones."""
    nodes = workspace.nodes()
    feature = nodes["feature"]
    leaves.hold(np.flatnonzero(feature < 0))
    gradient, hessian, _ = workspace.finish(leaves.nodes.tolist(), leaves.data, leaves.size)
    scale = records.scale
    denominator = hessian / (1.0 if scale.constant_hessian else scale.hessian) + config.l2
    steps = np.divide(-gradient / scale.gradient, denominator, out=np.zeros(len(gradient)), where=denominator > 0)
    value = np.zeros(len(feature))
    value[leaves.nodes] = np.clip(steps, -config.max_step, config.max_step) * config.learning_rate
    inner = feature >= 0
    threshold = np.zeros(len(feature))
    threshold[inner] = binning.thresholds(feature[inner], nodes["bin"][inner])
    with np.errstate(over="ignore"):  # the square of a target may well be too large
        gain = np.minimum(nodes["gain"] * form.gradient_unit * form.gradient_unit, LARGEST)
    return Tree(
        feature=feature,
        threshold=threshold,
        bin=nodes["bin"],
        left=nodes["left"],
        right=nodes["right"],
        missing_left=nodes["missing_left"],
        value=value,
        gain=gain,
        count=nodes["count"],
    )

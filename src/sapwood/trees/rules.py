"""Rules of splits and leaf values: regularization, limits and constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapwood.runtime import kernels
from sapwood.trees.gradients import FixedGradients, GradientScale, HistogramFormat
from sapwood.trees.growth import Grower

MASK = (1 << 64) - 1
RANDOM_THRESHOLDS = 0xA0761D6478BD642F  # makes these random numbers differ from others of the same key


@dataclass(frozen=True)
class Rules:
    """Rules of splits and leaf values. A leaf value is the Newton step -G / (H + l2), limited by the rules.

    `max_step` bounds leaf values in the split search and of the final tree, `max_final_step` (of the loss) only of the final tree.
    """

    min_samples_leaf: int = 20
    min_hessian: float = 1e-3
    min_gain: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    max_step: float = math.inf
    max_final_step: float = math.inf
    path_smooth: float = 0.0
    score_noise: float = 0.0
    extra_trees: float = 0.0  # fraction of trees with random thresholds
    feature_weights: np.ndarray | None = None  # (n_features,) float64
    monotonic: np.ndarray | None = None  # (n_features,) int8
    neighbours: bool = False  # whether monotonic leaf values are bounded by their neighbors: see trees/monotonic.py
    category_smooth: float = 0.0  # added to the hessian of each level when levels are sorted by g / h
    category_l2: float = 0.0  # added to l2 for splits of sorted levels
    min_level_rows: int = 1  # levels with fewer rows in a node are sorted as one

    @property
    def limits_values(self) -> bool:
        """Whether leaf values depend on the values of other nodes."""
        return self.monotonic is not None or self.path_smooth > 0

    def constrain(self, grower: Grower, symmetric: bool, kinds: np.ndarray | None = None) -> None:
        """Set the constraints of all trees. `symmetric`: all nodes of a level have the same split. `kinds`: types of splits by feature."""
        constraints = kernels.TreeConstraints(
            l1=self.l1,
            max_step=self.max_step,
            smooth=self.path_smooth,
            score_noise=self.score_noise,
            symmetric=symmetric,
            neighbours=self.neighbours,
            weights=self.feature_weights,
            monotonic=self.monotonic,
            kinds=kinds,
            category_smooth=self.category_smooth,
            category_l2=self.category_l2,
            min_level_rows=self.min_level_rows,
        )
        grower.constrain(constraints)

    def for_tree(self, form: HistogramFormat, key: int) -> kernels.SplitRules:
        """Return the rules of a tree, in the units of its histograms. Its key decides whether its thresholds are random."""
        return kernels.SplitRules(
            l2=self.l2,
            hessian_unit=form.hessian_unit,
            min_hessian=self.min_hessian,
            min_gain=self.min_gain / form.gradient_unit / form.gradient_unit,
            noise=form.noise,
            min_count=self.min_samples_leaf,
            gradient_unit=form.gradient_unit,
            extra=self.extra_trees > 0 and _uniform(key) < self.extra_trees,
        )

    def leaf_minimum(self, scale: GradientScale) -> kernels.LeafMinimum:
        """Return the rows and the hessian that a leaf must have."""
        return kernels.LeafMinimum(self.min_samples_leaf, self.min_hessian, scale.hessian or 1.0)

    def leaf_steps(self, sums: Iterable[np.ndarray], gradients: FixedGradients, limits: Limits) -> np.ndarray:
        """Return the values of leaves with these exact sums of gradients, hessians and rows, (n_leaves,) float64."""
        gradient, hessian, count = sums
        scale = gradients.scale
        steps = self.newton_steps(gradient / scale.gradient, hessian / (scale.hessian or 1.0))
        return self.shape_steps(steps, count, limits)

    def newton_steps(self, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        """Return -G / (H + l2), in real units; 0 if the denominator is 0."""
        numerator = -gradient
        if self.l1:
            numerator = np.sign(numerator) * np.maximum(np.abs(numerator) - self.l1, 0)
        denominator = hessian + self.l2
        return np.divide(numerator, denominator, out=np.zeros(gradient.shape), where=denominator > 0)

    def shape_steps(self, steps: np.ndarray, count: np.ndarray, limits: Limits) -> np.ndarray:
        """Return the steps after path smoothing, clipped to the limits of the rules and of the leaves."""
        most = min(self.max_step, self.max_final_step)
        if most < math.inf:
            steps = np.minimum(np.maximum(steps, -most), most)
        if self.path_smooth:
            weight = count / self.path_smooth
            steps = (steps * weight + limits.parent) / (weight + 1)
        return np.minimum(np.maximum(steps, limits.lower), limits.upper) if self.limits_values else steps

    def slope_factor(self, steps: np.ndarray, reach: np.ndarray, count: np.ndarray) -> np.ndarray:
        """(n_leaves,) float64: what the slopes of linear leaves are multiplied by, so that no row moves by more than the largest step:
        leaves of these steps, whose slopes add at most `reach`."""
        most = min(self.max_step, self.max_final_step)
        factor = np.ones(len(steps))
        if most < math.inf:
            np.divide(np.maximum(most - np.abs(steps), 0.0), reach, out=factor, where=reach > 0)
            factor = np.minimum(factor, 1.0)
        if self.path_smooth:
            weight = count / self.path_smooth
            factor *= weight / (weight + 1)
        return factor


class Limits(NamedTuple):
    """Limits of leaf values: lower and upper bounds, and the value of the parent of each leaf."""

    lower: np.ndarray
    upper: np.ndarray
    parent: np.ndarray


UNLIMITED = Limits(np.array(-np.inf), np.array(np.inf), np.array(0.0))


def _uniform(key: int) -> float:
    """Return a random number of a tree, in [0, 1): the hash of its key."""
    mixed = (key ^ RANDOM_THRESHOLDS) * 0xBF58476D1CE4E5B9 & MASK
    mixed = (mixed ^ (mixed >> 31)) * 0x94D049BB133111EB & MASK
    return (mixed ^ (mixed >> 29)) / (MASK + 1)

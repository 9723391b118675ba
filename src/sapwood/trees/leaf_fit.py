"""How the leaves of a tree are fitted once their values are known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sapwood.data.binning import NUMBER, Binning
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution
from sapwood.trees.gradients import FixedGradients
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import ConstantLeaves, LeafModel, LinearLeaves
from sapwood.trees.leaf_models.inputs import LinearInput
from sapwood.trees.rules import Rules
from sapwood.trees.tree import Tree

MEAN_WORDS, WIDE_WORDS = 5, 3  # of the kernels' sums
NO_LEVEL = -kernels.MAX_LEVEL - 1  # below every level
TINY = float(np.finfo(np.float64).tiny)
MAX_INPUTS = 5  # of a leaf
MIN_ROWS = 10  # of a leaf with slopes, besides two for each


class LeafFit:
    """Constant leaves: the values that a strategy gave them.

    Its life: `begin`; for each tree `before_growth`, and `fit` when its leaves have their values.
    """

    leaf_model: ClassVar[type[LeafModel]] = ConstantLeaves
    needs_histograms: ClassVar[tuple[str, str] | None] = None  # parameter that sorted columns cannot be combined with, and why

    def begin(self, rows: Pages | SortedRows, execution: Execution) -> None:
        """Start a fit on these rows."""

    def before_growth(self, gradients: FixedGradients, sample: np.ndarray | None) -> None:
        """Gradients, and rows among those of this partition, that a tree is grown on. Growing changes the gradients."""

    def assignment(self, rows: Pages | SortedRows) -> LeafAssignment:
        """Return the memory for the leaf of each row."""
        return LeafAssignment(rows.n_rows)

    def fit(
        self, tree: Tree, assignment: LeafAssignment, gradients: FixedGradients | None, rules: Rules, learning_rate: float
    ) -> LeafModel:
        """Return the leaves of a tree whose values are known. `gradients` are those of all rows, if the values come from those; None:
        those of the rows that the tree was grown on."""
        return tree.leaves


@dataclass(frozen=True)
class Levels:
    """Values of an input as integers, whose sums are exact: value = offset + unit * level."""

    input: LinearInput
    levels: np.ndarray  # (n_bins,) int32, ascending
    offset: float
    unit: float
    variance: float  # of the levels of all bins, which have about as many rows each

    @classmethod
    def of(cls, own: LinearInput) -> Levels:
        low, high = own.values[0], own.values[-1]
        offset, unit = low / 2 + high / 2, max((high / 2 - low / 2) / kernels.MAX_LEVEL, TINY)
        levels = np.rint((own.values - offset) / unit).astype(np.int32)
        mean = levels.sum(dtype=np.int64) / len(levels)
        return cls(own, levels, offset, unit, math.fsum((levels - mean) ** 2) / len(levels))


class LinearFit(LeafFit):
    """Linear leaves: ridge regression of the Newton step on a few features of numbers, in each leaf.

    With x the inputs less their means in the leaf, weighted by hessians, the value of a leaf and its slopes do not depend on each other:
    the value is that of a constant leaf, and the slopes minimize the sum over rows of g * s'x + h / 2 * (s'x)^2, plus a penalty.

    Parameters
    ----------
    by_path : whether a leaf has slopes of features of its own path only, so that constraints on interactions hold
    l2 : penalty of a slope, in rows: as if so many rows more of the leaf, whose inputs vary as in all training rows, had slope 0
    """

    l2: float
    by_path: bool
    execution: Execution
    binning: Binning
    gradients: FixedGradients
    leaf_model = LinearLeaves
    needs_histograms = "leaf_model='linear'", "slopes are fitted to bins"

    def __init__(self, l2: float, by_path: bool = False) -> None:
        self.l2, self.by_path = l2, by_path

    def begin(self, rows: Pages | SortedRows, execution: Execution) -> None:
        assert isinstance(rows, Pages)
        self.execution, self.binning = execution, rows.binning
        self.levels: dict[int, Levels] = {}
        self.sample: np.ndarray | None = None

    def before_growth(self, gradients: FixedGradients, sample: np.ndarray | None) -> None:
        self.gradients, self.sample = replace(gradients, data=gradients.data.copy()), sample

    def assignment(self, rows: Pages | SortedRows) -> LeafAssignment:
        assert isinstance(rows, Pages)
        return LeafAssignment(rows.n_rows, rows)

    @np.errstate(over="ignore", invalid="ignore")  # of features that hardly vary, or too much: slopes that are not finite are left out
    def fit(
        self, tree: Tree, assignment: LeafAssignment, gradients: FixedGradients | None, rules: Rules, learning_rate: float
    ) -> LeafModel:
        value, at = tree.leaves.mean_values()[:, 0], assignment.nodes
        features, slots = self._slots(tree, assignment)
        if not features:
            return LinearLeaves.without_slopes(value)
        used = [self._levels(feature) for feature in features]
        rows = SlopeRows(
            assignment, self.gradients if gradients is None else gradients, self.sample if gradients is None else None, used, slots
        )
        center, low, high, hessian = rows.means(self.execution)
        a, b = rows.normal_equations(center, self.execution)
        slope = kernels.solve_slopes(a, b, self.l2 * hessian * np.array([own.variance for own in used])[slots])

        unit, offset = rows.units
        middle = np.minimum(np.maximum(center * unit + offset, low), high)
        slope = slope / unit
        reach = (np.abs(slope) * np.maximum(high - middle, middle - low)).sum(axis=1)
        slope *= rules.slope_factor(value[at] / learning_rate, reach, assignment.count)[:, None] * learning_rate
        kept = (slope != 0) & np.isfinite(slope) & (slots >= 0)
        n_slopes = np.zeros(len(value), dtype=np.int32)
        n_slopes[at] = kept.sum(axis=1)
        order = np.argsort(at, kind="stable")
        parts = {"slope_input": slots, "slope": slope, "slope_center": middle, "slope_low": low, "slope_high": high}
        arrays = {name: part[order][kept[order]] for name, part in parts.items()}
        return LinearLeaves(value, n_slopes, **arrays, inputs=tuple(own.input for own in used)).with_used_inputs()

    def _slots(self, tree: Tree, assignment: LeafAssignment) -> tuple[list[int], np.ndarray]:
        """Return features, and for each leaf the numbers of those that it has slopes of, (n_leaves, n_slots) int32; -1 for none."""
        features = self._features(tree)
        if not self.by_path:
            features = features[:MAX_INPUTS]
            slots = np.broadcast_to(np.arange(len(features), dtype=np.int32), (len(assignment.nodes), len(features)))
        else:
            on_path = features_on_paths(tree)
            chosen = [
                [i for i, feature in enumerate(features) if feature in on_path[node]][:MAX_INPUTS] for node in assignment.nodes.tolist()
            ]
            width = max(map(len, chosen))
            slots = np.array([own + [-1] * (width - len(own)) for own in chosen], dtype=np.int32).reshape(len(chosen), width)
        enough = assignment.count >= MIN_ROWS + 2 * (slots >= 0).sum(axis=1)
        slots = np.where(enough[:, None], slots, np.int32(-1))
        return (features, slots) if (slots >= 0).any() else ([], slots)

    def _features(self, tree: Tree) -> list[int]:
        """The features of numbers that a tree splits on, those with the most gain first."""
        inner = tree.feature >= 0
        of_numbers = inner if self.binning.kinds is None else inner & (self.binning.kinds[tree.feature] == NUMBER)
        gain = np.zeros(self.binning.n_features)
        np.add.at(gain, tree.feature[of_numbers], tree.gain[of_numbers])
        present = np.unique(tree.feature[of_numbers])
        return present[np.argsort(-gain[present], kind="stable")].tolist()

    def _levels(self, feature: int) -> Levels:
        if feature not in self.levels:
            self.levels[feature] = Levels.of(LinearInput.centers(feature, self.binning.cuts_of(feature)))
        return self.levels[feature]


def features_on_paths(tree: Tree) -> list[set[int]]:
    """Return the features that are split on between the root and each node."""
    found: list[set[int]] = [set() for _ in tree.feature]
    for node in np.flatnonzero(tree.feature >= 0).tolist():  # children come after their parents
        for child in (tree.left[node], tree.right[node]):
            found[child] = found[node] | {int(tree.feature[node])}
    return found


@dataclass(frozen=True)
class SlopeRows:
    """Rows of this partition with their gradients and leaves, and the inputs of each leaf."""

    assignment: LeafAssignment
    gradients: FixedGradients
    sample: np.ndarray | None
    levels: list[Levels]
    slots: np.ndarray  # (n_leaves, n_slots) int32: numbers of levels, or -1

    def means(self, execution: Execution) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return, (n_leaves, n_slots) each: the mean of levels, rounded, int32; the lowest and highest value; the mean hessian."""
        shape = self.slots.shape
        sums, most = np.zeros((*shape, MEAN_WORDS), dtype=np.int64), np.full((*shape, 2), NO_LEVEL, dtype=np.int64)
        for call in self._calls:
            kernels.slope_means(**call, sums=sums, most=most, n_threads=execution.n_threads)
        sums, most = self.assignment.group_sums(execution.sum(sums)), self.assignment.group_max(execution.max(most))
        hessian = sums[..., 1]
        mean = np.divide(wide(sums[..., 2:]), hessian, out=np.zeros(shape), where=hessian > 0)
        unit, offset = self.units
        low, high = offset - most[..., 0] * unit, offset + most[..., 1] * unit
        mean_hessian = np.divide(hessian / (self.gradients.scale.hessian or 1.0), sums[..., 0], out=np.zeros(shape), where=sums[..., 0] > 0)
        return np.rint(mean).astype(np.int32), low, high, mean_hessian

    @property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """Unit and offset of the levels, (n_leaves, n_slots) float64 each."""
        return np.array([own.unit for own in self.levels])[self.slots], np.array([own.offset for own in self.levels])[self.slots]

    def normal_equations(self, center: np.ndarray, execution: Execution) -> tuple[np.ndarray, np.ndarray]:
        """Return (n_leaves, n_slots, n_slots) and (n_leaves, n_slots) float64: the sums of h * x * x and of g * x, with x the levels less
        their center."""
        n_leaves, d = self.slots.shape
        sums = np.zeros((n_leaves, d * (d + 1) // 2 + d, WIDE_WORDS), dtype=np.int64)
        for call in self._calls:
            kernels.slope_products(**call, centers=np.ascontiguousarray(center), sums=sums, n_threads=execution.n_threads)
        products = wide(self.assignment.group_sums(execution.sum(sums)))
        scale = self.gradients.scale
        a = np.zeros((n_leaves, d, d))
        lower = np.tril_indices(d)
        a[:, lower[0], lower[1]] = a[:, lower[1], lower[0]] = products[:, : len(lower[0])] / (scale.hessian or 1.0)
        return a, products[:, len(lower[0]) :] / scale.gradient

    @property
    def _calls(self) -> Iterator[dict[str, Any]]:
        """Yield the arguments of the kernels for each page."""
        assignment, size = self.assignment, self.gradients.scale.bytes_per_row
        common = {
            "leaf_size": assignment.size,
            "features": np.array([own.input.feature for own in self.levels], dtype=np.int32),
            "levels": np.concatenate([own.levels for own in self.levels]),
            "slots": np.ascontiguousarray(self.slots),
        }
        assert assignment.pages is not None
        for rows, page in assignment.pages.visit():
            sample = None
            if self.sample is not None:
                first, last = np.searchsorted(self.sample, [rows.start, rows.stop])
                sample = self.sample[first:last] - rows.start
            own = {"page": page, "records": self.gradients.data[rows.start * size : rows.stop * size], "rows": sample}
            leaves = assignment.data[rows.start * assignment.size : rows.stop * assignment.size]
            yield common | own | {"leaves": leaves}


def wide(words: np.ndarray) -> np.ndarray:
    """Return (...) float64 of sums in three words, (..., 3) int64: they may have been added up, and hold carries."""
    low, middle, high = np.moveaxis(words, -1, 0)
    middle = middle + (low >> 32)
    high = high + (middle >> 32)
    return high * 2.0**64 + (middle & 0xFFFFFFFF) * 2.0**32 + (low & 0xFFFFFFFF)

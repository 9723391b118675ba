"""Leaves that are linear functions of some features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.columns import as_plain
from sapwood.runtime.execution import Execution
from sapwood.trees.leaf_models.base import LeafModel, blend
from sapwood.trees.leaf_models.inputs import Inputs, LinearInput, inputs_on, join_inputs, split_inputs

if TYPE_CHECKING:
    from sapwood.trees.leaf_assignment import LeafAssignment

SLOPES = {"slope_input": "int32", "slope": "float64", "slope_center": "float64", "slope_low": "float64", "slope_high": "float64"}
INPUTS = {"input_feature": "int32", "input_begin": "int64", "input_cuts": "float64", "input_values": "float64"}


@dataclass(frozen=True, eq=False)
class LinearLeaves(LeafModel):
    """A value in each leaf, and slopes: each adds `slope * (clip(input, low, high) - center)`, and nothing where the input is missing.

    The center of an input is its mean in the leaf, weighted by hessians, so that `value` is what a leaf adds on average. The inputs are
    those of `sapwood.trees.leaf_models.inputs`; trees of a model may share them.
    """

    value: np.ndarray  # (n_nodes,) float64: 0 except in leaves
    n_slopes: np.ndarray  # (n_nodes,) int32: 0 except in leaves
    slope_input: np.ndarray  # (n_slopes,) int32: number among `inputs`
    slope: np.ndarray  # (n_slopes,) float64
    slope_center: np.ndarray  # (n_slopes,) float64
    slope_low: np.ndarray  # (n_slopes,) float64
    slope_high: np.ndarray  # (n_slopes,) float64
    inputs: Inputs

    name = "linear"
    dtypes: ClassVar[Mapping[str, str]] = {"value": "float64", "n_slopes": "int32", **SLOPES, **INPUTS}

    @classmethod
    def of_steps(cls, n_nodes: int, nodes: np.ndarray, steps: np.ndarray) -> Self:
        if steps.ndim > 1:
            raise ValueError("linear leaves have one output")
        value = np.zeros(n_nodes)
        value[nodes] = steps
        return cls.without_slopes(value)

    @classmethod
    def without_slopes(cls, value: np.ndarray) -> Self:
        """Return leaves that add the same to all their rows."""
        none = np.empty(0)
        return cls(value, np.zeros(len(value), dtype=np.int32), none.astype(np.int32), none, none, none, none, inputs=())

    @property
    def begin(self) -> np.ndarray:
        """(n_nodes + 1,) int64: where the slopes of each node begin."""
        return np.concatenate([[0], np.cumsum(self.n_slopes, dtype=np.int64)])

    @property
    def n_nodes(self) -> int:
        return len(self.value)

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def is_finite(self) -> bool:
        return all(bool(np.isfinite(array).all()) for array in (self.value, self.slope, self.slope_center, self.slope_low, self.slope_high))

    def scaled(self, factor: float) -> Self:
        return self if factor == 1 else replace(self, value=self.value * factor, slope=self.slope * factor)

    def unscaled(self, factor: float) -> Self:
        return replace(self, value=self.value / factor, slope=self.slope / factor)

    def blended(self, new: Self, decay: float, nodes: np.ndarray) -> Self:
        """A leaf has the slopes of both, times `decay` and (1 - decay)."""
        value = self.value.copy()
        value[nodes] = blend(self.value[nodes], new.value[nodes], decay)
        chosen = np.isin(np.arange(self.n_nodes), nodes)
        inputs, numbers = _union([self.inputs, new.inputs])
        old_of, new_of = (np.repeat(np.arange(own.n_nodes), own.n_slopes) for own in (self, new))
        stays, comes = ~chosen[old_of] | (decay > 0), chosen[new_of] & (decay < 1)
        node = np.concatenate([old_of[stays], new_of[comes]])
        order = np.argsort(node, kind="stable")
        joined = {name: np.concatenate([getattr(self, name)[stays], getattr(new, name)[comes]]) for name in SLOPES}
        joined["slope_input"] = np.concatenate([numbers[0][self.slope_input[stays]], numbers[1][new.slope_input[comes]]])
        weight = np.concatenate([np.where(chosen[old_of[stays]], decay, 1.0), np.full(comes.sum(), 1.0 - decay)])
        joined["slope"] = joined["slope"] * weight
        counts = np.bincount(node, minlength=self.n_nodes).astype(np.int32)
        return type(self)(value, counts, **{name: array[order] for name, array in joined.items()}, inputs=inputs).with_used_inputs()

    def take(self, nodes: np.ndarray | Sequence[int]) -> Self:
        return self._with_nodes(np.asarray(nodes, dtype=np.int64))

    def only(self, nodes: np.ndarray) -> Self:
        chosen = np.isin(np.arange(self.n_nodes), nodes)
        kept = np.repeat(chosen, self.n_slopes)
        slopes = {name: getattr(self, name)[kept] for name in SLOPES}
        value, counts = np.where(chosen, self.value, 0.0), np.where(chosen, self.n_slopes, 0).astype(np.int32)
        return type(self)(value, counts, **slopes, inputs=self.inputs).with_used_inputs()

    def _with_nodes(self, nodes: np.ndarray) -> Self:
        """These nodes in this order."""
        counts, begin = self.n_slopes[nodes], self.begin
        total = int(counts.sum())
        at = np.repeat(begin[nodes] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(total)
        return type(self)(self.value[nodes], counts, **{name: getattr(self, name)[at] for name in SLOPES}, inputs=self.inputs)

    def with_used_inputs(self) -> Self:
        """Return the same leaves without inputs that no slope refers to."""
        used = np.unique(self.slope_input)
        if len(used) == len(self.inputs):
            return self
        number = np.zeros(len(self.inputs), dtype=np.int32)
        number[used] = np.arange(len(used))
        return replace(self, slope_input=number[self.slope_input], inputs=tuple(self.inputs[i] for i in used))

    def output(self, number: int) -> Self:
        return self

    def plus(self, constant: float, nodes: np.ndarray) -> Self:
        value = self.value.copy()
        value[nodes] += constant
        return replace(self, value=value)

    def with_features(self, feature: np.ndarray) -> Self:
        return replace(self, inputs=tuple(replace(own, feature=int(feature[own.feature])) for own in self.inputs))

    def on(self, binning: Binning) -> Self:
        inputs = inputs_on(self.inputs, binning)
        return self if inputs is self.inputs else replace(self, inputs=inputs)

    @classmethod
    def join(cls, leaves: Sequence[Self]) -> dict[str, np.ndarray]:
        inputs, numbers = _union([own.inputs for own in leaves])
        arrays = {name: np.concatenate([getattr(own, name) for own in leaves]) for name in ("value", "n_slopes", *SLOPES)}
        renamed = [number[own.slope_input] for number, own in zip(numbers, leaves, strict=True)]
        return {**arrays, "slope_input": np.concatenate(renamed), **join_inputs(inputs)}

    @classmethod
    def split(cls, arrays: Mapping[str, np.ndarray], begin: Sequence[int]) -> list[Self]:
        inputs = split_inputs(arrays)
        slopes_begin = np.concatenate([[0], np.cumsum(arrays["n_slopes"], dtype=np.int64)])
        out = []
        for first, last in pairwise(begin):
            own = slice(slopes_begin[first], slopes_begin[last])
            slopes = {name: arrays[name][own] for name in SLOPES}
            out.append(cls(arrays["value"][first:last], arrays["n_slopes"][first:last], **slopes, inputs=inputs).with_used_inputs())
        return out

    @classmethod
    def find_fault(cls, arrays: Mapping[str, np.ndarray], n_nodes: int, n_outputs: int | None) -> str | None:
        if n_outputs is not None:
            return "linear leaves have one output"
        if any(arrays[name].ndim != 1 for name in cls.dtypes):
            return "an array of linear leaves is not a list"
        if len(arrays["value"]) != n_nodes or len(arrays["n_slopes"]) != n_nodes:
            return "value has another length than its fellows"
        n_slopes = arrays["n_slopes"].astype(np.int64)
        if (n_slopes < 0).any() or any(len(arrays[name]) != n_slopes.sum() for name in SLOPES):
            return "slopes do not cover the leaves"
        if (n_slopes[arrays["feature"] >= 0] > 0).any():
            return "a node that is not a leaf has slopes"
        if any(not np.isfinite(arrays[name]).all() for name in ("value", *SLOPES, "input_values")):
            return "a leaf value is not finite"
        if (arrays["slope_low"] > arrays["slope_high"]).any():
            return "the range of a slope is empty"
        return _find_input_fault(arrays)

    def add_to(self, raw: np.ndarray, assignment: LeafAssignment, execution: Execution) -> None:
        assignment.add_linear(self.take(assignment.nodes), raw, execution)

    def expected(self, node: int, known: Mapping[int, np.ndarray]) -> np.ndarray:
        total = np.full((1, 1), self.value[node])
        for k in range(*self.begin[node : node + 2]):
            own = self.inputs[self.slope_input[k]]
            if own.feature in known:
                x = np.clip(own.at(known[own.feature]), self.slope_low[k], self.slope_high[k])
                total = total + np.where(np.isnan(x), 0.0, self.slope[k] * (x - self.slope_center[k]))
        return total

    def mean_values(self) -> np.ndarray:
        return self.value.reshape(-1, 1)

    def constant_values(self) -> np.ndarray | None:
        return None if len(self.slope) else self.value.reshape(-1, 1)

    def describe(self, node: int) -> dict[str, Any]:
        slopes = [
            {
                "input": int(self.slope_input[k]),
                "slope": float(self.slope[k]),
                "center": float(self.slope_center[k]),
                "low": float(self.slope_low[k]),
                "high": float(self.slope_high[k]),
            }
            for k in range(*self.begin[node : node + 2])
        ]
        return {"value": self.value[node].tolist(), "slopes": slopes}

    @classmethod
    def describe_all(cls, leaves: Sequence[Self]) -> tuple[dict[str, Any], Sequence[Self]]:
        inputs, numbers = _union([own.inputs for own in leaves])
        renamed = [replace(own, inputs=inputs, slope_input=number[own.slope_input]) for own, number in zip(leaves, numbers, strict=True)]
        described = [
            {"feature": own.feature, "cuts": [as_plain(cut) for cut in own.cuts.tolist()], "values": own.values.tolist()} for own in inputs
        ]
        return {"inputs": described}, renamed

    @classmethod
    def summary(cls, several_outputs: bool) -> str:
        return "a value and slopes: each adds slope * (clip(input, low, high) - center), nothing where the feature is missing"

    def label(self, node: int, max_outputs: int) -> str:
        begin, end = self.begin[node : node + 2]
        terms = [f" {self.slope[k]:+.2g}·f{self.inputs[self.slope_input[k]].feature}" for k in range(begin, end)]
        return f"{self.value[node]:+.3g}" + "".join(terms)


def _union(of_leaves: Sequence[Inputs]) -> tuple[Inputs, list[np.ndarray]]:
    """Return all inputs, each once, and for each list of inputs their numbers among these."""
    if len(of_leaves) == 1:
        return of_leaves[0], [np.arange(len(of_leaves[0]), dtype=np.int32)]
    found: dict[Any, int] = {}
    inputs: list[LinearInput] = []
    numbers = []
    for own in of_leaves:
        for one in own:
            if found.setdefault(one.key, len(inputs)) == len(inputs):
                inputs.append(one)
        numbers.append(np.array([found[one.key] for one in own], dtype=np.int32))
    return tuple(inputs), numbers


def _find_input_fault(arrays: Mapping[str, np.ndarray]) -> str | None:
    feature, begin, cuts = arrays["input_feature"], arrays["input_begin"], arrays["input_cuts"]
    if len(begin) != len(feature) + 1 or begin[0] != 0 or begin[-1] != len(cuts) or (begin[:-1] >= begin[1:]).any():
        return "input_begin does not cover input_cuts"
    if len(arrays["input_values"]) != len(cuts) + len(feature):
        return "an input has another number of values than bins"
    if ((arrays["slope_input"] < 0) | (arrays["slope_input"] >= len(feature))).any():
        return "a slope has no input"
    of_cut = np.repeat(np.arange(len(feature)), np.diff(begin))
    if np.isnan(cuts).any() or not ((cuts[:-1] < cuts[1:]) | (of_cut[:-1] < of_cut[1:])).all():
        return "the cut points of an input are not ascending"
    kinds = arrays["kinds"]
    if ((feature < 0) | (feature >= len(kinds))).any() or kinds[feature].any():
        return "an input is not a feature of numbers"
    return None

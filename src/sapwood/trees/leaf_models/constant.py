"""Leaf model with constant leaf values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sapwood.runtime.execution import Execution
from sapwood.trees.leaf_models.base import LeafModel, blend

if TYPE_CHECKING:
    from sapwood.trees.leaf_assignment import LeafAssignment


@dataclass(frozen=True, eq=False)
class ConstantLeaves(LeafModel):
    """One value per leaf; if outputs share the tree, one value per leaf and output."""

    value: np.ndarray  # (n_nodes,) float64, or (n_nodes, n_outputs) if outputs share the tree; 0 except in leaves

    name = "constant"
    dtypes: ClassVar[Mapping[str, str]] = {"value": "float64"}

    @classmethod
    def of_steps(cls, n_nodes: int, nodes: np.ndarray, steps: np.ndarray) -> Self:
        value = np.zeros((n_nodes, *steps.shape[1:]))
        value[nodes] = steps
        return cls(value)

    @property
    def n_nodes(self) -> int:
        return len(self.value)

    @property
    def n_outputs(self) -> int:
        return 1 if self.value.ndim == 1 else self.value.shape[1]

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.value).all())

    def scaled(self, factor: float) -> Self:
        return self if factor == 1 else type(self)(self.value * factor)

    def unscaled(self, factor: float) -> Self:
        return type(self)(self.value / factor)

    def blended(self, new: Self, decay: float, nodes: np.ndarray) -> Self:
        value = self.value.copy()
        value[nodes] = blend(self.value[nodes], new.value[nodes], decay)
        return type(self)(value)

    def take(self, nodes: np.ndarray | Sequence[int]) -> Self:
        return type(self)(self.value[nodes])

    def only(self, nodes: np.ndarray) -> Self:
        return self.with_steps(nodes, self.value[nodes])

    def output(self, number: int) -> Self:
        return type(self)(np.ascontiguousarray(self.value.reshape(self.n_nodes, -1)[:, number]))

    def plus(self, constant: float, nodes: np.ndarray) -> Self:
        value = self.value.copy()
        value[nodes] += constant
        return type(self)(value)

    def with_features(self, feature: np.ndarray) -> Self:
        return self

    @classmethod
    def join(cls, leaves: Sequence[Self]) -> dict[str, np.ndarray]:
        return {"value": np.concatenate([own.value for own in leaves])}

    @classmethod
    def split(cls, arrays: Mapping[str, np.ndarray], begin: Sequence[int]) -> list[Self]:
        return [cls(arrays["value"][first:last]) for first, last in pairwise(begin)]

    @classmethod
    def find_fault(cls, arrays: Mapping[str, np.ndarray], n_nodes: int, n_outputs: int | None) -> str | None:
        value = arrays["value"]
        if value.shape[1:] != (() if n_outputs is None else (n_outputs,)):
            return "the leaves have a wrong number of values"
        if len(value) != n_nodes:
            return "value does not have one entry per node"
        return None if np.isfinite(value).all() else "a leaf value is not finite"

    def add_to(self, raw: np.ndarray, assignment: LeafAssignment, execution: Execution) -> None:
        assignment.add_values(self.value[assignment.nodes], raw, execution)

    def expected(self, node: int, known: Mapping[int, np.ndarray]) -> np.ndarray:
        return self.value[node].reshape(-1, 1)

    def mean_values(self) -> np.ndarray:
        return self.constant_values()

    def constant_values(self) -> np.ndarray:
        return self.value.reshape(self.n_nodes, self.n_outputs)

    def describe(self, node: int) -> dict[str, Any]:
        return {"value": self.value[node].tolist()}

    @classmethod
    def summary(cls, several_outputs: bool) -> str:
        return "one value per output" if several_outputs else "one value"

    def label(self, node: int, max_outputs: int) -> str:
        values = np.atleast_1d(self.value[node])
        return ", ".join(f"{value:+.3g}" for value in values[:max_outputs]) + (", …" if len(values) > max_outputs else "")

"""Base class of leaf models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sapwood.data.binning import Binning
from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

if TYPE_CHECKING:
    from sapwood.trees.leaf_assignment import LeafAssignment


class LeafModel(ABC):
    """Leaves of one tree. Each leaf is a function of a row, whose result is added to the raw prediction.

    A leaf model has an entry for every node of the tree, with the same numbers; nodes that are not leaves add 0. It is immutable: methods
    return a new one, so trees and copies of a model can share it.

    Life cycle
    ----------
    1. Training: the grower creates it from the Newton steps of the leaves (`of_steps`); a strategy may replace the steps (`with_steps`);
       learning rate, line search and DART multiply it (`scaled`). `add_to` adds it to the raw predictions of the training rows, whose
       leaves are known.
    2. Prediction: `join` concatenates the arrays of all trees; `native` passes them to the kernels, also for SHAP values.
    3. File: the same arrays, with the same names. `find_fault` checks those of an untrusted file; `split` creates a leaf model per tree.
    4. Changes of a model: `blended` (refit), `scaled` and `with_features` (merging), `take` (reordered nodes), `output` and `plus` (export
       of one output).
    5. Inspection: `expected` (partial dependence), `describe` (JSON), `label` and `mean_values` (plots), `constant_values` (formats with
       constant leaves only).

    To add a leaf model, write a subclass in a file of this package and add it to `LEAF_MODELS`. Its arrays are additional, optional
    arguments of `kernels.LeafArrays`. `tests/trees/leaf_models/test_base.py` checks every member of the table.

    Attributes
    ----------
    name : name in `LEAF_MODELS`, in files and in error messages
    dtypes : dtypes of its arrays in files and kernels, by name
    """

    name: ClassVar[str]
    dtypes: ClassVar[Mapping[str, str]]

    @classmethod
    @abstractmethod
    def of_steps(cls, n_nodes: int, nodes: np.ndarray, steps: np.ndarray) -> Self:
        """Return leaves at the given nodes that add a step, (n_leaves,) or (n_leaves, n_outputs), to every row."""

    def with_steps(self, nodes: np.ndarray, steps: np.ndarray) -> Self:
        """Return leaves of the same class with other steps: see `of_steps`."""
        return self.of_steps(self.n_nodes, nodes, steps)

    @classmethod
    def empty(cls, n_outputs: int | None) -> Self:
        """Return a leaf model without nodes. `n_outputs` is None for trees of one output."""
        return cls.of_steps(0, np.empty(0, dtype=np.int64), np.empty(0 if n_outputs is None else (0, n_outputs)))

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes of the tree."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of outputs that the tree adds to."""

    @property
    @abstractmethod
    def is_finite(self) -> bool:
        """Whether all numbers are finite."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return leaves that add `factor` times as much."""

    @abstractmethod
    def unscaled(self, factor: float) -> Self:
        """Return leaves that add 1 / `factor` times as much."""

    @abstractmethod
    def blended(self, new: Self, decay: float, nodes: np.ndarray) -> Self:
        """Return decay * self + (1 - decay) * new at the given nodes, and the unchanged leaves elsewhere."""

    @abstractmethod
    def take(self, nodes: np.ndarray | Sequence[int]) -> Self:
        """Return the leaves of the given nodes, in this order."""

    @abstractmethod
    def only(self, nodes: np.ndarray) -> Self:
        """Return these leaves at the given nodes, and leaves that add 0 elsewhere."""

    @abstractmethod
    def output(self, number: int) -> Self:
        """Return the leaves of one output."""

    @abstractmethod
    def plus(self, constant: float, nodes: np.ndarray) -> Self:
        """Return leaves with a constant added to every output at the given nodes."""

    @abstractmethod
    def with_features(self, feature: np.ndarray) -> Self:
        """Return the leaves with renumbered features. `feature`, (n_features,) int32, holds the new number of each feature."""

    def on(self, binning: Binning) -> Self:
        """Return the same leaves for rows in these bins, whose cut points are among those of the fit."""
        return self

    @classmethod
    @abstractmethod
    def join(cls, leaves: Sequence[Self]) -> dict[str, np.ndarray]:
        """Return the concatenated arrays of the leaves of all trees, with the names of `dtypes`."""

    @classmethod
    @abstractmethod
    def split(cls, arrays: Mapping[str, np.ndarray], begin: Sequence[int]) -> list[Self]:
        """Return the leaves of each tree from the concatenated arrays. `begin`, (n_trees + 1,), is the first node of each tree."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of these leaves: see `join`."""
        return self.join([self])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_nodes: int) -> Self:
        """Return the leaves of one tree with `n_nodes` nodes from its arrays."""
        return cls.split(arrays, [0, n_nodes])[0]

    @classmethod
    @abstractmethod
    def find_fault(cls, arrays: Mapping[str, np.ndarray], n_nodes: int, n_outputs: int | None) -> str | None:
        """Return a description of an error in the arrays of a file, or None if they are valid. The dtypes are already checked.

        `n_nodes` is the number of nodes in the file; `n_outputs` is None if trees have one output.
        """

    @classmethod
    def native(cls, arrays: Mapping[str, np.ndarray]) -> kernels.LeafArrays:
        """Return the leaves for the kernels, from arrays that include those of `join`."""
        return kernels.LeafArrays(**{name: arrays[name] for name in cls.dtypes})

    @abstractmethod
    def add_to(self, raw: np.ndarray, assignment: LeafAssignment, execution: Execution) -> None:
        """Add the leaves to the raw predictions, (n_outputs, n_rows) or (n_rows,), of rows whose leaf is known."""

    @abstractmethod
    def expected(self, node: int, known: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return the mean over the training rows of what a leaf adds, given the values of some features, (n_points,) each.

        The shape is (n_outputs, n_points) or (n_outputs, 1).
        """

    @abstractmethod
    def mean_values(self) -> np.ndarray:
        """Return the mean over its training rows of what each leaf adds, (n_nodes, n_outputs) float64."""

    @abstractmethod
    def constant_values(self) -> np.ndarray | None:
        """Return the value that each leaf adds to every row, (n_nodes, n_outputs) float64; None if leaves are not constant."""

    @abstractmethod
    def describe(self, node: int) -> dict[str, Any]:
        """Return a leaf as JSON data."""

    @classmethod
    def describe_all(cls, leaves: Sequence[Self]) -> tuple[dict[str, Any], Sequence[Self]]:
        """Return what `describe` of all trees refers to, as plain data, and the leaves to be described."""
        return {}, leaves

    @classmethod
    @abstractmethod
    def summary(cls, several_outputs: bool) -> str:
        """Return a short text about the result of `describe`."""

    @abstractmethod
    def label(self, node: int, max_outputs: int) -> str:
        """Return a short label of a leaf with the values of at most `max_outputs` outputs."""


def blend(old: np.ndarray, new: np.ndarray, decay: float) -> np.ndarray:
    """Return decay * old + (1 - decay) * new; exactly `old` for a decay of 1, exactly `new` for 0."""
    return old if decay == 1 else new if decay == 0 else decay * old + (1 - decay) * new

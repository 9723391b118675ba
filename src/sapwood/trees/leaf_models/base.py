"""The leaf model: what the leaves of a tree add to the raw predictions of their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

if TYPE_CHECKING:
    from sapwood.trees.leaf_assignment import LeafAssignment


class LeafModel(ABC):
    """The leaves of one tree: a function of a row for each leaf, whose result is added to the raw prediction.

    Node numbers are those of the tree; a leaf model has an entry for every node, and adds nothing at nodes that are not leaves. A leaf
    model is immutable: methods return another one. So trees, and copies of a model, may share it.

    Life cycle
    ----------
    1. Training: the grower makes it from the Newton steps of the leaves (`of_steps`); a strategy may give the leaves other steps
       (`with_steps`); learning rate, line search and DART multiply it (`scaled`). `add_to` adds it to the raw predictions of the training
       rows, for which the leaf is known.
    2. Prediction: `join` puts the arrays of all trees end to end; `native` hands them to the kernels, which also compute Shapley values
       from them.
    3. File: the same arrays, by the same names. `find_fault` checks those of an untrusted file, `split` makes a leaf model for each tree.
    4. Afterwards: `blended` (refit), `scaled` and `with_features` (merging), `take` (nodes in another order), `output` and `plus` (a tree
       for one output, for other libraries).
    5. Inspection: `expected` (partial dependence), `describe` (JSON), `label` and `mean_values` (plots), `constant_values` (formats whose
       leaves are numbers).

    To add a leaf model, write a subclass in a file of this package and add it to `LEAF_MODELS`. Its arrays are further, optional arguments
    of `kernels.LeafArrays`. `tests/trees/test_leaf_models.py` checks every member of the table.

    Attributes
    ----------
    name : its name in `LEAF_MODELS`, in files and in error messages
    dtypes : its arrays in files and kernels: their names, and the type of their numbers
    """

    name: ClassVar[str]
    dtypes: ClassVar[Mapping[str, str]]

    @classmethod
    @abstractmethod
    def of_steps(cls, n_nodes: int, nodes: np.ndarray, steps: np.ndarray) -> Self:
        """Return leaves at some nodes that add a step, of (n_leaves,) or (n_leaves, n_outputs), to every row."""

    def with_steps(self, nodes: np.ndarray, steps: np.ndarray) -> Self:
        """Return leaves of the same kind with other steps: see `of_steps`."""
        return self.of_steps(self.n_nodes, nodes, steps)

    @classmethod
    def empty(cls, n_outputs: int | None) -> Self:
        """Return the leaves of no nodes; None: a tree has one output."""
        return cls.of_steps(0, np.empty(0, dtype=np.int64), np.empty(0 if n_outputs is None else (0, n_outputs)))

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of the tree's nodes."""

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
        """Return leaves that add as much as these, divided by `factor`."""

    @abstractmethod
    def blended(self, new: Self, decay: float, nodes: np.ndarray) -> Self:
        """Return `decay` times these leaves plus (1 - decay) times the new ones, at some nodes; elsewhere these."""

    @abstractmethod
    def take(self, nodes: np.ndarray | Sequence[int]) -> Self:
        """Return the leaves of some of the nodes, in this order."""

    @abstractmethod
    def only(self, nodes: np.ndarray) -> Self:
        """Return these leaves at some nodes, and leaves that add nothing elsewhere."""

    @abstractmethod
    def output(self, number: int) -> Self:
        """Return the leaves of one output."""

    @abstractmethod
    def plus(self, constant: float, nodes: np.ndarray) -> Self:
        """Return leaves that add a constant to every output besides, at some nodes."""

    @abstractmethod
    def with_features(self, feature: np.ndarray) -> Self:
        """Return the same leaves where features have other numbers: `feature`, (n_features,) int32, holds the new number of each."""

    @classmethod
    @abstractmethod
    def join(cls, leaves: Sequence[Self]) -> dict[str, np.ndarray]:
        """Return the arrays of the leaves of all trees, end to end, by the names of `dtypes`."""

    @classmethod
    @abstractmethod
    def split(cls, arrays: Mapping[str, np.ndarray], begin: Sequence[int]) -> list[Self]:
        """Return the leaves of each tree from the arrays of all; `begin`, (n_trees + 1,): where each tree's nodes begin."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of these leaves alone: see `join`."""
        return self.join([self])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], n_nodes: int) -> Self:
        """Return the leaves of one tree of so many nodes from its arrays."""
        return cls.split(arrays, [0, n_nodes])[0]

    @classmethod
    @abstractmethod
    def find_fault(cls, arrays: Mapping[str, np.ndarray], n_nodes: int, n_outputs: int | None) -> str | None:
        """Return what is wrong with the arrays of a file that has so many nodes and, if trees have several outputs, so many of those;
        None for nothing. The types of the numbers are checked already."""

    @classmethod
    def native(cls, arrays: Mapping[str, np.ndarray]) -> kernels.LeafArrays:
        """Return what the kernels take, from arrays among which are those of `join`."""
        return kernels.LeafArrays(**{name: arrays[name] for name in cls.dtypes})

    @abstractmethod
    def add_to(self, raw: np.ndarray, assignment: LeafAssignment, execution: Execution) -> None:
        """Add to the raw predictions of rows, (n_outputs, n_rows) or (n_rows,), whose leaves are known."""

    @abstractmethod
    def expected(self, node: int, known: Mapping[int, np.ndarray]) -> np.ndarray:
        """Return (n_outputs, n_points) or (n_outputs, 1): what a leaf adds to points of which some features are known, (n_points,) each,
        and for the rest of which it adds its mean over the training rows."""

    @abstractmethod
    def mean_values(self) -> np.ndarray:
        """Return (n_nodes, n_outputs) float64: what each leaf adds to its training rows on average."""

    @abstractmethod
    def constant_values(self) -> np.ndarray | None:
        """Return (n_nodes, n_outputs) float64: what each leaf adds to every row; None if that differs between the rows of a leaf."""

    @abstractmethod
    def describe(self, node: int) -> dict[str, Any]:
        """Return a leaf as plain data for JSON."""

    @classmethod
    @abstractmethod
    def summary(cls, several_outputs: bool) -> str:
        """Return in words what `describe` tells of a leaf."""

    @abstractmethod
    def label(self, node: int, max_outputs: int) -> str:
        """Return a short text for a leaf, with at most so many outputs written out."""


def blend(old: np.ndarray, new: np.ndarray, decay: float) -> np.ndarray:
    """Return `decay` times the old plus (1 - decay) times the new: exactly the old for a decay of 1, exactly the new for 0."""
    return old if decay == 1 else new if decay == 0 else decay * old + (1 - decay) * new

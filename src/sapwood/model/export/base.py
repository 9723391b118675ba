"""Base class of exporters."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from sapwood.data.columns import FIXED_ZONE
from sapwood.encoding.calendar import offsets
from sapwood.model.export.forest import Forest
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.tree import Tree

UTC_ZONES = ("UTC", "Etc/UTC", "GMT", "Etc/GMT")


class ExportError(ValueError):
    """Raised if a format does not support a feature of the model."""


class Exporter(ABC):
    """Base class of export formats.

    `make` returns the exported model as a Python object: a string, a dict, or an object of another library. `to_bytes` returns the content
    of a file.

    Parameters
    ----------
    forest : trees that prediction uses
    classes : labels of a classifier; None for other models
    """

    forest: Forest
    classes: Sequence[Any] | None
    name: ClassVar[str]
    supports_absent: ClassVar[bool] = False  # whether the exported model treats the values of the parameter `missing` as missing
    supports_calendar: ClassVar[bool] = False  # whether the exported model computes calendar parts of datetimes
    supports_crosses: ClassVar[bool] = False  # whether it computes features of two columns

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None) -> None:
        self.forest, self.classes = forest, classes

    @abstractmethod
    def make(self) -> Any:
        """Return the exported model."""

    def to_bytes(self, exported: Any) -> bytes:
        """Return the content of a file with the exported model."""
        return str(exported).encode()

    def error(self, what: str, remedy: str) -> ExportError:
        """Return the error for a feature that the format does not support."""
        return ExportError(f"format={self.name!r} does not support {what}: {remedy}")

    def leaf_values(self, tree: Tree | ColumnTree) -> np.ndarray:
        """Return the (n_nodes, n_outputs of the tree) float64 values of constant leaves. Raise an ExportError for other leaf models."""
        values = tree.leaves.constant_values()
        if values is None:
            raise self.error(f"{tree.leaves.name} leaves", "only constant leaves can be exported")
        return values

    def check_no_combinations(self) -> None:
        """Raise an ExportError if trees use features that combine several columns."""
        if self.forest.combinations:
            columns = self.forest.model.encoding.columns_of(self.forest.combinations[0])
            names = ", ".join(self.forest.column_names[c] for c in columns)
            raise self.error(f"combined categories (of {names})", "use 'c' or 'onnx', or fit with max_combination=1")

    def utc_offset(self, column: int) -> int:
        """Return the offset of a datetime column from UTC in microseconds. Raise an ExportError if it varies."""
        zone = self.forest.schema.kind(column).zone
        if zone is None or zone in UTC_ZONES:
            return 0
        if not FIXED_ZONE.fullmatch(zone):
            name = self.forest.column_names[column]
            raise self.error(f"calendar parts of {name!r} in the time zone {zone}", "convert the column to UTC before the fit")
        return int(offsets(np.zeros(1, dtype=np.int64), zone)[0])

    def library(self, module: str) -> Any:
        """Import a library that only this format needs."""
        try:
            return importlib.import_module(module)
        except ImportError as error:
            extra = f"pip install {self.name}"
            raise ImportError(f"format={self.name!r} needs {module.partition('.')[0]}: {extra} ({error})") from None

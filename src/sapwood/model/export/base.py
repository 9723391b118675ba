"""Base class of exporters."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from sapwood.data.columns import FIXED_ZONE
from sapwood.encoding.calendar import offsets
from sapwood.model.export.forest import Forest
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.tree import Tree

STILL_ZONES = ("UTC", "Etc/UTC", "GMT", "Etc/GMT")


class ExportError(ValueError):
    """The model has something that the format cannot say."""


class Exporter:
    """A format.

    The life of such an object: it is made for one model; `make` gives what the format is in Python (a text, a dict, an object of the
    library whose format it is); `to_bytes` gives the content of a file.

    Parameters
    ----------
    forest : the trees that predict
    classes : the labels of a classifier; None for anything else
    """

    forest: Forest
    classes: Sequence[Any] | None
    name: ClassVar[str]
    knows_absent: ClassVar[bool] = False  # whether values that mean missing are found in what is exported
    knows_calendar: ClassVar[bool] = False  # whether it finds the parts of datetimes

    def __init__(self, forest: Forest, classes: Sequence[Any] | None = None) -> None:
        self.forest, self.classes = forest, classes

    def make(self) -> Any:
        raise TypeError(f"{type(self).__name__} does not say what it makes")

    def to_bytes(self, made: Any) -> bytes:
        """Return the content of a file: of a text, its UTF-8."""
        return str(made).encode()

    def refuse(self, what: str, instead: str) -> ExportError:
        """The error to raise where the format cannot say something."""
        return ExportError(f"format={self.name!r} cannot express {what}: {instead}")

    def leaf_values(self, tree: Tree | ColumnTree) -> np.ndarray:
        """Return (n_nodes, n_outputs of the tree) float64: the values of the leaves, for formats whose leaves are numbers."""
        values = tree.leaves.constant_values()
        if values is None:
            raise self.refuse(f"{tree.leaves.name} leaves", "its leaves are constants")
        return values

    def refuse_combinations(self) -> None:
        """For formats that know columns only."""
        if self.forest.combinations:
            columns = self.forest.model.encoding.columns_of(self.forest.combinations[0])
            names = ", ".join(self.forest.column_names[c] for c in columns)
            raise self.refuse(f"means of combined categories (of {names})", "use 'c' or 'onnx', or fit with max_combination=1")

    def clock_ahead(self, column: int) -> int:
        """Microseconds that the clock of a datetime is ahead of UTC, always."""
        zone = self.forest.schema.kind(column).zone
        if zone is None or zone in STILL_ZONES:
            return 0
        if not FIXED_ZONE.fullmatch(zone):
            name = self.forest.column_names[column]
            raise self.refuse(f"calendar parts of {name!r} on the clocks of {zone}", "convert the column to UTC before the fit")
        return int(offsets(np.zeros(1, dtype=np.int64), zone)[0])

    def library(self, module: str) -> Any:
        """A library that is needed for this format only."""
        try:
            return importlib.import_module(module)
        except ImportError as error:
            extra = f"pip install sapwood[{self.name}]"
            raise ImportError(f"format={self.name!r} needs {module.partition('.')[0]}: {extra} ({error})") from None

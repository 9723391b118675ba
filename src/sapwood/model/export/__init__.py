"""A model in other forms: plain C, and the formats of other libraries. One file a format; `EXPORTERS` is the table of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sapwood.model import disk
from sapwood.model.export.base import Exporter, ExportError
from sapwood.model.export.c import CSource
from sapwood.model.export.forest import Forest
from sapwood.model.export.lightgbm import LightGbm
from sapwood.model.export.onnx import Onnx
from sapwood.model.export.shap import Shap
from sapwood.model.export.treelite import Treelite
from sapwood.model.export.xgboost import XGBoost

if TYPE_CHECKING:
    from sapwood.model import Model

EXPORTERS: dict[str, type[Exporter]] = {
    "c": CSource,
    "onnx": Onnx,
    "treelite": Treelite,
    "lightgbm": LightGbm,
    "xgboost": XGBoost,
    "shap": Shap,
}

__all__ = ["EXPORTERS", "ExportError", "Exporter", "export"]


def export(model: Model, format: str, path: str | os.PathLike[str] | None, classes: Sequence[Any] | None, options: dict[str, Any]) -> Any:
    """The model in a format; written to a file, too, where a path is given. `classes` are the labels of a classifier."""
    if format not in EXPORTERS:
        raise ValueError(f"format={format!r} is unknown; choose from {', '.join(EXPORTERS)}")
    exporter = EXPORTERS[format](Forest(model), classes, **options)
    if exporter.forest.absent and not exporter.knows_absent:
        raise exporter.refuse(f"missing={exporter.forest.absent}", "use 'c' or 'onnx', or fit on a table that has NaN there")
    for part in [] if exporter.knows_calendar else exporter.forest.calendar_parts.values():
        name = exporter.forest.column_names[part.column]
        instead = "use 'c' or 'onnx', or fit without datetime_features, on columns that hold the parts"
        raise exporter.refuse(f"calendar parts of datetimes (of {name})", instead)
    made = exporter.make()
    if path is not None:
        disk.write(path, exporter.to_bytes(made))
    return made

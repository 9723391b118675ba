"""Export of models to C and to the formats of other libraries. One file per format; `EXPORTERS` lists them."""

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
from sapwood.runtime.float_mode import in_default_float_mode

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


@in_default_float_mode
def export(model: Model, format: str, path: str | os.PathLike[str] | None, classes: Sequence[Any] | None, options: dict[str, Any]) -> Any:
    """Return the model in a format, and write it to a file if a path is given. `classes` are the labels of a classifier."""
    if format not in EXPORTERS:
        raise ValueError(f"format={format!r} is unknown; choose from {', '.join(EXPORTERS)}")
    exporter = EXPORTERS[format](Forest(model), classes, **options)
    if exporter.forest.absent and not exporter.supports_absent:
        raise exporter.error(f"missing={exporter.forest.absent}", "use 'c' or 'onnx', or replace these values by NaN before the fit")
    for part in [] if exporter.supports_calendar else exporter.forest.calendar_parts.values():
        name = exporter.forest.column_names[part.column]
        remedy = "use 'c' or 'onnx', or compute the parts before the fit and leave datetime_features out"
        raise exporter.error(f"calendar parts of datetimes (of {name})", remedy)
    for cross in [] if exporter.supports_crosses else exporter.forest.crosses.values():
        names = [exporter.forest.column_names[column] for column in cross.columns]
        raise exporter.error(f"cross features ({cross.describe(*names)})", "use 'c' or 'onnx', or fit with cross_features=None")
    exported = exporter.make()
    if path is not None:
        disk.write(path, exporter.to_bytes(exported))
    return exported

"""Summary of the columns of a table: kind, values, missing fraction, bins, constraints."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from sapwood.data.binning import NUMBER, ONE_VS_REST, PARTITION
from sapwood.data.columns import Kind, Schema
from sapwood.data.tables import Table
from sapwood.encoding.calendar import LAST
from sapwood.model import Model
from sapwood.runtime import html

LEVELS_SHOWN = 3
LONGEST = 40  # maximum number of characters in a cell
COLUMNS_SHOWN = 200
SPLIT_BY = {NUMBER: "statistic", PARTITION: "sets of levels", ONE_VS_REST: "single levels"}


@dataclass(frozen=True)
class Described:
    """Description of one column.

    Attributes
    ----------
    name : name of the column, or its position
    kind : number, bool, datetime, duration or category
    values : levels, or range of values
    missing : fraction of rows without a value; None if no table was given
    bins : number of bins in the model, without the bin for missing values; None before the fit
    constraints : parameters that refer to this column
    features : features that the model derives from the column, with their numbers of bins; empty if the column is used as it is
    """

    name: str
    kind: str
    values: str
    missing: float | None
    bins: int | None
    constraints: str
    features: str = ""


class Description:
    """Description of all columns of a table; `str` formats it as text.

    Attributes
    ----------
    columns : list of Described
    """

    def __init__(self, columns: list[Described]) -> None:
        self.columns = columns

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict per column, e.g. for `pandas.DataFrame(description.to_dicts())`."""
        return [asdict(column) for column in self.columns]

    def _lines(self) -> list[list[str]]:
        """Header and cells."""
        header = [own.name for own in fields(Described)]
        lines = [header, *([_cell(value) for value in asdict(column).values()] for column in self.columns[:COLUMNS_SHOWN])]
        if not any(line[-1] for line in lines[1:]):  # omit the column `features` if it is empty
            lines = [line[:-1] for line in lines]
        return lines

    def _repr_html_(self) -> str:
        header, *rows = self._lines()
        more = len(self.columns) - COLUMNS_SHOWN
        return html.table(header, rows, f"{len(self.columns)} columns{f', {more} not shown' if more > 0 else ''}")

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        text = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
        text.insert(1, "-+-".join("-" * width for width in widths))
        if len(self.columns) > COLUMNS_SHOWN:
            text.append(f"... and {len(self.columns) - COLUMNS_SHOWN} more")
        return "\n".join(text)

    __repr__ = __str__


def describe(schema: Schema, table: Table | None, model: Model | None, constraints: list[str]) -> Description:
    """Describe the columns of a schema, using a table with these columns, a model and the constraints of each column."""
    columns = []
    n_bins = None if model is None else (np.diff(model.binning.begin) + 1).tolist()
    for f in range(schema.n_features):
        kind = schema.kind(f)
        name = str(schema.names[f]) if schema.names else str(f)
        shown, missing = _levels(kind) if kind.is_category else "", None
        if table is not None:
            values = table.read(slice(0, table.n_rows), f, f + 1)[:, 0]
            absent = values < 0 if kind.is_category else np.isnan(values.astype(np.float64))
            shown, missing = shown or _range(kind, values[~absent]), float(absent.mean())
        made = "" if model is None or n_bins is None else _features(model, f, n_bins)
        columns.append(Described(name, _kind(kind), shown, missing, n_bins[f] if n_bins else None, constraints[f], made))
    return Description(columns)


def _features(model: Model, column: int, n_bins: list[int]) -> str:
    """Text of the features derived from a column, with their numbers of bins; empty if the column is used as it is."""
    texts = []
    for f in range(model.n_features):
        columns = model.encoding.columns_of(f)
        if column in columns and (f != column or f in model.encoding.lookups):
            others = [str(model.schema.names[c]) if model.schema.names else str(c) for c in columns if c != column]
            what = SPLIT_BY[int(model.encoding.kinds[f])]
            if f in model.encoding.parts:
                what = model.encoding.parts[f].part
            elif f in model.encoding.crosses:
                what = model.encoding.crosses[f].operation
            texts.append(f"{what}{''.join(f' with {name}' for name in others)}: {n_bins[f]}")
    return ", ".join(texts)


def _kind(kind: Kind) -> str:
    if kind.ordered:
        return "ordered category"
    return kind.name if kind.zone is None else f"{kind.name} ({kind.zone})"


def _levels(kind: Kind) -> str:
    few = ", ".join(map(str, kind.levels[:LEVELS_SHOWN])) + (", ..." if len(kind.levels) > LEVELS_SHOWN else "")
    return f"{len(kind.levels)}: {few}" if kind.levels else "0"


def _range(kind: Kind, values: np.ndarray) -> str:
    """Text of the smallest and the largest value."""
    if not len(values):
        return ""
    ends = [values.min(), values.max()]
    if kind.name in ("datetime", "duration"):
        unit = "M8[us]" if kind.name == "datetime" else "m8[us]"
        texts = [str(np.array(int(end)).astype(unit).astype(object)) if abs(end) < LAST else f"{end / 1e6:g} s" for end in ends]
    else:
        texts = [f"{end:g}" for end in ends]
    return " to ".join(texts)


def _cell(value: Any) -> str:
    text = "" if value is None else f"{value:.1%}" if isinstance(value, float) else str(value)
    text = text.replace("\n", " ")
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."

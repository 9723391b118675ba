"""Groups of rows by the values of a column."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.columns import Column, Kind
from sapwood.inspection.dependence import find_feature
from sapwood.report.subject import ReportColumn, Subject

MOST_GROUPS = 8  # of a category; the rest is one group
N_RANGES = 5  # of numbers with many values


@dataclass(frozen=True)
class Groups:
    """Division of rows into groups.

    Attributes
    ----------
    name : name of the column
    labels : text of each group
    of_row : (n_rows,) number of the group of each row
    """

    name: str
    labels: list[str]
    of_row: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


def group_rows(column: ReportColumn, most: int = MOST_GROUPS) -> Groups:
    """Divide rows by the values of a column: levels, distinct values, or ranges between quantiles; missing values are a group."""
    values, missing = column.values, column.missing
    known = values[~missing]
    distinct, counts = np.unique(known, return_counts=True)
    if column.kind.is_category or len(distinct) <= most:
        chosen = np.sort(distinct[np.argsort(-counts, kind="stable")[:most]])
        of_row = np.searchsorted(chosen, np.where(missing, np.inf, values))
        found = chosen[np.minimum(of_row, len(chosen) - 1)] == values if len(chosen) else np.zeros(len(values), dtype=bool)
        of_row = np.where(found, of_row, len(chosen))
        labels = [column.text(value) for value in chosen]
        if len(distinct) > most:
            labels.append(f"{len(distinct) - most} other levels")
    else:
        cuts = np.unique(np.quantile(known, np.linspace(0, 1, N_RANGES + 1)[1:-1]))
        of_row = np.searchsorted(cuts, np.where(missing, -np.inf, values))
        ends = [column.text(value) for value in cuts]
        labels = [f"≤ {ends[0]}", *(f"{a} to {b}" for a, b in itertools.pairwise(ends)), f"> {ends[-1]}"]
    of_row = np.where(missing, len(labels), of_row)
    labels = [*labels, "missing"]
    present, of_row = np.unique(of_row, return_inverse=True)
    return Groups(column.name, [labels[i] for i in present], of_row)


def chosen_columns(subject: Subject, choice: Any, argument: str) -> list[ReportColumn]:
    """Return the columns that `slice_by` or `sensitive` names: names of columns, values by name, or one array of values."""
    if choice is None:
        return []
    if isinstance(choice, str | int):
        return [subject.column(find_feature(subject.model.schema, choice))]
    if isinstance(choice, Mapping):
        return [_given_column(str(name), values, subject.n_rows, argument) for name, values in choice.items()]
    if isinstance(choice, list | tuple) and all(isinstance(name, str) for name in choice) and len(choice) != subject.n_rows:
        return [column for name in choice for column in chosen_columns(subject, name, argument)]
    return [_given_column(str(getattr(choice, "name", None) or argument), choice, subject.n_rows, argument)]


def _given_column(name: str, values: Any, n_rows: int, argument: str) -> ReportColumn:
    array = np.asarray(values)
    if array.shape != (n_rows,):
        raise ValueError(f"{argument}: {name!r} must have one value for each of the {n_rows} rows; got the shape {array.shape}")
    if array.dtype.kind in "biuf":
        return ReportColumn(name, Kind("bool") if array.dtype.kind == "b" else Kind(), array.astype(np.float64))
    texts = ["" if value is None or value != value else str(value) for value in array.tolist()]
    levels, codes = np.unique(np.array(texts, dtype=str), return_inverse=True)
    gone = levels == ""
    own = Column.of_levels(
        np.where(gone[codes], -1, codes), [None if none else str(level) for level, none in zip(levels, gone, strict=True)]
    )
    return ReportColumn(name, own.kind, own.values.astype(np.float64))

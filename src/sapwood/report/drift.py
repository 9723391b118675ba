"""Differences between the rows of two tables with the columns of a model."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sapwood.data.columns import Kind
from sapwood.report.subject import ReportColumn

N_BINS = 10
FLOOR = 1e-4  # smallest fraction of rows in the population stability index
SMALL, LARGE = 0.1, 0.25  # usual limits of the population stability index


@dataclass(frozen=True)
class ColumnDrift:
    """Difference of the distributions of a column in two tables.

    Attributes
    ----------
    psi : population stability index: sum of (p - q) log(p / q) over bins; below 0.1 small, above 0.25 large
    distance : Kolmogorov-Smirnov distance of numbers, total variation distance of categories; 0 to 1
    missing : fractions of missing values in the reference and in the other table
    expected : mean of the index for two samples of the same distribution
    labels : text of each bin
    reference, current : fractions of rows in each bin
    """

    name: str
    kind: Kind
    psi: float
    distance: float
    missing: tuple[float, float]
    expected: float
    labels: list[str]
    reference: np.ndarray
    current: np.ndarray

    @property
    def verdict(self) -> str:
        """Size of the drift beyond chance: "small", "moderate" or "large"."""
        beyond = self.psi - self.expected
        return "large" if beyond >= LARGE else "moderate" if beyond >= SMALL else "small"


def compare(reference: ReportColumn, current: ReportColumn) -> ColumnDrift:
    """Compare the values of a column in two tables. Bins are quantiles of the reference, or levels."""
    before, after = reference.values[~reference.missing], current.values[~current.missing]
    distinct = np.unique(before)
    exact = reference.kind.is_category or len(distinct) <= N_BINS
    edges, labels = _levels(reference, before, after) if exact else _ranges(reference, before)
    counts = []
    for values in (before, after):
        at = np.searchsorted(edges, values)
        if exact:
            at = np.where(np.isin(values, edges), at, len(edges))
        counts.append(np.bincount(at, minlength=len(labels)))
    gone = [int(column.missing.sum()) for column in (reference, current)]
    if any(gone):
        labels = [*labels, "missing"]
        counts = [np.append(count, n) for count, n in zip(counts, gone, strict=True)]
    p, q = (count / max(1, count.sum()) for count in counts)
    a, b = np.maximum(p, FLOOR), np.maximum(q, FLOOR)
    psi = float(((a - b) * np.log(a / b)).sum())
    distance = float(np.abs(p - q).sum() / 2) if reference.kind.is_category else _kolmogorov(before, after)
    missing = (gone[0] / max(1, len(reference.values)), gone[1] / max(1, len(current.values)))
    expected = (len(labels) - 1) * (1 / max(1, counts[0].sum()) + 1 / max(1, counts[1].sum()))
    return ColumnDrift(reference.name, reference.kind, psi, distance, missing, float(expected), labels, p, q)


def _levels(reference: ReportColumn, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the most frequent values, ascending, and labels of the bins; the last bin is for other values, if there are any."""
    values, counts = np.unique(np.concatenate([before, after]), return_counts=True)
    chosen = np.sort(values[np.argsort(-counts, kind="stable")[:N_BINS]])
    return chosen, [*(reference.text(value) for value in chosen), *(["other"] if len(values) > len(chosen) else [])]


def _ranges(reference: ReportColumn, before: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return quantiles, and labels of the ranges between them."""
    cuts = np.unique(np.quantile(before, np.linspace(0, 1, N_BINS + 1)[1:-1]))
    ends = [reference.text(cut) for cut in cuts]
    return cuts, [f"≤ {ends[0]}", *(f"{a} to {b}" for a, b in itertools.pairwise(ends)), f"> {ends[-1]}"]


def _kolmogorov(a: np.ndarray, b: np.ndarray) -> float:
    if not len(a) or not len(b):
        return float(len(a) != len(b))
    both = np.sort(np.concatenate([a, b]))
    one, two = (np.searchsorted(np.sort(own), both, side="right") / len(own) for own in (a, b))
    return float(np.abs(one - two).max())

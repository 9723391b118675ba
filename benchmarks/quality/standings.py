"""How libraries stand on many tables: ranks, wins, gaps to the best, and confidence intervals over tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import rankdata

from benchmarks.quality.libraries import BASELINE, find_library
from benchmarks.quality.records import Record

RESAMPLES = 2_000
CONFIDENCE = 0.95
LEAST_SHARE = 0.01  # of the constant's loss: a gap is relative to no less, as both may be next to nothing
BEYOND_NOISE = 2.0  # standard errors


@dataclass(frozen=True)
class Cell:
    """The libraries' records on one table at one size, over the same splits."""

    table: str
    size: str
    task: str
    splits: list[int]
    losses: dict[str, np.ndarray] = field(repr=False)  # library -> (n_splits,); those that failed are absent
    failed: list[str]
    seconds: dict[str, tuple[float, float]]  # library -> CPU seconds to fit and to predict, mean of splits

    @property
    def competitors(self) -> list[str]:
        return [library for library in self.losses if library != BASELINE]

    @property
    def best(self) -> str:
        return min(self.competitors, key=self.mean)

    def mean(self, library: str) -> float:
        return float(self.losses[library].mean())

    def rank(self, library: str) -> float:
        """From 1; equal losses share their ranks, failures the last ones."""
        libraries = [*self.competitors, *self.failed]
        values = [self.mean(name) if name in self.losses else np.inf for name in libraries]
        return float(rankdata(values)[libraries.index(library)])

    def gap(self, library: str) -> float:
        """Loss above the best library's, relative to it."""
        return (self.mean(library) - self.mean(self.best)) / self._scale

    def gap_error(self, library: str) -> float:
        """Standard error of the gap over splits, of differences on the same split."""
        return standard_error(self.losses[library] - self.losses[self.best]) / self._scale

    def is_worse_than_constant(self, library: str) -> bool:
        difference = self.losses[library] - self.losses[BASELINE]
        return bool(difference.mean() > BEYOND_NOISE * standard_error(difference))

    @property
    def _scale(self) -> float:
        least = LEAST_SHARE * self.mean(BASELINE) if BASELINE in self.losses else 0.0
        return max(self.mean(self.best), least)


@dataclass(frozen=True)
class Interval:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """One library over the tables of a size."""

    library: str
    rank: Interval
    wins: int
    gap: Interval
    worst: tuple[float, str]  # gap and table
    worst_beyond_error: tuple[float, str]  # the same, less its standard error
    worse_than_constant: list[str]
    failures: list[str]
    fit_seconds: float
    predict_seconds: float


def make_cells(records: Sequence[Record], libraries: Sequence[str]) -> list[Cell]:
    """Cells in which every library that can do the task has a record of some split that all have."""
    found: dict[tuple[str, str], dict[str, dict[int, Record]]] = {}
    for record in records:
        if record["library"] in libraries:
            found.setdefault((record["table"], record["size"]), {}).setdefault(record["library"], {})[record["split"]] = record
    cells = [_make_cell(table, size, by_library, libraries) for (table, size), by_library in sorted(found.items())]
    return [cell for cell in cells if cell is not None]


def _make_cell(table: str, size: str, found: dict[str, dict[int, Record]], libraries: Sequence[str]) -> Cell | None:
    task = next(iter(next(iter(found.values())).values()))["task"]
    able = [library for library in libraries if task in find_library(library).tasks]
    if any(library not in found for library in able):
        return None
    splits = sorted(set.intersection(*(set(found[library]) for library in able)))
    whole = [library for library in able if all("loss" in found[library][split] for split in splits)]
    if not splits or not [library for library in whole if library != BASELINE]:
        return None
    of = {library: [found[library][split] for split in splits] for library in whole}
    return Cell(
        table,
        size,
        task,
        splits,
        losses={library: np.array([record["loss"] for record in records]) for library, records in of.items()},
        failed=[library for library in able if library not in whole],
        seconds={library: (_mean(records, "fit_cpu"), _mean(records, "predict_cpu")) for library, records in of.items()},
    )


def make_standing(cells: Sequence[Cell], library: str) -> Standing:
    done = [cell for cell in cells if library in cell.losses]
    gaps = [cell.gap(library) for cell in done]
    beyond_error = [(cell.gap(library) - cell.gap_error(library), cell.table) for cell in done if len(cell.splits) > 1]
    return Standing(
        library,
        rank=bootstrap([cell.rank(library) for cell in cells]),
        wins=sum(cell.best == library for cell in done),
        gap=bootstrap(gaps),
        worst=max(zip(gaps, (cell.table for cell in done), strict=True), default=(float("nan"), "")),
        worst_beyond_error=max(beyond_error, default=(float("nan"), "")),
        worse_than_constant=[cell.table for cell in done if BASELINE in cell.losses and cell.is_worse_than_constant(library)],
        failures=[cell.table for cell in cells if library in cell.failed],
        fit_seconds=sum(cell.seconds[library][0] for cell in done),
        predict_seconds=sum(cell.seconds[library][1] for cell in done),
    )


def win_rate(cells: Sequence[Cell], library: str, other: str) -> Interval:
    """Fraction of tables on which a library's loss is below another's; equal ones count half."""
    return bootstrap([float(cell.rank(library) < cell.rank(other)) + 0.5 * (cell.rank(library) == cell.rank(other)) for cell in cells])


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean, and its percentile interval over resampled tables."""
    if not values:
        return Interval(*[float("nan")] * 3)
    rows = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(np.asarray(values)[rows].mean(axis=1), [tail, 100 - tail])
    return Interval(float(np.mean(values)), float(low), float(high))


def standard_error(values: np.ndarray) -> float:
    """NaN for one value, which no comparison is beyond."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _mean(records: list[Record], name: str) -> float:
    return float(np.mean([record[name] for record in records]))

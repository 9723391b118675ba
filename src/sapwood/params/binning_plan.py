"""Parameters of binning and of sorted columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from sapwood.data.binning import MAX_CUTS, Binning
from sapwood.data.dataset import Dataset
from sapwood.data.page_store import PageStorage
from sapwood.data.pages import Pages
from sapwood.data.sorted import ALL, GLOBAL, LOCAL, SortedRows
from sapwood.data.tables import Table
from sapwood.encoding.encoding import FittedEncoding
from sapwood.model import Model
from sapwood.params.column_plan import ColumnPlan
from sapwood.params.resolve import ThresholdSplit
from sapwood.params.signatures import ResolvedParameters
from sapwood.runtime.execution import Execution
from sapwood.trees.leaf_fit import LeafFit


@dataclass(frozen=True)
class BinningPlan:
    """How features are binned or sorted for the search of splits.

    Attributes
    ----------
    max_bins : (n_columns,) int maximum number of bins
    cut_points : bin boundaries by column, instead of those found in the data
    forced : forced splits; their thresholds become bin boundaries
    sample_rows : maximum number of rows that are sampled to find bin boundaries; None for all
    min_rows : minimum number of rows in a bin
    proposal : candidate thresholds of sorted columns (`sapwood.data.sorted`); None for bins
    n_quantiles : number of candidate thresholds of a proposal
    needs_histograms : parameter that cannot be combined with sorted columns, and the reason; None if there is none
    """

    max_bins: np.ndarray
    cut_points: Mapping[int, np.ndarray]
    forced: ThresholdSplit | None
    sample_rows: int | None
    min_rows: int
    proposal: int | None
    n_quantiles: int
    needs_histograms: tuple[str, str] | None

    @classmethod
    def resolve(cls, p: ResolvedParameters, columns: ColumnPlan, leaf_fit: LeafFit) -> BinningPlan:
        proposal, n_quantiles, needs = None, 1, leaf_fit.needs_histograms or _needs_histograms(p)
        if p.tree_method in ("exact", "approx"):
            _check_sorted(needs, f"tree_method={p.tree_method!r}")
            proposal = ALL if p.tree_method == "exact" else {"global": GLOBAL, "local": LOCAL}[p.approx_proposal]
        if p.tree_method == "approx":
            if not isinstance(p.max_bins, Integral):
                raise ValueError(f"max_bins must be one number with tree_method='approx'; got {p.max_bins!r}")
            n_quantiles = int(p.max_bins)
        return cls(columns.max_bins, columns.cut_points, columns.forced, p.bin_sample_rows, p.min_rows_in_bin, proposal, n_quantiles, needs)

    def builder(
        self,
        data: Dataset,
        encoded: FittedEncoding,
        seed: int,
        execution: Execution,
        previous: Model | None,
        storage: PageStorage | None = None,
        known: Binning | None = None,
    ) -> Callable[[Table, np.ndarray | None], Pages | SortedRows]:
        """Return a function (table, rows) -> binned or sorted rows. `storage` is where binned rows are stored; None for memory.
        `known` are the cut points of stored pages."""
        if (proposal := self.proposal) is not None:
            _check_local(execution, "tree_method='exact' and 'approx'")
            return lambda table, rows: SortedRows(table, execution, rows, proposal=proposal, n_quantiles=self.n_quantiles)
        binning = previous.binning if previous else known or self._fit(data, encoded, seed, execution)
        if np.diff(binning.begin).max(initial=0) > MAX_CUTS:
            _check_sorted(self.needs_histograms, "max_bins above 255")
            _check_local(execution, "max_bins above 255")
            return lambda table, rows: SortedRows(table, execution, rows, binning=binning)
        return lambda table, rows: Pages.build(table, binning, execution, rows, storage=storage)

    def _fit(self, data: Dataset, encoded: FittedEncoding, seed: int, execution: Execution) -> Binning:
        table, encoding = encoded.features, encoded.encoding
        max_bins = encoding.to_features(self.max_bins)
        binning = Binning.fit(table, max_bins, data.weight, data.rows, seed, execution, self.sample_rows, self.min_rows)
        if self.cut_points:
            binning = Binning([self.cut_points.get(f, binning.cuts_of(f)) for f in range(table.n_features)])
        if self.forced is not None:
            binning = binning.with_cuts(self.forced.cut_points())
        return binning.with_levels(encoding.kinds, encoding.n_levels) if encoding.lookups else binning


def _needs_histograms(p: ResolvedParameters) -> tuple[str, str] | None:
    if p.grow_policy == "symmetric":
        return "grow_policy='symmetric'", "the split of a level is found from histograms"
    if p.extra_trees:
        return f"extra_trees={p.extra_trees!r}", "thresholds are drawn from bins"
    return None


def _check_sorted(needs_histograms: tuple[str, str] | None, what: str) -> None:
    """Raise a ValueError for parameters that are not supported with sorted columns."""
    if needs_histograms is not None:
        parameter, reason = needs_histograms
        raise ValueError(f"{parameter} cannot be combined with {what}: {reason}; use tree_method='hist' and at most 255 bins")


def _check_local(execution: Execution, what: str) -> None:
    """Raise a ValueError for parameters that are not supported with several partitions."""
    if not execution.is_local:
        raise ValueError(
            f"{what} cannot be combined with several partitions of the rows: sorting needs all rows in one process; use tree_method='hist'"
        )

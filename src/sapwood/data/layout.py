"""Bin layout: cut points of the features, and the columns in which bins are stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data import container
from sapwood.data.binning import Binning
from sapwood.data.bundling import ColumnLayout
from sapwood.runtime import kernels
from sapwood.runtime.caching import cached_property

GROUP_COLUMNS = 64  # columns of a group: one cache line per row


@dataclass(frozen=True)
class BinLayout:
    """Cut points, columns and missing values of binned rows. All partitions of a fit have the same layout.

    Attributes
    ----------
    binning : cut points of each feature
    columns : column (possibly a bundle) or row list of each feature
    missing : (n_features,) uint8: whether any row of the data set has a missing value
    """

    binning: Binning
    columns: ColumnLayout
    missing: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups of columns. A page has a matrix of bins per group."""
        return -(-self.columns.n_columns // GROUP_COLUMNS)

    @property
    def width(self) -> int:
        """Number of columns of a group."""
        return max(1, -(-self.columns.n_columns // max(1, self.n_groups)))

    @property
    def stride(self) -> int:
        """Bytes per row of a group."""
        return max(4, 1 << (self.width - 1).bit_length())

    @cached_property
    def native(self) -> kernels.BinLayout:
        """Layout for the kernels."""
        n_bins = (np.diff(self.binning.begin) + 1 + self.missing).astype(np.int32)
        return kernels.BinLayout(n_bins, self.missing, self.binning.missing_bins, self.width, self.stride, self.columns.native)

    def to_bytes(self) -> bytes:
        """Return the layout as bytes, for a file or another process."""
        kinds = np.zeros(self.binning.n_features, dtype=np.uint8) if self.binning.kinds is None else self.binning.kinds
        arrays = {"cuts": self.binning.cuts, "cuts_begin": self.binning.begin, "kinds": kinds}
        arrays |= {"column": self.columns.column, "default_bin": self.columns.default_bin, "missing": self.missing}
        return bytes(container.pack(arrays, {"bin_layout": "1"}))

    @classmethod
    def from_bytes(cls, data: bytes) -> BinLayout:
        """Restore a layout from the result of `to_bytes`. Raises ModelFormatError for anything else."""
        arrays, about = container.unpack(np.frombuffer(data, dtype=np.uint8))
        wanted = {"cuts", "cuts_begin", "kinds", "column", "default_bin", "missing"}
        if about.get("bin_layout") != "1" or set(arrays) != wanted:
            raise container.ModelFormatError("not a bin layout")
        binning = Binning.from_arrays(arrays["cuts"], arrays["cuts_begin"], arrays["kinds"] if arrays["kinds"].any() else None)
        layout = cls(binning, ColumnLayout(arrays["column"], arrays["default_bin"], binning.missing_bins), arrays["missing"])
        try:
            _ = layout.native  # checks every index
        except (ValueError, TypeError, IndexError) as error:
            raise container.ModelFormatError(f"damaged bin layout: {error}") from None
        return layout

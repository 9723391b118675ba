"""Fixed-point gradients: the integers that histograms add up.

A float sum depends on its order, an integer sum does not. So gradients become integers once, right after the loss; from there on threads,
pages and machines leave no trace in the sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

SINGLE, WIDE, NARROW = 0, 1, 2  # the modes of kernels.HistogramFormat
EXACT_BITS = 50  # sums of so many bits are exact as doubles, with room to spare
NARROW_ROWS = 1 << 15  # fewer rows: wide sums cost next to nothing and round nothing
HEAVY_TAIL = 512  # narrow values need max|g| <= HEAVY_TAIL * mean|g|
NARROW_NOISE = 8.0  # gain that stochastic rounding alone may show in a pure node, in squared units times rows / hessian


@lru_cache(maxsize=64)  # most losses have the same bounds in every round
def power_of_two(most: float, value: float) -> float:
    """The largest power of two whose product with `value` is at most `most`."""
    if value <= 0:
        return 1.0
    exponent = math.floor(math.log2(most) - math.log2(value)) + 1
    while math.ldexp(value, exponent) > most:
        exponent -= 1
    return math.ldexp(1.0, max(-1000, min(1000, exponent)))


@dataclass(frozen=True)
class GradientScale:
    """Factors that turn gradients and hessians into integers; a hessian factor of 0 means that all hessians are one."""

    gradient: float
    hessian: float

    @classmethod
    def covering(cls, max_gradient: float, max_hessian: float, constant_hessian: bool = False, headroom: float = 1.0) -> GradientScale:
        gradient = power_of_two(kernels.MAX_GRADIENT / headroom, max_gradient)
        return cls(gradient, 0.0 if constant_hessian else power_of_two(kernels.MAX_HESSIAN / headroom, max_hessian))

    @property
    def constant_hessian(self) -> bool:
        return self.hessian == 0.0

    @property
    def bytes_per_row(self) -> int:
        """Bytes of a row's record."""
        return 4 if self.constant_hessian else 8

    def destination(self, data: np.ndarray) -> kernels.RecordTarget:
        """For kernels that write records to `data`."""
        return kernels.RecordTarget(self.gradient, self.hessian, data)


@dataclass
class FixedGradients:
    """One output's gradients and hessians as integers, a record a row of this partition, and what is known of those of all partitions.

    Attributes
    ----------
    data : (n_rows * 4 or 8,) uint8: the records of this partition's rows
    n_total : number of rows of all partitions
    scale : what gradients and hessians were multiplied by, in all partitions
    sums : exact sums (|gradient|, gradient, hessian) over all partitions
    rows : those of this partition with a target, ascending int64; None for all
    """

    data: np.ndarray
    n_total: int
    scale: GradientScale
    sums: tuple[int, int, int] = (0, 0, 0)
    rows: np.ndarray | None = None

    @classmethod
    def of(cls, data: np.ndarray, scale: GradientScale, sums: tuple[int, int, int], execution: Execution) -> FixedGradients:
        """Records of this partition, with their sums, among those of the others."""
        n_total, *totals = execution.totals((len(data) // scale.bytes_per_row, *sums))
        return cls(data, n_total, scale, (totals[0], totals[1], totals[2]))

    @property
    def n_rows(self) -> int:
        """Rows of this partition."""
        return len(self.data) // self.scale.bytes_per_row

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """(n,) int64: of these rows."""
        return self.data.view(np.int32)[:: self.scale.bytes_per_row // 4][rows].astype(np.int64)

    def histogram_format(self) -> HistogramFormat:
        """How histograms of these records hold their sums: as precisely as the words allow, exactly where they can."""
        count_bits = max(1, self.n_total.bit_length())
        room = 62 - count_bits
        sum_gradient, _, sum_hessian = self.sums
        if self.scale.constant_hessian:
            shift = max(0, sum_gradient.bit_length() - min(room, EXACT_BITS))
            return HistogramFormat(SINGLE, count_bits, shift, 0, 2.0**shift / self.scale.gradient, 1.0, 0.0)
        steady = sum_gradient * HEAVY_TAIL >= self.n_total * kernels.MAX_GRADIENT // 2
        steady &= sum_hessian * HEAVY_TAIL >= self.n_total * kernels.MAX_HESSIAN // 2
        if steady and self.n_total >= NARROW_ROWS and (self.n_total * 8191).bit_length() <= room:
            gradient_unit = 2.0**kernels.GRADIENT_SHIFT / self.scale.gradient
            hessian_unit = 2.0**kernels.HESSIAN_SHIFT / self.scale.hessian
            return HistogramFormat(NARROW, count_bits, 0, 0, gradient_unit, hessian_unit, NARROW_NOISE)
        gradient_shift = max(0, sum_gradient.bit_length() - EXACT_BITS)
        hessian_shift = max(0, sum_hessian.bit_length() - min(room, EXACT_BITS))
        units = 2.0**gradient_shift / self.scale.gradient, 2.0**hessian_shift / self.scale.hessian
        return HistogramFormat(WIDE, count_bits, gradient_shift, hessian_shift, *units, 0.0)


@dataclass(frozen=True)
class HistogramFormat:
    """How a tree's histograms hold their sums, and what one unit of them is worth."""

    mode: int
    count_bits: int
    gradient_shift: int
    hessian_shift: int
    gradient_unit: float
    hessian_unit: float
    noise: float

"""Fixed-point gradients: the integers that histograms sum.

The sum of floats depends on their order, the sum of integers does not. Gradients are converted to integers right after the loss, so that
sums are the same for any number of threads, pages and machines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sapwood.runtime import kernels
from sapwood.runtime.execution import Execution

SINGLE, WIDE, NARROW = 0, 1, 2  # the modes of kernels.HistogramFormat
EXACT_BITS = 50  # sums of this many bits are exact as doubles
NARROW_ROWS = 1 << 15  # with fewer rows wide sums are fast, and are exact
HEAVY_TAIL = 512  # narrow values require max|g| <= HEAVY_TAIL * mean|g|
NARROW_NOISE = 8.0  # gain of a pure node that stochastic rounding alone can cause, in squared units times rows / hessian


@lru_cache(maxsize=64)  # the bounds of most losses are the same in every round
def power_of_two(most: float, value: float) -> float:
    """Return the largest power of two whose product with `value` is at most `most`."""
    if value <= 0:
        return 1.0
    exponent = math.floor(math.log2(most) - math.log2(value)) + 1
    while math.ldexp(value, exponent) > most:
        exponent -= 1
    return math.ldexp(1.0, max(-1000, min(1000, exponent)))


class GradientScale(NamedTuple):
    """Factors from gradients and hessians to integers. A hessian factor of 0 means that all hessians are 1."""

    gradient: float
    hessian: float

    @classmethod
    def covering(cls, max_gradient: float, max_hessian: float, constant_hessian: bool = False, headroom: float = 1.0) -> GradientScale:
        """Return the largest scale for gradients and hessians up to these maxima, multiplied by up to `headroom`."""
        gradient = power_of_two(kernels.MAX_GRADIENT / headroom, max_gradient)
        return cls(gradient, 0.0 if constant_hessian else power_of_two(kernels.MAX_HESSIAN / headroom, max_hessian))

    @property
    def constant_hessian(self) -> bool:
        return self.hessian == 0.0

    @property
    def bytes_per_row(self) -> int:
        """Bytes of the gradient and hessian of a row."""
        return 4 if self.constant_hessian else 8

    def destination(self, data: np.ndarray) -> kernels.GradientTarget:
        """Return the destination of kernels that write fixed-point gradients to `data`."""
        return kernels.GradientTarget(self.gradient, self.hessian, data)


@dataclass
class FixedGradients:
    """Fixed-point gradients and hessians of one output, for the rows of this partition.

    Attributes
    ----------
    data : (n_rows * 4 or 8,) uint8: int32 gradient and, unless hessians are constant, uint32 hessian of each row
    n_total : number of rows of all partitions
    scale : factors from gradients and hessians to integers, the same in all partitions
    sums : exact sums (|gradient|, gradient, hessian) over all partitions
    rows : rows of this partition with a target, ascending int64; None for all
    """

    data: np.ndarray
    n_total: int
    scale: GradientScale
    sums: tuple[int, int, int] = (0, 0, 0)
    rows: np.ndarray | None = None

    @classmethod
    def of(cls, data: np.ndarray, scale: GradientScale, sums: tuple[int, int, int], execution: Execution) -> FixedGradients:
        """Create from the data and sums of this partition. Called by every partition."""
        n_total, *totals = execution.totals((len(data) // scale.bytes_per_row, *sums))
        return cls(data, n_total, scale, (totals[0], totals[1], totals[2]))

    @property
    def n_rows(self) -> int:
        """Number of rows of this partition."""
        return len(self.data) // self.scale.bytes_per_row

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return the integer gradients of these rows, (n,) int64."""
        return self.data.view(np.int32)[:: self.scale.bytes_per_row // 4][rows].astype(np.int64)

    def histogram_format(self) -> HistogramFormat:
        """Return the histogram format of these gradients: exact if the sums fit in a word, else as precise as possible."""
        count_bits = max(1, self.n_total.bit_length())
        room = 62 - count_bits
        sum_gradient, _, sum_hessian = self.sums
        if self.scale.constant_hessian:
            shift = max(0, sum_gradient.bit_length() - min(room, EXACT_BITS))
            return HistogramFormat(SINGLE, count_bits, shift, 0, 2.0**shift / self.scale.gradient, 1.0, 0.0)
        light_tail = sum_gradient * HEAVY_TAIL >= self.n_total * kernels.MAX_GRADIENT // 2
        light_tail &= sum_hessian * HEAVY_TAIL >= self.n_total * kernels.MAX_HESSIAN // 2
        if light_tail and self.n_total >= NARROW_ROWS and (self.n_total * 8191).bit_length() <= room:
            gradient_unit = 2.0**kernels.GRADIENT_SHIFT / self.scale.gradient
            hessian_unit = 2.0**kernels.HESSIAN_SHIFT / self.scale.hessian
            return HistogramFormat(NARROW, count_bits, 0, 0, gradient_unit, hessian_unit, NARROW_NOISE)
        gradient_shift = max(0, sum_gradient.bit_length() - EXACT_BITS)
        hessian_shift = max(0, sum_hessian.bit_length() - min(room, EXACT_BITS))
        units = 2.0**gradient_shift / self.scale.gradient, 2.0**hessian_shift / self.scale.hessian
        return HistogramFormat(WIDE, count_bits, gradient_shift, hessian_shift, *units, 0.0)


class HistogramFormat(NamedTuple):
    """Number format of the histograms of a tree, and the value of one unit of their sums."""

    mode: int
    count_bits: int
    gradient_shift: int
    hessian_shift: int
    gradient_unit: float
    hessian_unit: float
    noise: float

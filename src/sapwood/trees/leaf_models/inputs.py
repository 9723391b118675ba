"""Inputs of linear leaves: step functions of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sapwood.data.binning import Binning
from sapwood.runtime.caching import cached_property


@dataclass(frozen=True, eq=False)
class LinearInput:
    """A number for each interval between cut points of a feature; NaN for a missing value."""

    feature: int
    cuts: np.ndarray  # (n_cuts,) float64, ascending; at least one
    values: np.ndarray  # (n_cuts + 1,) float64

    @classmethod
    def centers(cls, feature: int, cuts: np.ndarray) -> LinearInput:
        """Return the centers of a feature's bins. The outer bins are as wide as their neighbors: rows far out count as near ones."""
        finite = cuts[np.isfinite(cuts)]
        if len(finite) == 0:
            return cls(feature, cuts, np.arange(len(cuts) + 1.0))
        bounded = np.clip(cuts, finite[0], finite[-1])
        first = np.diff(finite[:2]).sum() / 2
        last = np.diff(finite[-2:]).sum() / 2
        if len(finite) == 1:
            first = last = max(abs(finite[0]), 1.0) / 2
        values = np.concatenate([[bounded[0] - first], bounded[:-1] / 2 + bounded[1:] / 2, [bounded[-1] + last]])
        return cls(feature, cuts, np.clip(values, np.finfo(float).min, np.finfo(float).max))

    @cached_property
    def key(self) -> tuple[int, bytes, bytes]:
        """Equal for inputs that are equal."""
        return self.feature, self.cuts.tobytes(), self.values.tobytes()

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return (n,) float64: the input of rows with these values of the feature."""
        return np.where(np.isnan(x), np.nan, self.values[np.searchsorted(self.cuts, np.where(np.isnan(x), 0.0, x), side="left")])

    def on(self, cuts: np.ndarray) -> LinearInput:
        """Return the same function with more cut points."""
        if not np.isin(self.cuts, cuts).all():
            raise ValueError(f"the cut points of feature {self.feature} are not those that linear leaves were fitted with")
        return LinearInput(self.feature, cuts, self.at(np.append(cuts, np.inf)))


Inputs = tuple[LinearInput, ...]


@lru_cache(maxsize=256)
def _cuts_are(inputs: Inputs, binning: Binning) -> bool:
    return all(np.array_equal(own.cuts, binning.cuts_of(own.feature)) for own in inputs)


def inputs_on(inputs: Inputs, binning: Binning) -> Inputs:
    """Return the inputs with the cut points of a binning, one value for each bin."""
    return inputs if _cuts_are(inputs, binning) else tuple(own.on(binning.cuts_of(own.feature)) for own in inputs)


@lru_cache(maxsize=256)  # many trees of a fit have the same inputs
def join_inputs(inputs: Inputs) -> Mapping[str, np.ndarray]:
    """Return the arrays of inputs, end to end. They must not be changed."""
    begin = np.cumsum([0] + [len(own.cuts) for own in inputs], dtype=np.int64)
    return {
        "input_feature": np.array([own.feature for own in inputs], dtype=np.int32),
        "input_begin": begin,
        "input_cuts": np.concatenate([np.empty(0), *(own.cuts for own in inputs)]),
        "input_values": np.concatenate([np.empty(0), *(own.values for own in inputs)]),
    }


def split_inputs(arrays: Mapping[str, np.ndarray]) -> Inputs:
    """Return the inputs of such arrays."""
    begin, cuts, values = arrays["input_begin"].tolist(), arrays["input_cuts"], arrays["input_values"]
    features = arrays["input_feature"].tolist()
    return tuple(
        LinearInput(feature, cuts[first:last], values[first + i : last + i + 1])
        for i, (feature, first, last) in enumerate(zip(features, begin, begin[1:], strict=False))
    )

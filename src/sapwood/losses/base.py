"""What every loss can do."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sapwood import kernels
from sapwood.data.queries import Queries
from sapwood.trees.records import Records, Scale


class Loss:
    """A loss over rows; the target y is float64, raw predictions are (n_outputs, n_rows) float64.

    Its life in a fit:

    1. `check_targets(y)` refuses what it has no meaning for;
    2. `base_score(y, weight)` is the constant that training starts from; `bind(queries)` gives the loss that works on certain rows;
    3. each round, `before_round(key)`, then `records(y, raw, weight)` gives the fixed-point gradients of each output in turn;
    4. where `renews_leaves`, `leaf_values(...)` replaces the leaves' Newton steps by the loss's own optimum;
    5. `mean(y, raw, weight)` is what early stopping watches;
    6. `link` names the function that turns raw predictions into what the user asked for.

    Attributes
    ----------
    kind : the kernel that computes it
    constant_hessian : whether every hessian is one (without weights)
    renews_leaves : whether leaf values are found anew
    bounds : the most that |gradient| and hessian can be for a weight of one; None if that depends on the data
    least_hessian : a leaf must have at least this times `min_samples_leaf` as its hessian
    max_step : the most that a leaf value can be before the learning rate: where curvature vanishes, Newton's step is no guide
    """

    name: str
    kind: int
    link = "identity"
    constant_hessian = False
    renews_leaves = False
    bounds: tuple[float, float] | None = None
    least_hessian = 0.0
    max_step = math.inf

    def __init__(self, n_outputs: int = 1) -> None:
        self.n_outputs = n_outputs
        self._kept: np.ndarray | None = None

    def bind(self, queries: Queries | None) -> Loss:
        """The loss for certain rows: itself, unless it looks at rows together and so must know which."""
        return self

    def before_round(self, key: int) -> None:
        """A round begins; what is random in its gradients is a hash of the key."""

    def check_targets(self, y: np.ndarray) -> None:
        """Raise ValueError where the loss has no meaning for a target."""

    def base_score(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """(n_outputs,) float64: the constant raw prediction with the least loss."""
        return np.array([self.raw_of(mean(y, weight))])

    def raw_of(self, value: float) -> float:
        """The raw prediction that stands for this mean target."""
        return value

    def records(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int, headroom: float = 1.0
    ) -> Iterator[Records]:
        """The fixed-point gradients and hessians of each output, with room for them to grow by a factor."""
        single = self.constant_hessian and weight is None
        scale = Scale.covering(*self._extent(y, raw[0], weight, n_threads), constant_hessian=single, headroom=headroom)
        out = Records(self._memory(1, len(y) * scale.record_size)[0], len(y), scale)
        out.sums = kernels.loss_records(self.kind, y, raw[0], weight, scale.gradient, scale.hessian, out.data, n_threads)
        yield out

    def _memory(self, n_outputs: int, size: int) -> np.ndarray:
        """(n_outputs, size) uint8, the same every round: a fresh one would cost the system its pages each time."""
        if self._kept is None or self._kept.shape != (n_outputs, size):
            self._kept = np.empty((n_outputs, size), dtype=np.uint8)
        return self._kept

    def _extent(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int) -> tuple[float, float]:
        if self.bounds is not None:
            most = 1.0 if weight is None else float(weight.max())
            return self.bounds[0] * most, self.bounds[1] * most
        extent = kernels.loss_extent(self.kind, y, raw, weight, n_threads)
        if not np.isfinite(extent).all():
            raise FloatingPointError(
                f"loss={self.name!r} has no finite gradient any more: the target or sample_weight is too large, or learning_rate too high"
            )
        return extent

    def leaf_values(
        self,
        y: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray | None,
        leaf_of_row: np.ndarray,
        n_leaves: int,
        n_threads: int,
    ) -> np.ndarray:
        """(n_leaves,) float64: the best step of each leaf, where `renews_leaves`."""
        raise TypeError(f"{type(self).__name__} does not renew leaves")

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, n_threads: int) -> float:
        """The weighted mean loss."""
        values = np.empty(len(y))
        self._values(y, raw, weight, values, n_threads)
        total = float(len(y)) if weight is None else kernels.exact_sum(weight, n_threads)
        return kernels.exact_sum(values, n_threads) / total

    def _values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, out: np.ndarray, n_threads: int) -> None:
        kernels.loss_values(self.kind, y, raw[0], weight, out, n_threads)


def mean(y: np.ndarray, weight: np.ndarray | None) -> float:
    """The weighted mean, by a sum that does not depend on the order of rows."""
    if weight is None:
        return kernels.exact_sum(y) / len(y)
    return kernels.exact_sum(y * weight) / kernels.exact_sum(weight)

"""Base class of losses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, NoReturn

import numpy as np

from sapwood.data.checks import check_numbers
from sapwood.data.queries import Queries
from sapwood.losses.leaf_rows import LeafRows
from sapwood.losses.newton import newton
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.gradients import FixedGradients, GradientScale

CUSTOM = "custom"  # name in model files of losses that are not registered
LINKS = ("identity", "log", "logit", "softmax", "sorted")
EPSILON = 2.0**-52


class Loss:
    """Base class of losses. A custom loss is a subclass that implements two methods with NumPy:

    - `loss(y, raw)` returns the loss of each row;
    - `gradients(y, raw)` returns the first and second derivative of the loss by the raw prediction, for each row.

    y and raw are (n_rows,) float64; with more than one output, raw is (n_rows, n_outputs). Sample weights are applied by the caller.
    `sapwood.check_loss` compares the gradients with numerical derivatives; `sapwood.register_loss` gives a loss a name.

    Order of calls in a fit, with raw predictions of shape (n_outputs, n_rows):

    1. `read_targets(y)` converts the targets to an array; `check_targets(y)` raises an error for invalid targets.
    2. `base_score_with_offset(y, weight, offset)` returns the base score of the model; without an offset it is `base_score(y, weight)`.
       `bind(queries)` returns the loss for the given rows.
    3. In each round, `before_round(key)` and then `fixed_gradients(y, raw, weight)`, the fixed-point gradients of each output.
    4. With `renews_leaves`, `leaf_values(rows)` (see `sapwood.losses.LeafRows`) replaces the Newton steps of the leaves.
    5. `mean(y, raw, weight)` is the score that early stopping uses by default.
    6. `link` is the link function: its inverse converts raw predictions to the scale of the target.

    A data set may be split into partitions. Methods with an `execution` argument get the rows of one partition (possibly none), are called
    by all partitions at the same time, and return the same result for any number of partitions. `loss`, `gradients` and `check_targets` see
    the rows of one partition; `leaf_values` gets the rows of all.

    Attributes
    ----------
    name : name of the loss in `loss=` and in model files
    link : "identity", "log", "logit", "softmax" or "sorted" (the outputs of a row in ascending order)
    settings : estimator parameters that are passed to the constructor
    constant_hessian : whether all hessians are 1 (before weights)
    exact_hessian : whether `gradients` returns the second derivative, not an approximation of it
    renews_leaves : whether leaf values are computed by `leaf_values`
    bounds : maximum of |gradient| and of the hessian for a weight of 1; None if they depend on the data
    min_hessian_per_sample : the minimum sum of hessians in a leaf is this times `min_samples_leaf`
    rowwise : whether the loss of a row depends on this row only
    survival : whether y holds event times, some of them censored
    max_step : maximum absolute leaf value before the learning rate; bounds Newton steps where the hessian vanishes

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import BoostingRegressor, Loss, check_loss
    >>> class Cauchy(Loss):
    ...     exact_hessian = False  # curvature of a parabola above the loss; the second derivative is negative for outliers
    ...
    ...     def loss(self, y, raw):
    ...         return np.log1p((raw - y) ** 2) / 2
    ...
    ...     def gradients(self, y, raw):
    ...         hessian = 1 / (1 + (raw - y) ** 2)
    ...         return (raw - y) * hessian, hessian
    >>> check_loss(Cauchy())
    >>> X = np.arange(100.0)[:, None]
    >>> model = BoostingRegressor(loss=Cauchy()).fit(X, X[:, 0] > 49)
    """

    name: str = CUSTOM
    link: str = "identity"
    settings: ClassVar[tuple[str, ...]] = ()
    constant_hessian = False
    exact_hessian = True
    renews_leaves = False
    rowwise = True
    survival = False
    bounds: tuple[float, float] | None = None
    min_hessian_per_sample: float = 0.0
    max_step: float = math.inf
    n_outputs: int = 1
    _cached_buffer: np.ndarray | None = None

    def __init__(self, n_outputs: int = 1) -> None:
        self.n_outputs = n_outputs

    # Methods that a custom loss may implement

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """Return the loss of each row, (n_rows,)."""
        raise ValueError(f"{type(self).__name__} has no loss(y, raw), so its value is unknown: set scoring to a scorer")

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first and second derivatives by raw, each of the shape of raw."""
        raise TypeError(f"{type(self).__name__} must implement gradients(y, raw)")

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        """Return targets as an array with rows on the first axis. `name` is the argument in error messages: `y`, `y_val`."""
        return check_numbers(y, n_rows, name, several=True)

    def bind(self, queries: Queries | None, execution: Execution = SERIAL) -> Loss:
        """Return the loss for the given rows: itself, unless it needs the queries of the rows."""
        return self

    def before_round(self, key: int) -> None:
        """Called before each round. Random numbers of the round are hashes of `key`."""

    def check_targets(self, y: np.ndarray) -> None:
        """Raise ValueError if a target is invalid."""

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        """Raise the same ValueError in all partitions if a target of any partition is invalid."""
        execution.raise_together(lambda: self.check_targets(y) if len(y) else None)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        """Return the targets of target encoding, (n_targets, n_rows) float64: each gives a mean per level."""
        return y[None] if y.ndim == 1 else np.ascontiguousarray(y.T)

    # Methods that training calls

    @property
    def outputs_are_comparable(self) -> bool:
        """Whether outputs have the same scale (classes, quantiles); by default they share trees."""
        return self.link in ("softmax", "sorted")

    @property
    def has_loss_values(self) -> bool:
        """Whether the value of the loss can be computed, not only its derivatives."""
        return any(getattr(type(self), name) is not getattr(Loss, name) for name in ("loss", "weighted_values", "mean"))

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        """Return the constant raw prediction that minimizes the loss, (n_outputs,) float64."""
        initial = np.zeros(self.n_outputs) if self.renews_leaves else self.initial_guess(y, weight, execution)
        return self.best_shift(y, np.zeros((self.n_outputs, len(y))), weight, initial, execution)

    def base_score_with_offset(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL
    ) -> np.ndarray:
        """Return the constant that minimizes the loss of constant + offset, (n_outputs,) float64. offset: (n_outputs, n_rows)."""
        if offset is None:
            return self.base_score(y, weight, execution)
        return self.best_shift(y, offset, weight, np.zeros(self.n_outputs), execution)

    def initial_guess(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        """Return the initial value of the search for the base score, (n_outputs,) float64: the mean target on the raw scale."""
        by_mean = y.ndim == 1 and self.n_outputs == 1
        return np.full(self.n_outputs, link_function(execution.exact_mean(y, weight), self.link) if by_mean else 0.0)

    def best_shift(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, initial: np.ndarray, execution: Execution = SERIAL
    ) -> np.ndarray:
        """Return the constant to add to raw predictions that minimizes the loss, (n_outputs,) float64; by Newton's method on exact sums."""
        if self.renews_leaves:
            rows = LeafRows(y, raw, weight, np.zeros(len(y), dtype=np.uint32), 1, execution=execution)
            return np.concatenate([self.best_leaf_values(replace(rows, output=k)) for k in range(self.n_outputs)])
        shift = initial.astype(np.float64)
        for _ in range(1 if self.n_outputs == 1 else 30):
            before = shift.copy()
            for k in range(self.n_outputs):

                def derivatives(x: float, k: int = k) -> tuple[float, float]:
                    shift[k] = x
                    both = self.weighted_gradients(y, raw + shift[:, None], weight, execution)
                    gradient, hessian = execution.exact_sums(part[k] for part in both)
                    return gradient, hessian

                shift[k] = newton(derivatives, shift[k], self.max_step)
            if np.abs(shift - before).max() <= 1e-12:
                break
        return shift

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients and hessians times the weights, (n_outputs, n_rows) float64 each."""
        given = self.gradients(y, raw[0] if self.n_outputs == 1 else raw.T)
        gradients, hessians = (self._part(part, which, raw.shape) for part, which in zip(given, ("gradient", "hessian"), strict=True))
        return (gradients, hessians) if weight is None else (gradients * weight, hessians * weight)

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        """Return the loss of each row times its weight, (n_rows,) float64."""
        values = np.ascontiguousarray(self.loss(y, raw[0] if self.n_outputs == 1 else raw.T), dtype=np.float64)
        if values.shape != y.shape[:1]:
            raise ValueError(
                f"{type(self).__name__}.loss returned an array of shape {values.shape}; expected one value per row, {y.shape[:1]}"
            )
        return values if weight is None else values * weight

    def _part(self, part: np.ndarray, which: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return a gradient or hessian as an array of shape (n_outputs, n_rows)."""
        part = np.asarray(part, dtype=np.float64)
        wanted = shape[1:] if self.n_outputs == 1 else shape[::-1]
        if part.shape != wanted:
            raise ValueError(f"{type(self).__name__} returned a {which} of shape {part.shape}; expected the shape of raw, {wanted}")
        return np.ascontiguousarray(part.reshape(shape) if self.n_outputs == 1 else part.T)

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        """Yield the fixed-point gradients and hessians of each output. A sampler may multiply them by up to `headroom`."""
        single = self.constant_hessian and weight is None
        for k, (gradient, hessian) in enumerate(zip(*self.weighted_gradients(y, raw, weight, execution), strict=True)):
            extent = kernels.array_extent(gradient, hessian, execution.n_threads)
            *extent, below_zero = execution.max(np.array([*extent, -hessian.min(initial=0.0)])).tolist()
            if below_zero > 0:
                self._raise_negative(hessian, execution)
            scale = GradientScale.covering(*self._check_finite(extent), constant_hessian=single, headroom=headroom)
            data = self._buffer(self.n_outputs, len(y) * scale.bytes_per_row)[k]
            sums = kernels.fix_gradients(gradient, None if single else hessian, scale.destination(data), execution.n_threads)
            yield FixedGradients.of(data, scale, sums, execution)

    def _buffer(self, n_outputs: int, size: int) -> np.ndarray:
        """Return (n_outputs, size) uint8, reused in every round: allocating it each time costs page faults."""
        if self._cached_buffer is None or self._cached_buffer.shape != (n_outputs, size):
            self._cached_buffer = np.empty((n_outputs, size), dtype=np.uint8)
        return self._cached_buffer

    def _check_finite(self, extent: Sequence[float]) -> tuple[float, float]:
        """Return the maximum |gradient| and hessian of all partitions; raise FloatingPointError if they are not finite."""
        if not np.isfinite(extent).all():
            raise FloatingPointError(
                f"the gradients of loss={self.name!r} are not finite: the target or sample_weight is too large, or learning_rate too high"
            )
        return extent[0], extent[1]

    def _raise_negative(self, hessian: np.ndarray, execution: Execution) -> NoReturn:
        first = execution.first_row(len(hessian))
        own = [(float(hessian.min()), first + int(hessian.argmin()))] if len(hessian) else []
        value, row = min(chain(*execution.collective.gather_objects(own)))
        raise ValueError(
            f"{type(self).__name__} returned a negative hessian, {value:g} in row {row}: where the loss is not convex, "
            "return a positive approximation (and set exact_hessian = False)"
        )

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        """Return the leaf values of one output, (n_leaves,) float64. Called with `renews_leaves`; `rows` are those of all partitions."""
        raise TypeError(f"{type(self).__name__} must implement leaf_values(rows), since renews_leaves is True")

    def best_leaf_values(self, rows: LeafRows) -> np.ndarray:
        """Return the leaf values of one output, (n_leaves,) float64, given the rows of this partition."""
        return self.leaf_values(rows.gathered())

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """Return the weighted mean loss over all partitions."""
        values = self.weighted_values(y, raw, weight, execution)
        if weight is None:
            return execution.exact_sum(values) / execution.total(len(y))
        loss, total = execution.exact_sums([values, weight])
        return loss / total

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_cached")}


def largest_weight(weight: np.ndarray | None, execution: Execution) -> float:
    """Return the maximum weight over all partitions."""
    return 1.0 if weight is None else execution.largest(float(weight.max(initial=0.0)))


def link_function(value: float, link: str) -> float:
    """Return the raw prediction of a value on the scale of the target."""
    if link == "logit":
        p = min(max(value, EPSILON), 1 - EPSILON)
        return math.log(p / (1 - p))
    if link == "log":
        return math.log(value) if value > 0 else 0.0
    return value

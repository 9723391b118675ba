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

CUSTOM = "custom"  # the name in a model's file of a loss that is not registered
LINKS = ("identity", "log", "logit", "softmax", "sorted")
EPSILON = 2.0**-52


class Loss:
    """A loss over rows. A loss of your own is a subclass with two methods in plain NumPy:

    - `loss(y, raw)`: the loss of each row;
    - `gradients(y, raw)`: the first and second derivative of each row's loss by its raw prediction.

    y and raw are (n_rows,) float64; raw is (n_rows, n_outputs) where `n_outputs` is more than one. Weights are no concern of theirs.
    `sapwood.check_loss` compares them with numerical derivatives; `sapwood.register_loss` gives a loss a name.

    The life of a loss in a fit, where raw predictions are (n_outputs, n_rows):

    1. `read_targets(y)` makes an array of what the user gave, and `check_targets(y)` refuses what it has no meaning for;
    2. `start(y, weight, offset)` is the constant that training starts from: `base_score(y, weight)` where there is no offset;
       `bind(queries)` gives the loss that works on certain rows;
    3. each round, `before_round(key)`, then `records(y, raw, weight)` gives the fixed-point gradients of each output in turn;
    4. where `renews_leaves`, `leaf_values(rows)` (`sapwood.losses.LeafRows`) replaces the leaves' Newton steps by the loss's own optimum;
    5. `mean(y, raw, weight)` is what early stopping watches;
    6. `link` names the function that turns raw predictions into what the user asked for.

    The rows of a data set may be split over partitions. A method that is given an `execution` then sees the rows of one of them, maybe
    none, and all partitions call it at the same time; what it returns is the same for any number of partitions. `loss`, `gradients` and
    `check_targets` know nothing of that; `leaf_values` is given the rows of all.

    Attributes
    ----------
    name : what the loss is called in a table and in a model's file
    link : "identity", "log", "logit", "softmax" or "sorted" (a row's outputs in ascending order)
    settings : parameters of the estimator that the constructor takes
    constant_hessian : whether every hessian is one (without weights)
    exact_hessian : whether the hessian is the second derivative; else the class says what stands in for it
    renews_leaves : whether leaf values are found anew
    bounds : the most that |gradient| and hessian can be for a weight of one; None if that depends on the data
    min_hessian_per_sample : a leaf must have at least this times `min_samples_leaf` as its hessian
    rowwise : whether a row's loss depends on no other row
    survival : whether y holds times until an event, of which some are not known
    max_step : the most that a leaf value can be before the learning rate: where curvature vanishes, Newton's step is no guide

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import BoostingRegressor, Loss, check_loss
    >>> class Cauchy(Loss):
    ...     exact_hessian = False  # that of a parabola above the loss: the second derivative is negative for outliers
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
    _kept: np.ndarray | None = None

    def __init__(self, n_outputs: int = 1) -> None:
        self.n_outputs = n_outputs

    # What a loss of your own writes

    def loss(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """(n_rows,): the loss of each row."""
        raise ValueError(f"{type(self).__name__} has no loss(y, raw): without it only a scorer can be watched (scoring=...)")

    def gradients(self, y: np.ndarray, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives by raw, each of its shape."""
        raise TypeError(f"{type(self).__name__} has no gradients(y, raw)")

    def read_targets(self, y: Any, n_rows: int, name: str) -> np.ndarray:
        """Read `y` (or `y_val`: its name) as an array whose first axis is rows."""
        return check_numbers(y, n_rows, name, several=True)

    def bind(self, queries: Queries | None, execution: Execution = SERIAL) -> Loss:
        """The loss for certain rows: itself, unless it looks at rows together and so must know which."""
        return self

    def before_round(self, key: int) -> None:
        """A round begins; what is random in its gradients is a hash of the key."""

    def check_targets(self, y: np.ndarray) -> None:
        """Raise ValueError where the loss has no meaning for a target."""

    def check_all_targets(self, y: np.ndarray, execution: Execution) -> None:
        """Raise ValueError where the loss has no meaning for a target of any partition; all partitions raise the same."""
        execution.raise_together(lambda: self.check_targets(y) if len(y) else None)

    def encoding_targets(self, y: np.ndarray, execution: Execution = SERIAL) -> np.ndarray:
        """(n_targets, n_rows) float64: what the levels of a category are described by, where their means are features."""
        return y[None] if y.ndim == 1 else np.ascontiguousarray(y.T)

    # What training asks for

    @property
    def outputs_are_comparable(self) -> bool:
        """Whether outputs are of one kind (classes, quantiles): they share trees unless the user says otherwise."""
        return self.link in ("softmax", "sorted")

    @property
    def has_loss_values(self) -> bool:
        """Whether the loss itself can be computed, not only its derivatives."""
        return any(getattr(type(self), name) is not getattr(Loss, name) for name in ("loss", "weighted_values", "mean"))

    def base_score(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution = SERIAL) -> np.ndarray:
        """(n_outputs,) float64: the constant raw prediction with the least loss."""
        guess = np.zeros(self.n_outputs) if self.renews_leaves else self.guess(y, weight, execution)
        return self.best_shift(y, np.zeros((self.n_outputs, len(y))), weight, guess, execution)

    def base_score_with_offset(
        self, y: np.ndarray, weight: np.ndarray | None, offset: np.ndarray | None, execution: Execution = SERIAL
    ) -> np.ndarray:
        """(n_outputs,) float64: the constant with the least loss when added to an offset, (n_outputs, n_rows)."""
        if offset is None:
            return self.base_score(y, weight, execution)
        return self.best_shift(y, offset, weight, np.zeros(self.n_outputs), execution)

    def guess(self, y: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        """(n_outputs,) float64: where to look first for the best constant."""
        by_mean = y.ndim == 1 and self.n_outputs == 1
        return np.full(self.n_outputs, raw_of(execution.exact_mean(y, weight), self.link) if by_mean else 0.0)

    def best_shift(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, start: np.ndarray, execution: Execution = SERIAL
    ) -> np.ndarray:
        """(n_outputs,) float64: what to add to raw predictions for the least loss; by Newton's method, on exact sums."""
        if self.renews_leaves:
            rows = LeafRows(y, raw, weight, np.zeros(len(y), dtype=np.uint32), 1, execution=execution)
            return np.concatenate([self.best_leaf_values(replace(rows, output=k)) for k in range(self.n_outputs)])
        shift = start.astype(np.float64)
        longest = self.max_step
        for _ in range(1 if self.n_outputs == 1 else 30):
            before = shift.copy()
            for k in range(self.n_outputs):

                def derivatives(x: float, k: int = k) -> tuple[float, float]:
                    shift[k] = x
                    both = self.weighted_gradients(y, raw + shift[:, None], weight, execution)
                    gradient, hessian = execution.exact_sums(part[k] for part in both)
                    return gradient, hessian

                shift[k] = newton(derivatives, shift[k], longest)
            if np.abs(shift - before).max() <= 1e-12:
                break
        return shift

    def weighted_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians, (n_outputs, n_rows) float64 each."""
        given = self.gradients(y, raw[0] if self.n_outputs == 1 else raw.T)
        gradients, hessians = (self._part(part, which, raw.shape) for part, which in zip(given, ("gradient", "hessian"), strict=True))
        return (gradients, hessians) if weight is None else (gradients * weight, hessians * weight)

    def weighted_values(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> np.ndarray:
        """(n_rows,) float64: the loss of each row times its weight."""
        values = np.ascontiguousarray(self.loss(y, raw[0] if self.n_outputs == 1 else raw.T), dtype=np.float64)
        if values.shape != y.shape[:1]:
            raise ValueError(f"{type(self).__name__}.loss gave an array of shape {values.shape}, expected {y.shape[:1]}: one value a row")
        return values if weight is None else values * weight

    def _part(self, part: np.ndarray, which: str, shape: tuple[int, ...]) -> np.ndarray:
        """Gradient or hessian of a loss as an array of shape (n_outputs, n_rows)."""
        part = np.asarray(part, dtype=np.float64)
        wanted = shape[1:] if self.n_outputs == 1 else shape[::-1]
        if part.shape != wanted:
            raise ValueError(f"{type(self).__name__} gave a {which} of shape {part.shape}, expected {wanted}: that of raw")
        return np.ascontiguousarray(part.reshape(shape) if self.n_outputs == 1 else part.T)

    def fixed_gradients(
        self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution, headroom: float = 1.0
    ) -> Iterator[FixedGradients]:
        """The fixed-point gradients and hessians of each output, with room for them to grow by a factor."""
        single = self.constant_hessian and weight is None
        for k, (gradient, hessian) in enumerate(zip(*self.weighted_gradients(y, raw, weight, execution), strict=True)):
            extent = kernels.array_extent(gradient, hessian, execution.n_threads)
            *extent, below_zero = execution.max(np.array([*extent, -hessian.min(initial=0.0)])).tolist()
            if below_zero > 0:
                self._refuse_negative(hessian, execution)
            scale = GradientScale.covering(*self._finite(extent), constant_hessian=single, headroom=headroom)
            data = self._memory(self.n_outputs, len(y) * scale.bytes_per_row)[k]
            sums = kernels.array_records(gradient, None if single else hessian, scale.destination(data), execution.n_threads)
            yield FixedGradients.of(data, scale, sums, execution)

    def _memory(self, n_outputs: int, size: int) -> np.ndarray:
        """(n_outputs, size) uint8, the same every round: a fresh one would cost the system its pages each time."""
        if self._kept is None or self._kept.shape != (n_outputs, size):
            self._kept = np.empty((n_outputs, size), dtype=np.uint8)
        return self._kept

    def _finite(self, extent: Sequence[float]) -> tuple[float, float]:
        """The largest |gradient| and hessian of all partitions, as they are."""
        if not np.isfinite(extent).all():
            raise FloatingPointError(
                f"loss={self.name!r} has no finite gradient any more: the target or sample_weight is too large, or learning_rate too high"
            )
        return extent[0], extent[1]

    def _refuse_negative(self, hessian: np.ndarray, execution: Execution) -> NoReturn:
        first = execution.first_row(len(hessian))
        own = [(float(hessian.min()), first + int(hessian.argmin()))] if len(hessian) else []
        value, row = min(chain(*execution.collective.gather_objects(own)))
        raise ValueError(
            f"{type(self).__name__} gave a negative hessian, {value:g} in row {row}: where the loss is not convex, let "
            "something positive stand in for it (and set exact_hessian = False)"
        )

    def leaf_values(self, rows: LeafRows) -> np.ndarray:
        """(n_leaves,) float64: the best step of each leaf for one of the outputs, where `renews_leaves`; `rows` are those of all
        partitions."""
        raise TypeError(f"{type(self).__name__} does not renew leaves")

    def best_leaf_values(self, rows: LeafRows) -> np.ndarray:
        """The same from the rows of this partition."""
        return self.leaf_values(rows.gathered())

    def mean(self, y: np.ndarray, raw: np.ndarray, weight: np.ndarray | None, execution: Execution) -> float:
        """The weighted mean loss of all partitions."""
        values = self.weighted_values(y, raw, weight, execution)
        if weight is None:
            return execution.exact_sum(values) / execution.total(len(y))
        loss, total = execution.exact_sums([values, weight])
        return loss / total

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_kept")}


def largest_weight(weight: np.ndarray | None, execution: Execution) -> float:
    """The largest weight of all partitions."""
    return 1.0 if weight is None else execution.largest(float(weight.max(initial=0.0)))


def raw_of(value: float, link: str) -> float:
    """The raw prediction that stands for a value."""
    if link == "logit":
        share = min(max(value, EPSILON), 1 - EPSILON)
        return math.log(share / (1 - share))
    if link == "log":
        return math.log(value) if value > 0 else 0.0
    return value

"""Check of the derivatives of a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.losses import LOSSES, Loss
from sapwood.losses.registry import find_loss

N_ROWS = 60
TOLERANCE = 1e-4  # relative; the error of the numerical derivatives is much smaller
STEP = 1e-5
KINK = 1e-2  # raw predictions this close to the target are moved away: |raw - y| has no derivative at 0


def check_loss(loss: Any, y: Any = None, raw: Any = None) -> None:
    """Compare the gradient and hessian of a loss with numerical derivatives.

    Parameters
    ----------
    loss : Loss, its class, a name, or a function (y, raw) -> (gradient, hessian)
        Loss to check. For a function only the hessian is checked, as the derivative of the gradient.
    y : array of shape (n_rows,), optional
        Targets that are valid for the loss. None: random targets that `check_targets` accepts.
    raw : array of shape (n_rows,) or (n_rows, n_outputs), optional
        Raw predictions. None: random numbers from -3 to 3.

    Raises
    ------
    ValueError
        If a derivative is wrong. The message contains the derivative, the row, and the expected value.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import Loss, check_loss
    >>> class Wrong(Loss):
    ...     def loss(self, y, raw):
    ...         return (raw - y) ** 2
    ...
    ...     def gradients(self, y, raw):
    ...         return raw - y, np.ones_like(raw)
    >>> check_loss(Wrong(), y=[1.0, 2.0], raw=[0.0, 0.0])
    Traceback (most recent call last):
    ...
    ValueError: Wrong: the gradient is wrong in 2 of 2 rows, most in row 1 (y=2, raw=0): it is -2, the slope of the loss is -4
    """
    made = LOSSES[loss]() if isinstance(loss, str) and loss in LOSSES else find_loss(loss, LOSSES, None)
    title = loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
    targets = _targets(made) if y is None else made.read_targets(y, len(y), "y")
    made.check_targets(targets)
    shape = (len(targets),) if made.n_outputs == 1 else (len(targets), made.n_outputs)
    at = np.random.default_rng(0).uniform(-3, 3, shape) if raw is None else np.asarray(raw, dtype=np.float64)
    if at.shape != shape:
        raise ValueError(f"raw has shape {at.shape}, expected {shape}")
    if raw is None and made.n_outputs == 1 and targets.ndim == 1:
        at[np.abs(at - targets) < KINK] += 2 * KINK
    errors = _errors(made, targets, at)
    if errors:
        raise ValueError("\n".join(f"{title}: {line}" for line in errors))


def _targets(loss: Loss) -> np.ndarray:
    """Return random targets that the loss accepts."""
    rng = np.random.default_rng(1)
    kinds = {
        "softmax": [rng.integers(0, loss.n_outputs, N_ROWS).astype(np.float64), rng.dirichlet(np.ones(loss.n_outputs), N_ROWS)],
        "logit": [rng.integers(0, 2, N_ROWS).astype(np.float64)],
        "log": [rng.uniform(0.5, 4, N_ROWS)],
        "identity": [rng.normal(size=N_ROWS), rng.uniform(0.5, 4, N_ROWS), rng.uniform(0, 1, N_ROWS)],
    }[loss.link]
    for tried in kinds:
        try:
            y = loss.read_targets(tried, len(tried), "y")
            loss.check_targets(y)
        except ValueError:
            continue
        return y
    raise ValueError(f"{type(loss).__name__}.check_targets rejected all random targets; pass valid ones: check_loss(loss, y=...)")


def _errors(loss: Loss, y: np.ndarray, raw: np.ndarray) -> list[str]:
    """Return a description of each error."""
    errors = []
    before = y.copy(), raw.copy()
    gradient, hessian = (np.asarray(part, dtype=np.float64) for part in loss.gradients(y, raw))
    for part, name in ((gradient, "gradient"), (hessian, "hessian")):
        if part.shape != raw.shape:
            return [f"the {name} has shape {part.shape}, expected that of raw, {raw.shape}"]
    if loss.has_loss_values and np.shape(loss.loss(y, raw)) != y.shape[:1]:
        return [f"the loss has shape {np.shape(loss.loss(y, raw))}, expected {y.shape[:1]}: one value a row"]
    if not (np.array_equal(before[0], y) and np.array_equal(before[1], raw)):
        return ["it modifies y or raw, which must not be changed"]
    places = _places(y, raw)
    if loss.has_loss_values:
        slope = _numerical(lambda at: float(np.sum(loss.loss(y, at))), raw)
        errors += _compare("gradient", gradient, slope, "the slope of the loss", places)
    if loss.exact_hessian or not loss.has_loss_values:
        second = _numerical(lambda at: np.asarray(loss.gradients(y, at)[0], dtype=np.float64), raw)
        errors += _compare("hessian", hessian, second, "the slope of the gradient", places)
    if (hessian < 0).any():
        at = np.unravel_index(int(np.argmin(hessian)), hessian.shape)
        errors.append(
            f"the hessian is negative in {(hessian < 0).sum()} rows, most in {places(at)}: it is {hessian[at]:g}; "
            "where the loss is not convex, return a positive approximation (and set exact_hessian = False)"
        )
    for extreme in (-50.0, 50.0):
        parts = [np.asarray(part) for part in loss.gradients(y, np.full_like(raw, extreme))]
        for part, name in zip(parts, ("gradient", "hessian"), strict=True):
            if not np.isfinite(part).all():
                at = np.unravel_index(int(np.argmax(~np.isfinite(part))), part.shape)
                errors.append(f"the {name} is not finite at raw={extreme:g}: it is {part[at]} in row {at[0]}")
    return errors


def _places(y: np.ndarray, raw: np.ndarray) -> Callable[[tuple[Any, ...]], str]:
    def place(at: tuple[Any, ...]) -> str:
        target = f"{y[at[0]]:g}" if y.ndim == 1 else str(y[at[0]].tolist())
        output = f", output {at[1]}" if len(at) > 1 else ""
        return f"row {at[0]}{output} (y={target}, raw={raw[at]:g})"

    return place


def _numerical(function: Callable[[np.ndarray], Any], raw: np.ndarray) -> np.ndarray:
    """Return the derivative of a number, or of the same entry of an array, by each raw prediction.

    One raw prediction is changed at a time, since the loss of a row may depend on other rows.
    """
    out = np.empty_like(raw)
    for at in np.ndindex(raw.shape):
        step = np.zeros_like(raw)
        step[at] = STEP
        above, below = function(raw + step), function(raw - step)
        out[at] = ((above - below) if np.ndim(above) == 0 else (above[at] - below[at])) / (2 * STEP)
    return out


def _compare(name: str, given: np.ndarray, numerical: np.ndarray, what: str, places: Callable[[tuple[Any, ...]], str]) -> list[str]:
    error = np.abs(given - numerical)
    bad = ~(error <= TOLERANCE * np.maximum(np.abs(numerical), np.abs(numerical).mean() * 0.1) + 1e-6)
    if not bad.any():
        return []
    at = np.unravel_index(int(np.argmax(np.where(bad, np.nan_to_num(error, nan=np.inf), -1))), given.shape)
    rows = len(np.unique(np.nonzero(bad)[0]))
    return [f"the {name} is wrong in {rows} of {len(given)} rows, most in {places(at)}: it is {given[at]:g}, {what} is {numerical[at]:g}"]

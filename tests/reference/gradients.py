"""Loss, gradient and hessian of a target y and a raw prediction, as floats."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax


class Formulas(NamedTuple):
    value: object
    gradient: object
    hessian: object
    parameter: float = 0.0


GAMMA = 1.5


def focal_value(p):
    return -((1 - p) ** GAMMA) * np.log(p)


def focal_slope(p):
    return (1 - p) ** GAMMA * (GAMMA * p * np.log(p) - (1 - p))


def focal_curve(p):
    q = 1 - p
    return p * q**GAMMA * ((2 * GAMMA + 1) * q + GAMMA * np.maximum(np.log(p) * (q - GAMMA * p), 0))


# In the order of the numbers in the kernels.
FORMULAS = {
    "squared_error": Formulas(
        value=lambda y, raw: (raw - y) ** 2 / 2,
        gradient=lambda y, raw: raw - y,
        hessian=lambda y, raw: np.ones_like(raw),
    ),
    "absolute_error": Formulas(
        value=lambda y, raw: np.abs(raw - y),
        gradient=lambda y, raw: np.sign(raw - y),
        hessian=lambda y, raw: np.ones_like(raw),
    ),
    "poisson": Formulas(
        value=lambda y, raw: np.exp(raw) - y * raw,
        gradient=lambda y, raw: np.exp(raw) - y,
        hessian=lambda y, raw: np.exp(raw),
    ),
    "gamma": Formulas(
        value=lambda y, raw: raw + y * np.exp(-raw),
        gradient=lambda y, raw: 1 - y * np.exp(-raw),
        hessian=lambda y, raw: y * np.exp(-raw),
    ),
    "log_loss": Formulas(
        value=lambda y, raw: np.logaddexp(0, raw) - y * raw,
        gradient=lambda y, raw: expit(raw) - y,
        hessian=lambda y, raw: expit(raw) * expit(-raw),
    ),
    "huber": Formulas(
        value=lambda y, raw: np.where(np.abs(raw - y) <= 0.7, (raw - y) ** 2 / 2, 0.7 * (np.abs(raw - y) - 0.35)),
        gradient=lambda y, raw: np.clip(raw - y, -0.7, 0.7),
        hessian=lambda y, raw: np.ones_like(raw),
        parameter=0.7,
    ),
    "quantile": Formulas(
        value=lambda y, raw: np.maximum(0.3 * (y - raw), -0.7 * (y - raw)),
        gradient=lambda y, raw: np.where(raw > y, 0.7, np.where(raw < y, -0.3, 0.0)),
        hessian=lambda y, raw: np.ones_like(raw),
        parameter=0.3,
    ),
    "expectile": Formulas(
        value=lambda y, raw: np.where(raw < y, 0.3, 0.7) * (raw - y) ** 2 / 2,
        gradient=lambda y, raw: np.where(raw < y, 0.3, 0.7) * (raw - y),
        hessian=lambda y, raw: np.where(raw < y, 0.3, 0.7),
        parameter=0.3,
    ),
    "tweedie": Formulas(
        value=lambda y, raw: np.exp(0.4 * raw) / 0.4 + y * np.exp(-0.6 * raw) / 0.6,
        gradient=lambda y, raw: np.exp(0.4 * raw) - y * np.exp(-0.6 * raw),
        hessian=lambda y, raw: 0.4 * np.exp(0.4 * raw) + 0.6 * y * np.exp(-0.6 * raw),
        parameter=1.6,
    ),
    "log_cosh": Formulas(
        value=lambda y, raw: np.logaddexp(raw - y, y - raw) - np.log(2),
        gradient=lambda y, raw: np.tanh(raw - y),
        hessian=lambda y, raw: np.tanh(raw - y) / (raw - y),
    ),
    "mape": Formulas(
        value=lambda y, raw: np.abs(raw - y) / np.abs(y),
        gradient=lambda y, raw: np.sign(raw - y) / np.abs(y),
        hessian=lambda y, raw: 1 / np.abs(y),
    ),
    "focal": Formulas(
        value=lambda y, raw: np.where(y == 1, focal_value(expit(raw)), focal_value(expit(-raw))),
        gradient=lambda y, raw: np.where(y == 1, focal_slope(expit(raw)), -focal_slope(expit(-raw))),
        hessian=lambda y, raw: np.where(y == 1, focal_curve(expit(raw)), focal_curve(expit(-raw))),
        parameter=GAMMA,
    ),
}
KINDS = {name: kind for kind, name in enumerate(FORMULAS)}


def softmax_formulas(y, raw):
    """Return loss (n,), gradients (n_classes, n) and hessians (n_classes, n) of the multinomial log-loss; raw is (n_classes, n)."""
    p = softmax(raw, axis=0)
    hit = y == np.arange(len(raw))[:, None]
    return logsumexp(raw, axis=0) - raw[y.astype(int), np.arange(len(y))], p - hit, p * (1 - p)


def huber_step(values, weight, delta):
    """Return the minimum of the Huber loss of values by bisection: where the weighted clipped distances sum to 0."""
    low, high = values.min(), values.max()
    for _ in range(200):
        middle = (low + high) / 2
        if (weight * np.clip(values - middle, -delta, delta)).sum() > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def quantile(values, weight, fraction):
    """Return the mean of the smallest values with at least, and with more than, this fraction of the weight at or below them."""
    order = np.argsort(values)
    values, below = np.asarray(values)[order], np.cumsum(np.asarray(weight)[order])
    goal = fraction * below[-1]
    low = values[np.argmax(below >= goal)]
    high = values[np.argmax(below > goal)] if (below > goal).any() else low
    return low / 2 + high / 2

"""The losses as floats: of a target y and a raw prediction, their value, gradient and hessian."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax


class Formulas(NamedTuple):
    value: object
    gradient: object
    hessian: object


# In the order of the kernels' numbers.
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
}
KINDS = {name: kind for kind, name in enumerate(FORMULAS)}


def softmax_formulas(y, raw):
    """Value (n,), gradients (n_classes, n) and hessians (n_classes, n) of the multinomial log-loss; raw is (n_classes, n)."""
    p = softmax(raw, axis=0)
    hit = y == np.arange(len(raw))[:, None]
    return logsumexp(raw, axis=0) - raw[y.astype(int), np.arange(len(y))], p - hit, p * (1 - p)


def quantile(values, weight, share):
    """The mean of the least value with at least, and the least with more than, that share of the weight at or below it."""
    order = np.argsort(values)
    values, below = np.asarray(values)[order], np.cumsum(np.asarray(weight)[order])
    goal = share * below[-1]
    low = values[np.argmax(below >= goal)]
    high = values[np.argmax(below > goal)] if (below > goal).any() else low
    return low / 2 + high / 2

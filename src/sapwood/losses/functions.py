"""Elementary functions that give the same bits on every CPU. Those of NumPy and SciPy differ between instruction sets."""

from __future__ import annotations

import numpy as np

from sapwood.runtime import kernels


def exp(x: np.ndarray) -> np.ndarray:
    """e^x; 0 below -708, and at most e^708."""
    return _apply("exp", x)


def expm1(x: np.ndarray) -> np.ndarray:
    """e^x - 1, precise for small x."""
    return _apply("expm1", x)


def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm; -inf of zero."""
    return _apply("log", x)


def power(x: np.ndarray, exponent: float) -> np.ndarray:
    """x^exponent, for x from 0 on."""
    return exp(exponent * log(x)) if exponent else np.ones_like(x)


def tanh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent."""
    return _apply("tanh", x)


def log_expit(x: np.ndarray) -> np.ndarray:
    """Logarithm of 1 / (1 + e^-x)."""
    return _apply("log_expit", x)


def log_ndtr(x: np.ndarray) -> np.ndarray:
    """Logarithm of the standard normal distribution function."""
    return _apply("log_ndtr", x)


def _apply(name: str, x: np.ndarray) -> np.ndarray:
    out = np.array(x, dtype=np.float64, order="C")
    kernels.apply_function(name, out)
    return out

"""Fixed-point gradients of several outputs: projection to one, and sums by leaf."""

import numpy as np


def project(gradients, hessians, mix_gradients, mix_hessians):
    """Project (n_outputs, n_rows) integers to (n_rows,) float64 each, summed in the order of outputs."""
    gradient, hessian = np.zeros((2, len(gradients[0])))
    for k in range(len(gradients)):
        gradient = mix_gradients[k] * gradients[k].astype(float) + gradient
        hessian = mix_hessians[k] * hessians[k].astype(float) + hessian
    return gradient, hessian


def leaf_sums(values, leaf_of_row, n_leaves):
    """Return exact sums of (n_outputs, n_rows) integers by leaf, (n_leaves, n_outputs)."""
    sums = [[0] * len(values) for _ in range(n_leaves)]
    for k, of_rows in enumerate(values.tolist()):
        for leaf, value in zip(leaf_of_row.tolist(), of_rows, strict=True):
            sums[leaf][k] += value
    return np.array(sums, dtype=object).reshape(n_leaves, len(values))

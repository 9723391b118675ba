"""Leaf models in NumPy: a random example of each member of the table, and the value that a leaf adds to a row."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sapwood.trees.leaf_models import ConstantLeaves, LinearLeaves
from sapwood.trees.leaf_models.inputs import LinearInput


class LeafReference(NamedTuple):
    example: Callable  # (rng, feature of each node, n_outputs or None) -> leaf model
    added: Callable  # (leaf model, node, row of numbers) -> (n_outputs,): what the leaf adds to the row
    shares: bool  # whether a leaf may have several outputs


def constant_example(rng, feature, n_outputs):
    shape = len(feature) if n_outputs is None else (n_outputs, len(feature))
    return ConstantLeaves(np.where(feature < 0, rng.normal(size=shape), 0.0).T.copy())


def linear_example(rng, feature, n_outputs):
    """Some leaves have no slopes, others several, of which two may belong to one feature. The cut points are some of 0, 1, ..., 9."""
    assert n_outputs is None
    inputs = []
    for f in (0, 1, 2, 1):
        cuts = np.sort(rng.choice(10, size=rng.integers(1, 11), replace=False)).astype(np.float64)
        inputs.append(LinearInput(f, cuts, np.sort(rng.normal(size=len(cuts) + 1))))
    value = np.where(feature < 0, rng.normal(size=len(feature)), 0.0)
    n_slopes = np.where(feature < 0, rng.integers(0, 4, len(feature)), 0).astype(np.int32)
    n = n_slopes.sum()
    used = np.concatenate([np.arange(4), rng.integers(0, 4, n)])[:n].astype(np.int32)
    low = rng.normal(-1, 0.5, size=n)
    return LinearLeaves(
        value, n_slopes, used, *rng.normal(size=(2, n)), low, low + rng.exponential(size=n), tuple(inputs)
    ).with_used_inputs()


def linear_added(leaves, node, row, known=None):
    """Features that are not known add nothing: their mean."""
    total, end = leaves.value[node], int(leaves.n_slopes[: node + 1].sum())
    for k in range(end - leaves.n_slopes[node], end):
        own = leaves.inputs[leaves.slope_input[k]]
        x = row[own.feature]
        if np.isnan(x) or (known is not None and own.feature not in known):
            continue
        value = own.values[sum(cut < x for cut in own.cuts)]
        total += leaves.slope[k] * (min(max(value, leaves.slope_low[k]), leaves.slope_high[k]) - leaves.slope_center[k])
    return np.array([total])


LEAF_REFERENCES = {
    "constant": LeafReference(constant_example, lambda leaves, node, row: np.atleast_1d(leaves.value[node]), shares=True),
    "linear": LeafReference(linear_example, linear_added, shares=False),
}

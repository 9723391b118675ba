"""Leaf models in NumPy: a random example of each member of the table, and the value that a leaf adds to a row."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sapwood.trees.leaf_models import ConstantLeaves


class LeafReference(NamedTuple):
    example: Callable  # (rng, feature of each node, n_outputs or None) -> leaf model
    added: Callable  # (leaf model, node, row of numbers) -> (n_outputs,): what the leaf adds to the row


def constant_example(rng, feature, n_outputs):
    shape = len(feature) if n_outputs is None else (n_outputs, len(feature))
    return ConstantLeaves(np.where(feature < 0, rng.normal(size=shape), 0.0).T.copy())


LEAF_REFERENCES = {
    "constant": LeafReference(constant_example, lambda leaves, node, row: np.atleast_1d(leaves.value[node])),
}

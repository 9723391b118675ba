"""Shapley values of one tree by definition: over all orders of features."""

from itertools import combinations
from math import factorial

import numpy as np

from sapwood.trees.leaf_models import LinearLeaves
from tests.reference.leaf_models import linear_added


def expectation(tree, row, known, background=None):
    """Return the value of a tree for a row of which only some features are known.

    At a split on an unknown feature both children are weighted by their training rows, or a background row decides.
    """

    def of_leaf(node):
        if not isinstance(tree.leaves, LinearLeaves):
            return tree.leaves.value[node]
        if background is None:
            return linear_added(tree.leaves, node, row, known)[0]
        return linear_added(tree.leaves, node, [row[f] if f in known else background[f] for f in range(len(row))])[0]

    def value(node):
        feature = tree.feature[node]
        if feature < 0:
            return of_leaf(node)
        left, right = tree.left[node], tree.right[node]
        if feature not in known and background is None:
            fractions = tree.count[[left, right]] / tree.count[[left, right]].sum()
            return fractions[0] * value(left) + fractions[1] * value(right)
        x = row[feature] if feature in known else background[feature]
        goes_left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
        return value(left if goes_left else right)

    return value(0)


def shapley(tree, row, n_features, background=None):
    """Return the Shapley values and the expected value, (n_features + 1,)."""
    out = np.zeros(n_features + 1)
    for f in range(n_features):
        others = [g for g in range(n_features) if g != f]
        for size in range(n_features):
            weight = factorial(size) * factorial(n_features - 1 - size) / factorial(n_features)
            for known in combinations(others, size):
                gain = expectation(tree, row, {*known, f}, background) - expectation(tree, row, set(known), background)
                out[f] += weight * gain
    out[-1] = expectation(tree, row, set(), background)
    return out


def interactions(tree, row, n_features):
    """Return interaction values, (n_features, n_features): half of each pair in each entry; 0 on the diagonal."""
    out = np.zeros((n_features, n_features))
    for f, g in combinations(range(n_features), 2):
        others = [h for h in range(n_features) if h not in (f, g)]
        for size in range(n_features - 1):
            weight = factorial(size) * factorial(n_features - 2 - size) / (2 * factorial(n_features - 1))
            for known in combinations(others, size):
                both, one, other, none = (expectation(tree, row, {*known, *more}) for more in ((f, g), (f,), (g,), ()))
                out[f, g] += weight * (both - one - other + none)
        out[g, f] = out[f, g]
    return out

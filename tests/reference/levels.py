"""Splits by sets of levels, by exhaustive search."""

from itertools import combinations

import numpy as np

from tests.reference.splits import keeps_rules, score

PARTITION, ONE_VS_REST = 1, 2


def subsets(levels):
    """Yield all non-empty sets of levels."""
    return [set(chosen) for n in range(1, len(levels) + 1) for chosen in combinations(levels, n)]


def best_gain(cells, missing, sets, min_count=1, min_hessian=0.0, l2=0.0):
    """Return the highest gain of a node with cells (n_levels, 3) if one of the sets goes left and missing values, (3,), to either side."""
    total = cells.sum(axis=0) + missing
    gains = [-1.0]
    for chosen in sets:
        for absent in (0, missing) if missing[2] else (0,):
            left = cells[sorted(chosen)].sum(axis=0) + absent
            right = total - left
            if keeps_rules(left, right, min_count, min_hessian, l2, 1.0):
                gains.append(score(left, l2, 1.0) + score(right, l2, 1.0) - score(total, l2, 1.0))
    return max(gains)


def prefixes(cells, smooth=0.0, min_rows=1):
    """Yield the sets of levels below each cut of the order by gradient / (hessian + smooth); levels with few rows are one."""
    present = [i for i in range(len(cells)) if cells[i, 2] > 0]
    rare = [i for i in present if cells[i, 2] < min_rows]
    groups = [[i] for i in present if i not in rare] + ([rare] if rare else [])

    def rank(group):
        gradient, hessian, _ = cells[group].sum(axis=0)
        return gradient / (hessian + smooth), -1 if group is rare else group[0]

    groups.sort(key=rank)
    return [set().union(*groups[: k + 1]) for k in range(len(groups))]


def members(bits):
    """Return the levels of a set, (8,) uint32."""
    return {level for level in range(256) if bits[level >> 5] >> np.uint32(level & 31) & 1}


def walk(nodes, sets, table):
    """Return the leaf of each row of bins, if all features are categories."""
    of_node = dict(zip(np.flatnonzero(nodes["by_levels"]), map(members, sets), strict=True))
    at = np.zeros(table.n_rows, dtype=np.int64)
    for row, bins in enumerate(table.bins):
        node = 0
        while (feature := nodes["feature"][node]) >= 0:
            absent = table.missing[feature] and bins[feature] == table.n_bins[feature] - 1
            left = nodes["missing_left"][node] if absent else bins[feature] in of_node[node]
            node = nodes["left"][node] if left else nodes["right"][node]
        at[row] = node
    return at

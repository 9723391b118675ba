"""Ranking metrics and losses, pair by pair."""

import numpy as np


def order(raw):
    """Return the rows by descending score; ties keep their order."""
    return np.argsort(-raw, kind="stable")


def discount(rank):
    return 1 / np.log2(rank + 2.0)


def dcg(gain, raw, k):
    return sum(gain[row] * discount(rank) for rank, row in enumerate(order(raw)[:k]))


def average_precision(relevant, raw, k):
    ranked, hits, total = relevant[order(raw)], 0, 0.0
    for rank in range(min(k, len(ranked))):
        if ranked[rank]:
            hits += 1
            total += hits / (rank + 1)
    return total / max(1, min(k, int(relevant.sum())))


def reciprocal_rank(relevant, raw, k):
    hits = np.flatnonzero(relevant[order(raw)][:k])
    return 1 / (hits[0] + 1) if len(hits) else 0.0


def swapped(raw, i, j):
    """Return scores after swapping two rows, regardless of ties."""
    ranks = np.empty(len(raw))
    ranks[order(raw)] = np.arange(len(raw))
    ranks[[i, j]] = ranks[[j, i]]
    return -ranks


def change(measure, gain, raw, i, j):
    """Return the change of a metric by a swap of two rows, before the division by the best DCG or the number of relevant rows."""
    if measure == "pairwise":
        return 1.0
    n = len(raw)
    times = gain.sum() if measure == "map" else 1.0
    value = {"ndcg": dcg, "map": average_precision, "mrr": reciprocal_rank}[measure]
    return abs(value(gain, swapped(raw, i, j), n) - value(gain, raw, n)) * times


def pair_gradients(measure, gain, raw, unit, truncation, normalize):
    """Return the gradients and hessians of the rows of one query."""
    n, by_score = len(raw), order(raw)
    gradient, hessian, total = np.zeros(n), np.zeros(n), 0.0
    for rank, i in enumerate(by_score[:truncation]):
        for j in by_score[rank + 1 :]:
            if gain[i] == gain[j]:
                continue
            high, low = (i, j) if gain[i] > gain[j] else (j, i)
            weight = change(measure, gain, raw, i, j) * unit
            distance = raw[high] - raw[low]
            if normalize and raw.max() != raw.min():
                weight /= 0.01 + abs(distance)
            p = 1 / (1 + np.exp(distance))
            gradient[high] -= weight * p
            gradient[low] += weight * p
            hessian[[high, low]] += weight * p * (1 - p)
            total += 2 * weight * p
    if normalize and total > 0:
        factor = np.log2(1 + total) / total
        return gradient * factor, hessian * factor
    return gradient, hessian


def listwise_gradients(target, raw):
    """Return the gradients and hessians of Bruch (2021)."""
    p = np.exp(raw - raw.max())
    p /= p.sum()
    first = p - target / target.sum()
    second = p * ((first / (1 - p)).sum() - first / (1 - p))
    third = p * ((second / (1 - p)).sum() - second / (1 - p))
    return first + second + third, p * (1 - p)

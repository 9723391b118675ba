"""Placement of the pieces of a data set on workers: contiguous ranges, in the order of the rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
from scipy.optimize import linear_sum_assignment

Worker = TypeVar("Worker")


def ranges(n_pieces: int, n_workers: int) -> list[slice]:
    """Return the pieces of each worker: contiguous, and as many for each as for the others, or one more."""
    ends = [n_pieces * i // n_workers for i in range(n_workers + 1)]
    return [slice(first, last) for first, last in pairwise(ends)]


def order_workers(workers: Sequence[Worker], holders: Sequence[Collection[Worker]]) -> list[Worker]:
    """Return the workers in the order of the ranges of pieces they get: the order in which most pieces are where they are needed.

    Parameters
    ----------
    workers : workers of the fit
    holders : for each piece, the workers that hold it in memory
    """
    held = np.zeros((len(workers), len(workers)))
    for i, own in enumerate(ranges(len(holders), len(workers))):
        for piece in holders[own]:
            for k, worker in enumerate(workers):
                held[i, k] += worker in piece
    _, chosen = linear_sum_assignment(held, maximize=True)
    return [workers[k] for k in chosen]

"""Counts of what the workers of a fit send to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass
class Traffic:
    """Counts of one worker.

    Attributes
    ----------
    rounds : collective operations: all workers wait for each other
    messages, bytes : messages sent, and their bytes
    plain_bytes : bytes of these messages without compression
    seconds : time this worker waited for messages
    """

    rounds: int = 0
    messages: int = 0
    bytes: int = 0
    plain_bytes: int = 0
    seconds: float = 0.0

    def copy(self) -> Traffic:
        return replace(self)

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(**{name: value - getattr(other, name) for name, value in vars(self).items()})


@dataclass
class FitTraffic:
    """Traffic of one worker in a fit: before the first tree, and for the trees."""

    setup: Traffic
    trees: Traffic
    n_trees: int


def describe(workers: Sequence[FitTraffic], restarts: int) -> dict[str, Any]:
    """Return the attribute `communication_` from the traffic of all workers."""
    first, n_trees = workers[0], max(1, workers[0].n_trees)
    trees = [worker.trees for worker in workers]
    sent, plain = sum(one.bytes for one in trees), sum(one.plain_bytes for one in trees)
    return {
        "workers": len(workers),
        "restarts": restarts,
        "setup_rounds": first.setup.rounds,
        "setup_bytes": sum(worker.setup.bytes for worker in workers),
        "trees": first.n_trees,
        "rounds_per_tree": first.trees.rounds / n_trees,
        "bytes_per_tree": sent / n_trees,
        "largest_bytes_per_tree": max(one.bytes for one in trees) / n_trees,
        "compression": sent / plain if plain else 1.0,
        "wait_seconds": [one.seconds for one in trees],
    }

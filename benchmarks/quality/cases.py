"""What one measurement is: a table, a size, a split and a library."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    table: str
    task: str
    size: str
    split: int
    library: str  # the name, or a label of Sapwood with parameters
    parameters: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.table, self.size, self.split, self.library


def batches(cases: Iterable[Case]) -> list[list[Case]]:
    """Cases of one table and library together, in order: one process measures them."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        found.setdefault((case.table, case.library), []).append(case)
    return list(found.values())

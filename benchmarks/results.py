"""Results of a run, written to disk after each number, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.libraries import OURS


class Results:
    """A tree of sections, workloads, libraries and measures, kept in a JSON file."""

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.tree: dict[str, Any] = json.loads(path.read_text()) if resume and path.exists() else {}

    def get(self, *keys: str) -> Any:
        """Return the value at a path, or None."""
        branch: Any = self.tree
        for key in keys:
            branch = branch.get(key) if isinstance(branch, dict) else None
        return branch

    def put(self, value: Any, *keys: str) -> None:
        branch = self.tree
        for key in keys[:-1]:
            branch = branch.setdefault(key, {})
        branch[keys[-1]] = value
        self._save()

    def add(self, value: float, *keys: str) -> None:
        """Append to the list at a path."""
        self.put([*(self.get(*keys) or []), value], *keys)

    def is_done(self, *keys: str) -> bool:
        return "/".join(keys) in self.tree.get("done", [])

    def start(self, *keys: str) -> None:
        """Delete incomplete results of an interrupted run: all libraries must be measured in one run."""
        self.put({}, *keys)

    def finish(self, *keys: str) -> None:
        self.add("/".join(keys), "done")  # type: ignore[arg-type]

    def least(self, *keys: str) -> float | None:
        """Return the minimum of the list at a path."""
        values = self.get(*keys)
        return min(values) if values else None

    def _save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.tree, indent=1))
        os.replace(new, self.path)


def divide(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a / b


def fastest_peer(times: dict[str, float | None]) -> float | None:
    """Return the minimum time of the other libraries."""
    return min((time for name, time in times.items() if name != OURS and time is not None), default=None)

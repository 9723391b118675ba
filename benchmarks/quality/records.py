"""What was measured: a JSON-lines file that only grows, so that a killed run loses at most one line."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Records:
    """Records by table, size, split and library; of two with the same four, the later counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.found: dict[tuple[str, str, int, str], Record] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            record = _parse(line)
            if record is not None:
                self.found[_key(record)] = record

    def get(self, key: tuple[str, str, int, str]) -> Record | None:
        return self.found.get(key)

    def add(self, record: Record) -> None:
        with self.lock:
            self.found[_key(record)] = record
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as file:
                if file.tell() and not _ends_with_newline(file):
                    file.write(b"\n")  # a killed run left half a line
                file.write(json.dumps(record).encode() + b"\n")

    def all(self) -> list[Record]:
        return list(self.found.values())


def _key(record: Record) -> tuple[str, str, int, str]:
    return record["table"], record["size"], record["split"], record["library"]


def _parse(line: str) -> Record | None:
    try:
        return json.loads(line)
    except ValueError:  # half a line
        return None


def _ends_with_newline(file: Any) -> bool:
    file.seek(-1, 2)
    return file.read(1) == b"\n"

"""Good files to begin with, and how a file is taken apart and put together with a true checksum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sapwood.data import container
from sapwood.model.file import checksum

GOLDEN = Path(__file__).parents[1] / "tests" / "model" / "golden"


def load_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob("*.sapwood"))]


def take_apart(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays of a good file, as copies, and its document."""
    arrays, text = container.unpack(np.frombuffer(bytearray(data), dtype=np.uint8))
    return {name: array.copy() for name, array in arrays.items()}, json.loads(text["sapwood"])


def put_together(arrays: dict[str, np.ndarray], document: Any) -> bytes:
    """With a true checksum, so that what is behind it is reached."""
    text = document if isinstance(document, str) else json.dumps(document)
    return bytes(container.pack(arrays, {"sapwood": text, "sha256": checksum(arrays, text)}))

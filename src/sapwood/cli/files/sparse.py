"""svmlight files, read by scikit-learn."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import STDIN, Reading


@dataclass(frozen=True)
class SparseTable:
    """Rows of svmlight files.

    Attributes
    ----------
    X : (n_rows, n_columns) CSR matrix
    y : (n_rows,) float64
    qid : (n_rows,) queries; None if the files have none
    """

    X: Any
    y: np.ndarray
    qid: np.ndarray | None


def read_svmlight(paths: Sequence[str], reading: Reading, n_columns: int | None = None) -> SparseTable:
    """Read svmlight files. With `n_columns`, matrices have so many columns."""
    from sklearn.datasets import load_svmlight_files

    sources = [io.BytesIO(sys.stdin.buffer.read()) if path == STDIN else path for path in paths]
    zero_based = "auto" if reading.zero_based is None else reading.zero_based
    try:
        loaded = load_svmlight_files(sources, n_features=n_columns, zero_based=zero_based, query_id=True)
    except ValueError as error:
        raise CommandError(f"{', '.join(map(str, paths))}: {_broken_line(paths) or error}") from None
    import scipy.sparse as sp

    parts = [loaded[i : i + 3] for i in range(0, len(loaded), 3)]
    qid = np.concatenate([part[2] for part in parts])
    return SparseTable(
        sp.vstack([part[0] for part in parts], format="csr"), np.concatenate([part[1] for part in parts]), qid if qid.any() else None
    )


def _broken_line(paths: Sequence[str]) -> str | None:
    """Return the first line that is not svmlight."""
    for path in paths:
        if path == STDIN:
            continue
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    _check(line)
                except ValueError:
                    text = line[:57].decode("utf-8", "replace").strip()
                    return f"line {number} of {path} is not svmlight (target index:value ...): {text!r}"
    return None


def _check(line: bytes) -> None:
    target, *pairs = line.partition(b"#")[0].split() or [b"0"]
    [float(part) for part in target.split(b",")]
    for pair in pairs:
        index, _, value = pair.partition(b":")
        if index != b"qid":
            int(index), float(value)

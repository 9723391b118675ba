"""Roofline model of fits on GPUs: bytes and atomic additions of each kernel, against the data sheets of three GPUs. Nothing is measured.

    python -m benchmarks.roofline                      1,000,000 rows x 28, 100 trees of 31 leaves
    python -m benchmarks.roofline --rows 10000000

How often a row is moved and added to a histogram is counted in the trees of a fit on the CPU, of the rows of `benchmarks.device`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from benchmarks.device import BINS, LEAVES, table
from benchmarks.markdown import table as as_markdown
from sapwood import BoostingClassifier, Model

SECTOR = 32  # bytes that a GPU reads from memory at least
COLUMN_BYTES = 264 * 8  # of a column in the table of a work-group
CELL_WORDS = 2  # of a histogram
ADDS_PER_CLOCK = 2  # atomic 64-bit additions in local memory, of a compute unit: 128 bytes a clock are 8; conflicts cost 3 of 4
LINK = 25e9  # bytes a second between host and device: PCIe 4.0 x16, of 31.5e9
COMMAND = 10e-6  # seconds of a command of the queue; 8 commands for each step
COMMANDS = 8


@dataclass(frozen=True)
class Gpu:
    """Numbers of a data sheet.

    Attributes
    ----------
    bandwidth : bytes a second of its memory
    units : compute units (streaming multiprocessors)
    clock : cycles a second (boost)
    local : bytes of local memory that OpenCL gives to a work-group
    """

    name: str
    bandwidth: float
    units: int
    clock: float
    local: int


GPUS = [
    Gpu("NVIDIA L4 24 GB", 300e9, 58, 2.04e9, 48 << 10),
    Gpu("NVIDIA A100 40 GB PCIe", 1555e9, 108, 1.41e9, 48 << 10),
    Gpu("AMD Instinct MI210 64 GB", 1638e9, 104, 1.70e9, 64 << 10),
]


@dataclass(frozen=True)
class Visits:
    """Mean number of times in a tree that a row is moved to a child, and that it is added to a histogram; number of steps."""

    moved: float
    added: float
    steps: float


def visits(model: Model) -> Visits:
    """Count the visits in the trees of a model."""
    moved, added, steps = [], [], []
    for tree in model.trees:
        inner = np.flatnonzero(tree.left >= 0)
        n = tree.count[0]
        moved.append(tree.count[inner].sum() / n)
        added.append(1 + np.minimum(tree.count[tree.left[inner]], tree.count[tree.right[inner]]).sum() / n)
        steps.append(len(inner))
    return Visits(float(np.mean(moved)), float(np.mean(added)), float(np.mean(steps)))


def seconds_of_tree(gpu: Gpu, n_rows: int, n_features: int, v: Visits) -> dict[str, float]:
    """Return the seconds of a tree by cause."""
    stride = max(4, 1 << (n_features - 1).bit_length())
    columns = gpu.local // COLUMN_BYTES // 4 * 4
    n_blocks = -(-n_features // columns)
    histogram = n_blocks * (4 + 8 + max(SECTOR, min(stride, columns)))  # row id, gradient, sectors of bins
    split = (4 + SECTOR + 1) + (4 + 8 + 1) + (4 + 8)  # find the side; read and write row id and gradient
    once = 8 + 8 + 8 + 4 + SECTOR  # round gradients; sums and leaf of the row
    transfers = n_rows * 9 + (v.steps + 1) * n_features * (BINS + 1) * CELL_WORDS * 8
    return {
        "memory": n_rows * (v.added * histogram + v.moved * split + once) / gpu.bandwidth,
        "atomics": n_rows * v.added * n_features / (gpu.units * gpu.clock * ADDS_PER_CLOCK),
        "transfers": transfers / LINK,
        "commands": v.steps * COMMANDS * COMMAND,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--trees", type=int, default=100)
    a = parser.parse_args()
    model = BoostingClassifier(max_iter=10, max_leaf_nodes=LEAVES, early_stopping=False).fit(*table(200_000, a.features)).model_
    v = visits(model)
    print(f"a row is moved {v.moved:.1f} times and added {v.added:.1f} times in a tree of {v.steps:.0f} splits\n")
    rows = []
    for gpu in GPUS:
        parts = seconds_of_tree(gpu, a.rows, a.features, v)
        total = max(parts["memory"], parts["atomics"]) + parts["transfers"] + parts["commands"]
        rows.append([gpu.name, *(f"{1e3 * part:.1f}" for part in parts.values()), f"{total * a.trees:.1f}"])
    print("\n".join(as_markdown(["GPU", "memory, ms", "atomics, ms", "transfers, ms", "commands, ms", f"{a.trees} trees, s"], rows)))


if __name__ == "__main__":
    main()

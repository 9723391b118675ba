"""Cost of missing values in a fit: `python -m benchmarks.missing [--rows N] [--repeats N]`.

CPU seconds of a fit of 100 rounds at the defaults on one thread, for several fractions of values that are missing at random; minimum of
interleaved repeats.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.higgs import make_higgs
from benchmarks.markdown import table
from sapwood import BoostingClassifier

SHARES = (0.0, 0.2, 0.5)


def cpu_seconds(X: np.ndarray, y: np.ndarray) -> float:
    model = BoostingClassifier(early_stopping=False, n_jobs=1)
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    X, y = make_higgs(arguments.rows, seed=0)
    chances = np.random.default_rng(0).random(X.shape)
    tables = [np.where(chances < share, np.nan, X).astype(X.dtype) for share in SHARES]
    least = np.full(len(SHARES), np.inf)
    for _ in range(arguments.repeats):
        least = np.minimum(least, [cpu_seconds(X, y) for X in tables])
    rows = [[f"{share:.0%}", f"{seconds:.2f}", f"{seconds / least[0] - 1:+.1%}"] for share, seconds in zip(SHARES, least, strict=True)]
    print(*table(["missing", "CPU s", "more"], rows), sep="\n")


if __name__ == "__main__":
    main()

"""Estimate of fits on clusters that are not here: `python -m benchmarks.cluster_simulation`.

Measured on this machine: seconds of one thread for a row and a tree (a fit in one process), seconds of a step and bytes a second of sums
between two local Dask workers, and operations and bytes of a tree (a fit on the two workers, which is also compared with its estimate).

Assumptions: rows are evenly spread; a worker has as many threads as `--threads`, which share its work without loss; a network is as fast as
the connections between local workers, or as `--bandwidth` and `--latency` say; workers are equally fast and do not wait for other programs;
reading rows is not counted. The bytes of a tree are those of its histograms, one for each split; other sums have a few bytes.
"""

from __future__ import annotations

import argparse
import math
import time
import uuid
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.cluster import rows
from benchmarks.markdown import table
from sapwood import BoostingClassifier

WORKERS = (4, 16, 64, 256, 1_000)
ROWS = (10**8, 10**9, 10**10, 10**11)
SMALL, LARGE = 128, 1 << 17  # entries of the sums that are measured


@dataclass(frozen=True)
class Figures:
    """Measured numbers.

    Attributes
    ----------
    row_seconds : of one thread, for a row and a tree
    step_seconds : of a short message between two workers
    bytes_per_second : of long messages
    rounds : collective operations of a tree
    tree_bytes : bytes that one of two workers sends for a tree, to the other one: each histogram once
    """

    row_seconds: float
    step_seconds: float
    bytes_per_second: float
    rounds: float
    tree_bytes: float

    def tree(self, n_rows: float, n_leaves: int, n_workers: int, n_threads: int) -> tuple[float, float, float]:
        """Return the estimates for a tree: seconds of kernels, seconds of messages, bytes that a worker sends."""
        histogram = self.tree_bytes / n_leaves
        steps = math.ceil(math.log2(n_workers))
        doubling = steps * (self.step_seconds + histogram / self.bytes_per_second), steps * histogram
        sent = 2 * histogram * (1 - 1 / n_workers)
        halving = 2 * steps * self.step_seconds + sent / self.bytes_per_second, sent
        seconds, n_bytes = min(doubling, halving)
        short = max(0.0, self.rounds - n_leaves) * steps * self.step_seconds
        return n_rows / n_workers / n_threads * self.row_seconds, n_leaves * seconds + short, n_leaves * n_bytes


def measure(options: argparse.Namespace) -> tuple[Figures, float]:
    """Return the figures of this machine, and the measured seconds of a tree on two workers."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from sapwood.dask import DaskBoostingClassifier
    from sapwood.dask.engine import _open

    X, y = rows(options.rows, options.features)
    parameters = {"preset": "classic", "early_stopping": False, "max_leaf_nodes": options.leaves}

    def seconds_per_tree(fit: Any) -> float:
        """Seconds of a tree: the difference between many trees and few, without reading and binning."""
        fit(1)  # imports, and the first use of pages of memory
        times = []
        for n_trees in (5, 5 + options.trees):
            began = time.perf_counter()
            fit(n_trees)
            times.append(time.perf_counter() - began)
        return (times[1] - times[0]) / options.trees

    local = seconds_per_tree(lambda n: BoostingClassifier(n_jobs=1, max_iter=n, **parameters).fit(X, y))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        addresses, key = sorted(client.nthreads()), uuid.uuid4().hex
        client.run(_open, key, addresses, workers=addresses)
        tasks = [client.submit(_sums, key, rank, addresses, workers=[address], pure=False) for rank, address in enumerate(addresses)]
        short, long = np.max(client.gather(tasks), axis=0)
        chunk = -(-len(X) // 2)
        pieces = da.from_array(X, chunks=(chunk, -1)).persist(), da.from_array(y, chunks=chunk).persist()
        last: list[Any] = []
        on_two = seconds_per_tree(lambda n: last.append(DaskBoostingClassifier(client=client, max_iter=n, **parameters).fit(*pieces)))
    sent = last[-1].communication_
    bandwidth = (LARGE - SMALL) * 8 / max(1e-9, long - short)
    return Figures(local / len(X), short, bandwidth, sent["rounds_per_tree"], sent["largest_bytes_per_tree"]), on_two


def _sums(key: str, rank: int, addresses: list[str]) -> tuple[float, float]:
    """Return the seconds of a short and of a long sum. Runs in a worker."""
    from distributed import get_worker

    from sapwood.cluster.collective import MessageCollective
    from sapwood.cluster.worker import ATTEMPTS
    from sapwood.dask.engine import DaskTransport

    mailbox = ATTEMPTS.mailbox(key, rank)
    assert mailbox is not None
    transport = DaskTransport(key, rank, addresses, mailbox, get_worker())
    collective, times = MessageCollective(transport), []
    for length in (SMALL, LARGE):
        values = np.random.default_rng(rank).integers(2**40, 2**60, length)
        collective.sum(values)
        began = time.perf_counter()
        for _ in range(20):
            collective.sum(values)
        times.append((time.perf_counter() - began) / 20)
    transport.close()
    return times[0], times[1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster_simulation", description=__doc__)
    for name, value in (("rows", 500_000), ("features", 28), ("leaves", 31), ("trees", 20), ("threads", 16)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--bandwidth", type=float, help="bytes a second between two workers, instead of the measured ones")
    parser.add_argument("--latency", type=float, help="seconds of a short message, instead of the measured ones")
    options = parser.parse_args()
    measured, on_two = measure(options)
    print("\n".join(f"{name}: {value:.3g}" for name, value in vars(measured).items()))
    kernels, messages, _ = measured.tree(options.rows, options.leaves, 2, 1)
    print(f"check, 2 local workers: measured {on_two:.3f} s for a tree, estimated {kernels + messages:.3f} s\n")
    figures = replace(
        measured, bytes_per_second=options.bandwidth or measured.bytes_per_second, step_seconds=options.latency or measured.step_seconds
    )
    lines = []
    for n_rows in ROWS:
        for n_workers in WORKERS:
            kernels, messages, sent = figures.tree(n_rows, options.leaves, n_workers, options.threads)
            share = messages / (kernels + messages)
            cells = [f"{n_rows:.0e}", f"{n_workers:,}", f"{figures.rounds:.0f}", f"{sent / 1e6:.1f}", f"{kernels:.2f}", f"{messages:.2f}"]
            lines.append([*cells, f"{share:.0%}"])
    header = ["rows", "workers", "rounds a tree", "MB a worker sends for a tree", "kernels, s", "messages, s", "share of messages"]
    print("\n".join(table(header, lines)))


if __name__ == "__main__":
    main()

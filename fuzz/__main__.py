"""Mutations of model files, wrappers, imported models and sparse matrices: `python -m fuzz --n 10000`.

Each batch runs in a process of its own, which may die of a file or hang; the parent tells which file it was. Ends with an error if any file
did what none should.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import os
import pickle
import resource
import signal
import subprocess
import sys
from pathlib import Path

from fuzz.judge import Finding
from fuzz.kinds import KINDS

BATCH = 500
SECONDS = 10  # for a file
MEMORY = 4 << 30  # address space of a batch


def run_batch(name: str, first: int, last: int) -> None:
    """Print what came of each mutation; begin a line before it is tried, so that the last one is known."""
    faulthandler.enable()
    if "asan" not in os.environ.get("LD_PRELOAD", ""):  # which needs address space without end
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kind = KINDS[name]
    prepared = kind.prepare()
    for number in range(first, last):
        way, seed, data = kind.mutate(prepared, number)
        print(number, way, seed, end=" ", flush=True)
        signal.alarm(SECONDS)
        try:
            print("ok", kind.judge(prepared, seed, data).replace(" ", "-"))
        except Finding as finding:
            print("finding", str(finding).replace("\n", " ")[:500])
        signal.alarm(0)


def run_apart(name: str, first: int, last: int) -> tuple[list[list[str]], int]:
    """In another process: the lines that it printed, and where it ended."""
    command = [sys.executable, "-m", "fuzz", "--batch", name, str(first), str(last)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    lines = [line.split(maxsplit=4) for line in done.stdout.splitlines()]
    if done.returncode == 0:
        return lines, last
    if not lines:
        raise SystemExit(f"a batch did not begin: {done.stderr}")
    lines[-1] = [*lines[-1][:3], "finding", f"the process ended with {done.returncode}: {done.stderr[-300:]}"]
    return lines, int(lines[-1][0]) + 1


def run_kind(name: str, first: int, n: int, keep: Path | None) -> list[str]:
    """All mutations of a kind: prints counts, returns the findings."""
    counts: collections.Counter[str] = collections.Counter()
    ways: collections.defaultdict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    findings, at = [], first
    while at < first + n:
        lines, at = run_apart(name, at, min(at + BATCH, first + n))
        for number, way, _, outcome, what in lines:
            counts[what if outcome == "ok" else "finding"] += 1
            ways[way.partition("+")[0]][what if outcome == "ok" else "finding"] += 1
            if outcome == "finding":
                findings.append(f"{name} {number} {way}: {what}")
                if keep is not None:
                    (keep / f"{name}-{number}").write_bytes(pickle.dumps(KINDS[name].mutate(KINDS[name].prepare(), int(number))[2]))
    for way, found in sorted(ways.items()):
        print(f"{name:10} {way:16}", ", ".join(f"{n} {what}" for what, n in found.most_common()))
    print(f"{n} mutations of {name}:", ", ".join(f"{n} {what}" for what, n in counts.most_common()))
    return findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="how many mutations")
    parser.add_argument("--kind", choices=KINDS, help="of one kind only")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--keep", type=Path, help="a folder for what led to findings, as pickles")
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        run_batch(given.batch[0], int(given.batch[1]), int(given.batch[2]))
        return
    findings = []
    for name, kind in KINDS.items():
        n = round(given.n * kind.fraction) if given.kind is None else given.n * (name == given.kind)
        findings += run_kind(name, given.first, n, given.keep) if n else []
    print(f"{given.n} mutations, {len(findings)} findings")
    if findings:
        raise SystemExit("\n".join(findings))


if __name__ == "__main__":
    main()

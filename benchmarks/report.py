"""The whole report, from what was measured."""

from __future__ import annotations

from benchmarks import accuracy, busy, explaining, fitting, growing, losses, memory, prediction, ranking, targets
from benchmarks.results import Results

INTRODUCTION = """\
All libraries train on the same rows and are asked for the same trees: at most 31 leaves, learning rate 0.1, 255 bins, 100
rounds, at least 20 rows in a leaf, no L2, no early stopping; other settings stay at each library's default. They take turns
within each repeat, and each number is the least of the repeats. Times of a fit start from a NumPy array and include
binning. Ratios are theirs / ours: above 1, ours is faster."""


def report(results: Results) -> str:
    about = results.get("about")
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {about['date']} with:",
        "",
        *(f"    {command}" for command in about["commands"]),
        "",
        f"Machine: {about['machine']}. 'All cores' below is {about['settings']['cores']}.",
        "",
        f"Versions: {', '.join(f'{name} {number}' for name, number in about['versions'].items())}.",
        "",
        INTRODUCTION,
        "",
    ]
    if about["settings"]["scale"] != 1:
        lines += [f"**A trial with {about['settings']['scale']:g} times the rows: its numbers mean nothing.**", ""]
    lines += targets.report(results)
    for section in (fitting, prediction, explaining, busy, memory, accuracy, growing, losses, ranking):
        if results.get(section.NAME):
            lines += section.report(results)
    return "\n".join(lines).rstrip() + "\n"

"""The benchmark report."""

from __future__ import annotations

from benchmarks import accuracy, busy, explaining, fitting, growing, losses, memory, prediction, ranking, scale, targets
from benchmarks.results import Results

INTRODUCTION = """\
All libraries train on the same rows with the same settings: at most 31 leaves, learning rate 0.1, 255 bins, 100 rounds, at
least 20 rows per leaf, no L2, no early stopping; other settings are each library's defaults. They take turns within each
repeat, and each number is the minimum of the repeats. Fit times start from a NumPy array and include binning. In ratios
"peer / ours", values above 1 mean that Sapwood is faster."""


def report(results: Results) -> str:
    about = results.get("about")
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {about['date']} with:",
        "",
        *(f"    {command}" for command in about["commands"]),
        "",
        f"Machine: {about['machine']}. 'All cores' means {about['settings']['cores']}.",
        "",
        f"Versions: {', '.join(f'{name} {number}' for name, number in about['versions'].items())}.",
        "",
        INTRODUCTION,
        "",
    ]
    if about["settings"]["scale"] != 1:
        lines += [f"**A trial with {about['settings']['scale']:g} times the rows: its numbers mean nothing.**", ""]
    lines += targets.report(results)
    for section in (fitting, prediction, explaining, busy, memory, accuracy, growing, losses, ranking, scale):
        if results.get(section.NAME):
            lines += section.report(results)
    return "\n".join(lines).rstrip() + "\n"

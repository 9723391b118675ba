"""The mean ranks of all sizes as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.quality.libraries import OURS, find_title
from benchmarks.quality.report import size_title, sizes, standings
from benchmarks.quality.standings import Cell
from benchmarks.quality.tasks import COMMON

INK, GREY = "#1b6e3c", "#7a7a7a"


def draw_picture(cells: Sequence[Cell], libraries: Sequence[str], path: Path) -> None:
    """A panel for each size: a dot and an interval for each library, best on top."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "quality", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    cells = [cell for cell in cells if cell.task in COMMON]
    shown = sizes(cells)
    figure, axes = pyplot.subplots(1, len(shown), figsize=(3.2 * len(shown), 2.4), squeeze=False, layout="constrained")
    for axis, size in zip(axes[0], shown, strict=True):
        found = standings([cell for cell in cells if cell.size == size], libraries)[::-1]
        for height, standing in enumerate(found):
            color = INK if standing.library.split(":")[0] == OURS else GREY
            axis.plot([standing.rank.low, standing.rank.high], [height, height], color=color, linewidth=2)
            axis.plot(standing.rank.value, height, "o", color=color)
        axis.set_yticks(range(len(found)), [find_title(standing.library) for standing in found])
        axis.set_title(size_title(size), fontsize=9)
        axis.set_xlabel("mean rank (lower is better)")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)

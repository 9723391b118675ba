"""Axes, colors and names for all plots. matplotlib is imported by the first plot, not by `import sapwood`."""

from __future__ import annotations

from typing import Any

from sapwood.model.conditions import short_name

# The color-blind safe palette of Okabe and Ito.
BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"
COLORS = (BLUE, RED, GREEN, ORANGE, PINK, SKY, YELLOW)
GREY, FAINT = "#666666", "#D8D8D8"
DASHES = ("-", "--", "-.", ":")


def need_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib") from None


def make_axes(ax: Any, width: float = 6.4, height: float = 4.4, *, whole: bool = False) -> Any:
    """Return `ax`, or axes of a new figure with this size in inches. With `whole`, the axes fill the figure."""
    if ax is not None:
        return ax
    need_matplotlib()
    from matplotlib import pyplot

    if whole:
        return pyplot.figure(figsize=(width, height)).add_axes((0, 0, 1, 1))
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def bare(ax: Any, grid: str | None = None) -> None:
    """Hide the top and right spines, and draw a faint grid along an axis."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis=grid, color=FAINT, linewidth=0.6)
        ax.set_axisbelow(True)


def color_map(low: str, middle: str, high: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("sapwood", [low, middle, high])


def style(i: int) -> dict[str, Any]:
    """Return the line style of the i-th line. Colors repeat with other dash patterns."""
    return {"color": COLORS[i % len(COLORS)], "linestyle": DASHES[i // len(COLORS) % len(DASHES)]}


def short(name: Any) -> str:
    """Return a name shortened to fit an axis, with `$` escaped."""
    return short_name(name).replace("$", r"\$")


def feature_names(schema: Any) -> list[str]:
    return [short(name) for name in schema.names] if schema.names else [f"feature {f}" for f in range(schema.n_features)]


def check_choice(name: str, choice: Any, table: Any) -> None:
    if choice not in table:
        raise ValueError(f"{name}={choice!r} is unknown; choose from {', '.join(map(str, table))}")

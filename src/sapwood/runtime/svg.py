"""Small SVG drawings for notebooks: curves. They have no script, and follow the colors of the notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # the color-blind safe palette of Okabe and Ito
WIDTH, HEIGHT = 420, 170
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 22, 24
POINTS = 300  # maximum of a curve
FONT = "font:11px system-ui,sans-serif"


def curves(series: Mapping[str, Sequence[float]], title: str, first: int = 0, mark: int | None = None) -> str:
    """Return curves over rounds; empty text if there are no finite values.

    Parameters
    ----------
    series : values by name
    first : round of the first value
    mark : round to mark by a line
    """
    finite = [value for values in series.values() for value in values if math.isfinite(value)]
    longest = max(map(len, series.values()), default=0)
    if longest < 2 or not finite:
        return ""
    low, high = min(finite), max(finite)
    high = high if high > low else low + (abs(low) or 1.0)

    def x(i: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * i / (longest - 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<text x="0" y="12" fill="currentColor" style="font-weight:600">{escape(title)}</text>']
    for value in (low, (low + high) / 2, high):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="currentColor" opacity="0.15"/>'
        )
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="currentColor" opacity="0.8">{value:.4g}</text>')
    for i in (0, longest - 1):
        anchor = "end" if i else "start"
        parts.append(f'<text x="{x(i):.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}" fill="currentColor" opacity="0.8">{first + i}</text>')
    if mark is not None and first <= mark < first + longest:
        at = x(mark - first)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="currentColor" stroke-dasharray="3"/>')
    place = float(LEFT + 90)
    for (name, values), color in zip(series.items(), COLORS * len(series), strict=False):
        step = max(1, len(values) // POINTS)
        points = " ".join(f"{x(i):.1f},{y(values[i]):.1f}" for i in range(0, len(values), step) if math.isfinite(values[i]))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.8"/>')
        parts.append(f'<text x="{place:.0f}" y="{HEIGHT - 8}" fill="{color}">{escape(name)}</text>')
        place += 7 * len(name) + 14
    return drawing("".join(parts), WIDTH, HEIGHT, f"{title} by round")


def drawing(content: str, width: float, height: float, label: str) -> str:
    """Return an SVG image with a text for screen readers. `content` is SVG already."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}" style="max-width:100%;height:auto;{FONT}">{content}</svg>'

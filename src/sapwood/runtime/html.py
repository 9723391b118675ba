"""HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sapwood.runtime.svg import COLORS


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return an HTML table of texts, which are escaped."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    title = f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bars(header: Sequence[str], rows: Iterable[tuple[str, float]], caption: str = "") -> str:
    """Return an HTML table of names and numbers, with a bar for each number; if some are negative, positive ones have another color."""
    rows = list(rows)
    most = max((abs(value) for _, value in rows), default=0.0) or 1.0
    signed = any(value < 0 for _, value in rows)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    title = f'<caption style="text-align:left;white-space:nowrap">{escape(caption)}</caption>' if caption else ""
    body = ""
    for name, value in rows:
        color = COLORS[1] if signed and value >= 0 else COLORS[0]
        style = f"display:inline-block;height:0.7em;width:{120 * abs(value) / most:.0f}px;background:{color};margin-right:0.5em"
        body += f'<tr><td>{escape(name)}</td><td style="text-align:left"><span style="{style}"></span>{value:.4g}</td></tr>'
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

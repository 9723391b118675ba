"""Numbers and tables as text."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with this many significant digits, without an exponent."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    leading = 0 if whole else -int(f"{abs(value):e}".split("e")[1]) - 1
    return f"{value:.{max(0, digits - whole + leading)}f}"


def signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(value)}"


def ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(header), _line(["---"] * len(header)), *map(_line, rows), ""]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

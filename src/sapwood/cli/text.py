"""Text for terminals: names of columns and messages of errors may contain anything."""

from __future__ import annotations

LONGEST = 60  # characters of a name


def one_line(text: str) -> str:
    """Return a text on one line, without control characters that a terminal would interpret."""
    return "".join(char if char.isprintable() else _escaped(char) for char in " ".join(text.split()))


def short(name: object, longest: int = LONGEST) -> str:
    """Return a name on one line, shortened to a number of characters."""
    text = "".join(char if char.isprintable() else _escaped(char) for char in str(name)[: 2 * longest])
    return text if len(text) <= longest and len(str(name)) <= 2 * longest else text[: longest - 3] + "..."


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with a noun: "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def number(value: float, digits: int = 4) -> str:
    """Return a number with a few significant digits."""
    return f"{value:.{digits}g}" if (value == value and abs(value) < 1e-4) or abs(value) >= 1e6 else f"{value:.{_decimals(value, digits)}f}"


def _decimals(value: float, digits: int) -> int:
    if value != value or value == 0:
        return digits
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return max(0, digits - whole)

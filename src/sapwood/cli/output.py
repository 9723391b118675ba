"""Output of commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from sapwood.cli.text import one_line, short

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200  # columns of text that is not printed to a terminal


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Output:
    """How a command prints its results and messages."""

    json: Annotated[bool, Parameter(negative="", show_default=False)] = False
    """Print the result as JSON on stdout."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False
    """Print nothing but results and errors."""

    def say(self, *lines: str) -> None:
        """Print messages on stderr."""
        if not self.quiet:
            console = self._console(stderr=True)
            for line in lines:
                console.print(line)

    def say_table(self, header: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """Print a table on stderr."""
        if not self.quiet:
            _print_table(self._console(stderr=True), header, rows, title)

    def result(self, data: Any, header: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """Print a result on stdout: `data` as JSON, or a table."""
        if self.json:
            self.result_json(data)
        else:
            _print_table(self._console(), header, rows, title)
            sys.stdout.flush()

    def result_json(self, data: Any) -> None:
        """Print data on stdout as one line of JSON."""
        sys.stdout.write(json.dumps(plain(data), ensure_ascii=False, allow_nan=False) + "\n")
        sys.stdout.flush()

    def result_lines(self, *lines: str) -> None:
        """Print lines of a result on stdout."""
        console = self._console()
        for line in lines:
            console.print(line)
        sys.stdout.flush()

    @property
    def shows_progress(self) -> bool:
        """Whether to draw progress bars."""
        return not self.quiet and sys.stderr.isatty()

    def _console(self, stderr: bool = False) -> Console:
        from rich.console import Console

        stream = sys.stderr if stderr else sys.stdout
        width = None if stream.isatty() else WIDE
        return Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=not stream.isatty())


def _print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[Any]], title: str) -> None:
    from rich.table import Table
    from rich.text import Text

    if title:
        console.print(Text(title, style="bold"))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for index, name in enumerate(header):
        numeric = bool(rows) and all(_is_number(row[index]) for row in rows)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(short(cell, 120)) for cell in row))
    console.print(table)


def _is_number(cell: Any) -> bool:
    text = str(cell).replace(",", "").rstrip("%")
    try:
        float(text)
    except ValueError:
        return text == ""
    return True


def plain(value: Any) -> Any:
    """Return data that `json.dumps` accepts: NumPy values as Python values, NaN and infinities as None."""
    import math

    import numpy as np

    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def warn(message: str) -> None:
    """Print a warning on stderr."""
    print(f"sapwood: warning: {one_line(message)}", file=sys.stderr)

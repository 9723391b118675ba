"""Picture of commands in a terminal: `python tools/terminal_picture.py docs/images/terminal.png 'sapwood train d.csv --target y' ...`.

Runs the commands in a pseudo-terminal and draws their last screen with rich and Chromium.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import subprocess
import tempfile
from html import escape
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS, MARGIN, CHARACTER, LINE = 100, 16, 8.43, 20  # pixels of a character and a line of 14 px DejaVu Sans Mono
PAGE = """<!doctype html><meta charset="utf-8"><style>body {{margin: 0; background: #1c1e26}}
pre {{margin: 0; padding: {margin}px; color: #e6e6e6; font: 14px/{line}px "DejaVu Sans Mono", monospace}}</style><pre>{text}</pre>"""


def output_of(command: str) -> str:
    """Run a command in a pseudo-terminal and return what it prints, with escape sequences."""
    parent, child = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "40"}
    process = subprocess.Popen(command, shell=True, stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    parts = []
    while True:
        try:
            data = os.read(parent, 65_536)
        except OSError:  # the end of a pseudo-terminal on Linux
            break
        if not data:
            break
        parts.append(data)
    os.close(parent)
    process.wait()
    return b"".join(parts).decode()


def last_screen(text: str) -> list[str]:
    """Return the lines that remain: a progress bar writes over itself."""
    lines: list[str] = [""]
    for part in re.split(r"(\r\n|\n|\r|\x1b\[\d*A|\x1b\[\d*K|\x1b\[\?25[hl])", text):
        if part in ("\r\n", "\n"):
            lines.append("")
        elif part == "\r" or part.endswith("K"):
            lines[-1] = ""
        elif part.startswith("\x1b[") and part.endswith("A"):
            del lines[-int(part[2:-1] or 1) :]
            lines.append("")
        elif not part.startswith("\x1b[?"):
            lines[-1] += part
    return [line for line in lines if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("commands", nargs="+")
    given = parser.parse_args()
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), color_system="truecolor")  # noqa: SIM115
    n_lines = 0
    for command in given.commands:
        lines = [f"\x1b[1;32m$\x1b[0m {command}", *last_screen(output_of(command))]
        n_lines += len(lines)
        for line in lines:
            console.print(Text.from_ansi(line), soft_wrap=True)
    text = console.export_html(theme=MONOKAI, inline_styles=True, code_format="{code}")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(PAGE.format(margin=MARGIN, line=LINE, text=text))
        size = f"{int(COLUMNS * CHARACTER) + 2 * MARGIN},{n_lines * LINE + 2 * MARGIN}"
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}"]
        subprocess.run(
            ["chromium", *options, f"--screenshot={given.picture.resolve()}", escape(page.as_uri())], check=True, capture_output=True
        )


if __name__ == "__main__":
    main()

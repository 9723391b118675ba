"""Code blocks of Markdown pages: run them, compare what they print with the page, or write it there.

The Python blocks of a page run one after the other in one namespace. A block of kind `text` directly after a Python block is its output.
`python -m tests.docs.pages [PAGE ...]` writes the outputs.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
CLIENTS = ("docs/ecosystem.md",)  # need the extra `clients`: see tests/clients
CLUSTERS = ("docs/clusters.md",)  # need a folder of data and a cluster: see tests/cluster and tests/dask


def pages() -> list[str]:
    """Return the paths of the pages with Python blocks, relative to the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "guide").glob("*.md"))]
    return [str(page.relative_to(ROOT)) for page in found if "```python\n" in page.read_text(encoding="utf-8")]


def run(page: str, directory: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Run the Python blocks of a page in a directory. Yield each block with what it printed."""
    text = (ROOT / page).read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    with contextlib.chdir(directory):
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start("code"))
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + block["code"], page, "exec"), namespace)
            yield block, printed.getvalue()


def write(page: str) -> None:
    """Write the outputs of the blocks into the page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parts, end = [], 0
    with tempfile.TemporaryDirectory() as directory:
        for block, printed in run(page, Path(directory)):
            parts.append(text[end : block.start()])
            parts.append(f"```python\n{block['code']}```\n" + (f"```text\n{printed}```\n" if printed else ""))
            end = block.end()
    (ROOT / page).write_text("".join(parts) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    warnings.simplefilter("error")
    for name in sys.argv[1:] or [page for page in pages() if page not in CLIENTS + CLUSTERS]:
        print(name)
        write(name)

"""Docstrings for Sphinx: entries of one line, and scikit-learn's references."""

from __future__ import annotations

import re
from typing import Any

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Warns", "Other Parameters")
ENTRY = re.compile(r"^(?P<names>[*\w][\w., *]*) : (?P<text>.+)$")
REFERENCE = re.compile(r":ref:`([^`<]+?)\s*<[^`]+>`")
MATH = re.compile(r":math:`([^`]+)`")  # formulas would load MathJax from another host
SPECIAL = re.compile(r"(``[^`]*``|`[^`]*`)|(?<!\w)(\w+)_(?=\W|$)|\|([\w ]+)\|")  # code, names such as classes_, absolute values
PATTERN = re.compile(r'"[^"`]*\*[^"`]*"')  # such as "folder/*.csv", which is no emphasis


def prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Move the text of an entry such as `path : file to read` below the name: after the colon, napoleon expects a type."""
    text = [PATTERN.sub(lambda found: f"``{found[0]}``", REFERENCE.sub(r"\1", MATH.sub(r"``\1``", line))) for line in lines]
    out, in_section = [], False
    for i, line in enumerate(text):
        if i + 1 < len(text) and text[i + 1].strip() and set(text[i + 1].strip()) == {"-"}:
            in_section = line.strip() in SECTIONS
        entry = ENTRY.match(line) if in_section else None
        has_body = i + 1 < len(text) and text[i + 1].startswith(" ")
        if entry is not None and not has_body:
            out += [_names(entry["names"]), f"    {_escaped(entry['text'])}"]
        else:
            out.append(_escaped(line) if entry is None else f"{_names(entry['names'])} : {_escaped(entry['text'])}")
    lines[:] = _with_blank_lines(out)


def _names(names: str) -> str:
    """Return the names of an entry, all but the last escaped: napoleon escapes the last."""
    *others, last = names.split(", ")
    return ", ".join([*(_escaped(name) for name in others), last])


def _escaped(line: str) -> str:
    """Return the line with names that end with an underscore and absolute values as text: they are no links and no substitutions."""

    def escape(found: re.Match[str]) -> str:
        return found[1] or (f"{found[2]}\\_" if found[2] else f"\\|{found[3]}\\|")

    return line if line.startswith((".. ", ">>>", "...")) else SPECIAL.sub(escape, line)


def short_signature(app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None) -> Any:
    """Return a short signature of the estimators, whose parameters are listed below it."""
    return ("(**parameters)", returns) if signature == "(*args, **kwargs)" and what == "class" else None


def _with_blank_lines(lines: list[str]) -> list[str]:
    """Put blank lines around lists, as reStructuredText needs them."""
    out: list[str] = []
    item: int | None = None  # indentation of the list that the last line belongs to
    for line in lines:
        indent = len(line) - len(line.lstrip())
        is_item = line.lstrip().startswith("- ")
        if (is_item and item is None and out and out[-1].strip()) or (item is not None and not is_item and line.strip() and indent <= item):
            out.append("")
        item = indent if is_item else item if item is not None and line.strip() and indent > item else None
        out.append(line)
    return out

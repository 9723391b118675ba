"""Migration tables, from the table of other libraries' names that error messages and `params_from` use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sapwood.params.foreign import LIBRARIES, Counterpart, Library


def write_tables(folder: Path) -> None:
    """Write a Markdown table of parameters and one of methods for each library."""
    folder.mkdir(exist_ok=True)
    for key, library in LIBRARIES.items():
        for name, text in (("parameters", parameters(library)), ("methods", methods(library))):
            path = folder / f"migration-{key}-{name}.md"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def parameters(library: Library) -> str:
    """Return the table of parameters. Names of one entry are one row."""
    rows: dict[int, list[str]] = {}
    for name, one in library.names.items():
        rows.setdefault(id(one), []).append(name)
    entries = {id(one): one for one in library.names.values()}
    lines = [(_codes(names), _ours(entries[key]), _note(entries[key])) for key, names in rows.items()]
    return _table((library.name, "Sapwood", "value"), sorted(lines, key=lambda line: line[1] == ""))


def methods(library: Library) -> str:
    """Return the table of classes, functions, methods and attributes."""
    lines = [(f"`{one.theirs}`", f"`{one.ours}`" if one.ours else "", one.note) for one in library.methods]
    return _table((library.name, "Sapwood", ""), lines)


def _ours(one: Counterpart) -> str:
    return f"`fit({one.ours}=...)`" if one.in_fit else f"`{one.ours}`" if one.ours else ""


def _note(one: Counterpart) -> str:
    return one.note.removeprefix("with ") if one.ours else one.note


def _codes(names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(f"`{name}`" for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"

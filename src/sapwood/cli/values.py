"""Values of parameters: from flags and from TOML files."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from sapwood.cli.errors import CommandError
from sapwood.cli.parameter_flags import ParameterFlags

NONE = ("none", "None", "null")


def given_parameters(flags: ParameterFlags, config: Path | None) -> dict[str, Any]:
    """Return the parameters of a TOML file and of flags. Flags take precedence."""
    own = {field.name: getattr(flags, field.name) for field in fields(flags)}
    return (read_toml(config) if config else {}) | {name: parse(text) for name, text in own.items() if text is not None}


def parse(text: str) -> Any:
    """Return the value of a flag: JSON, a list of numbers "0.1,0.5", none, or text."""
    if text in NONE:
        return None
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        pass
    try:
        return [json.loads(part) for part in text.split(",")] if "," in text else text
    except ValueError:
        return text


def read_toml(path: Path) -> dict[str, Any]:
    """Return the parameters of a TOML file: its keys, or those of its table [parameters]. "none" is None."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"--config {path}: not a TOML file: {error}") from None
    table = document.get("parameters", document)
    if not isinstance(table, dict):
        raise CommandError(f"--config {path}: [parameters] must be a table of names and values")
    known = {field.name for field in fields(ParameterFlags)}
    values = {name.replace("-", "_"): None if isinstance(value, str) and value in NONE else value for name, value in table.items()}
    if unknown := [name for name in values if name not in known]:
        raise CommandError(f"--config {path}: {unknown[0]!r} is not a parameter; sapwood parameters lists them")
    return values


def write_toml(values: dict[str, Any]) -> str:
    """Return parameters as TOML text: numbers, strings, bools, None as "none", lists and dicts of these."""
    return "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if isinstance(value, float) and not isinstance(value, bool):
        return repr(float(value))
    return '"none"' if value is None else json.dumps(value)

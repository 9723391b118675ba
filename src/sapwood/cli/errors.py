"""Errors and exit codes of the command line."""

from __future__ import annotations

import importlib
from typing import Any

USAGE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 2, 130, 141, 143  # exit codes: errors, and 128 + the number of the signal


class CommandError(Exception):
    """Error that is reported as one line, with exit code 2."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM."""


def needs(module: str, extra: str, what: str) -> Any:
    """Import a module of an optional dependency."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise CommandError(f"{what} needs {module.partition('.')[0]}: pip install 'sapwood[{extra}]' ({error})") from None

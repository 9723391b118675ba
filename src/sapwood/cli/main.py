"""Entry point: table of commands, errors, signals and exit codes."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Group

from sapwood.cli.errors import BROKEN_PIPE, INTERRUPTED, TERMINATED, USAGE, CommandError, Terminated
from sapwood.cli.files.paths import STDIN
from sapwood.cli.output import warn
from sapwood.cli.parameter_flags import ShownFlags
from sapwood.cli.text import one_line
from sapwood.version import __version__

COMMANDS = {  # name -> first line of the help
    "train": "Train a model on a table and save it.",
    "predict": "Predict the rows of a table; CSV on stdout.",
    "evaluate": "Compute metrics of a model on a table, with confidence intervals.",
    "explain": "Write SHAP values: the contribution of each column to each raw prediction; CSV on stdout.",
    "report": "Write a report of a model and a table: one HTML file that needs no network.",
    "tune": "Search good parameters by cross-validation with Optuna; TOML on stdout, for sapwood train --config.",
    "inspect": "Show what a model file or a table contains.",
    "diff": "Compare two models, or two tables (drift).",
    "convert": "Convert a model file from or to the format of another library.",
    "serve": "Serve predictions of a model over HTTP, on this machine only by default.",
    "bench": "Compare the speed and the scores of Sapwood with installed libraries on a table.",
    "parameters": "List the parameters of the model that train and tune accept.",
}
HELP = (
    "Gradient-boosted decision trees on tables.\n\n"
    "Tables are CSV, Parquet, Arrow or svmlight files. Results go to stdout, messages to stderr. "
    "The exit code is 0, 2 after an error, 130 after Ctrl-C."
)


def make_app(command: str = "", brief: bool = False) -> App:
    """Return the application. Only the module of the given command is imported; `brief`: for its help."""
    options = Group("Options", sort_key=0)
    app = App(
        name="sapwood",
        help=HELP,
        help_format="plaintext",
        version=__version__,
        group_parameters=options,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    for order, (name, summary) in enumerate(COMMANDS.items()):
        module = f"sapwood.cli.commands.{name}"
        if name == command:
            function = getattr(importlib.import_module(module), name)
            function = _brief(function) if brief and "parameters" in function.__annotations__ else function
            app.command(function, name=name, help=_description(function.__doc__ or summary))
        else:
            app.command(f"{module}:{name}", name=name, help=summary, sort_key=order)
    app.register_install_completion_command(add_to_startup=False)
    return app


def _brief(function: Any) -> Any:
    """Return a copy of a command without the flags that its help does not show: they take a tenth of a second."""
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copy.__doc__, copy.__kwdefaults__ = function.__doc__, function.__kwdefaults__
    copy.__annotations__ = function.__annotations__ | {"parameters": ShownFlags}
    return copy


def _description(doc: str) -> str:
    """Return the paragraphs of a docstring before its sections, without line breaks."""
    text = inspect.cleandoc(doc).partition("\n\nParameters\n")[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    tokens = _with_stdin(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            _show_warnings("--quiet" in tokens or "-q" in tokens)
            code = make_app(tokens[0] if tokens else "", "--help" in tokens or "-h" in tokens)(
                tokens or ["--help"], exit_on_error=False, print_error=False
            )
        sys.stdout.flush()
    except CycloptsError as error:
        return _fail(f"{error} See: sapwood {' '.join(tokens[:1] if tokens[0] in COMMANDS else [])} --help".replace("  ", " "))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes stdout when it ends
        return BROKEN_PIPE
    except Terminated as error:
        return _stopped("terminated", error, TERMINATED)
    except KeyboardInterrupt as error:
        return _stopped("interrupted", error, INTERRUPTED)
    except MemoryError:
        return _fail("not enough memory")
    except Exception as error:
        if os.environ.get("SAPWOOD_TRACEBACK"):
            raise
        return _fail(
            str(error) if isinstance(error, CommandError | ValueError | OSError | ImportError) and str(error) else _unexpected(error)
        )
    return code if isinstance(code, int) else 0


def _with_stdin(tokens: Sequence[str]) -> list[str]:
    """Return tokens with the path of stdin instead of "-", which would be read as an option."""
    return [STDIN if token == "-" and not before.startswith("--") else token for before, token in zip(["", *tokens], tokens, strict=False)]


def _fail(message: str) -> int:
    print(f"sapwood: error: {one_line(message)}", file=sys.stderr)
    return USAGE


def _stopped(how: str, error: BaseException, code: int) -> int:
    print(f"sapwood: {how}{f': {one_line(str(error))}' if str(error) else ''}", file=sys.stderr)
    return code


def _unexpected(error: Exception) -> str:
    return f"{type(error).__name__}: {error} (set SAPWOOD_TRACEBACK=1 to see where)"


def _show_warnings(quiet: bool) -> None:
    """Print warnings of the library as one line each on stderr; without those of dependencies about themselves."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if not quiet and not issubclass(category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
            warn(str(message))

    warnings.showwarning = show

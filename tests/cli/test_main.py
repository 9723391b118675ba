"""Help, unknown arguments, and what the command line imports."""

import subprocess
import sys

import pytest

from sapwood.cli.main import COMMANDS
from tests.cli.processes import assert_refused, call


def test_help_imports_neither_numpy_nor_scikit_learn():
    """They take longer than 0.3 s."""
    code = """import sys
from sapwood.cli.main import COMMANDS, main
for command in ([], *([name] for name in COMMANDS)):
    assert main([*command, "--help"]) == 0
print(sorted({"numpy", "sklearn", "pyarrow"} & set(sys.modules)), file=sys.stderr)"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr.strip() == "[]"
    assert run.stdout.count("Usage: sapwood") == len(COMMANDS) + 1


def test_summaries_are_the_first_lines_of_the_commands():
    import importlib

    for name, summary in COMMANDS.items():
        command = getattr(importlib.import_module(f"sapwood.cli.commands.{name}"), name)
        assert command.__doc__.startswith(f"{summary}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian", "d.csv"], ["trian"]),
        (["train"], ["DATA", "sapwood train --help"]),
        (["predict", "m.sapwood"], ["DATA"]),
        (["evaluate", "--nonsense", "1"], ["--nonsense"]),
        (["train", "d.csv", "--cv", "x"], ["--cv", '"x"']),
    ],
)
def test_wrong_arguments(arguments, words, capsys):
    assert_refused(call(capsys, *arguments), *words)


def test_version_goes_to_stdout(capsys):
    from sapwood import __version__

    run = call(capsys, "--version")
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, __version__, "")


def test_completion_knows_commands_and_flags():
    from sapwood.cli.main import make_app

    for shell in ("bash", "zsh", "fish"):
        script = make_app().generate_completion(prog_name="sapwood", shell=shell)
        for word in ("evaluate", "target", "learning-rate"):
            assert word in script

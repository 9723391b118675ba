"""The page about the command line shows what the commands print."""

import re
import shlex
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes

from tests.cli.processes import call

PAGE = Path(__file__).parent.parent.parent / "docs/command_line.md"
VARIES = re.compile(r"\d s\b|MB\)|^\.\.\.$|^$")  # lines with times and sizes
NOT_RUN = ("sapwood serve", "sapwood train flights")


def blocks():
    """Commands of the page and the lines below each."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.S):
        for command, lines in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            yield command, lines.splitlines()


def run(capsys, command):
    """Run `sapwood ...` or `head -n FILE`, perhaps with `> FILE`; return what it prints."""
    tokens = shlex.split(command)
    target = tokens[tokens.index(">") + 1] if ">" in tokens else None
    tokens = tokens[: tokens.index(">")] if target else tokens
    if tokens[0] == "head":
        text, messages = "".join(Path(tokens[2]).read_text().splitlines(keepends=True)[: int(tokens[1][1:])]), ""
    else:
        assert tokens[0] == "sapwood", command
        done = call(capsys, *tokens[1:])
        assert done.returncode == 0, done.stderr
        text, messages = done.stdout, done.stderr
    if target:
        Path(target).write_text(text)
        text = ""
    return [line.rstrip() for line in (messages + text).splitlines()]


def test_commands_print_what_the_page_shows(tmp_path, capsys, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    load_diabetes(as_frame=True, scaled=False).frame.to_csv("diabetes.csv", index=False)
    n_commands = 0
    for command, lines in blocks():
        if not command.startswith(NOT_RUN):
            n_commands += 1
            printed = run(capsys, command)
            for line in lines:
                assert VARIES.search(line) or line in printed, (command, line, printed)
    assert n_commands > 10

"""The Python examples of README.md run as they are, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_readme_has_examples():
    assert len(BLOCKS) >= 3


def test_examples_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, str(README), "exec"), namespace)
    pyplot.close("all")
    assert float(capsys.readouterr().out) > 0.9
    assert namespace["probabilities"].shape == (143, 2)
    assert namespace["intervals"].shape == namespace["X"].shape[:1] + (2,)
    assert "sapwood_predict" in namespace["source"]

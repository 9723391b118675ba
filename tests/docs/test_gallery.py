"""The examples of the gallery run, as `make docs` runs them."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "gallery").glob("plot_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert pyplot.get_fignums(), "an example shows a picture"
    pyplot.close("all")

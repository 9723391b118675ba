"""The Python blocks of README.md and of the pages in docs/ run as they are, and print what the page says."""

from __future__ import annotations

import matplotlib
import pytest
from matplotlib import pyplot

from tests.docs.pages import CLIENTS, CLUSTERS, pages, run


@pytest.mark.parametrize("page", [page for page in pages() if page not in CLIENTS + CLUSTERS])
def test_blocks_run(page, tmp_path):
    matplotlib.use("agg")
    n_blocks = 0
    for block, printed in run(page, tmp_path):
        assert block["output"] is None or printed == block["output"], block["code"]
        n_blocks += 1
    pyplot.close("all")
    assert n_blocks > 0

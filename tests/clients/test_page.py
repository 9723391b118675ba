"""The blocks of docs/ecosystem.md run, and the docstrings of the integrations are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.docs.pages import CLIENTS, run


@pytest.mark.parametrize("page", CLIENTS)
@pytest.mark.filterwarnings("default")  # of the other libraries
def test_blocks_run(page, tmp_path):
    for block, printed in run(page, tmp_path):
        assert block["output"] is None or printed == block["output"], block["code"]


@pytest.mark.parametrize("module", ["mlflow", "optuna", "skl2onnx", "skops"])
@pytest.mark.filterwarnings("default")
def test_docstrings(module):
    failed, _ = doctest.testmod(importlib.import_module(f"sapwood.integrations.{module}"))
    assert failed == 0

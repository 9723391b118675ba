"""Slow tests run only with `--slow`, as `make hostile` does."""

import pytest


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: make hostile"))

"""What all tests share. Slow tests run only with `--slow`, as `make hostile` does."""

import gc
import os
import sys
import zlib

import numpy as np
from hypothesis import settings

# Test processes share the CPUs: one thread each if a test does not set the number, and waiting threads of other libraries do not spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The same examples every time. To look for new ones: pytest --hypothesis-profile=search
settings.register_profile("sapwood", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("sapwood")

gc.disable()  # until all tests are collected: they live as long as the process


def pytest_collection_finish(session):
    gc.collect()
    gc.freeze()  # so that no later collection looks at 18,000 tests
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_sessionfinish(session):
    gc.unfreeze()


def seed_generators(module, name):
    """Set the random generators of a module to a state that depends on `name` alone: a test draws the same numbers after any other test."""
    for value in vars(module).values():
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = type(value.bit_generator)(zlib.crc32(name.encode())).state


def pytest_fixture_setup(fixturedef, request):
    seed_generators(sys.modules[fixturedef.func.__module__], fixturedef.argname)


def pytest_runtest_call(item):
    seed_generators(item.module, item.nodeid)


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run the slow tests, too")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--slow"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]

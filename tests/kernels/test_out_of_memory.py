"""Kernels without memory: MemoryError, never a crash; afterwards everything works."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kernels.out_of_memory import FAMILIES

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library to preload that lets chosen allocations fail."""
    path = tmp_path_factory.mktemp("library") / "failing_allocator.so"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-o", path, HERE / "failing_allocator.cpp"], check=True)
    return path


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_every_allocation_of_every_family_may_fail(library, n_threads):
    preload = f"{library} {os.environ.get('LD_PRELOAD', '')}".strip()
    options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    env = os.environ | {"LD_PRELOAD": preload, "ASAN_OPTIONS": options}
    command = [sys.executable, "-m", "tests.kernels.out_of_memory", str(library), str(n_threads)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    n_failures = dict(line.split("\t") for line in done.stdout.splitlines())
    assert set(n_failures) == set(FAMILIES)
    assert all(int(n) > 0 for n in n_failures.values()), n_failures


# With a limit of the address space, in a forked process for each limit; the warm-up starts the threads and loads all modules.
FIT = """
import json, os, resource, sys
import numpy as np
from sapwood import BoostingRegressor
X = np.random.default_rng(0).normal(size=(300_000, 8))
y = X[:, 0] + X[:, 1] * X[:, 2]
estimator = BoostingRegressor(**json.loads(sys.argv[1]), max_iter=2, n_jobs=2, early_stopping=False)
for megabytes in json.loads(sys.argv[2]):
    child = os.fork()
    if child:
        print("exit code", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    estimator.fit(X[:3_000], y[:3_000])
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (megabytes << 20), resource.RLIM_INFINITY))
    try:
        estimator.fit(X, y)
        print(megabytes, "fitted", flush=True)
    except MemoryError:
        print(megabytes, "MemoryError", flush=True)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    estimator.fit(X[:3_000], y[:3_000])
    print("fitted", flush=True)
    os._exit(0)
"""
MEGABYTES = [8, 16, 24, 32, 48, 64]


@pytest.mark.parametrize("parameters", [{"tree_method": "exact"}, {"tree_method": "approx"}, {"max_bins": 1000}, {}], ids=str)
def test_a_fit_with_little_memory_ends_with_an_error_or_well(parameters):
    command = [sys.executable, "-c", FIT, json.dumps(parameters), json.dumps(MEGABYTES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = iter(done.stdout.splitlines())
    for megabytes in MEGABYTES:
        assert next(lines) in (f"{megabytes} fitted", f"{megabytes} MemoryError"), done.stdout + done.stderr
        assert next(lines) == "fitted", done.stdout + done.stderr
        assert next(lines) == "exit code 0", done.stdout + done.stderr
    assert next(lines, None) is None

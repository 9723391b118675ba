"""PoCL, an OpenCL for CPUs, is the device of the tests. It is a dependency of the extra `dev`: without it, they fail."""

from dataclasses import replace

import pytest

from sapwood.device import opencl
from sapwood.device.devices import devices

# How kernels run: as plain loops, as on a CPU; with work-groups of several work-items, as on a GPU, with 64-bit or 32-bit atomics.
VARIANTS = {"loops": {"group_size": 1}, "atomics 64": {"group_size": 64}, "atomics 32": {"group_size": 16, "int64_atomics": False}}


@pytest.fixture(scope="session")
def device():
    """Value of the parameter `device`."""
    return devices()[0].id


@pytest.fixture
def options(monkeypatch):
    """Function that changes the options of the kernels."""
    of = opencl.KernelOptions.of.__func__

    def change(**values):
        monkeypatch.setattr(opencl.KernelOptions, "of", classmethod(lambda cls, info: replace(of(cls, info), **values)))

    return change


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def variant(request, options):
    """Each way in which kernels run."""
    options(**request.param)

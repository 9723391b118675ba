"""Kernel tests run on every compiled module that this CPU understands: they must agree with the same twins."""

import pytest

from sapwood.runtime import _kernels_baseline

MODULES = [_kernels_baseline]
if _kernels_baseline.supports_avx2():
    from sapwood.runtime import _kernels_avx2

    MODULES.append(_kernels_avx2)


@pytest.fixture(scope="session", params=MODULES, ids=lambda module: module.__name__.rpartition("_")[2])
def kernels(request):
    return request.param

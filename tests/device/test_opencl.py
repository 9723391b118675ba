"""Faults of a device: errors name it and the bytes; the old model is kept; no memory is left behind."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sapwood import BoostingRegressor, DeviceError
from sapwood.device import opencl
from sapwood.device.opencl import Device, KernelOptions, open_device
from sapwood.device.partition import DevicePartition
from tests.device.test_bytes import SOME
from tests.device.test_devices import info

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
y = X[:, 0] - X[:, 1]


def test_a_buffer_that_cannot_be_allocated(device):
    with pytest.raises(DeviceError, match=r"device opencl:0.0 \(.+\): cannot allocate 1,125,899,906,842,624 bytes: "):
        open_device(device).allocate(1 << 50)


def test_a_device_that_is_too_small(device, options):
    model = BoostingRegressor(max_iter=2, device=device).fit(X, y)
    before = model.to_bytes()
    options(memory_bytes=20_000)
    with pytest.raises(DeviceError, match=r"device opencl:0.0 \(.+\): too small: 600 rows need at least [\d,]+ bytes .* 18,000 are"):
        model.fit(X[::-1], y)
    assert model.to_bytes() == before
    options(local_memory_bytes=4_000)
    with pytest.raises(DeviceError, match="too small: a histogram needs 8,448 bytes of local memory, and has 4,000"):
        model.fit(X, y)
    assert model.to_bytes() == before


def test_a_kernel_that_does_not_compile(device, monkeypatch):
    monkeypatch.setattr(opencl, "_OPENED", {})
    monkeypatch.setattr(opencl, "SOURCES", ("../devices.py",))
    model = BoostingRegressor(device=device)
    with pytest.raises(DeviceError, match=r"(?s)device opencl:0.0 \(.+\): a kernel does not compile: .*error"):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_a_lost_device(device, monkeypatch):
    """A command fails in the middle of a fit."""
    model = BoostingRegressor(max_iter=2, device=device).fit(X, y)
    before, cl, calls = model.to_bytes(), opencl.import_opencl(), []
    copy = cl.enqueue_copy

    def lost(*args, **more):
        calls.append(args)
        if len(calls) > 30:
            raise cl.RuntimeError("clEnqueueReadBuffer failed: OUT_OF_RESOURCES")
        return copy(*args, **more)

    monkeypatch.setattr(cl, "enqueue_copy", lost)
    with pytest.raises(DeviceError, match=r"device opencl:0.0 \(.+\): .*\d bytes.*OUT_OF_RESOURCES"):
        model.fit(X[::-1], y)
    assert model.to_bytes() == before


def test_memory_of_the_device_is_released(device, monkeypatch):
    made, init = [], DevicePartition.__init__

    def watched(self, *args):
        init(self, *args)
        made.extend(weakref.ref(part) for part in (self, *(block for _, block in self.blocks)))

    monkeypatch.setattr(DevicePartition, "__init__", watched)
    BoostingRegressor(max_iter=2, device=device).fit(X, y)
    gc.collect()
    assert len(made) == 2
    assert not any(part() for part in made)


@pytest.mark.parametrize("name", ["narrow row lists", "wide", "row lists of a sample"])
def test_kernels_write_into_their_buffers_only(name, device, variant, monkeypatch):
    """Every buffer has a margin behind it, which no kernel may write to."""
    made, margin = [], np.full(4096, 0xAB, dtype=np.uint8)

    def allocate(self, n_bytes):
        size = max(64, n_bytes)
        cl = self.context.cl
        buffer = cl.Buffer(self.context.native, cl.mem_flags.READ_WRITE, size + len(margin))
        cl.enqueue_copy(self.queue, buffer, margin, dst_offset=size, is_blocking=True)
        made.append((self, buffer, size))
        return buffer

    monkeypatch.setattr(Device, "allocate", allocate)
    clone(SOME[name].estimator).set_params(device=device).fit(**SOME[name].build())
    assert len(made) > 10
    for own, buffer, size in made:
        after = np.zeros_like(margin)
        own.context.cl.enqueue_copy(own.queue, after, buffer, src_offset=size, is_blocking=True)
        assert_array_equal(after, margin)


def test_fits_in_several_threads(device):
    expected = BoostingRegressor(max_iter=3).fit(X, y).to_bytes()
    with ThreadPoolExecutor(3) as threads:
        fits = [threads.submit(BoostingRegressor(max_iter=3, device=device).fit, X, y) for _ in range(6)]
        assert {fit.result().to_bytes() for fit in fits} == {expected}


def test_options_of_devices():
    assert KernelOptions.of(info("opencl:0.0", "cpu")).group_size == 1
    gpu = KernelOptions.of(info("opencl:1.0", "gpu"))
    assert (gpu.group_size, gpu.int64_atomics, gpu.local_memory_bytes) == (256, True, 1 << 15)

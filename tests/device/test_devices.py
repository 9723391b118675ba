"""Discovery and choice of devices, and what is refused."""

import builtins
from types import SimpleNamespace

import numpy as np
import pytest

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor, DeviceError
from sapwood.device import devices as module
from sapwood.device.devices import DeviceInfo, find_device

X, y = np.arange(40.0)[:, None], np.arange(40.0)


class Untouched:
    """A table that fails if it is looked at."""

    def __getattr__(self, name):
        raise AssertionError(f"the data was touched: {name}")

    def __len__(self):
        raise AssertionError("the data was touched")


@pytest.fixture
def without_pyopencl(monkeypatch):
    whole = builtins.__import__

    def limited(name, *args, **more):
        if name == "pyopencl":
            raise ImportError("No module named 'pyopencl'")
        return whole(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", limited)


def info(id, kind):
    return DeviceInfo(id, f"name of {id}", "platform", kind, 1 << 33, 1 << 31, 1 << 15, 8, 256, True)


def test_devices_are_listed(device):
    (found, *_) = sapwood.devices()
    assert found.id == device == "opencl:0.0"
    assert found.kind == "cpu"
    assert found.memory_bytes > 1 << 26
    assert 0 < found.max_buffer_bytes <= found.memory_bytes
    assert found.local_memory_bytes >= 1 << 14
    assert found.compute_units >= 1
    assert found.name in str(found)


def test_versions_list_devices(capsys):
    sapwood.show_versions()
    printed = capsys.readouterr().out
    assert printed.startswith("sapwood:")
    assert "opencl:0.0 (" in printed
    assert f"numpy:        {np.__version__}" in printed


def test_versions_without_pyopencl(capsys, without_pyopencl):
    sapwood.show_versions()
    assert "none (pyopencl is not installed)" in capsys.readouterr().out


def test_versions_with_a_broken_driver(capsys, monkeypatch):
    def broken():
        raise OSError("libOpenCL.so is damaged")

    monkeypatch.setattr("sapwood.versions.devices", broken)
    sapwood.show_versions()
    assert "none (OSError: libOpenCL.so is damaged)" in capsys.readouterr().out


def test_without_pyopencl_an_error_says_how_to_install_it(without_pyopencl):
    with pytest.raises(ImportError, match=r"needs pyopencl .*pip install 'sapwood\[gpu\]'.*pip install 'pyopencl\[pocl\]'"):
        BoostingRegressor(device="gpu").fit(Untouched(), y)


def test_a_gpu_that_is_not_there_is_no_silent_fit_on_the_cpu():
    with pytest.raises(DeviceError, match=r"device='gpu': OpenCL finds no GPU on this machine. Devices: opencl:0.0 \(.+ GB\)"):
        BoostingRegressor(device="gpu").fit(Untouched(), y)


def test_a_device_that_is_not_there():
    with pytest.raises(DeviceError, match=r"device='opencl:7.3': there is no such device. Devices: opencl:0.0"):
        BoostingClassifier(device="opencl:7.3").fit(Untouched(), y)


def test_no_driver(monkeypatch):
    class Error(Exception):
        pass

    def none():
        raise Error("PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(module, "import_opencl", lambda: SimpleNamespace(Error=Error, get_platforms=none))
    assert sapwood.devices() == []
    with pytest.raises(DeviceError, match=r"Devices: none \(pip install 'sapwood\[gpu\]'"):
        find_device("gpu")


def test_partitions_take_gpus_in_turn(monkeypatch):
    found = [(info("opencl:0.0", "cpu"), 0), (info("opencl:1.0", "gpu"), 1), (info("opencl:1.1", "gpu"), 2)]
    monkeypatch.setattr(module, "found_devices", lambda: found)
    assert [find_device("gpu", rank)[1] for rank in range(4)] == [1, 2, 1, 2]
    assert find_device("opencl:0.0", rank=3)[1] == 0


@pytest.mark.parametrize("value", ["cuda", "opencl", "opencl:0", "opencl:0.x", "GPU", "", 0, None])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match=r"The 'device' parameter of BoostingRegressor must be .*'opencl:PLATFORM.DEVICE'"):
        BoostingRegressor(device=value).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"tree_method": "exact"}, "tree_method='exact'"),
        ({"tree_method": "approx"}, "tree_method='approx'"),
        ({"max_bins": 256}, "max_bins=256"),
        ({"max_bins": {0: 1000}}, r"max_bins=\{0: 1000\}"),
        ({"max_bins": [1000]}, r"max_bins=\[1000\]"),
    ],
)
def test_what_a_device_cannot_do_is_refused_by_name(parameters, what, device):
    with pytest.raises(ValueError, match=f"{what} cannot be combined with device='opencl:0.0'"):
        BoostingRegressor(device=device, **parameters).fit(Untouched(), y)


def test_the_device_is_not_saved(device):
    fitted = BoostingRegressor(max_iter=2, device=device).fit(X, y)
    assert fitted.to_bytes() == BoostingRegressor(max_iter=2).fit(X, y).to_bytes()
    assert fitted.get_params()["device"] == device

"""Versions of Sapwood and of what it runs on, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

from sapwood.device.devices import devices
from sapwood.runtime import kernels
from sapwood.runtime.threads import available_cpus
from sapwood.version import __version__

REQUIRED = ("numpy", "scipy", "scikit-learn", "narwhals")
OPTIONAL = ("pandas", "polars", "pyarrow", "matplotlib", "pyopencl", "dask", "ray")


def show_versions() -> None:
    """Print the versions of Sapwood, of Python and of the libraries it uses; the kernels and CPUs; and the OpenCL devices.

    Examples
    --------
    >>> import sapwood
    >>> sapwood.show_versions()  # doctest: +ELLIPSIS
    sapwood: ...
    """
    width = max(map(len, (*REQUIRED, *OPTIONAL)))
    lines = {"sapwood": __version__, "python": sys.version.split()[0], "system": platform.platform()}
    lines |= {"kernels": kernels.name, "CPUs": str(available_cpus())}
    lines |= {name: text for name in (*REQUIRED, *OPTIONAL) if (text := _version(name)) is not None}
    lines["devices"] = _devices()
    for name, text in lines.items():
        print(f"{name + ':':<{width + 1}} {text}")


def _version(package: str) -> str | None:
    try:
        return installed_version(package)
    except PackageNotFoundError:
        return None


def _devices() -> str:
    """Return the OpenCL devices as text, or why there are none."""
    try:
        return ", ".join(map(str, devices())) or "none (OpenCL finds no device)"
    except ImportError:
        return "none (pyopencl is not installed)"
    except Exception as error:  # a broken driver must not hide the rest
        return f"none ({type(error).__name__}: {error})"

"""The parameter `device`: what cannot be combined with a device, and the execution of a fit on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.device.devices import CPU
from sapwood.device.opencl import open_device
from sapwood.params.signatures import CommonParameters
from sapwood.runtime.execution import Execution

MAX_BINS = 255


def choose_device(p: CommonParameters, execution: Execution) -> Execution:
    """Return the execution of a fit on the device of the parameters. Called before the data is read.

    Raises a ValueError for parameters that cannot be combined with a device, a DeviceError if there is no such device, and an ImportError
    without pyopencl.
    """
    if p.device == CPU:
        return execution
    check_device_support(p)
    return replace(execution, device=open_device(p.device, execution.collective.rank))


def check_device_support(p: CommonParameters) -> None:
    """Raise a ValueError for parameters that cannot be combined with a device."""
    if p.tree_method in ("exact", "approx"):
        raise _cannot(p, f"tree_method={p.tree_method!r}", "features are sorted on the CPU; use tree_method='hist'")
    bins: Any = p.max_bins
    if isinstance(bins, Mapping):
        bins = list(bins.values())
    if np.asarray(bins).dtype.kind in "iu" and np.max(bins, initial=0) > MAX_BINS:
        raise _cannot(p, f"max_bins={p.max_bins!r}", f"a device stores a bin in a byte; use at most {MAX_BINS}")


def _cannot(p: CommonParameters, what: str, remedy: str) -> ValueError:
    return ValueError(f"{what} cannot be combined with device={p.device!r}: {remedy}")

"""OpenCL devices of this machine, and the choice of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

INSTALL = (
    "pip install 'sapwood[gpu]' installs pyopencl, which uses the OpenCL driver of a GPU; pip install 'pyopencl[pocl]' adds an OpenCL "
    "for CPUs"
)
SELECTION = re.compile(r"opencl:(\d{1,4})\.(\d{1,4})", re.ASCII)
CPU = "cpu"


class DeviceError(RuntimeError):
    """Raised if there is no such device, or if it fails: memory, a kernel that does not compile, a lost device."""


@dataclass(frozen=True)
class DeviceInfo:
    """An OpenCL device.

    Attributes
    ----------
    id : value of the parameter `device` that selects it
    name : name of the device
    platform : name and version of its OpenCL
    kind : "gpu", "accelerator" or "cpu"
    memory_bytes : memory of the device
    max_buffer_bytes : maximum size of one buffer
    local_memory_bytes : memory that the work-items of a work-group share
    compute_units : number of compute units
    max_group_size : maximum number of work-items of a work-group
    int64_atomics : whether it has atomic 64-bit additions; without them, two of 32 bits are used
    """

    id: str
    name: str
    platform: str
    kind: str
    memory_bytes: int
    max_buffer_bytes: int
    local_memory_bytes: int
    compute_units: int
    max_group_size: int
    int64_atomics: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.name}, {self.kind}, {self.memory_bytes / 1e9:.1f} GB)"


def devices() -> list[DeviceInfo]:
    """Return the OpenCL devices of this machine. Their `id` is a value of the parameter `device`.

    Raises ImportError if pyopencl is not installed.

    Examples
    --------
    >>> import sapwood
    >>> for device in sapwood.devices():
    ...     print(device.id, device.name, device.memory_bytes)  # doctest: +SKIP
    opencl:0.0 NVIDIA L4 23609475072
    """
    return [info for info, _ in found_devices()]


def import_opencl() -> Any:
    """Import pyopencl. Raises ImportError that says how to install it."""
    try:
        import pyopencl
    except ImportError as error:
        raise ImportError(f"training on a device needs pyopencl ({error}): {INSTALL}") from None
    return pyopencl


def found_devices() -> list[tuple[DeviceInfo, Any]]:
    """Return the devices and their pyopencl objects."""
    cl = import_opencl()
    found = []
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # no driver is installed
        return []
    for p, platform in enumerate(platforms):
        try:
            own = platform.get_devices()
        except cl.Error:  # a platform without devices
            continue
        found += [(_describe(cl, f"opencl:{p}.{d}", platform, device), device) for d, device in enumerate(own)]
    return found


def _describe(cl: Any, id: str, platform: Any, device: Any) -> DeviceInfo:
    kinds = cl.device_type
    kind = "gpu" if device.type & kinds.GPU else "accelerator" if device.type & kinds.ACCELERATOR else CPU
    return DeviceInfo(
        id,
        device.name.strip(),
        f"{platform.name.strip()}, {platform.version.strip()}",
        kind,
        int(device.global_mem_size),
        int(device.max_mem_alloc_size),
        int(device.local_mem_size),
        int(device.max_compute_units),
        int(device.max_work_group_size),
        "cl_khr_int64_base_atomics" in device.extensions.split(),
    )


def is_device(selection: Any) -> bool:
    """Return whether a text is a value of the parameter `device`."""
    return isinstance(selection, str) and (selection in (CPU, "gpu") or SELECTION.fullmatch(selection) is not None)


def find_device(selection: str, rank: int = 0) -> tuple[DeviceInfo, Any]:
    """Return the selected device. Raises DeviceError, with the devices that there are, if there is none.

    'gpu' selects the first GPU or accelerator; with several, partition `rank` of the rows takes the one of its number, in turn.
    """
    found = found_devices()
    known = ", ".join(str(info) for info, _ in found) or f"none ({INSTALL})"
    if selection == "gpu":
        gpus = [one for one in found if one[0].kind != CPU]
        if not gpus:
            raise DeviceError(f"device='gpu': OpenCL finds no GPU on this machine. Devices: {known}")
        return gpus[rank % len(gpus)]
    for info, device in found:
        if info.id == selection:
            return info, device
    raise DeviceError(f"device={selection!r}: there is no such device. Devices: {known}")

"""An open device: its context, its programs, and a queue of commands. Errors name the device and the bytes."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from sapwood.device.devices import CPU, DeviceError, DeviceInfo, find_device, import_opencl

SOURCES = ("common.cl", "rows.cl", "histograms.cl")
MAX_GROUP_SIZE = 256  # work-items of a work-group on a GPU
USED_FRACTION = 0.9  # of the memory of a device
_OPENED: dict[tuple[int, str], Context] = {}  # by process: a context does not survive a fork
_LOCK = threading.Lock()


@dataclass
class Transfers:
    """Bytes that were moved between host and device in a fit, and the number of trees.

    Attributes
    ----------
    device : name of the device
    n_rows : number of training rows in this process
    bins : bytes of bins that were sent; once in a fit, unless they do not fit in the memory of the device
    sent : bytes of gradients, samples and splits that were sent
    received : bytes of histograms, sums and leaves that came back
    n_trees : number of trees
    """

    device: str
    n_rows: int = 0
    bins: int = 0
    sent: int = 0
    received: int = 0
    n_trees: int = 0

    @property
    def bytes_per_row_and_tree(self) -> float:
        """Bytes that were moved for each row and tree, without the bins."""
        return (self.sent + self.received) / max(1, self.n_rows * self.n_trees)


@dataclass(frozen=True)
class KernelOptions:
    """How the kernels use a device.

    Attributes
    ----------
    group_size : work-items of a work-group, a power of two; 1: each work-group is a plain loop, as CPUs need it
    int64_atomics : whether 64-bit atomic additions are used
    memory_bytes : memory that may be used
    local_memory_bytes : memory of a work-group
    """

    group_size: int
    int64_atomics: bool
    memory_bytes: int
    local_memory_bytes: int

    @classmethod
    def of(cls, info: DeviceInfo) -> KernelOptions:
        """Return the options that suit a device."""
        group = 1 if info.kind == CPU else 1 << (min(MAX_GROUP_SIZE, info.max_group_size).bit_length() - 1)
        return cls(group, info.int64_atomics, int(info.memory_bytes * USED_FRACTION), info.local_memory_bytes)


class Context:
    """OpenCL context of a device, and its compiled programs. One for each device and process."""

    info: DeviceInfo
    cl: Any
    _programs: dict[tuple[int, int, bool], Any]

    def __init__(self, info: DeviceInfo, device: Any) -> None:
        self.info, self.cl = info, import_opencl()
        self._programs, self._lock = {}, threading.Lock()
        with self.named("cannot be opened"):
            self.native: Any = self.cl.Context([device])

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Turn errors of OpenCL into a DeviceError that names the device and what failed."""
        try:
            yield
        except (self.cl.Error, MemoryError) as error:
            raise DeviceError(f"device {self.info}: {what}: {_text(error)}") from error

    def program(self, mode: int, options: KernelOptions) -> Any:
        """Return the program for a format of gradients, compiled on first use."""
        key = mode, options.group_size, options.int64_atomics
        with self._lock:
            if key not in self._programs:
                source = "".join((files("sapwood.device") / "kernels" / name).read_text(encoding="utf-8") for name in SOURCES)
                defines = [f"-DMODE={mode}", f"-DGROUP_SIZE={options.group_size}", f"-DINT64_ATOMICS={int(options.int64_atomics)}"]
                with self.named("a kernel does not compile"):
                    self._programs[key] = self.cl.Program(self.native, source).build(options=defines)
            return self._programs[key]


class Device:
    """A device during one fit: a queue of commands on it, and the bytes that were moved."""

    context: Context
    options: KernelOptions
    info: DeviceInfo
    _kernels: dict[tuple[int, str], Any]

    def __init__(self, context: Context, options: KernelOptions) -> None:
        self.context, self.options, self.info = context, options, context.info
        self.transfers: Transfers = Transfers(context.info.name)
        self._cl, self._kernels = context.cl, {}
        with context.named("cannot be opened"):
            self.queue: Any = self._cl.CommandQueue(context.native)

    def allocate(self, n_bytes: int) -> Any:
        """Return a buffer on the device."""
        with self.context.named(f"cannot allocate {n_bytes:,} bytes"):
            return self._cl.Buffer(self.context.native, self._cl.mem_flags.READ_WRITE, max(64, n_bytes))

    def send(self, buffer: Any, data: np.ndarray) -> None:
        """Copy an array to a buffer."""
        if data.nbytes:
            with self.context.named(f"cannot receive {data.nbytes:,} bytes"):
                self._cl.enqueue_copy(self.queue, buffer, data, is_blocking=True)

    def receive(self, buffer: Any, out: np.ndarray) -> np.ndarray:
        """Copy the first bytes of a buffer to an array, when all commands before are done. Return the array."""
        if out.nbytes:
            with self.context.named(f"cannot send {out.nbytes:,} bytes, or a kernel failed"):
                self._cl.enqueue_copy(self.queue, out, buffer, is_blocking=True)
            self.transfers.received += out.nbytes
        return out

    def run(self, mode: int, name: str, n_groups: int | tuple[int, int], *args: Any) -> None:
        """Run a kernel with a number of work-groups. Integers of arguments are NumPy scalars."""
        kernel = self._kernels.get((mode, name))
        if kernel is None:
            program = self.context.program(mode, self.options)
            with self.context.named(f"has no kernel {name}"):
                kernel = self._kernels[mode, name] = self._cl.Kernel(program, name)
        size = self.options.group_size
        groups = n_groups if isinstance(n_groups, tuple) else (n_groups, 1)
        with self.context.named(f"cannot run the kernel {name}"):
            kernel(self.queue, (groups[0] * size, groups[1]), (size, 1), *args)

    def local_memory(self, n_bytes: int) -> Any:
        """Return an argument of a kernel: memory of each work-group."""
        return self._cl.LocalMemory(n_bytes)

    def finish(self) -> None:
        """Wait for all commands."""
        with self.context.named("a kernel failed"):
            self.queue.finish()


@dataclass
class GrowingBuffer:
    """Buffer on a device that is replaced by a larger one when it is too small. Its content is lost then."""

    device: Device
    n_bytes: int = 0
    native: Any = field(default=None, repr=False)

    def of(self, n_bytes: int) -> Any:
        """Return a buffer of at least this size."""
        if self.native is None or n_bytes > self.n_bytes:
            self.native = None  # free the memory of the old one first
            self.native = self.device.allocate(n_bytes)
            self.n_bytes = n_bytes
        return self.native

    def sent(self, data: np.ndarray) -> Any:
        """Return the buffer, with a copy of an array."""
        buffer = self.of(data.nbytes)
        self.device.send(buffer, data)
        self.device.transfers.sent += data.nbytes
        return buffer


def open_device(selection: str, rank: int = 0) -> Device:
    """Open the device that the parameter `device` selects, for one fit in partition `rank`."""
    info, native = find_device(selection, rank)
    key = os.getpid(), info.id
    with _LOCK:
        if key not in _OPENED:
            _OPENED[key] = Context(info, native)
        context = _OPENED[key]
    return Device(context, KernelOptions.of(info))


def _text(error: BaseException) -> str:
    """Return the message of an error of OpenCL, without the source of the program."""
    text = str(error).strip() or type(error).__name__
    return text if len(text) < 2000 else f"{text[:2000]} ..."

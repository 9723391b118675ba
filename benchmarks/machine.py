"""Description of the machine and of library versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from benchmarks.libraries import LIBRARIES


def available_cores() -> int:
    return len(os.sched_getaffinity(0))


def describe_machine() -> str:
    parts = [_cpu_model(), f"{available_cores()} cores", *_caches(), _memory(), f"Python {platform.python_version()}"]
    return ", ".join(part for part in parts if part)


def versions() -> dict[str, str]:
    return {**{library.title: library.version() for library in LIBRARIES.values()}, "NumPy": version("numpy")}


def _cpu_model() -> str:
    return _field("/proc/cpuinfo", "model name") or platform.machine()


def _caches() -> list[str]:
    """Return the model name of the first core."""
    found = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return found


def _memory() -> str:
    total = _field("/proc/meminfo", "MemTotal")
    return f"{int(total.split()[0]) / 2**20:.0f} GiB memory" if total else ""


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")

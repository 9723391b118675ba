"""CPU quotas of Linux control groups, versions 1 and 2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PurePosixPath

ROOT = Path("/")


def cgroup_cpus(root: Path = ROOT) -> int | None:
    """CPUs that the quotas of this process's control group and of all its ancestors allow, rounded up; None without a quota.

    Parameters
    ----------
    root : folder that has proc and sys
    """
    quotas = [quota for folder in _limited_groups(root) if (quota := _quota(folder)) is not None]
    return max(1, math.ceil(min(quotas))) if quotas else None


@lru_cache  # a quota may change while a process runs, its groups hardly ever do
def _limited_groups(root: Path) -> tuple[Path, ...]:
    """Folders of the groups that can have a quota."""
    return tuple(folder for folder in _cpu_groups(root) if (folder / "cpu.max").exists() or (folder / "cpu.cfs_quota_us").exists())


def _cpu_groups(root: Path) -> Iterator[Path]:
    """Folders of the control groups that limit the CPU time of this process: its own, then its ancestors, of every mounted hierarchy."""
    groups = dict(_memberships(root))
    for version, mounted, point in _mounts(root):
        # In a container, a part of the hierarchy is mounted: paths of groups are counted from its top, or from that of the host.
        group = PurePosixPath(groups.get(version, "/"))
        inside = group.relative_to(mounted) if group.is_relative_to(mounted) else group.relative_to("/")
        folder = root / point.relative_to("/")
        yield folder
        for part in inside.parts:
            if part == "..":  # a group outside of what this process sees
                break
            folder = folder / part
            yield folder


def _memberships(root: Path) -> Iterator[tuple[int, str]]:
    """Versions of the hierarchies that may control CPU time, and the path of this process's group in each."""
    for line in _lines(root / "proc/self/cgroup"):
        if line.count(":") < 2:
            continue
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield 2, path
        elif "cpu" in controllers.split(","):
            yield 1, path


def _mounts(root: Path) -> Iterator[tuple[int, PurePosixPath, PurePosixPath]]:
    """Hierarchies that are mounted: version, path of the group at its top, and mount point."""
    for line in _lines(root / "proc/self/mountinfo"):
        if " - " not in line:
            continue
        fields, about = (part.split() for part in line.split(" - ", 1))
        if len(fields) < 5 or len(about) < 3:
            continue
        kind, _, options = about[:3]
        mounted, point = (PurePosixPath(_unescaped(field)) for field in fields[3:5])
        if kind == "cgroup2":
            yield 2, mounted, point
        elif kind == "cgroup" and "cpu" in options.split(","):
            yield 1, mounted, point


def _quota(folder: Path) -> float | None:
    """CPUs that the quota of one group allows; None without one."""
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return None if quota == "max" or int(quota) <= 0 or int(period) <= 0 else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _unescaped(field: str) -> str:
    """A path of mountinfo, in which blanks are written as octal numbers."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field

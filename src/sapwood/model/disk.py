"""Reading of untrusted files, and atomic writing."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from contextlib import suppress

import numpy as np

from sapwood.data.container import LENGTH, ModelFormatError, header_length
from sapwood.runtime.memory import memory_limit

Path = str | os.PathLike[str]
AT_ONCE = 1 << 24  # bytes per system call
PREFIX, SUFFIX = ".sapwood-", ".part"  # of the names of temporary files
ATTEMPTS = 100  # another writer may take a new file for a stale one before it is locked
BLOCK = 512  # bytes, the unit of `st_blocks`
SMALL, HOLES = 1 << 28, 1000  # bytes that may be holes; how many times its stored bytes a larger file may have


def write(path: Path, data: bytes | bytearray) -> None:
    """Write a file atomically: write a temporary file in the same folder, flush it to the disk, and rename it.

    An existing file keeps its permissions; a symbolic link is followed. An interrupt leaves either the old or the new file, and no
    temporary file. Temporary files of killed processes are removed by the next write.
    """
    path = os.fspath(path)
    try:
        old = _stat_if_any(path)
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        _remove_stale(folder)
        attempts = ATTEMPTS
        while not _replace(target, folder, data, old):
            attempts -= 1
            if not attempts:
                raise FileNotFoundError(errno.ENOENT, "another program removes the temporary file")
        _sync_folder(folder)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None  # with the path of the user


def _replace(target: str, folder: str, data: bytes | bytearray, old: os.stat_result | None) -> bool:
    """Write a temporary file and rename it to `target`. Returns False if another program removed it in between."""
    beside = os.path.join(folder, f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}")
    try:  # before the file exists: an interrupt may come between any two instructions
        with open(beside, "xb", buffering=0) as file:
            _lock(file.fileno())
            if old is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            _write_all(file.fileno(), data)
            os.fsync(file.fileno())
            return _rename(beside, target, folder)  # while it is locked: an unlocked file is stale
    finally:
        with suppress(FileNotFoundError):  # the usual case: it has the name of the target now
            os.unlink(beside)


def _rename(beside: str, target: str, folder: str) -> bool:
    try:
        os.replace(beside, target)
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise
        return False
    return True


def _lock(file: int) -> bool:
    """Lock a file until it is closed or the process ends. False if another process has locked it, or the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(folder: str) -> None:
    """Remove temporary files that no process writes any more: those that are not locked."""
    with os.scandir(folder) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX)]
    for name in names:
        with suppress(OSError), open(name, "rb", buffering=0, opener=_open_existing) as file:
            if stat.S_ISREG(os.fstat(file.fileno()).st_mode) and _lock(file.fileno()):
                os.unlink(name)


def _open_existing(path: str, flags: int) -> int:
    """Open for a lock: for writing, which locks need on network file systems; without following links or waiting for a pipe."""
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _stat_if_any(path: str) -> os.stat_result | None:
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return old


def _write_all(file: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while len(rest):
        rest = rest[os.write(file, rest[:AT_ONCE]) :]


def _sync_folder(folder: str) -> None:
    """Flush the new file name to the disk. File systems without support for it return EINVAL or ENOTSUP."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(file)


def read(path: Path) -> np.ndarray:
    """Read a file that begins like a model file: (n_bytes,) uint8. Anything but a regular file, such as a pipe, raises an error."""
    with open(path, "rb", buffering=0, opener=_open_without_waiting) as opened:
        file = opened.fileno()
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise ModelFormatError("not a Sapwood model: not a regular file")
        header_length(os.pread(file, 2 * LENGTH, 0), about.st_size)
        _check_size(about)
        data = np.empty(about.st_size, dtype=np.uint8)
        n_read = 0
        while n_read < len(data):
            got = os.readv(file, [data[n_read : n_read + AT_ONCE].data])
            if got == 0:
                raise ModelFormatError("damaged Sapwood model: the file was truncated while it was read")
            n_read += got
        return data


def _check_size(about: os.stat_result) -> None:
    """Refuse a file that costs far more to read than it takes on the disk, or more than there is."""
    size, stored, limit = about.st_size, about.st_blocks * BLOCK, memory_limit()
    if size > limit:
        raise ModelFormatError(f"it has {size:,} bytes, more than the {limit:,} bytes of memory that this process may use")
    if size > SMALL and 0 < stored < size // HOLES:  # file systems that do not say have 0 blocks
        raise ModelFormatError(f"damaged Sapwood model: of its {size:,} bytes only {stored:,} are stored, the rest is a hole")


def _open_without_waiting(path: str, flags: int) -> int:
    """Open for reading; not even a pipe without a writer is waited for."""
    return os.open(path, flags | os.O_NONBLOCK)

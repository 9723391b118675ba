"""Whole files: read without trust, written so that there is always an old or a new one, never half of one."""

from __future__ import annotations

import errno
import os
import secrets
import stat

import numpy as np

from sapwood.data.container import LENGTH, ModelFormatError, header_length

Path = str | os.PathLike[str]
AT_ONCE = 1 << 24  # bytes


def write(path: Path, data: bytes | bytearray) -> None:
    """Write a file, or leave what there was as it is: the bytes go to another file beside it, to the disk, and then take its name.

    A new file has the permissions that any new one has, an old one keeps its own. A symbolic link stays one.
    """
    path = os.fspath(path)
    try:
        old = _stat_if_any(path)
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        beside = os.path.join(folder, f".sapwood-{secrets.token_hex(8)}.part")
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            try:
                if old is not None:
                    os.fchmod(file, stat.S_IMODE(old.st_mode))
                _write_all(file, data)
                os.fsync(file)
            finally:
                os.close(file)
            os.replace(beside, target)
        except BaseException:
            os.unlink(beside)
            raise
        _sync_folder(folder)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None  # the name that the user gave


def _stat_if_any(path: str) -> os.stat_result | None:
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "not an ordinary file")
    return old


def _write_all(file: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while len(rest):
        rest = rest[os.write(file, rest[:AT_ONCE]) :]


def _sync_folder(folder: str) -> None:
    """So that the name, too, is on the disk. The file systems that cannot do so say it is an invalid argument."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(file)


def read(path: Path) -> np.ndarray:
    """(n_bytes,) uint8: a file that begins like a model. What is no ordinary file is refused, not waited for."""
    path = os.fspath(path)
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        if stat.S_ISDIR(about.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(about.st_mode):
            raise ModelFormatError("not a Sapwood model: it is not an ordinary file")
        header_length(os.pread(file, 2 * LENGTH, 0), about.st_size)
        data = np.empty(about.st_size, dtype=np.uint8)
        n_read = 0
        while n_read < len(data):
            got = os.readv(file, [data[n_read : n_read + AT_ONCE].data])
            if got == 0:
                raise ModelFormatError("damaged Sapwood model: it became shorter while it was read")
            n_read += got
        return data
    finally:
        os.close(file)

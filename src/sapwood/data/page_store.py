"""Pages in files: binned rows that are larger than memory, or that later fits use again.

A data set is a folder `sapwood-KEY` in each of the given folders: files of pages, and in the first one a manifest and the bin layout. It
appears under its name when it is complete. Pages are read into buffers, not mapped: a file that is truncated while it is mapped would end
the process.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from sapwood.data.layout import BinLayout
from sapwood.data.streams.files import require_arrow
from sapwood.runtime import kernels

PAGE_BYTES = 1 << 24  # of a page in memory, if it is not limited further
MANIFEST, LAYOUT, FORMAT = "pages.json", "layout.bin", "sapwood pages 1"
FILE_NAME = re.compile(r"page-\d{6,9}\.bin", re.ASCII)
ALIGNMENT = 64  # bytes: the bins of a row are in one cache line


class PageError(OSError):
    """Raised for a page that is missing or damaged."""


@dataclass(frozen=True)
class StoredPage:
    """File of a page.

    Attributes
    ----------
    path : path of the file
    first_row : number of the first row in the partition
    n_rows : number of rows
    n_bytes : size of the file
    checksum : hash of the bins
    """

    path: str
    first_row: int
    n_rows: int
    n_bytes: int
    checksum: int

    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.n_rows)


@dataclass(frozen=True)
class PageStorage:
    """Where pages are stored, and how many of them stay in memory.

    Attributes
    ----------
    folders : folders of the user, on one disk each; empty for a temporary folder
    resident_bytes : bytes of pages that stay in memory; None for all
    page_bytes : maximum size of a page in memory; None for PAGE_BYTES
    compression : "zstd" or None
    histogram_bytes : memory of cached histograms
    """

    folders: tuple[str, ...] = ()
    resident_bytes: int | None = None
    page_bytes: int | None = None
    compression: str | None = None
    histogram_bytes: int = 1 << 28

    def page_rows(self, layout: BinLayout) -> int:
        """Return the number of rows of a page."""
        return max(64, (self.page_bytes or PAGE_BYTES) // (layout.n_groups * layout.stride))

    def find(self, key: str) -> StoredPages | None:
        """Return the stored data set of this key; None if there is none."""
        if not self.folders or not os.path.exists(os.path.join(self.folders[0], f"sapwood-{key}", MANIFEST)):
            return None
        return StoredPages.open(self.folders, key)

    @property
    def has_any(self) -> bool:
        """Whether there is any stored data set."""
        return bool(self.folders) and os.path.isdir(self.folders[0]) and any(n.startswith("sapwood-") for n in os.listdir(self.folders[0]))


@dataclass(frozen=True)
class StoredPages:
    """Files of a data set.

    Attributes
    ----------
    layout : bin layout, with the features that have missing values
    files : pages, in the order of their rows
    compression : "zstd" or None
    """

    layout: BinLayout
    files: tuple[StoredPage, ...]
    compression: str | None = None

    @classmethod
    def open(cls, folders: tuple[str, ...], key: str) -> StoredPages:
        """Open the data set of a key. Raises PageError if it is damaged."""
        first = os.path.join(folders[0], f"sapwood-{key}")
        try:
            with open(os.path.join(first, MANIFEST), encoding="utf-8") as file:
                about = json.load(file)
            with open(os.path.join(first, LAYOUT), "rb") as raw:
                layout = BinLayout.from_bytes(raw.read())
            if about["format"] != FORMAT or about["compression"] not in (None, "zstd"):
                raise ValueError("unknown format")
            files = tuple(_page_of_json(one, folders, key) for one in about["pages"])
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise PageError(errno.EIO, f"the stored pages are damaged ({error}); remove the folder", first) from None
        return cls(layout, files, about["compression"])

    @property
    def n_rows(self) -> int:
        return sum(page.n_rows for page in self.files)

    def read(self, page: StoredPage, out: np.ndarray, check: bool) -> np.ndarray:
        """Read the bins of a page into `out`, (n_bytes,) uint8, and return them. With `check`, compare their checksum."""
        size = self.layout.n_groups * page.n_rows * self.layout.stride
        target = out[:size]
        try:
            with open(page.path, "rb", buffering=0) as file:
                stored = target if self.compression is None else np.empty(page.n_bytes, dtype=np.uint8)
                n_read = 0
                while n_read < len(stored) and (got := file.readinto(stored[n_read:].data)):
                    n_read += got
        except OSError as error:
            raise PageError(error.errno, f"cannot read a page: {error.strerror}", page.path) from None
        if n_read < page.n_bytes:
            raise PageError(errno.EIO, f"a page is truncated: {n_read} of {page.n_bytes} bytes", page.path)
        if self.compression is not None:
            try:
                target[:] = np.frombuffer(
                    require_arrow("compressed pages").decompress(stored, size, codec=self.compression), dtype=np.uint8
                )
            except (ValueError, OSError) as error:
                raise PageError(errno.EIO, f"a page is damaged: {error}", page.path) from None
        if check and kernels.hash_bytes(target) != page.checksum:
            raise PageError(errno.EIO, "a page is damaged: its checksum differs", page.path)
        return target


def _page_of_json(about: Any, folders: tuple[str, ...], key: str) -> StoredPage:
    name, numbers = about["file"], [about[name] for name in ("first_row", "n_rows", "n_bytes", "checksum")]
    if not FILE_NAME.fullmatch(name) or not all(type(number) is int and 0 <= number < 1 << 64 for number in numbers):
        raise ValueError("a page has an invalid description")
    return StoredPage(os.path.join(folders[about["folder"]], f"sapwood-{key}", name), *numbers)


class PageWriter:
    """Folders with the bins of pages, (n_groups, n_rows, stride) each. They are removed when the object is, unless `finish` gives them a
    name."""

    def __init__(self, storage: PageStorage, pages: Iterable[np.ndarray]) -> None:
        self.storage = storage
        own = storage.folders or (tempfile.mkdtemp(prefix="sapwood-pages-"),)
        self.folders: list[str] = [os.path.join(folder, f".pages-{secrets.token_hex(8)}") for folder in own]
        self._remove = weakref.finalize(self, _remove_all, [*self.folders] if storage.folders else list(own))
        try:
            for folder in self.folders:
                os.makedirs(folder)
            self.files: list[StoredPage] = list(self._write(pages))
        except BaseException as error:
            self._remove()
            if isinstance(error, OSError) and not isinstance(error, PageError):
                raise OSError(error.errno, f"cannot store pages: {error.strerror or error}", own[0]) from error
            raise

    def _write(self, pages: Iterable[np.ndarray]) -> Iterator[StoredPage]:
        first_row = 0
        for number, codes in enumerate(pages):
            data = codes.reshape(-1)
            path = os.path.join(self.folders[number % len(self.folders)], f"page-{number:06}.bin")
            stored: Any = data if self.storage.compression is None else _compress(data, self.storage.compression)
            with open(path, "xb", buffering=0) as file:
                n_written = 0
                while n_written < len(stored):
                    n_written += file.write(memoryview(stored)[n_written:])
            yield StoredPage(path, first_row, codes.shape[1], len(stored), kernels.hash_bytes(data))
            first_row += codes.shape[1]

    def finish(self, layout: BinLayout, key: str | None) -> StoredPages:
        """Return the data set. With a key, it is kept under that name."""
        compression = self.storage.compression
        if key is None or not self.storage.folders:
            return StoredPages(layout, tuple(self.files), compression)
        n = len(self.folders)
        pages = [asdict(page) | {"folder": i % n, "file": os.path.basename(page.path)} for i, page in enumerate(self.files)]
        for page in pages:
            del page["path"]
        try:
            with open(os.path.join(self.folders[0], LAYOUT), "xb") as raw:
                raw.write(layout.to_bytes())
            with open(os.path.join(self.folders[0], MANIFEST), "x", encoding="utf-8") as file:
                json.dump({"format": FORMAT, "compression": compression, "pages": pages}, file)
            for folder, to in reversed(list(zip(self.folders, self.storage.folders, strict=True))):  # the manifest last
                target = os.path.join(to, f"sapwood-{key}")
                shutil.rmtree(target, ignore_errors=True)
                os.rename(folder, target)
        except OSError as error:
            self._remove()
            raise OSError(error.errno, f"cannot store pages: {error.strerror or error}", self.storage.folders[0]) from error
        return StoredPages.open(self.storage.folders, key)


def _compress(data: np.ndarray, codec: str) -> bytes:
    return require_arrow("compressed pages").compress(data, codec=codec, asbytes=True)


def _remove_all(folders: list[str]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


Loaded = tuple[np.ndarray, kernels.Page]


class PageReader:
    """Pages of a data set in memory: some stay there, the others are read ahead, one for each disk.

    Parameters
    ----------
    stored : files of the data set
    storage : how many pages stay in memory
    """

    def __init__(self, stored: StoredPages, storage: PageStorage) -> None:
        self.stored, self.n_ahead = stored, max(1, len(storage.folders))
        self._budget = float("inf") if storage.resident_bytes is None else storage.resident_bytes
        self._resident: dict[int, np.ndarray] = {}
        self._native: dict[tuple[int, int], kernels.Page] = {}
        self._checked: set[int] = set()
        self._spare: deque[np.ndarray] = deque()

    def visit(self, first_row: int) -> Iterator[tuple[StoredPage, kernels.Page]]:
        """Yield the pages one after the other. `first_row` is the id of the first row of the partition. A page is valid until the next."""
        files = self.stored.files
        absent = [i for i in range(len(files)) if i not in self._resident]
        if not absent:
            yield from ((page, self._open(i, first_row)) for i, page in enumerate(files))
            return
        with ThreadPoolExecutor(self.n_ahead) as pool:
            ahead = iter(absent)
            loads: dict[int, Future[Loaded]] = {i: pool.submit(self._load, i, first_row) for i in islice(ahead, self.n_ahead)}
            used: deque[np.ndarray] = deque()
            for i, page in enumerate(files):
                if i in loads:
                    memory, native = loads.pop(i).result()
                    loads |= {following: pool.submit(self._load, following, first_row) for following in islice(ahead, 1)}
                    if self._budget < memory.nbytes:
                        used.append(memory)
                        if len(used) > 1:  # the consumer has done with the page before
                            self._spare.append(used.popleft())
                        yield page, native
                        continue
                    self._budget -= memory.nbytes
                    self._resident[i], self._native[i, first_row] = memory, native
                yield page, self._open(i, first_row)
            self._spare.extend(used)

    def _open(self, number: int, first_row: int) -> kernels.Page:
        """Return a page that stays in memory. Its bins are checked once."""
        if (number, first_row) not in self._native:
            self._native[number, first_row] = self._native_page(number, self._resident[number], first_row)
        return self._native[number, first_row]

    def _native_page(self, number: int, memory: np.ndarray, first_row: int) -> kernels.Page:
        page, layout = self.stored.files[number], self.stored.layout
        return kernels.Page(layout.native, _aligned(memory), page.n_rows, None, first_row + page.first_row)

    def _load(self, number: int, first_row: int) -> Loaded:
        """Return memory with a page, and the page for the kernels. Its bins are checked."""
        page, layout = self.stored.files[number], self.stored.layout
        size = layout.n_groups * page.n_rows * layout.stride + ALIGNMENT
        memory = self._spare.popleft() if self._spare else np.empty(0, dtype=np.uint8)
        if len(memory) < size:
            memory = np.empty(size, dtype=np.uint8)
        self.stored.read(page, _aligned(memory), number not in self._checked)
        self._checked.add(number)
        return memory, self._native_page(number, memory, first_row)


def _aligned(memory: np.ndarray) -> np.ndarray:
    """Return the part of the memory from the first cache line on."""
    return memory[-memory.ctypes.data % ALIGNMENT :]

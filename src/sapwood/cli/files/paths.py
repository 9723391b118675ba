"""Names of files: patterns, folders, and formats by extension."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from sapwood.cli.errors import CommandError

STDIN = "/dev/stdin"  # also written "-"
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")
EXTENSIONS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow",
    ".ipc": "arrow", ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight",
}  # fmt: skip
Format = Literal["csv", "parquet", "arrow", "svmlight"]


@Parameter(name="*", group="Files")
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read."""

    format: Format | None = None
    """Format of the files. Default: by their extensions; CSV for stdin."""
    delimiter: str | None = None
    """Delimiter of CSV files. Default: a comma; a tab for .tsv."""
    null: Annotated[list[str] | None, Parameter(negative="")] = None
    """Value of CSV files that is missing, besides empty, NA, NaN and null. May be repeated."""
    zero_based: Annotated[bool | None, Parameter(negative="--one-based")] = None
    """Whether indices of svmlight files begin at 0 or at 1. Default: by the smallest index."""

    def format_of(self, path: str) -> str:
        """Return the format of a file."""
        return self.format or ("csv" if path == STDIN else format_by_name(path))


@Parameter(name="*", group="Output")
@dataclass(frozen=True, kw_only=True)
class Results:
    """Where the results of rows are written."""

    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None
    """File to write instead of stdout: .csv, .parquet or .arrow."""
    keep: Annotated[list[str] | None, Parameter(negative="")] = None
    """Column of the table to copy to the output. May be repeated."""

    @property
    def kept(self) -> list[str]:
        return self.keep or []

    def check(self) -> None:
        """Raise an error if the file cannot be written."""
        if self.output is not None:
            check_output(self.output)

    def announcement(self, n_rows: int) -> list[str]:
        """Return the lines to print after writing: none for stdout."""
        return [] if self.output is None else [f"{n_rows:,} rows written to {self.output}"]


def format_by_name(path: str) -> str:
    """Return the format by the extension of a file."""
    name = Path(path).name.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    extension = os.path.splitext(name)[1]
    if extension not in EXTENSIONS:
        raise CommandError(f"{path}: the extension {extension!r} is unknown; use one of {', '.join(EXTENSIONS)}, or pass --format")
    return EXTENSIONS[extension]


def expand(paths: Sequence[str]) -> list[str]:
    """Return the files of paths, patterns such as "part-*.csv", and folders."""
    found: list[str] = []
    for path in paths:
        if path == STDIN or os.path.isfile(path):
            found.append(path)
        elif os.path.isdir(path):
            inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file() and not entry.name.startswith((".", "_")))
            if not inside:
                raise CommandError(f"{path}: the folder has no files")
            found += inside
        elif any(char in path for char in "*?["):
            matches = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
            if not matches:
                raise CommandError(f"{path}: no file matches the pattern")
            found += matches
        elif os.path.exists(path):
            found.append(path)  # a pipe, such as <(command)
        else:
            raise CommandError(f"{path}: no such file")
    if found.count(STDIN) > 1:
        raise CommandError("stdin can be given once only")
    return found


def check_output(path: Path, option: str = "--output") -> Path:
    """Return the path of a file to write. Raise an error before hours of work if it cannot be written."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise CommandError(f"{option} {path}: the folder {folder} does not exist")
    if path.is_dir():
        raise CommandError(f"{option} {path}: it is a folder")
    if path.exists() and not path.is_file():
        raise CommandError(f"{option} {path}: not a regular file")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{option} {path}: no permission to write to {folder}")
    return path

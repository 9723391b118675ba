"""Folders of pages: a fit stores what it binned, and later fits train on it without the rows."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.binning import Binning
from sapwood.data.columns import Schema
from sapwood.data.fingerprint import of_array
from sapwood.data.page_store import PageError, PageStorage
from sapwood.data.pages import Pages as BinnedPages
from sapwood.data.sorted import SortedRows
from sapwood.data.stored_table import StoredFeatures, StoredTable
from sapwood.data.tables import Table
from sapwood.encoding.encoding import Encoding, FittedEncoding
from sapwood.estimators.fit_data import FitData
from sapwood.estimators.inputs import FitCall
from sapwood.params.plan import FitPlan
from sapwood.runtime.caching import cached_property
from sapwood.runtime.execution import Execution
from sapwood.training.fit_signature import FitSignature, as_text
from sapwood.training.warm_start import WarmStart

if TYPE_CHECKING:
    from sapwood.typing import Path

FORMAT = "sapwood pages of a fit 1"
RECORD = re.compile(r"data-[0-9a-f]{16}\.npz", re.ASCII)
ARGUMENT, TEXT = "argument_", "text_"  # begin of the names of arrays with a value for each row; TEXT: the array had strings as objects
# What reading a damaged file raises.
DAMAGE = (OSError, EOFError, ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError, zipfile.BadZipFile, zlib.error)
Build = Callable[[Table, np.ndarray | None], BinnedPages | SortedRows]


@dataclass(frozen=True)
class PageRecord:
    """Everything but the pages that a fit has found in its rows: columns, encoding, cut points, and what they depend on.

    Attributes
    ----------
    table : columns of the training table, with hashes of their values
    encoding : encoding, fitted to the training rows
    binning : cut points of the features
    features_digest : hash of the features, which names the pages
    settings : parameters and arguments that encoding and cut points depend on, as text
    path : file of the record
    """

    table: StoredTable
    encoding: Encoding
    binning: Binning
    features_digest: bytes
    settings: Mapping[str, str]
    path: str = ""

    @property
    def encoded(self) -> FittedEncoding:
        return StoredEncoding(self.encoding, self.table, digest=self.features_digest)

    @property
    def identity(self) -> str:
        """Text that is equal for records of the same table."""
        return json.dumps([self.table.n_rows, self.table.schema.to_json(), self.table.sums.tolist()])

    def write(self, folder: str, arguments: Mapping[str, np.ndarray]) -> None:
        """Write the record to a folder, with arguments of `fit`. The file appears when it is complete."""
        schema, encoding = self.table.schema, self.encoding
        about = {
            "format": FORMAT,
            "n_rows": self.table.n_rows,
            "n_columns": schema.n_features,
            "schema": schema.to_json(),
            "implicit_missing": self.table.implicit_missing,
            "encoding": encoding.to_json(),
            "features_digest": self.features_digest.hex(),
            "settings": dict(self.settings),
        }
        text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
        arrays = {"about": text, "sums": self.table.sums, "cuts": self.binning.cuts, "cuts_begin": self.binning.begin}
        arrays |= {"kinds": encoding.kinds, **encoding.arrays()}
        arrays |= arguments
        key = hashlib.sha256(text.tobytes())
        for name in sorted(arrays):
            key.update(name.encode() + repr((arrays[name].shape, arrays[name].dtype.str)).encode())
            key.update(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)
        path = os.path.join(folder, f"data-{key.hexdigest()[:16]}.npz")
        beside = os.path.join(folder, f".data-{secrets.token_hex(8)}")
        try:
            if not os.path.exists(path):
                with open(beside, "xb") as file:
                    np.savez(file, allow_pickle=False, **arrays)
                os.replace(beside, path)
        except OSError as error:
            raise OSError(error.errno, f"cannot store pages: {error.strerror or error}", folder) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside)

    @classmethod
    def read(cls, path: str) -> PageRecord:
        """Read a record. Raises PageError if it is damaged."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files if not name.startswith((ARGUMENT, TEXT))}
            about = json.loads(arrays.pop("about").tobytes())
            if about["format"] != FORMAT or type(about["n_rows"]) is not int or about["n_rows"] < 0:
                raise ValueError("unknown format")
            kinds = arrays["kinds"]
            binning = Binning.from_arrays(arrays["cuts"], arrays["cuts_begin"], kinds if kinds.any() else None)
            schema = Schema.from_json(about["schema"], about["n_columns"])
            encoding = Encoding.from_data(about["encoding"], arrays, binning.n_features).with_zones(schema)
            encoding.check(schema)
            if arrays["sums"].shape != (schema.n_features,) or arrays["sums"].dtype != np.uint64:
                raise ValueError("the hashes do not match the columns")
            settings = {str(name): str(value) for name, value in about["settings"].items()}
            table = StoredTable(about["n_rows"], schema, arrays["sums"], bool(about["implicit_missing"]))
            return cls(table, encoding, binning, bytes.fromhex(about["features_digest"]), settings, path)
        except DAMAGE as error:
            raise PageError(errno.EIO, f"the stored pages are damaged ({error}); remove the file and store them again", path) from None


@dataclass(frozen=True)
class StoredEncoding(FittedEncoding):
    """Encoding of a record, whose features are in stored pages."""

    digest: bytes = field(default=b"", kw_only=True)

    @cached_property
    def features(self) -> Table:
        assert isinstance(self.table, StoredTable)
        return StoredFeatures(self.table, self.encoding.n_features, self.digest)


class Pages(StoredTable):
    """Pages that a fit has stored in `pages_dir`, as X of later fits: they do not read, bin or hash the rows again.

    The later fits may have other parameters of training, such as `learning_rate`, `max_leaf_nodes` or `loss`. What the bins depend on must
    be the same: the training rows (early stopping holds rows out), their weights, `random_state`, and the parameters of bins and
    categories; otherwise `fit` raises a ValueError that names the difference. The model is that of a fit on the rows themselves, byte for
    byte.

    Attributes
    ----------
    folders : folders of the pages
    shape : numbers of rows and columns
    arguments : arguments of the fit that stored the pages, with a value for each row: y, sample_weight, ...

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import sapwood
    >>> X = np.arange(200.0).reshape(100, 2)
    >>> folder = tempfile.mkdtemp()
    >>> first = sapwood.BoostingRegressor(pages_dir=folder).fit(X, X[:, 0])
    >>> pages = sapwood.Pages.open(folder)
    >>> pages
    Pages of 100 rows and 2 columns
    >>> second = sapwood.BoostingRegressor(learning_rate=0.3).fit(pages, pages.y)
    >>> second.to_bytes() == sapwood.BoostingRegressor(learning_rate=0.3).fit(X, X[:, 0]).to_bytes()
    True
    """

    folders: tuple[str, ...]

    def __init__(self, folders: tuple[str, ...], records: Sequence[PageRecord]) -> None:
        table = records[0].table
        super().__init__(table.n_rows, table.schema, table.sums, table.implicit_missing)
        self.folders, self._records = folders, list(records)

    @classmethod
    def open(cls, folder: Path | Sequence[Path]) -> Pages:
        """Open the pages of a table.

        Parameters
        ----------
        folder : path or list of paths
            The value of `pages_dir` of the fit that stored them; or the path of one of its files `data-*.npz`, if the folder has pages of
            several tables.

        Raises
        ------
        OSError
            If the folder does not exist, has no pages, or has damaged ones. The error names the file.
        ValueError
            If the folder has pages of several tables.
        """
        folders = tuple(os.fspath(one) for one in ([folder] if isinstance(folder, str | os.PathLike) else folder))
        if not folders:
            raise ValueError("folder must be a path or a list of paths; got an empty list")
        if RECORD.fullmatch(os.path.basename(folders[0])):
            names = [folders[0]]
            folders = (os.path.dirname(folders[0]) or ".", *folders[1:])
        else:
            try:
                found = sorted(name for name in os.listdir(folders[0]) if RECORD.fullmatch(name))
            except OSError as error:
                raise OSError(error.errno, f"cannot open stored pages: {error.strerror}", folders[0]) from None
            names = [os.path.join(folders[0], name) for name in found]
        if not names:
            raise FileNotFoundError(errno.ENOENT, "there are no stored pages: fit with pages_dir first", folders[0])
        records = sorted((PageRecord.read(name) for name in names), key=lambda record: os.path.getmtime(record.path))
        if len({record.identity for record in records}) > 1:
            about = ", ".join(f"{os.path.basename(one.path)} ({one.table.n_rows:,} x {one.table.n_features})" for one in records)
            raise ValueError(f"{folders[0]!r} has pages of several tables: open the file of one of them instead of the folder: {about}")
        return cls(folders, records)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_features

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"Pages of {self.n_rows:,} rows and {self.n_features} columns"

    @cached_property
    def arguments(self) -> dict[str, np.ndarray]:
        """Arguments of the last fit that stored pages here: `fit(pages, **pages.arguments)`."""
        path = self._records[-1].path
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                plain = {name.removeprefix(ARGUMENT): file[name] for name in file.files if name.startswith(ARGUMENT)}
                return plain | {name.removeprefix(TEXT): file[name].astype(object) for name in file.files if name.startswith(TEXT)}
        except DAMAGE as error:
            raise PageError(errno.EIO, f"the stored pages are damaged ({error}); remove the file and store them again", path) from None

    @property
    def y(self) -> np.ndarray:
        """Targets of the last fit that stored pages here."""
        if "y" not in self.arguments:
            raise ValueError("y was not stored, because it has objects that are neither numbers nor text: give it to fit")
        return self.arguments["y"]

    def record(self, settings: Mapping[str, str]) -> PageRecord:
        """Return the record of a fit with these settings. Raises a ValueError that names a difference if there is none."""
        for record in reversed(self._records):
            if record.settings == settings:
                return record
        difference = FitSignature(self._records[-1].settings, {}).difference(FitSignature(settings, {}))
        raise ValueError(f"the pages in {self.folders[0]!r} do not belong to this fit: {difference}; use the same value, or the rows as X")


def check_pages(call: FitCall, pages_dir: Any, init: Any) -> None:
    """Raise a ValueError for arguments and parameters that cannot be combined with stored pages as X."""
    for inputs in (call.validation, *call.options.given_sets().values()):
        if isinstance(inputs.X, Pages):
            raise ValueError(f"X{inputs.suffix} must be a table: stored pages can only be the training rows")
    if not isinstance(call.train.X, Pages):
        return
    if pages_dir is not None:
        raise ValueError("pages_dir cannot be combined with stored pages as X, which have folders of their own: leave it out")
    if init is not None:
        raise ValueError("init cannot be combined with stored pages as X, which have no values to predict from: give an offset instead")


def prepare_features(
    plan: FitPlan, data: FitData, call: FitCall, start: WarmStart, storage: PageStorage | None, execution: Execution, same_rows: bool
) -> tuple[FittedEncoding, Build]:
    """Return the encoding, and a function (table, rows) that bins rows: both found in the training rows, or taken from stored pages."""
    table, binning = data.train.table, plan.binning
    if isinstance(table, Pages):
        record = table.record(page_settings(plan, data))
        _check_continued(record, start)
        return record.encoded, binning.builder(data.train, record.encoded, data.seed, execution, start.model, storage, record.binning)
    encoded = plan.encoding.fit(data.train, data.loss, data.seed, start, execution, same_rows=same_rows)
    build = binning.builder(data.train, encoded, data.seed, execution, start.model, storage)
    if storage is None or not storage.folders or start.model is not None or not execution.is_local:
        return encoded, build
    return encoded, _recording(build, plan, data, call, encoded, storage.folders[0], execution)


def _recording(
    build: Build, plan: FitPlan, data: FitData, call: FitCall, encoded: FittedEncoding, folder: str, execution: Execution
) -> Build:
    """Return a function that bins rows, and writes a record after it has stored the first pages of the training table."""
    written = False

    def build_and_record(table: Table, rows: np.ndarray | None) -> BinnedPages | SortedRows:
        nonlocal written
        pages = build(table, rows)
        if table is encoded.features and not written and isinstance(pages, BinnedPages):
            own = data.train.table
            stored = StoredTable(own.n_rows, own.schema, own.hash_sums(0, execution), getattr(own, "implicit_missing", False))
            record = PageRecord(stored, encoded.encoding, pages.binning, table.digest(0, execution), page_settings(plan, data))
            record.write(folder, _arguments(call))
            written = True
        return pages

    return build_and_record


def page_settings(plan: FitPlan, data: FitData) -> dict[str, str]:
    """Return everything that encoding, cut points and the rows of pages depend on, besides the table, as text."""
    binning, encoding, train = plan.binning, plan.encoding, data.train
    same = len(set(binning.max_bins.tolist())) == 1
    settings = {
        "max_bins": as_text(binning.max_bins[0] if same else binning.max_bins),
        "the bins of feature_spec": as_text(binning.cut_points),
        "forced_splits": as_text(binning.forced),
        "bin_sample_rows": as_text(binning.sample_rows),
        "min_rows_in_bin": as_text(binning.min_rows),
        "the encoding of categories": as_text([encoding.encoders, encoding.combinations]),
        "datetime_features": as_text(encoding.calendar),
        "cross_features": as_text(encoding.crosses),
        "missing": as_text(data.schema.missing_values),
        "sparse_absent": as_text(data.schema.sparse_missing),
        "random_state": as_text(data.seed),
        "the selection of training rows (by early stopping, weights or targets)": "all" if train.rows is None else of_array(train.rows),
        "sample_weight or class_weight": "none" if train.weight is None else of_array(train.weight),
    }
    if train.table.schema.categories:  # may be encoded by their targets
        settings |= {"y": of_array(train.y), "loss": as_text(type(data.loss).__name__)}
    return settings


def _arguments(call: FitCall) -> dict[str, np.ndarray]:
    """Return the arguments of a fit that have a value for each row, as far as they are numbers or text, by their names in a record."""
    inputs = call.train
    given = {"y": inputs.y, "sample_weight": inputs.sample_weight, "offset": inputs.offset, **inputs.more, "groups": call.options.groups}
    arrays = {name: np.asarray(value) for name, value in given.items() if value is not None}
    plain = {ARGUMENT + name: array for name, array in arrays.items() if not array.dtype.hasobject}
    objects = {name: array for name, array in arrays.items() if array.dtype.kind == "O" and array.ndim == 1}
    return plain | {TEXT + name: own.astype(str) for name, own in objects.items() if all(type(value) is str for value in own)}


def _check_continued(record: PageRecord, start: WarmStart) -> None:
    """Raise a ValueError if the model that is continued has other bins or another encoding than the pages."""
    if (model := start.model) is None:
        return
    same = np.array_equal(model.binning.cuts, record.binning.cuts) and np.array_equal(model.binning.begin, record.binning.begin)
    ours, theirs = record.encoding.arrays(), model.encoding.arrays()
    same = same and record.encoding.to_json() == model.encoding.to_json()
    if not same or not all(np.array_equal(ours[name], theirs[name]) for name in ours):
        raise ValueError(f"{start.how} continues a model with other bins than the stored pages: give the rows themselves as X")

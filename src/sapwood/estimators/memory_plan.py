"""Memory of a fit: an estimate, and where binned rows are stored so that `memory_limit` holds."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from sapwood.data import page_store
from sapwood.data.page_store import PageStorage
from sapwood.data.selection import count_rows
from sapwood.data.sparse import SparseTable
from sapwood.data.streams import is_read_once, is_stream
from sapwood.data.streams.base import BATCH_BYTES
from sapwood.estimators.fit_data import AUTO_EARLY_STOPPING_ROWS, FitData
from sapwood.estimators.inputs import FitCall, FitInput
from sapwood.estimators.page_folder import Pages
from sapwood.params.plan import LEAF_BATCH
from sapwood.params.presets import PER_OUTPUT
from sapwood.params.signatures import CommonParameters, ResolvedParameters
from sapwood.runtime.memory import memory_limit as memory_of_machine

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?B?)\s*", re.IGNORECASE | re.ASCII)
FIXED_BYTES = 40 << 20  # of any fit: buffers of threads, trees, temporary arrays
STREAM_BYTES = 6 * BATCH_BYTES  # of batches of a stream: decoded, as numbers, being read
MIN_PAGE_BYTES, PAGES_AT_ONCE = 1 << 20, 4  # pages in memory: in use, used before, being read
HISTOGRAM_BYTES = 1 << 28  # at most, of cached histograms
DEFAULT_LEAVES = 64  # if the number of leaves is not limited
CELL_BYTES, CODES = 16, 256  # of a histogram; of a column
ENTRY_BYTES = 24  # of each entry of a sparse table whose bins are in memory: row lists, by row and by bin, and while they are made
# Bytes of a row that stay in memory, wherever the bins are. Temporary arrays are included.
TARGET_BYTES = 24  # targets as given, and as numbers
GROWTH_BYTES = 17  # row lists, a copy of the gradients, and the leaf
OUTPUT_BYTES = 32  # of each output: raw predictions, fixed-point gradients, values of the loss and of metrics
WEIGHT_BYTES, OFFSET_BYTES, QUERY_BYTES, SAMPLE_BYTES = 24, 32, 48, 32
SPLIT_BYTES = 48  # while rows are held out
CATEGORY_BYTES, ENCODING_BYTES = 12, 72  # of each category; while target statistics are computed
EVALUATION_BYTES = 40  # of each row of an evaluation set, in addition to those of outputs


@dataclass(frozen=True)
class MemoryEstimate:
    """Estimate of the memory of a fit.

    Attributes
    ----------
    n_rows : number of rows
    row_bytes : bytes of each row, without bins
    fixed_bytes : bytes that do not depend on the number of rows
    bin_bytes : bytes of the bins of a row in memory
    min_histogram_bytes : bytes of the histograms of one step; part of `fixed_bytes`
    histogram_bytes : bytes of the histograms of all leaves
    """

    n_rows: int
    row_bytes: int
    fixed_bytes: int
    bin_bytes: int
    min_histogram_bytes: int
    histogram_bytes: int

    @property
    def minimum(self) -> int:
        """Bytes of a fit with the bins in files."""
        return self.n_rows * self.row_bytes + self.fixed_bytes + PAGES_AT_ONCE * MIN_PAGE_BYTES

    def check(self, limit: int, given: Any) -> None:
        """Raise a ValueError if the limit is too small."""
        if limit < self.minimum:
            raise ValueError(
                f"memory_limit={given!r} is too small for this fit, which needs about {_text(self.minimum)}: {self.row_bytes} bytes for "
                f"each of {self.n_rows:,} rows (targets, predictions, gradients, row lists), and {_text(self.fixed_bytes)} for "
                f"histograms and buffers; give at least memory_limit='{-(-self.minimum // 10**6)}MB', or fewer rows"
            )


def parse_limit(limit: Any) -> int:
    """Return a memory limit in bytes."""
    if isinstance(limit, str):
        size = SIZE.fullmatch(limit)
        if size is None or size[2].upper() not in UNITS:
            raise ValueError(f"memory_limit must be bytes, a fraction, or text such as '2GB' or '500MiB'; got {limit!r}")
        return int(float(size[1]) * UNITS[size[2].upper()])
    return int(limit * memory_of_machine()) if isinstance(limit, float) and limit < 1 else int(limit)


def check_memory(p: CommonParameters, call: FitCall) -> None:
    """Raise a ValueError if the limit is too small for the rows that are known before they are read."""
    if p.memory_limit is None:
        return
    limit = parse_limit(p.memory_limit)
    shape = _known_shape(call.train)
    if shape is None:
        return
    n_rows, n_features = shape
    more = call.train.sample_weight is not None, call.train.offset is not None, bool(call.train.more)
    estimate(p, n_rows, n_features, 1, 0, *more, streams=is_stream(call.train.X)).check(limit, p.memory_limit)


def _known_shape(inputs: FitInput) -> tuple[int, int] | None:
    """Return the number of rows and columns of X; None if they are not known before the rows are read."""
    X = inputs.X
    if is_read_once(X):
        return None
    if (stream := inputs.source.stream) is not None:
        n_rows = stream.count()
        return None if n_rows is None else (n_rows, stream.n_columns)
    shape = getattr(X, "shape", None)
    return (count_rows(X), int(shape[1])) if shape is not None and len(shape) == 2 else None


def plan_storage(p: ResolvedParameters, data: FitData) -> PageStorage | None:
    """Return where binned rows are stored; None for memory. Raise a ValueError if `memory_limit` is too small."""
    table = data.train.table
    folders = table.folders if isinstance(table, Pages) else _folders(p.pages_dir)
    if p.memory_limit is None:
        return PageStorage(folders, compression=p.pages_compression) if folders else None
    limit, train = parse_limit(p.memory_limit), data.train
    own = estimate(
        p,
        train.table.n_rows,
        train.table.n_features,
        data.loss.n_outputs,
        len(data.schema.categories),
        train.weight is not None,
        train.offset is not None,
        train.queries is not None,
        streams=not (train.table.random_access or train.table.is_stored),
        evaluated=sum(own.n_rows for own in data.eval_sets.values() if own.table is not train.table),
    )
    own.check(limit, p.memory_limit)
    train.table.limit_memory(folders[0] if folders else None)
    left = limit - own.n_rows * own.row_bytes - own.fixed_bytes
    wanted = own.histogram_bytes - own.min_histogram_bytes
    bin_bytes = own.n_rows * own.bin_bytes
    if isinstance(train.table, SparseTable):
        bin_bytes = min(bin_bytes, ENTRY_BYTES * train.table.n_entries + GROWTH_BYTES * own.n_rows)
    if bin_bytes + wanted <= left:
        return PageStorage(folders, compression=p.pages_compression) if folders else None
    more = max(0, min(wanted, left // 4))
    left -= more
    page_bytes = min(page_store.PAGE_BYTES, max(MIN_PAGE_BYTES, left // (2 * PAGES_AT_ONCE)))
    resident = max(0, left - PAGES_AT_ONCE * page_bytes)
    return PageStorage(folders, resident, page_bytes, p.pages_compression, own.min_histogram_bytes + more)


def _folders(pages_dir: Any) -> tuple[str, ...]:
    if pages_dir is None:
        return ()
    return tuple(os.fspath(one) for one in ([pages_dir] if isinstance(pages_dir, str | os.PathLike) else pages_dir))


def estimate(
    p: CommonParameters | ResolvedParameters,
    n_rows: int,
    n_features: int,
    n_outputs: int,
    n_categories: int,
    has_weight: bool,
    has_offset: bool,
    has_queries: bool,
    streams: bool,
    evaluated: int = 0,
) -> MemoryEstimate:
    """Return an estimate of the memory that a fit takes."""
    holds_out = p.early_stopping in (True, PER_OUTPUT) or (p.early_stopping == "auto" and n_rows > AUTO_EARLY_STOPPING_ROWS)
    samples = p.sampling != "uniform" or (isinstance(p.subsample, float) and p.subsample < 1)
    row = TARGET_BYTES + GROWTH_BYTES + OUTPUT_BYTES * n_outputs + WEIGHT_BYTES * has_weight + OFFSET_BYTES * n_outputs * has_offset
    row += QUERY_BYTES * has_queries + SPLIT_BYTES * holds_out + SAMPLE_BYTES * samples
    row += CATEGORY_BYTES * n_categories + ENCODING_BYTES * (n_categories > 0)
    groups = -(-n_features // 64)
    width = -(-n_features // groups)
    bins = groups * max(4, 1 << (width - 1).bit_length())
    histogram = n_features * CODES * CELL_BYTES
    leaves = p.max_leaf_nodes if isinstance(p.max_leaf_nodes, int) else DEFAULT_LEAVES
    batch = min(leaves, (p.leaf_batch if isinstance(p.leaf_batch, int) else LEAF_BATCH) if p.grow_policy == "leafwise" else leaves)
    least = (4 + 2 * batch) * histogram
    fixed = FIXED_BYTES + STREAM_BYTES * streams + least + 2 * batch * histogram  # cached histograms, and the sums of a step
    fixed += evaluated * (EVALUATION_BYTES + OUTPUT_BYTES * n_outputs)
    return MemoryEstimate(n_rows, row, fixed, bins + n_features, least, max(least, min(HISTOGRAM_BYTES, leaves * histogram)))


def _text(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"

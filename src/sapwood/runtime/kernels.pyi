# Written by tools/generate_stubs.py: `make stubs`.
"""Loops over rows, bins and nodes."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

BLOCK_ROWS: int

MAX_GRADIENT: int

MAX_HESSIAN: int

GRADIENT_SHIFT: int

HESSIAN_SHIFT: int

def supports_avx2() -> bool:
    """Whether this CPU can run the AVX2 module."""

class GradientTarget:
    """
    Memory for fixed-point gradients, and the factors of gradients and hessians.
    """

    def __init__(
        self, gradient_scale: float, hessian_scale: float, out: Annotated[NDArray[numpy.uint8], dict(order="C", device="cpu")]
    ) -> None: ...

class Loss:
    """A loss of one output by its number, with its parameter if it has one."""

    def __init__(self, kind: int, parameter: float = 0.0) -> None: ...

class LossRows:
    """
    Rows of a loss: targets, raw predictions of one output or of several, weights.
    """

    def __init__(
        self,
        y: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        raw: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> None: ...

def loss_extent(loss: Loss, rows: LossRows, n_threads: int) -> tuple[float, float]:
    """The largest |gradient| and hessian of a loss."""

def array_extent(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_threads: int,
) -> tuple[float, float]:
    """The largest |gradient| and hessian."""

def loss_gradients(
    loss: Loss,
    rows: LossRows,
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """Fill in the gradients and hessians of a loss."""

def loss_fixed_gradients(loss: Loss, rows: LossRows, target: GradientTarget, n_threads: int) -> tuple[int, int, int]:
    """
    Write the fixed-point gradients of a loss. Returns the sums of |gradient|, gradient and hessian.
    """

def fix_gradients(
    gradients: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessians: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    target: GradientTarget,
    n_threads: int,
) -> tuple[int, int, int]:
    """
    Write given gradients as fixed-point numbers. Returns the sums of |gradient|, gradient and hessian.
    """

def loss_values(
    loss: Loss, rows: LossRows, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], n_threads: int
) -> None:
    """Fill in the loss of each row."""

def softmax_fixed_gradients(rows: LossRows, target: GradientTarget, first: int, last: int, n_threads: int) -> list[tuple[int, int, int]]:
    """
    Write the fixed-point gradients of all classes for the rows [first, last). Returns the three sums of each class.
    """

def softmax_values(
    rows: LossRows, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], n_threads: int
) -> None:
    """Fill in the log loss of each row."""

def apply_link(
    link: str, raw: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")], n_threads: int
) -> None:
    """Replace raw scores, (n_rows, n_outputs), by predictions."""

def fill_two_classes(
    second: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Fill in the probabilities of two classes, (n_rows, 2), from those of the second, (n_rows, 1).
    """

def add_leaf_values(
    leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaf_size: int,
    values: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
    raw: Annotated[NDArray[numpy.float64], dict(device="cpu")],
    n_threads: int,
) -> None:
    """Add the values of each row's leaf to raw scores."""

def project_gradients(
    planes: list[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")]],
    gradient_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessian_weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")] | None,
    n_threads: int,
) -> tuple[float, float]:
    """
    Fill in weighted sums of the outputs' fixed-point gradients. Returns the largest |gradient| and hessian.
    """

def leaf_sums(
    planes: list[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")]],
    leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaf_size: int,
    gradient: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
    hessian: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """
    Fill in the exact sums of each output's gradients and hessians in each leaf.
    """

def exact_sum(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)], n_threads: int = 1
) -> float:
    """The sum, rounded once."""

def exact_sum_words(
    x: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)], shift: int, n_threads: int = 1
) -> tuple[int, int]:
    """The sum of x * 2^shift, as (high, low): high * 2^32 + low."""

def leaf_quantiles(
    leaf_of_row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: LossRows,
    quantile: float,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """Fill in the quantile of y - raw in each leaf."""

def leaf_huber(
    leaf_of_row: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: LossRows,
    delta: float,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """Fill in the shift of each leaf with the least Huber loss."""

class RankedRows:
    """
    Rows of queries: gains, raw scores, weights; the first row of each query; the factor of its gradients. The begins must not change afterwards.
    """

    def __init__(
        self,
        gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        raw: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        unit: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> None: ...

class PairRule:
    """How pairs of a query's rows are weighted."""

    def __init__(self, measure: int, truncation: int, steepness: float = 1.0, normalize: bool = False) -> None: ...

def pair_gradients(
    rows: RankedRows,
    rule: PairRule,
    gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> tuple[float, float]:
    """
    Fill in the gradients and hessians of the pairs of each query. Returns the largest |gradient| and hessian.
    """

def listwise_gradients(
    rows: RankedRows,
    gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    hessian: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> tuple[float, float]:
    """
    Fill in the gradients and hessians of each query's softmax. Returns the largest |gradient| and hessian.
    """

def pair_values(
    rows: RankedRows, steepness: float, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], n_threads: int
) -> None:
    """Fill in the loss of the pairs of each query."""

def listwise_values(
    rows: RankedRows, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")], n_threads: int
) -> None:
    """Fill in the cross-entropy of each query."""

def rank_values(
    rows: RankedRows,
    measure: int,
    last_rank: int,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """Fill in the measure of each query, over its first `last_rank` rows."""

class RowSampling:
    """
    A way to sample rows, its two numbers, and the key of its random numbers.
    """

    def __init__(self, kind: int, a: float, b: float, key: int) -> None: ...

def sample_rows(
    n: int, first_row: int, fraction: float, key: int, n_threads: int = 1
) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """The rows whose hash is below a fraction of all hashes."""

def sample_gradients(
    gradients: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    sampling: RowSampling,
    first_row: int,
    n_threads: int,
) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], tuple[int, int, int]]:
    """
    Draw rows and scale their gradients. Returns the rows, and the sums of |gradient|, gradient and hessian.
    """

def hash_rows(n: int, key: int, first_row: int = 0) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
    """The hash of each row."""

class ColumnLayout:
    """The storage of features that do not all have a column of their own."""

    def __init__(
        self,
        missing_bin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        column: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        default_bin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def n_list_bins(self) -> int: ...

def store_rows(
    bins: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    columns: ColumnLayout,
    page: PageBuffer,
    first_row: int,
    n_threads: int,
) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]]:
    """
    Write plain rows of bins to a page. Returns how long each row's list is, and the lists.
    """

def take_lists(
    begin: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    bins: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    n_threads: int,
) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]]:
    """The lists of some rows."""

def find_cuts(
    x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    max_bins: int,
    n_threads: int,
) -> list[Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """The cut points of each column, from all rows or the given ones."""

class CutPoints:
    """
    Cut points of features, end to end. The arrays must not change afterwards.
    """

    def __init__(
        self,
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class PageBuffer:
    """
    Memory of a page that is filled: codes, (n_groups, n_rows, stride), zero at first; flags of the features with missing values, and of those that clash in a shared column.
    """

    def __init__(
        self,
        codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order="C", device="cpu")],
        width: int,
        missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        clashes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    ) -> None: ...

def bin_table(
    x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
    cuts: CutPoints,
    page: PageBuffer,
    first_row: int,
    first_feature: int,
    n_threads: int,
) -> None:
    """
    Write the bins of some columns to a page; set `missing` where a value is missing.
    """

def hash_columns(
    x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
    first_row: int,
    sums: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")],
    n_threads: int,
) -> None:
    """Add a hash of each column's values and their rows to `sums`."""

def sum_before(
    order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    keys: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    before: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")] | None,
    totals: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
) -> None:
    """
    Sum targets and weights by key, in an order of rows: before each row, and in all.
    """

class SparseMatrix:
    """
    A sparse matrix in compressed rows (CSR) or columns (CSC). The arrays must not change afterwards.
    """

    def __init__(
        self,
        values: Annotated[
            NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None,), order="C", device="cpu", writable=False)
        ],
        indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_minor: int,
        absent_missing: bool,
        n_threads: int,
    ) -> None: ...
    def transposed(self, n_threads: int) -> SparseMatrix:
        """
        The same matrix in columns if this is in rows, in rows if it is in columns.
        """

    def find_cuts(
        self,
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        max_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_threads: int,
    ) -> list[Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """The cut points of each of these columns."""

    def store(
        self, cuts: CutPoints, columns: ColumnLayout, page: PageBuffer, n_threads: int
    ) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]]:
        """
        Write the bins of these rows to a page. Returns where each row's list begins, and the lists.
        """

    def hash_columns(
        self, sums: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu")], n_threads: int, first_row: int = 0
    ) -> None:
        """Add a hash of each column's entries and their rows to `sums`."""

    def bundle_features(
        self,
        order: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_codes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        max_codes: int,
        n_open: int,
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """
        Put features that exclude each other in bundles. Returns the number of each feature's bundle, or -1.
        """

    def fill_dense(
        self,
        first_major: int,
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """
        Fill in a dense part: some rows (or columns), the indices [first, last) of each.
        """

def sort_columns(
    x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
    n_threads: int,
) -> list[tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]]:
    """
    Of each column: its (row, rank) pairs sorted by rank, and its distinct values.
    """

class BinLayout:
    """Layout of features and columns in a page and in a histogram."""

    def __init__(
        self,
        n_bins: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        missing_bin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        width: int,
        stride: int,
        columns: ColumnLayout | None = None,
    ) -> None: ...
    @property
    def n_features(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def stride(self) -> int: ...
    @property
    def n_cells(self) -> int:
        """Number of a histogram's cells."""

    @property
    def column_begin(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        (n_columns + 1,): first cell of each column; the last is the first cell of row lists.
        """

    @property
    def storage(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]:
        """
        (n_features, 4): column (-1: row lists), default bin (-1: none), first stored bin, number of stored bins.
        """

class Page:
    """
    Binned rows. Their codes and lists are checked here, once; the arrays must not change afterwards.
    """

    def __init__(
        self,
        layout: BinLayout,
        codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_rows: int,
        lists: tuple[
            Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ]
        | None = None,
        first_row: int = 0,
    ) -> None: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def first_row(self) -> int:
        """Id of its first row among all rows of the data set."""

class HistogramFormat:
    """
    How a tree's histograms hold their sums. Sums of several partitions add up.
    """

    def __init__(self, gradients: int, count_bits: int, gradient_shift: int = 0, hessian_shift: int = 0) -> None: ...
    @property
    def gradients(self) -> int:
        """0: single, 1: wide, 2: narrow."""

    @property
    def count_bits(self) -> int: ...
    @property
    def gradient_shift(self) -> int: ...
    @property
    def hessian_shift(self) -> int: ...

class SplitRules:
    """Rules of one tree's splits, in the units of its histograms."""

    def __init__(
        self,
        l2: float = 0.0,
        hessian_unit: float = 1.0,
        min_hessian: float = 0.0,
        min_gain: float = 0.0,
        noise: float = 0.0,
        min_count: int = 1,
        gradient_unit: float = 1.0,
        extra: bool = False,
    ) -> None: ...

class TreeSettings:
    """Everything but gradients that one tree is grown by."""

    def __init__(self, format: HistogramFormat, rules: SplitRules, max_depth: int, key: int) -> None: ...
    @property
    def format(self) -> HistogramFormat: ...
    @property
    def key(self) -> int: ...

class TreeConstraints:
    """Constraints of all trees of a model, in real units."""

    def __init__(
        self,
        l1: float = 0.0,
        max_step: float = float("inf"),
        smooth: float = 0.0,
        score_noise: float = 0.0,
        symmetric: bool = False,
        neighbours: bool = False,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
        monotonic: Annotated[NDArray[numpy.int8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
        kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
        category_smooth: float = 0.0,
        category_l2: float = 0.0,
        min_level_rows: int = 1,
    ) -> None: ...

class LeafMinimum:
    """
    Rows and hessian that a leaf must have. Fixed-point hessians are divided by `hessian_scale`.
    """

    def __init__(self, rows: int, hessian: float, hessian_scale: float) -> None: ...

def divide_levels(
    gradient: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    hessian: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    minimum: LeafMinimum,
) -> tuple[
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
    Annotated[NDArray[numpy.int64], dict(shape=(None, None))],
    Annotated[NDArray[numpy.int64], dict(shape=(None,))],
]:
    """
    Branches of a symmetric tree from the sums of its leaves: level that divides each, left, right, sums (3, n), and branch of each leaf.
    """

class GrownTree:
    """
    A tree that is grown: nodes in real units; `lower`, `upper`, `anchor` of its leaves.
    """

    @property
    def feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def bin(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def left(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def right(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def missing_left(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def by_levels(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def count(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def gain(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def leaves(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def inner(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def lower(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def upper(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def anchor(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class NodeColumns:
    """
    The nodes of a growing tree, in the units of its histograms. `step` is a node's value where constraints shape it, before the learning rate; `anchor` its parent's.
    """

    @property
    def feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def bin(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def left(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def right(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def missing_left(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def by_levels(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def count(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def gain(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def depth(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def gradient(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def hessian(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...
    @property
    def lower(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def upper(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def step(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def anchor(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class SplitBatch:
    """One step of a growing tree: nodes to split, then histograms to build."""

    @property
    def n_splits(self) -> int: ...
    @property
    def n_histograms(self) -> int: ...
    @property
    def n_words(self) -> int:
        """Number of words of a histogram."""

    @property
    def first(self) -> int:
        """
        The children of split i are the nodes first + 2 i (left) and first + 2 i + 1.
        """

    @property
    def nodes(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """(n_splits,): nodes to split."""

    @property
    def features(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """(n_splits,): features that the nodes are split on."""

    @property
    def sides(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None, None))]:
        """
        (n_splits, 257): whether rows go left, by the code in the column of the feature (or stored bin, in row lists); the last is the side of the default bin.
        """

    @property
    def histograms(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """(n_histograms,): nodes whose histograms are to be built."""

    @property
    def uncounted(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]:
        """Children whose numbers of rows are known only after the split."""

    @property
    def n_results(self) -> int:
        """Number of words of all histograms, and of numbers of rows."""

class RowPartition:
    """
    Some rows of a data set, by the node of a growing tree that each is in.
    """

    @overload
    def __init__(self, layout: BinLayout, pages: list[Page], n_threads: int) -> None: ...
    @overload
    def __init__(self, layout: BinLayout, n_rows: int, first_row: int, n_threads: int, other: RowPartition | None = None) -> None:
        """
        One page that is in memory only between `load` and `unload`. It shares the temporary memory of another one, if given: both must not be used at the same time.
        """

    def load(self, page: Page) -> None:
        """Take the page of a partition that was made without one."""

    def unload(self) -> None:
        """Forget the page."""

    @property
    def n_rows(self) -> int: ...
    def start(
        self,
        gradients: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        format: HistogramFormat,
        key: int,
        sample: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        Begin a tree on all rows, or on a sample of their ids. Returns the sums of its rows: gradient, hessian, count.
        """

    def apply(self, batch: SplitBatch) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        Split nodes and build histograms. Returns the histograms, (n_histograms, n_words) in a row, then the numbers of rows of those children whose numbers were not known beforehand.
        """

    def apply_to(self, batch: SplitBatch, words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")]) -> None:
        """The same, but add to the results of other partitions."""

    @staticmethod
    def sides(layout: BinLayout, feature: int, bin: int, missing_left: bool) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """(257,): the sides of a split, as `SplitBatch.sides`."""

    def split_sums(
        self, node: int, feature: int, bin: int, missing_left: bool
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """
        (2, 3): gradient, hessian and count of the rows that a split would send left, and of all rows of the node.
        """

    def leaf_sums(
        self,
        leaves: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        leaf_of_row: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        leaf_size: int,
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """
        (3, n_leaves): exact sums of the leaves' gradients, hessians and rows. Writes the number of its leaf for each row, sampled or not, in `leaf_size` bytes.
        """

class SplitSearch:
    """
    The best splits of a growing tree's nodes, from sums over all rows of the data set.
    """

    def __init__(self, layout: BinLayout, n_threads: int, max_histogram_bytes: int) -> None: ...
    def constrain(self, constraints: TreeConstraints) -> None:
        """Set the constraints of all trees to come."""

    def histogram(self, node: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))] | None:
        """
        (n_cells, 3): gradient, hessian and count of each bin in a node; None if it is not kept.
        """

    @overload
    def start(
        self,
        sums: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        settings: TreeSettings,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> SplitBatch:
        """Begin a tree whose root has these sums."""

    @overload
    def start(
        self,
        partition: RowPartition,
        gradients: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        settings: TreeSettings,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
        sample: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> float:
        """
        Begin a tree on a partition that has all rows. Returns the gain of the root's best split.
        """

    def begin(
        self,
        nodes: list[int],
        search: bool,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)] | None = None,
    ) -> SplitBatch:
        """
        Make the children of nodes. With `search`, their best splits are found.
        """

    def begin_again(
        self,
        node: int,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> SplitBatch:
        """Find the best split of a leaf again: its limits have changed."""

    def take(
        self, batch: SplitBatch, words: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None:
        """Take the results of `RowPartition.apply`, summed over all partitions."""

    def best(self, batch: SplitBatch) -> tuple[int, list[float]]:
        """
        Find the best splits. Returns the first node of the step, and the gains of its nodes.
        """

    @overload
    def force(
        self,
        node: int,
        feature: int,
        bin: int,
        missing_left: bool,
        sums: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ) -> bool:
        """
        Make this the split of a node, whatever its gain; `sums` are those of `RowPartition.split_sums`. False if a child would be empty.
        """

    @overload
    def force(self, partition: RowPartition, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        """
        Make this the split of a node, whatever its gain. False if a child would be empty.
        """

    def advance(
        self,
        partition: RowPartition,
        nodes: list[int],
        search: bool,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)] | None = None,
    ) -> tuple[int, list[float]]:
        """
        Split nodes: `begin`, `RowPartition.apply`, `take` and `best` at once, without copies of histograms.
        """

    def search_again(
        self,
        partition: RowPartition,
        node: int,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> float:
        """The gain of a leaf whose limits have changed."""

    def nodes(self) -> NodeColumns:
        """All nodes, in the units of histograms."""

    def grown(self, unit: float) -> GrownTree:
        """
        The tree; `unit` is the real value of one unit of a histogram's gradient.
        """

    def sets(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None, None))]:
        """
        (n, 8): the levels that go left, of the nodes that are split by levels.
        """

    def limit(self, node: int, lower: float, upper: float) -> None:
        """Set the bounds of a node's value."""

    def split_features(self, nodes: list[int]) -> list[int]:
        """The features of nodes' best splits."""

class SortedTree:
    """A growing tree on rows that are sorted by every feature."""

    def __init__(
        self,
        columns: list[Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order="C", device="cpu", writable=False)]],
        n_values: list[int],
        n_threads: int,
        proposal: int = 0,
        n_quantiles: int = 1,
    ) -> None: ...
    def constrain(self, constraints: TreeConstraints) -> None:
        """Set the constraints of all trees to come."""

    def start(
        self,
        gradients: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        settings: TreeSettings,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
        sample: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> float:
        """Begin a tree. Returns the gain of the root's best split."""

    def advance(
        self,
        nodes: list[int],
        search: bool,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order="C", device="cpu", writable=False)] | None = None,
    ) -> tuple[int, list[float]]:
        """Split nodes. Returns the first child, and the gains of the children."""

    def search_again(
        self,
        node: int,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> float:
        """The gain of a leaf whose limits have changed."""

    def force(self, node: int, feature: int, bin: int, missing_left: bool) -> bool:
        """
        Make this the split of a node, whatever its gain. False if a child would be empty.
        """

    def leaf_sums(
        self,
        leaves: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        leaf_of_row: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
        leaf_size: int,
    ) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """
        (3, n_leaves): exact sums of the leaves' gradients, hessians and rows. Writes the number of its leaf for each row.
        """

    def nodes(self) -> NodeColumns:
        """All nodes, in the units of histograms."""

    def grown(self, unit: float) -> GrownTree:
        """
        The tree; `unit` is the real value of one unit of a histogram's gradient.
        """

    def sets(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None, None))]:
        """
        (n, 8): the levels that go left, of the nodes that are split by levels.
        """

    def limit(self, node: int, lower: float, upper: float) -> None:
        """Set the bounds of a node's value."""

    def split_features(self, nodes: list[int]) -> list[int]:
        """The features of nodes' best splits."""

class TreeArrays:
    """
    Structure of trees: their nodes, end to end. The arrays must not change afterwards.
    """

    def __init__(
        self,
        *,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sets: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order="C", device="cpu", writable=False)] | None = None,
    ) -> None: ...

class LeafArrays:
    """
    Parameters of the leaves of trees, by node. The arrays must not change afterwards.
    """

    @overload
    def __init__(self, *, value: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)]) -> None: ...
    @overload
    def __init__(
        self,
        *,
        value: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu", writable=False)],
        n_slopes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        slope_input: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        slope: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        slope_center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        slope_low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        slope_high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        input_feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        input_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        input_cuts: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        input_values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

def add_tree(
    page: Page,
    tree: TreeArrays,
    leaves: LeafArrays,
    kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    raw: Annotated[NDArray[numpy.float64], dict(device="cpu")],
    n_threads: int,
) -> None:
    """Add the leaf values of one tree to the raw scores of a page's rows."""

class Scorer:
    """Trees, arranged for prediction."""

    def __init__(
        self,
        trees: TreeArrays,
        leaves: LeafArrays,
        n_features: int,
        n_outputs: int,
        n_levels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
    ) -> None: ...
    def add(
        self,
        x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """Add the predictions of the trees [first, last) to `out`."""

    def add_sparse(
        self,
        rows: SparseMatrix,
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """
        Add the predictions of the trees [first, last) to `out`, for sparse rows.
        """

    def leaves(
        self,
        x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """Fill in the leaf of each row in the trees [first, last)."""

class Explainer:
    """SHAP values of trees: of players, each of one or more features."""

    def __init__(
        self,
        scorer: Scorer,
        weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        player: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_players: int,
    ) -> None: ...
    def add_interventional(
        self,
        x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
        background: Annotated[
            NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)
        ],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """
        Add the SHAP values of the trees [first, last) against background rows to `out`.
        """

    def add(
        self,
        x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """Add the SHAP values of the trees [first, last) to `out`."""

    def add_interactions(
        self,
        x: Annotated[NDArray[numpy.bool_ | numpy.integer | numpy.floating], dict(shape=(None, None), device="cpu", writable=False)],
        first: int,
        last: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
        n_threads: int,
    ) -> None:
        """Add the SHAP interaction values of the trees [first, last) to `out`."""

MAX_LEVEL: int

def slope_means(
    *,
    page: Page,
    records: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaf_size: int,
    features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    levels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slots: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    sums: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order="C", device="cpu")],
    most: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order="C", device="cpu")],
    n_threads: int,
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> None:
    """
    Add the rows of a page to `sums` and `most` of the inputs in each leaf: rows, hessian and hessian * level (three words); the largest -level and level.
    """

def slope_products(
    *,
    page: Page,
    records: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaf_size: int,
    features: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    levels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    slots: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    centers: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    sums: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order="C", device="cpu")],
    n_threads: int,
    rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None = None,
) -> None:
    """
    Add the rows of a page to the normal equations of each leaf, three words for each sum.
    """

def solve_slopes(
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)],
    b: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    ridge: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    Return the solutions, (n, d), of (a + ridge) x = -b for symmetric a, (n, d, d); 0 where a slope is not determined.
    """

def add_linear_leaves(
    *,
    page: Page,
    leaves: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu")],
    leaf_size: int,
    values: LeafArrays,
    raw: Annotated[NDArray[numpy.float64], dict(device="cpu")],
    n_threads: int,
) -> None:
    """
    Add what linear leaves say to the raw scores of a page's rows, whose leaves are known.
    """

def hash_bytes(data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)]) -> int:
    """A 64-bit hash."""

class StoredNodes:
    """
    Nodes of a model file, not yet checked. The arrays must not change afterwards.
    """

    def __init__(
        self,
        *,
        begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        feature: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threshold: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bin: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        left: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        right: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        missing_left: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        gain: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        count: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    def find_fault(
        self,
        kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        cuts_begin: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        n_sets: int,
    ) -> str | None:
        """The first fault of the nodes; None if they are sound."""

def apply_function(name: str, x: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")], n_threads: int = 1) -> None:
    """Replace numbers by their values of an elementary function."""

DEFAULT_FLOAT_MODE: int

def set_float_mode(mode: int) -> int:
    """
    Set how this thread rounds and treats subnormal numbers (MXCSR or FPCR). Returns the mode before.
    """

name: str
"""The module that was chosen: avx2 or baseline."""

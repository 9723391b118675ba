"""Binned tables and integer gradients to grow trees on."""

import sys
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sapwood.trees.growth import LocalGrower, TreeInput
from tests.reference import histogram as twin

SINGLE, WIDE, NARROW = 0, 1, 2
MODES = {"single": SINGLE, "wide": WIDE, "narrow": NARROW}
PAIR = np.dtype([("gradient", "i4"), ("hessian", "u4")])
NODES = ["feature", "bin", "left", "right", "missing_left", "by_levels", "count", "gain", "depth"]
NODES += ["gradient", "hessian", "lower", "upper", "step", "anchor"]


def module_of(grower):
    """The compiled module that a grower is made of."""
    return sys.modules[type(grower.search).__module__]


def nodes_of(grower):
    """The arrays of all nodes, by name."""
    nodes = grower.nodes()
    return {name: getattr(nodes, name) for name in NODES}


def constrain(grower, **constraints):
    grower.constrain(module_of(grower).TreeConstraints(**constraints))
    return grower


@dataclass
class Binned:
    """Rows of bins; where `missing`, a feature's last bin holds the missing values."""

    bins: np.ndarray  # (n_rows, n_features) uint8
    n_bins: np.ndarray  # (n_features,) int32
    missing: np.ndarray  # (n_features,) uint8

    @classmethod
    def random(cls, rng, n_rows, n_features, most_bins=12, missing_share=0.4):
        n_bins = rng.integers(1, most_bins + 1, n_features).astype(np.int32)
        n_bins[-1] = most_bins
        missing = ((rng.random(n_features) < missing_share) & (n_bins > 1)).astype(np.uint8)
        return cls(rng.integers(0, n_bins, (n_rows, n_features)).astype(np.uint8), n_bins, missing)

    @property
    def n_rows(self):
        return len(self.bins)

    @property
    def n_features(self):
        return len(self.n_bins)

    def layout(self, width=None, stride=None):
        """The arguments of a BinLayout."""
        width = width or self.n_features
        stride = stride or -(-width // 4) * 4
        return {
            "n_bins": self.n_bins,
            "missing": self.missing,
            "missing_bin": np.where(self.missing, self.n_bins - 1, np.minimum(self.n_bins, 255)).astype(np.int32),
            "width": width,
            "stride": stride,
        }

    def pages(self, n_pages=1, width=None, stride=None):
        """The rows as pages: features in groups of `width`, each row of a group padded to `stride` bytes."""
        form = self.layout(width, stride)
        width, stride = form["width"], form["stride"]
        n_groups = -(-self.n_features // width)
        pages = []
        for part in np.array_split(self.bins, n_pages):
            page = np.zeros((n_groups, len(part), stride), dtype=np.uint8)
            for f in range(self.n_features):
                page[f // width, :, f % width] = part[:, f]
            pages.append(page)
        return pages

    def grower(self, kernels, n_pages=1, width=None, stride=None, n_threads=1, max_histogram_bytes=1 << 30):
        layout = kernels.BinLayout(**self.layout(width, stride))
        pages = native_pages(kernels, layout, self.pages(n_pages, width, stride))
        return LocalGrower(
            kernels.SplitSearch(layout, n_threads, max_histogram_bytes),
            kernels.RowPartition(layout, pages, n_threads),
        )


class Partitions:
    """Several partitions of a data set, each as if in a process of its own: what they return is added up.

    parts : RowPartitions; rows : the slice of all rows that each has; first_row : the id of the first of all
    """

    def __init__(self, parts, rows, first_row=0):
        self.parts, self.rows, self.first_row = parts, rows, first_row

    def start(self, gradients, format, key, sample=None):
        size = 4 if format.gradients == SINGLE else 8
        sums = []
        for part, rows in zip(self.parts, self.rows, strict=True):
            begin, end = self.first_row + rows.start, self.first_row + rows.stop
            own = None if sample is None else sample[(sample >= begin) & (sample < end)]
            sums.append(part.start(gradients[rows.start * size : rows.stop * size], format, key, own))
        return np.sum(sums, axis=0)

    def apply(self, batch):
        return np.sum([part.apply(batch) for part in self.parts], axis=0)

    def split_sums(self, *split):
        return np.sum([part.split_sums(*split) for part in self.parts], axis=0)

    def leaf_sums(self, leaves, leaf_of_row, leaf_size):
        of_parts = [leaf_of_row[rows.start * leaf_size : rows.stop * leaf_size] for rows in self.rows]
        return np.sum([part.leaf_sums(leaves, own, leaf_size) for part, own in zip(self.parts, of_parts, strict=True)], axis=0)


CUTS = {1: [], 2: [0.3], 3: [0.3, 0.3], 5: [0.0, 0.1, 0.15, 0.8]}  # where partitions are cut: one is empty


def slices(n_rows, n_partitions):
    """The rows of each partition: of different sizes, some have none."""
    at = [0, *(int(cut * n_rows) for cut in CUTS[n_partitions]), n_rows]
    return [slice(a, b) for a, b in pairwise(at)]


def native_pages(kernels, layout, pages, lists=None, first_row=0):
    """Native pages of arrays, (n_groups, n_rows, stride), and of row lists; the rows of each follow those of the page before."""
    out = []
    for i, page in enumerate(pages):
        out.append(kernels.Page(layout, page.reshape(-1), page.shape[1], lists[i] if lists else None, first_row))
        first_row += page.shape[1]
    return out


@dataclass
class Gradients:
    """Wide integer gradients and hessians of rows, and how a histogram in some mode sees them."""

    mode: int
    gradient: np.ndarray  # (n_rows,) int64
    hessian: np.ndarray  # (n_rows,) int64: all one in single mode
    count_bits: int = 20
    gradient_shift: int = 0
    hessian_shift: int = 0
    key: int = 0x123456789ABCDEF

    @classmethod
    def random(cls, rng, n_rows, mode, **more):
        # The largest that records may hold: what rounding adds must still fit.
        gradient = rng.integers(-(16383 << 16), (16383 << 16) + 1, n_rows)
        hessian = np.ones(n_rows, dtype=np.int64) if mode == SINGLE else rng.integers(0, (8191 << 18) + 1, n_rows)
        return cls(mode, gradient, hessian, count_bits=n_rows.bit_length(), **more)

    @classmethod
    def small(cls, gradient, hessian, mode=WIDE):
        return cls(mode, np.asarray(gradient, dtype=np.int64), np.asarray(hessian, dtype=np.int64))

    def records(self):
        """The records as bytes: a fresh copy, for a RowPartition changes them."""
        if self.mode == SINGLE:
            return self.gradient.astype(np.int32).view(np.uint8)
        pairs = np.empty(len(self.gradient), dtype=PAIR)
        pairs["gradient"], pairs["hessian"] = self.gradient, self.hessian
        return pairs.view(np.uint8)

    def seen(self):
        """What a histogram adds for each row: gradient and hessian."""
        if self.mode == NARROW:
            return twin.narrow(self.gradient, self.hessian, self.key)
        gradient = twin.round_shift(self.gradient, self.gradient_shift)
        return gradient, self.hessian if self.mode == SINGLE else twin.round_shift(self.hessian, self.hessian_shift)

    def histogram(self, table, rows=slice(None)):
        """(n_cells, 3) int64, by the twin."""
        gradient, hessian = self.seen()
        return twin.histogram(table.bins[rows], table.n_bins, gradient[rows], hessian[rows])

    def format(self, kernels):
        return kernels.HistogramFormat(self.mode, self.count_bits, self.gradient_shift, self.hessian_shift)

    def start(self, grower, max_depth=0, allowed=None, sample=None, **rules):
        """Begin a tree; returns the gain of the root's best split."""
        kernels = module_of(grower)
        settings = kernels.TreeSettings(self.format(kernels), kernels.SplitRules(**rules), max_depth, self.key)
        return grower.start(TreeInput(self.records(), settings, allowed, sample))


def grow(tree, gradients, n_splits, leaf_size=4, **rules):
    """Split the node of the highest gain again and again. Returns the nodes, which of them are leaves, their sums, and each row's leaf."""
    gains = {0: gradients.start(tree, **rules)}
    for _ in range(n_splits):
        node = max(gains, key=gains.get)
        if gains.pop(node) <= 0:
            break
        first, found = tree.advance([node], True, None)
        gains |= {first + i: gain for i, gain in enumerate(found)}
    nodes = nodes_of(tree)
    leaves = np.flatnonzero(nodes["left"] < 0)
    of_row = np.zeros(leaf_size * len(gradients.gradient), dtype=np.uint8)
    return nodes, leaves, tree.leaf_sums(leaves, of_row, leaf_size), of_row.view(f"u{leaf_size}")

"""Calls of every family of kernels, each of which meets a failing allocation at every place. Run by test_out_of_memory.py in a process with
the library of failing_allocator.cpp preloaded: `python -m tests.kernels.out_of_memory LIBRARY N_THREADS`."""

import ctypes
import hashlib
import sys

import numpy as np
from scipy import sparse

from sapwood.runtime import kernels
from tests.kernels.binned import NARROW, SINGLE, WIDE, Binned, Gradients, constrain, grow

N = 20_000  # rows: enough for several tasks of every kernel
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y, RAW, WEIGHT = RNG.gamma(2.0, size=N), RNG.normal(size=N), RNG.random(N)
LEAF = RNG.integers(0, 7, N).astype(np.uint32)
CUTS = np.linspace(-2, 2, 30)


GAIN = RNG.integers(0, 2, N).astype(float)
MATRIX = sparse.csr_array(np.where(RNG.random((N, 20)) < 0.05, RNG.integers(1, 5, (N, 20)), 0).astype(float))
TABLE = Binned.random(RNG, N, 6, most_bins=40)
GRADIENTS = {mode: Gradients.random(RNG, N, mode) for mode in (SINGLE, WIDE, NARROW)}
SMALL = Binned.random(RNG, 3_000, 4, most_bins=20)
SMALL_GRADIENTS = Gradients.random(RNG, 3_000, WIDE)


def losses(n_threads):
    loss, rows = kernels.Loss(2), kernels.LossRows(Y, RAW, WEIGHT)
    out, values, floats = np.zeros(8 * N, dtype=np.uint8), np.empty(N), np.empty((2, N))
    kernels.loss_fixed_gradients(loss, rows, kernels.GradientTarget(2.0**10, 2.0**10, out), n_threads)
    kernels.loss_values(loss, rows, values, n_threads)
    kernels.loss_gradients(loss, rows, *floats, n_threads)
    return out, values, floats, kernels.loss_extent(loss, rows, n_threads)


def softmax(n_threads):
    rows = kernels.LossRows(np.arange(N) % 3.0, np.stack([RAW, -RAW, 2 * RAW]), WEIGHT)
    out, values = np.zeros((3, 8 * N), dtype=np.uint8), np.empty(N)
    sums = kernels.softmax_fixed_gradients(rows, kernels.GradientTarget(2.0**20, 2.0**20, out), 0, N, n_threads)
    kernels.softmax_values(rows, values, n_threads)
    raw = np.stack([RAW, -RAW, 2 * RAW], axis=1)
    kernels.apply_link("softmax", raw, n_threads)
    return out, values, sums, raw


def leaves(n_threads):
    rows, out, raw = kernels.LossRows(Y, RAW, WEIGHT), np.empty((2, 7)), RAW.copy()
    kernels.leaf_quantiles(LEAF, rows, 0.3, out[0], n_threads)
    kernels.leaf_huber(LEAF, rows, 0.5, out[1], n_threads)
    kernels.add_leaf_values(LEAF.view(np.uint8), 4, np.arange(7.0), raw, n_threads)
    planes, sums = [GRADIENTS[WIDE].records(), GRADIENTS[WIDE].records()], np.zeros((2, 7, 2), dtype=np.int64)
    kernels.leaf_sums(planes, LEAF.view(np.uint8), 4, *sums, n_threads)
    floats = np.empty((2, N))
    kernels.project_gradients(planes, np.ones(2), np.ones(2), *floats, n_threads)
    return out, raw, sums, floats


def numbers(n_threads):
    x = X.ravel().copy()
    kernels.apply_function("log_ndtr", x, n_threads)
    return x, kernels.exact_sum(Y, n_threads), kernels.exact_sum_words(Y, 20, n_threads)


def ranking(n_threads):
    rows = kernels.RankedRows(GAIN, RAW, None, np.arange(0, N + 1, 20), np.ones(N // 20))
    out, values = np.empty((4, N)), np.empty((3, N // 20))
    kernels.pair_gradients(rows, kernels.PairRule(0, 10, normalize=True), out[0], out[1], n_threads)
    kernels.listwise_gradients(rows, out[2], out[3], n_threads)
    kernels.pair_values(rows, 1.0, values[0], n_threads)
    kernels.listwise_values(rows, values[1], n_threads)
    kernels.rank_values(rows, 1, 10, values[2], n_threads)
    return out, values


def sampling(n_threads):
    gradients = GRADIENTS[WIDE].records()
    rows, sums = kernels.sample_gradients(gradients, kernels.RowSampling(2, 0.5, 1e9, 7), 0, n_threads)
    return kernels.sample_rows(N, 0, 0.3, 5, n_threads), rows, sums, gradients


def binning(n_threads):
    cuts = kernels.find_cuts(X, None, WEIGHT, 16, n_threads) + kernels.find_cuts(X, None, None, 16, n_threads)
    page, flags = np.zeros((1, N, 4), dtype=np.uint8), np.zeros((2, 3), dtype=np.uint8)
    native = kernels.CutPoints(np.tile(CUTS, 3), np.arange(4) * len(CUTS))
    kernels.bin_table(X, native, kernels.PageBuffer(page, 3, *flags), 0, 0, n_threads)
    hashes = np.zeros(3, dtype=np.uint64)
    kernels.hash_columns(X, 0, hashes, n_threads)
    return cuts, page, flags, hashes


def sparse_binning(n_threads):
    rows = kernels.SparseMatrix(MATRIX.data, MATRIX.indices.astype(np.int32), MATRIX.indptr.astype(np.int64), 20, False, n_threads)
    columns = rows.transposed(n_threads)
    cuts = columns.find_cuts(None, np.full(20, 8, dtype=np.int32), n_threads)
    bundles = columns.bundle_features(np.arange(20, dtype=np.int32), np.full(20, 5, dtype=np.int32), 256, 8)
    native = kernels.CutPoints(np.concatenate(cuts), np.concatenate([[0], np.cumsum([len(c) for c in cuts])]))
    n_bins = np.array([len(c) + 1 for c in cuts], dtype=np.int32)
    layout = kernels.ColumnLayout(n_bins, np.full(20, -1, dtype=np.int32), np.zeros(20, dtype=np.int32))
    page = kernels.PageBuffer(np.zeros((0, N, 4), dtype=np.uint8), 1, *np.zeros((2, 20), dtype=np.uint8))
    begin, bins = rows.store(native, layout, page, n_threads)
    dense, hashes = np.empty((N, 20)), np.zeros(20, dtype=np.uint64)
    rows.fill_dense(0, 0, 20, dense, n_threads)
    rows.hash_columns(hashes, n_threads)
    return cuts, bundles, begin, bins, kernels.take_lists(begin, bins, np.arange(0, N, 3), n_threads), dense, hashes


def bundled_growing(n_threads):
    """Rows in lists: half of the features are nearly always in their default bin."""
    rng = np.random.default_rng(3)
    bins = np.where(rng.random((N, 12)) < 0.1, rng.integers(1, 3, (N, 12)), 0).astype(np.uint8)
    missing_bin = np.full(12, 3, dtype=np.int32)
    columns = kernels.ColumnLayout(
        missing_bin, np.repeat(np.array([-1, 0], dtype=np.int32), [11, 1]), np.repeat([0, -1], [11, 1]).astype(np.int32)
    )
    page, flags = np.zeros((1, N, 4), dtype=np.uint8), np.zeros((2, 12), dtype=np.uint8)
    lengths, listed = kernels.store_rows(bins, columns, kernels.PageBuffer(page, 1, *flags), 0, n_threads)
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    layout = kernels.BinLayout(missing_bin, np.zeros(12, dtype=np.uint8), missing_bin, 1, 4, columns)
    native = kernels.Page(layout, page.reshape(-1), N, (begin, listed))
    search, partition = kernels.SplitSearch(layout, n_threads, 1 << 20), kernels.RowPartition(layout, [native], n_threads)
    settings = kernels.TreeSettings(GRADIENTS[NARROW].format(kernels), kernels.SplitRules(), 0, 1)
    search.start(partition, GRADIENTS[NARROW].records(), settings)
    for node in (0, 1, 2):
        search.advance(partition, [node], True)
    of_row = np.zeros(N, dtype=np.uint8)
    return partition.leaf_sums(np.arange(3, 7), of_row, 1), of_row, search.nodes().gain


def growing(mode):
    def run(n_threads):
        return grow(TABLE.grower(kernels, n_pages=2, n_threads=n_threads), GRADIENTS[mode], 6, leaf_size=1)

    return run


GROWERS = {}


def growing_again(n_threads):
    """Trees on one partition, some of which were cut short."""
    grower = GROWERS.setdefault(n_threads, TABLE.grower(kernels, n_threads=n_threads))
    return grow(grower, GRADIENTS[NARROW], 6, leaf_size=1)


def constrained_growing(n_threads):
    grower = constrain(SMALL.grower(kernels, n_threads=n_threads), symmetric=True, kinds=np.array([0, 1, 1, 2], dtype=np.uint8))
    return grow(grower, SMALL_GRADIENTS, 1)


def sampled_growing(n_threads):
    grower = TABLE.grower(kernels, n_threads=n_threads)
    return grow(grower, GRADIENTS[WIDE], 4, sample=np.arange(0, N, 2))


def summed_growing(n_threads):
    layout = kernels.BinLayout(**TABLE.layout())
    page = kernels.Page(layout, TABLE.pages()[0].reshape(-1), N)
    search, partition = kernels.SplitSearch(layout, n_threads, 1 << 20), kernels.RowPartition(layout, [page], n_threads)
    gradients = GRADIENTS[WIDE]
    settings = kernels.TreeSettings(gradients.format(kernels), kernels.SplitRules(), 0, gradients.key)
    batch = search.start(partition.start(gradients.records(), settings.format, settings.key), settings)
    found = []
    for _ in range(3):
        search.take(batch, partition.apply(batch))
        first, gains = search.best(batch)
        found += gains
        batch = search.begin([first], True)
    return found


def sorted_growing(n_threads):
    columns = kernels.sort_columns(X[:5000], n_threads)
    tree = kernels.SortedTree([rows for rows, _ in columns], [len(values) for _, values in columns], n_threads)
    gradients = Gradients(WIDE, GRADIENTS[WIDE].gradient[:5000], GRADIENTS[WIDE].hessian[:5000])
    settings = kernels.TreeSettings(gradients.format(kernels), kernels.SplitRules(), 0, 1)
    gain = tree.start(gradients.records(), settings, None, np.arange(0, 5000, 2))
    found = tree.advance([0], True)
    of_row = np.zeros(5000, dtype=np.uint8)
    return gain, found, tree.leaf_sums(np.array([1, 2]), of_row, 1), of_row


def trees(n):
    """A scorer of trees of one split each, over three features."""
    nodes = {"feature": [0, -1, -1], "bin": [0, 0, 0], "left": [1, -1, -1], "right": [2, -1, -1]}
    arrays = {name: np.tile(np.array(values, dtype=np.int32), n) for name, values in nodes.items()}
    arrays["feature"][::3] = np.arange(n) % 3
    more = {"threshold": np.linspace(-1, 1, 3 * n), "missing_left": np.zeros(3 * n, dtype=np.uint8)}
    native = kernels.TreeArrays(begin=np.arange(0, 3 * n + 1, 3), **arrays, **more)
    return kernels.Scorer(native, kernels.LeafArrays(value=np.arange(3.0 * n)), 3, 1)


def scoring(n_threads):
    scorer, out, reached = trees(50), np.zeros((N, 1)), np.empty((N, 50), dtype=np.int32)
    scorer.add(X, 0, 50, out, n_threads)
    scorer.leaves(X, 0, 50, reached, n_threads)
    matrix, added = sparse.csr_array(X), np.zeros((N, 1))
    rows = kernels.SparseMatrix(matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64), 3, False, n_threads)
    scorer.add_sparse(rows, 0, 50, added, n_threads)
    return out, reached, added


def explaining(n_threads):
    scorer, x = trees(4), X[:200]
    explainer = kernels.Explainer(scorer, np.tile(np.array([10.0, 6.0, 4.0]), 4), np.arange(3, dtype=np.int32), 3)
    values, against, pairs = np.zeros((200, 4)), np.zeros((200, 4)), np.zeros((200, 9))
    explainer.add(x, 0, 4, values, n_threads)
    explainer.add_interventional(x, X[200:220], 0, 4, against, n_threads)
    explainer.add_interactions(x, 0, 4, pairs, n_threads)
    return values, against, pairs


def adding_trees(n_threads):
    layout = kernels.BinLayout(**TABLE.layout())
    page = kernels.Page(layout, TABLE.pages()[0].reshape(-1), N)
    one = {"feature": [5, -1, -1], "bin": [9, 0, 0], "left": [1, -1, -1], "right": [2, -1, -1]}
    nodes = {name: np.array(values, dtype=np.int32) for name, values in one.items()}
    more = {"threshold": np.zeros(3), "missing_left": np.zeros(3, dtype=np.uint8)}
    tree, raw = kernels.TreeArrays(begin=np.array([0, 3]), **nodes, **more), np.zeros(N)
    kernels.add_tree(page, tree, kernels.LeafArrays(value=np.arange(3.0)), None, raw, n_threads)
    return raw


FAMILIES = {
    "losses": lambda n_threads: (losses(n_threads), softmax(n_threads)),
    "leaves": lambda n_threads: (leaves(n_threads), numbers(n_threads)),
    "ranking": ranking,
    "sampling": sampling,
    "binning": binning,
    "sparse binning": sparse_binning,
    "growing with one word": growing(SINGLE),
    "growing with wide gradients": growing(WIDE),
    "growing with narrow gradients": growing(NARROW),
    "growing on row lists": bundled_growing,
    "growing again": growing_again,
    "growing with constraints": constrained_growing,
    "growing on a sample": sampled_growing,
    "growing on partitions": summed_growing,
    "growing on sorted columns": sorted_growing,
    "scoring": scoring,
    "explaining": explaining,
    "adding trees": adding_trees,
}


def digest(found):
    """A hash of nested arrays and numbers."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        return hashlib.sha256("".join(map(digest, found)).encode()).hexdigest()
    return hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest()


def main(library, n_threads):
    allocator = ctypes.PyDLL(library)
    for name, call in FAMILIES.items():
        expected, n_failures, n = digest(call(n_threads)), 0, 0
        while True:
            n += 1
            allocator.fail_allocation(ctypes.c_long(n))
            try:
                found = digest(call(n_threads))
            except MemoryError:
                found = None
            has_failed = allocator.stop_failing()
            n_failures += found is None
            assert found in (None, expected), f"{name}: allocation {n} failed, and the result differs"
            assert found is not None or has_failed, f"{name}: MemoryError without a failure"
            if not has_failed:
                break
        assert digest(call(n_threads)) == expected, f"{name}: the result differs afterwards"
        print(name, n_failures, sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

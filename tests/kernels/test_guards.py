"""Guards of the bindings: each case must be refused by the guard with this message. They run in a process of their own, as a case that
is not refused may crash."""

import json
import subprocess
import sys

import pytest

# What the cases share: three rows of two features with two bins each, and a tree on them.
PRELUDE = """
i1, i4, i8, u1, u4, u8 = np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64
def ints(*values): return np.array(values, i4)
def longs(*values): return np.array(values, i8)
def bytes_(n): return np.zeros(n, u1)
def make_layout(n_bins=(2, 2), width=2, stride=4, columns=None):
    return kernels.BinLayout(ints(*n_bins), bytes_(len(n_bins)), ints(*n_bins), width, stride, columns)
layout = make_layout()
codes = np.array([0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0], u1)
page = kernels.Page(layout, codes, 3)
partition, search = kernels.RowPartition(layout, [page], 1), kernels.SplitSearch(layout, 1, 1 << 20)
records = np.array([(-4, 1), (-4, 1), (8, 1)], [("g", "i4"), ("h", "u4")]).view(u1)
settings = kernels.TreeSettings(kernels.HistogramFormat(1, 20), kernels.SplitRules(), 0, 1)
def begin(): return search.start(partition, records, settings)
def begin_summed(): return search.start(partition.start(records, settings.format, settings.key), settings)
def column_layout(missing_bin, column, default_bin):
    return kernels.ColumnLayout(ints(*missing_bin), ints(*column), ints(*default_bin))
listed = column_layout((2, 2), (-1, 0), (0, -1))
def matrix(values=(1.0, 2.0), indices=(0, 1), indptr=(0, 1, 2), n_minor=2):
    return kernels.SparseMatrix(np.array(values), ints(*indices), longs(*indptr), n_minor, False, 1)
def buffer(n_features=2, n_rows=2): return kernels.PageBuffer(np.zeros((1, n_rows, 4), u1), 2, bytes_(n_features), bytes_(n_features))
def sorted_tree(columns=([[0, 0], [1, 1], [2, 1]],), n_values=(2,), proposal=0):
    return kernels.SortedTree([np.array(column, u4) for column in columns], list(n_values), 1, proposal)
def tree_arrays(begin=(0, 3), feature=(0, -1, -1), left=(1, -1, -1), right=(2, -1, -1), bin=(0, 0, 0), sets=None):
    nodes = {"feature": feature, "bin": bin, "left": left, "right": right}
    more = {} if sets is None else {"sets": sets}
    more |= {name: ints(*values) for name, values in nodes.items()}
    return kernels.TreeArrays(begin=longs(*begin), threshold=np.zeros(len(feature)), missing_left=bytes_(len(feature)), **more)
leaves = kernels.LeafArrays(value=np.zeros(3))
def linear(**changed):
    arrays = {"n_slopes": ints(0, 1, 0), "slope_input": ints(0), "slope": np.ones(1), "slope_center": np.zeros(1), "slope_low": np.zeros(1)}
    arrays |= {"slope_high": np.ones(1), "input_feature": ints(0), "input_begin": longs(0, 1), "input_cuts": np.zeros(1)}
    arrays |= {"input_values": np.zeros(2)}
    return kernels.LeafArrays(value=np.zeros(3), **(arrays | changed))
def stored(**changed):
    arrays = {"begin": longs(0, 3), "feature": ints(0, -1, -1), "threshold": np.zeros(3), "bin": ints(0, 0, 0), "left": ints(1, -1, -1)}
    arrays |= {"right": ints(2, -1, -1), "missing_left": bytes_(3), "gain": np.zeros(3), "count": longs(3, 1, 2)}
    return kernels.StoredNodes(**(arrays | changed))
def fault(**changed):
    raise ValueError(stored(**changed).find_fault(bytes_(1), longs(0, 1), 0))
def ranked(begin=(0, 3), unit=np.ones(1)): return kernels.RankedRows(np.ones(3), np.zeros(3), None, longs(*begin), unit)
def slopes(**changed):
    arrays = {"leaf_size": 1, "features": ints(0), "levels": ints(1, 2), "slots": ints(0)[None], "n_threads": 1, "leaves": bytes_(3)}
    products = changed.pop("products", False)
    if products:
        arrays |= {"centers": ints(0)[None], "sums": np.zeros((1, 2, 3), i8)}
    else:
        arrays |= {"sums": np.zeros((1, 1, 5), i8), "most": np.zeros((1, 1, 2), i8)}
    (kernels.slope_products if products else kernels.slope_means)(page=page, **({"records": records} | arrays | changed))
"""

CASES = [
    # sparse matrices, cut points, columns, lists
    ("values, indices and indptr do not fit", "matrix(values=(1.0,))"),
    ("values, indices and indptr do not fit", "matrix(n_minor=0)"),
    ("indices must be in range", "matrix(indices=(0, 2))"),
    ("indices must be in range", "matrix(indices=(0, -1))"),
    ("indices must be in range", "matrix(indices=(1, 0), indptr=(0, 2))"),
    ("indices must be in range", "matrix(indptr=(0, 2, 1))"),
    ("a feature has 0 to 254 cuts", "kernels.CutPoints(np.arange(255.0), longs(0, 255))"),
    ("cuts do not fit", "kernels.CutPoints(np.arange(2.0), longs(0, 3))"),
    ("missing_bin out of range", "column_layout((256,), (0,), (-1,))"),
    ("default bin out of range", "column_layout((2,), (0,), (3,))"),
    ("a feature in row lists has a default bin", "column_layout((2, 2), (-1, 0), (-1, -1))"),
    ("a shared column holds features with a default bin", "column_layout((2, 2), (0, 0), (0, -1))"),
    ("a column has at most 256 codes", "column_layout((200, 200), (0, 0), (0, 0))"),
    ("features do not fit", "kernels.store_rows(np.zeros((2, 3), u1), listed, buffer(), 0, 1)"),
    ("lists do not fit", "kernels.take_lists(np.array([0, 2], u4), np.zeros(1, u4), longs(0), 1)"),
    ("lists do not fit", "kernels.take_lists(np.array([0, 2, 1], u4), np.zeros(1, u4), longs(0), 1)"),
    ("row out of range", "kernels.take_lists(np.array([0, 1], u4), np.zeros(1, u4), longs(1), 1)"),
    (
        "too many values in row lists",
        "kernels.take_lists(np.array([0, 70_000], u4), np.zeros(70_000, u4), np.zeros(65_536, i8), 1)",
    ),
    ("one max_bins for each column", "matrix().find_cuts(None, ints(8), 1)"),
    ("features do not fit", "matrix().store(kernels.CutPoints(np.zeros(1), longs(0, 1)), listed, buffer(), 1)"),
    (
        "the default bin must be that of absent entries",
        "matrix().store(kernels.CutPoints(np.array([-1.0, -1.0]), longs(0, 1, 2)), listed, buffer(), 1)",
    ),
    ("no such feature", "matrix().bundle_features(ints(2), ints(2, 2), 256, 1)"),
    ("no such feature", "matrix().bundle_features(ints(-1), ints(2, 2), 256, 1)"),
    ("features out of range", "kernels.bin_table(np.zeros((2, 2)), kernels.CutPoints(np.empty(0), longs(0, 0, 0)), buffer(), 0, 1, 1)"),
    ("sums come in pairs", "kernels.sum_before(np.zeros(1, u4), np.zeros(1, u4), longs(1), None, None, np.zeros((1, 3), i8))"),
    ("a row or key is out of range", "kernels.sum_before(np.ones(1, u4), np.zeros(1, u4), longs(1), None, None, np.zeros((1, 2), i8))"),
    ("a row or key is out of range", "kernels.sum_before(np.zeros(1, u4), np.ones(1, u4), longs(1), None, None, np.zeros((1, 2), i8))"),
    # pages
    ("columns do not fit", "make_layout(columns=column_layout((2,), (0,), (-1,)))"),
    ("columns do not fit", "make_layout(columns=column_layout((1, 2), (-1, 0), (0, -1)))"),
    ("page too small", "kernels.Page(layout, codes[:11], 3)"),
    ("page too small", "kernels.Page(layout, codes, -1)"),
    ("first_row out of range", "kernels.Page(layout, codes, 3, None, -1)"),
    ("a page has row lists if its layout has some", "kernels.Page(layout, codes, 3, (np.zeros(4, u4), np.zeros(0, u4)))"),
    ("a page has row lists if its layout has some", "kernels.Page(make_layout(columns=listed), bytes_(12), 3)"),
    ("row lists do not fit", "kernels.Page(make_layout(columns=listed), bytes_(12), 3, (np.zeros(3, u4), np.zeros(0, u4)))"),
    ("row lists do not fit", "kernels.Page(make_layout(columns=listed), bytes_(12), 3, (np.array([0, 1, 0, 1], u4), np.zeros(1, u4)))"),
    ("pages must be in ascending order of their rows", "kernels.RowPartition(layout, [page, page], 1)"),
    # growing
    ("node cannot be split", "begin(); search.advance(partition, [7], True)"),
    ("node cannot be split", "begin(); search.advance(partition, [0], True); search.advance(partition, [0], True)"),
    ("node given twice", "begin(); search.advance(partition, [0, 0], True)"),
    ("allowed must have one row for each child", "begin(); search.advance(partition, [0], True, np.ones((1, 2), u1))"),
    ("gradients do not fit", "search.start(partition, records[:16], settings)"),
    (
        "count_bits too small",
        "search.start(partition, records, kernels.TreeSettings(kernels.HistogramFormat(1, 1), kernels.SplitRules(), 0, 1))",
    ),
    ("one kind for each feature", "search.constrain(kernels.TreeConstraints(kinds=bytes_(3)))"),
    ("one entry for each feature", "search.constrain(kernels.TreeConstraints(weights=np.ones(3)))"),
    ("feature or bin out of range", "begin(); search.force(partition, 0, 2, 0, False)"),
    ("feature or bin out of range", "begin(); search.force(partition, 0, 0, -1, False)"),
    ("not a leaf", "begin(); search.force(partition, 3, 0, 0, False)"),
    ("sample must be rows in ascending order", "search.start(partition, records, settings, None, longs(1, 0))"),
    ("sample must be rows in ascending order", "search.start(partition, records, settings, None, longs(3))"),
    ("sample must have a row", "search.start(partition, records, settings, None, longs())"),
    ("leaf_size must be 1, 2 or 4", "begin(); partition.leaf_sums(longs(0), bytes_(9), 3)"),
    ("leaf_of_row does not fit", "begin(); partition.leaf_sums(longs(0), bytes_(2), 1)"),
    ("not a leaf", "begin(); partition.leaf_sums(longs(5), bytes_(3), 1)"),
    ("the tree was not begun with this partition", "begin(); search.advance(kernels.RowPartition(layout, [page], 1), [0], True)"),
    (
        "count_bits too small",
        "search.start(longs(0, 3, 3), kernels.TreeSettings(kernels.HistogramFormat(1, 1), kernels.SplitRules(), 0, 1))",
    ),
    ("sums must be gradient, hessian and count", "search.start(longs(0, 3), settings)"),
    ("not the latest step", "old = begin_summed(); new = begin_summed(); search.take(old, partition.apply(new))"),
    ("words do not fit", "batch = begin_summed(); search.take(batch, partition.apply(batch)[1:])"),
    ("not the latest step, or its words were not taken", "search.best(begin_summed())"),
    ("sums must be (2, 3)", "begin_summed(); search.force(0, 0, 0, False, np.zeros((2, 2), i8))"),
    ("the partition has not begun this tree", "kernels.RowPartition(layout, [page], 1).apply(begin_summed())"),
    ("node cannot be split", "begin(); partition.split_sums(4, 0, 0, False)"),
    ("no such node, or no such limits", "begin(); search.limit(9, 0.0, 1.0)"),
    ("no such node, or no such limits", "begin(); search.limit(0, 1.0, 0.0)"),
    ("no such node", "begin(); search.split_features([9])"),
    # rules
    ("gradients must be 0, 1 or 2", "kernels.HistogramFormat(3, 20)"),
    ("count_bits out of range", "kernels.HistogramFormat(1, 48)"),
    ("shift out of range", "kernels.HistogramFormat(2, 20, 31, 0)"),
    ("constraints must not be negative", "kernels.TreeConstraints(l1=-1.0)"),
    ("constraints must not be negative", "kernels.TreeConstraints(category_l2=-1.0)"),
    ("one kind and one direction for each feature", "kernels.TreeConstraints(monotonic=np.zeros(2, i1), kinds=bytes_(3))"),
    ("no such kind of feature", "kernels.TreeConstraints(kinds=np.array([3], u1))"),
    ("a category cannot be monotonic", "kernels.TreeConstraints(monotonic=np.ones(1, i1), kinds=np.ones(1, u1))"),
    ("gradient_unit must be positive", "kernels.SplitRules(gradient_unit=0.0)"),
    # sorted columns
    ("no such proposal", "sorted_tree(proposal=3)"),
    ("one number of values for each column", "sorted_tree(n_values=(2, 2))"),
    ("columns must be (n_rows, 2)", "sorted_tree(columns=([[0, 0, 0]],))"),
    ("every row once in each column", "sorted_tree(columns=([[0, 0], [0, 1], [2, 1]],))"),
    ("every row once in each column", "sorted_tree(columns=([[0, 0], [3, 1], [2, 1]],))"),
    ("a rank out of range", "sorted_tree(columns=([[0, 0], [1, 1], [2, 2]],))"),
    ("columns must be sorted by rank", "sorted_tree(columns=([[0, 1], [1, 0], [2, 1]],))"),
    ("sorted columns have no kind of category", "sorted_tree().constrain(kernels.TreeConstraints(kinds=bytes_(1)))"),
    ("sample must be rows in ascending order", "sorted_tree().start(records, settings, None, longs(2, 1))"),
    ("sample must be rows in ascending order", "sorted_tree().start(records, settings, None, longs(3))"),
    ("sample must have a row", "sorted_tree().start(records, settings, None, longs())"),
    ("gradients do not fit", "sorted_tree().start(records[:8], settings)"),
    # losses and leaves
    (
        "raw must have one output",
        "kernels.loss_values(kernels.Loss(0), kernels.LossRows(np.zeros(3), np.zeros((2, 3)), None), np.zeros(3), 1)",
    ),
    ("y must hold class numbers", "kernels.softmax_values(kernels.LossRows(np.array([2.0]), np.zeros((2, 1)), None), np.zeros(1), 1)"),
    ("no such loss", "kernels.Loss(99)"),
    ("shift too large", "kernels.exact_sum_words(np.ones(1), 63, 1)"),
    ("leaf_size must be 1, 2 or 4", "kernels.add_leaf_values(bytes_(9), 3, np.zeros(1), np.zeros(3), 1)"),
    ("the rows of raw must lie side by side", "kernels.add_leaf_values(bytes_(3), 1, np.zeros(1), np.zeros(6)[::2], 1)"),
    ("one weight for each output", "kernels.project_gradients([records], np.ones(2), np.ones(1), np.zeros(3), None, 1)"),
    ("there must be an output", "kernels.project_gradients([], np.ones(0), np.ones(0), np.zeros(3), None, 1)"),
    (
        "all outputs must have gradients of the same size",
        "kernels.project_gradients([records, records[:12]], np.ones(2), np.ones(2), np.zeros(3), None, 1)",
    ),
    ("leaf_size must be 1, 2 or 4", "kernels.leaf_sums([records], bytes_(9), 3, np.zeros((1, 1), i8), np.zeros((1, 1), i8), 1)"),
    ("leaves do not fit", "kernels.leaf_sums([records], bytes_(7), 2, np.zeros((1, 1), i8), np.zeros((1, 1), i8), 1)"),
    ("sums must be (n_leaves, n_outputs)", "kernels.leaf_sums([records], bytes_(3), 1, np.zeros((1, 2), i8), np.zeros((1, 1), i8), 1)"),
    # ranking and sampling
    ("no such measure", "kernels.rank_values(ranked(), 9, 1, np.zeros(1), 1)"),
    ("out must have one value for each query", "kernels.rank_values(ranked(), 0, 1, np.zeros(2), 1)"),
    ("out must have one value for each query", "kernels.pair_values(ranked(), 1.0, np.zeros(2), 1)"),
    ("out must have one value for each query", "kernels.listwise_values(ranked(), np.zeros(0), 1)"),
    ("last_rank must be positive", "kernels.rank_values(ranked(), 0, 0, np.zeros(1), 1)"),
    ("a query has at least one row", "ranked(begin=(0, 0, 3), unit=np.ones(2))"),
    (
        "unit must be given",
        "kernels.pair_gradients(ranked(unit=None), kernels.PairRule(0, 10, normalize=True), np.zeros(3), np.zeros(3), 1)",
    ),
    ("truncation and steepness must be positive", "kernels.PairRule(0, 0)"),
    ("no such sampling", "kernels.RowSampling(9, 0.5, 1.0, 7)"),
    ("a and b must be positive", "kernels.RowSampling(2, -0.5, 1.0, 7)"),
    ("n or fraction out of range", "kernels.sample_rows(3, 0, 1.5, 5, 1)"),
    ("gradients must have 8 bytes for each row", "kernels.sample_gradients(bytes_(9), kernels.RowSampling(2, 0.5, 1.0, 7), 0, 1)"),
    ("n or first_row out of range", "kernels.hash_rows(-1, 0)"),
    # trees
    ("sets must be (n_sets, 8)", "tree_arrays(sets=np.zeros((1, 7), u4))"),
    ("a tree has at least one node, and they cover the arrays", "tree_arrays(begin=(0, 3, 3))"),
    ("a node is out of range", "tree_arrays(left=(3, -1, -1))"),
    ("a node is out of range", "tree_arrays(left=(0, -1, -1))"),
    ("a node is out of range", "tree_arrays(right=(1, -1, -1))"),
    ("a node has two parents", "tree_arrays((0, 4), (0, 0, -1, -1), (1, 2, -1, -1), (2, 3, -1, -1), (0, 0, 0, 0))"),
    ("a node has no parent", "tree_arrays((0, 4), (0, -1, -1, -1), (1, -1, -1, -1), (2, -1, -1, -1), (0, 0, 0, 0))"),
    ("trees must cover the nodes", "tree_arrays(begin=(0, 2))"),
    ("node arrays must have the same length", "tree_arrays(left=(1, -1))"),
    ("a feature is out of range", "kernels.Scorer(tree_arrays(feature=(2, -1, -1)), leaves, 2, 1)"),
    ("no such set of levels", "kernels.Scorer(tree_arrays(), leaves, 2, 1, ints(3, 0))"),
    ("levels do not fit", "kernels.Scorer(tree_arrays(), leaves, 2, 1, ints(3))"),
    ("a category has up to 255 levels", "kernels.Scorer(tree_arrays(), leaves, 2, 1, ints(256, 0))"),
    ("n_features and n_outputs must be positive", "kernels.Scorer(tree_arrays(), leaves, 0, 1)"),
    ("kinds must have one entry for each feature", "kernels.add_tree(page, tree_arrays(), leaves, bytes_(1), np.zeros(3), 1)"),
    # model files
    ("trees must cover the nodes", "stored(begin=longs(0, 2))"),
    ("trees must cover the nodes", "stored(begin=longs(1, 3))"),
    ("trees must be in order", "stored(begin=longs(0, 5, 3))"),
    ("node arrays must have the same length", "stored(gain=np.zeros(2))"),
    ("cuts do not fit", "stored().find_fault(bytes_(1), longs(0), 0)"),
    ("a threshold is not a number", "fault(threshold=np.array([np.nan, 0, 0]))"),
    ("a gain is not a number", "fault(gain=np.array([np.nan, 0, 0]))"),
    ("a count is out of range", "fault(count=longs(-1, 1, 2))"),
    ("missing_left is neither 0 nor 1", "fault(missing_left=np.array([2, 0, 0], u1))"),
    ("a bin is out of range", "fault(bin=ints(-1, 0, 0))"),
    ("a tree has no nodes", "fault(begin=longs(0, 3, 3))"),
    ("a feature is out of range", "fault(feature=ints(1, -1, -1))"),
    ("a feature is out of range", "fault(feature=ints(-2, -1, -1))"),
    ("a left child is out of range", "fault(left=ints(3, -1, -1))"),
    ("a left child is out of range", "fault(left=ints(0, -1, -1))"),
    ("a right child is out of range", "fault(right=ints(3, -1, -1))"),
    ("a node has no parent, or two", "fault(right=ints(1, -1, -1))"),
    (
        "a node has no parent, or two",
        "fault(begin=longs(0, 4), feature=ints(0, -1, -1, -1), threshold=np.zeros(4), bin=ints(0, 0, 0, 0), left=ints(1, -1, -1, -1), "
        "right=ints(2, -1, -1, -1), missing_left=bytes_(4), gain=np.zeros(4), count=longs(3, 1, 2, 0))",
    ),
    (
        "there must be one tree",
        "kernels.add_tree(page, tree_arrays((0, 1, 2), (-1, -1), (-1, -1), (-1, -1), (0, 0)), leaves, None, np.zeros(3), 1)",
    ),
    ("page and raw do not fit", "kernels.add_tree(page, tree_arrays(), leaves, None, np.zeros(2), 1)"),
    ("X has another number of features", "kernels.Scorer(tree_arrays(), leaves, 2, 1).add(np.zeros((1, 3)), 0, 1, np.zeros((1, 1)), 1)"),
    (
        "X has another number of features",
        "kernels.Scorer(tree_arrays(), leaves, 2, 1).leaves(np.zeros((1, 3)), 0, 1, np.zeros((1, 1), i4), 1)",
    ),
    ("trees out of range", "kernels.Scorer(tree_arrays(), leaves, 2, 1).leaves(np.zeros((1, 2)), 0, 2, np.zeros((1, 2), i4), 1)"),
    ("out does not fit", "kernels.Scorer(tree_arrays(), leaves, 2, 1).leaves(np.zeros((1, 2)), 0, 1, np.zeros((2, 1), i4), 1)"),
    *(
        (message, f"kernels.Scorer(tree_arrays(), leaves, 2, 1).add_sparse(matrix({rows}), {first}, {last}, np.zeros({out}), {n_threads})")
        for message, rows, first, last, out, n_threads in (
            ("X has another number of features", "n_minor=3", 0, 1, (2, 1), 1),
            ("trees out of range", "", 0, 2, (2, 1), 1),
            ("trees out of range", "", -1, 1, (2, 1), 1),
            ("out does not fit", "", 0, 1, (3, 1), 1),
            ("out does not fit", "", 0, 1, (2, 2), 1),
            ("n_threads must be positive", "", 0, 1, (2, 1), 0),
        )
    ),
    *(
        (
            message,
            "kernels.Explainer(kernels.Scorer(tree_arrays(), leaves, 2, 1), np.ones(3), ints(0, 1), 2).add_interventional("
            f"np.zeros({x}), np.zeros({background}), {first}, {last}, np.zeros({out}), {n_threads})",
        )
        for message, x, background, first, last, out, n_threads in (
            ("X has another number of features", (1, 3), (1, 2), 0, 1, (1, 3), 1),
            ("trees out of range", (1, 2), (1, 2), 0, 2, (1, 3), 1),
            ("out does not fit", (1, 2), (1, 2), 0, 1, (1, 4), 1),
            ("n_threads must be positive", (1, 2), (1, 2), 0, 1, (1, 3), 0),
            ("the background must have rows of the same features", (1, 2), (0, 2), 0, 1, (1, 3), 1),
            ("the background must have rows of the same features", (1, 2), (1, 3), 0, 1, (1, 3), 1),
        )
    ),
    (
        "player must have one number for each feature",
        "kernels.Explainer(kernels.Scorer(tree_arrays(), leaves, 2, 1), np.ones(3), ints(0), 1)",
    ),
    (
        "weight must have one number for each node",
        "kernels.Explainer(kernels.Scorer(tree_arrays(), leaves, 2, 1), np.ones(2), ints(0, 1), 2)",
    ),
    ("player out of range", "kernels.Explainer(kernels.Scorer(tree_arrays(), leaves, 2, 1), np.ones(3), ints(0, 2), 2)"),
    # linear leaves
    ("slope arrays must have the same length", "linear(slope=np.ones(2))"),
    ("a node has no negative number of slopes", "linear(n_slopes=ints(0, 2, -1))"),
    ("slopes must cover the nodes", "linear(n_slopes=ints(0, 2, 0))"),
    ("input out of range", "linear(slope_input=ints(1))"),
    ("input out of range", "linear(slope_input=ints(-1))"),
    ("the range of a slope is empty", "linear(slope_low=np.array([2.0]))"),
    ("inputs do not fit", "linear(input_values=np.zeros(3))"),
    ("inputs do not fit", "linear(input_begin=longs(0, 2))"),
    ("an input needs a cut point", "linear(input_begin=longs(0, 0), input_cuts=np.zeros(0), input_values=np.zeros(1))"),
    ("cuts must ascend", "linear(input_begin=longs(0, 2), input_cuts=np.zeros(2), input_values=np.zeros(3))"),
    ("a cut point is not a number", "linear(input_cuts=np.array([np.nan]))"),
    ("a feature is out of range", "linear(input_feature=ints(-1))"),
    ("an input is not a feature of numbers", "kernels.Scorer(tree_arrays(), linear(input_feature=ints(2)), 2, 1)"),
    ("a node with slopes must have one value", "kernels.Scorer(tree_arrays(), linear(n_slopes=ints(0, 1)), 2, 1)"),
    (
        "inputs must have the cut points of the page",
        "two = linear(input_begin=longs(0, 2), input_cuts=np.arange(2.0), input_values=np.zeros(3)); "
        "kernels.add_tree(page, tree_arrays(), two, None, np.zeros(3), 1)",
    ),
    ("a leaf has 1 to 8 inputs", "slopes(slots=np.zeros((1, 9), i4))"),
    ("leaf_size must be 1, 2 or 4", "slopes(leaf_size=3, leaves=bytes_(9))"),
    ("leaves must have one number for each row of the page", "slopes(leaves=bytes_(2))"),
    ("leaf out of range", "slopes(leaves=np.ones(3, u1))"),
    ("row out of range", "slopes(rows=longs(3))"),
    ("input out of range", "slopes(slots=ints(1)[None])"),
    ("a feature is out of range", "slopes(features=ints(2))"),
    ("there must be a level for each bin", "slopes(levels=ints(1))"),
    ("there are more levels than bins", "slopes(levels=ints(1, 2, 3))"),
    ("level out of range", "slopes(levels=ints(1, 2**31 - 1))"),
    ("sums do not fit", "slopes(sums=np.zeros((1, 1, 4), i8))"),
    ("most does not fit", "slopes(most=np.zeros((1, 1, 3), i8))"),
    ("n_threads must be positive", "slopes(n_threads=0)"),
    ("centers do not fit", "slopes(products=True, centers=ints(0, 0)[None])"),
    ("center out of range", "slopes(products=True, centers=ints(2**31 - 1)[None])"),
    ("sums do not fit", "slopes(products=True, sums=np.zeros((1, 9, 3), i8))"),
    ("a leaf has 1 to 8 inputs", "kernels.solve_slopes(np.zeros((1, 9, 9)), np.zeros((1, 9)), np.zeros((1, 9)))"),
    ("equations do not fit", "kernels.solve_slopes(np.zeros((1, 2, 1)), np.zeros((1, 2)), np.zeros((1, 2)))"),
    (
        "leaves must be linear",
        "kernels.add_linear_leaves(page=page, leaves=bytes_(3), leaf_size=1, values=leaves, raw=np.zeros(3), n_threads=1)",
    ),
    # one entry for each row, output or feature
    ("this kind of number is not read directly", "matrix(values=(1j, 2j))"),
    ("one entry for each feature", "kernels.BinLayout(ints(2, 2), bytes_(1), ints(2, 2), 2, 4, None)"),
    ("columns do not fit", "make_layout(columns=column_layout((2, 2, 2), (0, 1, 2), (-1, -1, -1)))"),
    ("n_threads must be positive", "kernels.Scorer(tree_arrays(), leaves, 2, 1).leaves(np.zeros((3, 2)), 0, 1, np.zeros((3, 1), i4), 0)"),
    ("raw must be (n_rows,) or (n_outputs, n_rows)", "kernels.add_leaf_values(bytes_(3), 1, np.zeros(1), np.zeros((1, 1, 3)), 1)"),
    ("a leaf must have a value for each output", "kernels.add_leaf_values(bytes_(3), 1, np.zeros(3), np.zeros((2, 3)), 1)"),
    ("out must have one dimension", "kernels.GradientTarget(1.0, 1.0, np.zeros((1, 1, 1), u1))"),
    (
        "fixed-point gradients must have 4 or 8 bytes for each row",
        "kernels.project_gradients([bytes_(9)], np.ones(1), np.ones(1), np.zeros(3), None, 1)",
    ),
    ("gain, raw and weight must have the same length", "kernels.RankedRows(np.ones(3), np.zeros(2), None, longs(0, 3), None)"),
    (
        "records must have 4 or 8 bytes for each row",
        "slopes(records=bytes_(9))",
    ),
    ("n_threads must be positive", "slopes(products=True, n_threads=0)"),
    (
        "raw must have one number for each row of the page",
        "kernels.add_linear_leaves(page=page, leaves=bytes_(3), leaf_size=1, values=linear(), raw=np.zeros(2), n_threads=1)",
    ),
    # columns of tables and of sparse matrices
    ("one entry for each row", "kernels.sum_before(np.zeros(1, u4), np.zeros(1, u4), longs(1, 2), None, None, np.zeros((1, 2), i8))"),
    ("max_bins must be at least 2", "kernels.find_cuts(np.zeros((2, 1)), None, None, 1, 1)"),
    ("row out of range", "kernels.find_cuts(np.zeros((2, 1)), np.array([2], u4), None, 8, 1)"),
    ("weight must have one value for each row", "kernels.find_cuts(np.zeros((2, 1)), None, np.ones(1), 8, 1)"),
    ("weight must have one value for each row", "matrix().find_cuts(np.ones(1), ints(8, 8), 1)"),
    ("max_bins must be at least 2", "matrix().find_cuts(None, ints(8, 1), 1)"),
    ("page must have the same rows", "matrix().store(kernels.CutPoints(np.zeros(2), longs(0, 1, 2)), listed, buffer(n_rows=3), 1)"),
    ("sums must have one number for each column", "kernels.hash_columns(np.zeros((2, 2)), 0, np.zeros(3, u8), 1)"),
    ("sums must have one number for each column", "matrix().hash_columns(np.zeros(3, u8), 1)"),
    ("one number of codes for each feature", "matrix().bundle_features(ints(0), ints(2, 2, 2), 256, 1)"),
    ("out does not fit", "matrix().fill_dense(0, 0, 2, np.zeros((3, 2)), 1)"),
    ("too many rows", "kernels.sort_columns(np.broadcast_to(np.zeros((1, 1)), (1 << 32, 1)), 1)"),
    (
        "weights must not be negative, and finite",
        "kernels.Explainer(kernels.Scorer(tree_arrays(), leaves, 2, 1), np.array([1.0, -1.0, 2.0]), ints(0, 1), 2)",
    ),
]

CHILD = """
import json, sys
import numpy as np
from sapwood.runtime import kernels
prelude, cases = json.load(sys.stdin)
for code in cases:
    names = {"np": np, "kernels": kernels}
    exec(prelude, names)
    try:
        exec(code, names)
        found = "accepted"
    except (ValueError, TypeError) as error:
        found = f"{type(error).__name__}: {error}"
    print(json.dumps(found), flush=True)
"""


@pytest.fixture(scope="module")
def verdicts():
    """Error of each case, or what became of it."""
    found: list[str] = []
    while len(found) < len(CASES):
        rest = [code for _, code in CASES[len(found) :]]
        done = subprocess.run([sys.executable, "-c", CHILD], input=json.dumps([PRELUDE, rest]), capture_output=True, text=True, check=False)
        found += map(json.loads, done.stdout.splitlines())
        if done.returncode:
            found.append(f"crashed with {done.returncode}: {done.stderr[-300:]}")
    return found


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{message}-{number}" for number, (message, _) in enumerate(CASES)])
def test_are_refused(case, verdicts):
    message, _ = CASES[case]
    assert verdicts[case].startswith(f"ValueError: {message}")

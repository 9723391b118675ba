import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import ConstantLeaves
from sapwood.trees.pruning import prune, sums_of_nodes, worth_keeping
from sapwood.trees.rules import Limits
from sapwood.trees.tree import Tree

#        0
#    1       2
#  3   4   5   6
#     7 8
FEATURE = np.array([0, 1, 2, -1, 3, -1, -1, -1, -1], dtype=np.int32)
LEFT = np.array([1, 3, 5, -1, 7, -1, -1, -1, -1], dtype=np.int32)
RIGHT = np.array([2, 4, 6, -1, 8, -1, -1, -1, -1], dtype=np.int32)
BY_LEVELS = np.array([0, 1, 1, 0, 1, 0, 0, 0, 0], dtype=bool)
OF_ROW = np.array([0, 1, 2, 3, 4, 4, 1])  # leaves 3, 5, 6, 7, 8


@pytest.fixture
def tree():
    return Tree(
        feature=FEATURE.copy(),
        threshold=np.where(FEATURE >= 0, 0.5, 0.0),
        bin=np.array([7, 0, 1, 0, 2, 0, 0, 0, 0], dtype=np.int32),
        left=LEFT.copy(),
        right=RIGHT.copy(),
        missing_left=(FEATURE >= 0).astype(np.uint8),
        gain=np.where(FEATURE >= 0, 1.0, 0.0),
        count=np.array([7, 4, 3, 1, 3, 2, 1, 1, 2]),
        leaves=ConstantLeaves(np.arange(9.0)),
        sets=np.arange(24, dtype=np.uint32).reshape(3, 8),
    )


@pytest.fixture
def leaves(tree):
    at = np.flatnonzero(FEATURE < 0)
    leaves = LeafAssignment(len(OF_ROW))
    leaves.reset(at, tree.count[at], Limits(*np.zeros((3, len(at)))))
    leaves.of_row[:] = OF_ROW
    return leaves


def test_sums_of_nodes(tree, leaves):
    sums = sums_of_nodes(tree, leaves, np.array([[1, 10], [2, 20], [3, 30], [4, 40], [5, 50]]))
    assert_array_equal(sums[:, 0], [15, 10, 5, 1, 9, 2, 3, 4, 5])
    assert_array_equal(sums[:, 1], 10 * sums[:, 0])


def test_worth_keeping(tree):
    #                             0  1  2  3  4  5  6  7  8
    assert_array_equal(worth_keeping(tree, np.array([0.0, 3, 1, 1, 1, 1, 0, 1, 2]))[[0, 1, 2, 4]], [True, True, False, True])
    assert_array_equal(worth_keeping(tree, np.array([9.0, 3, 1, 1, 5, 1, 0, 1, 2]))[[0, 1, 2, 4]], [False, True, False, False])


def test_prune(tree, leaves):
    kept = np.array([1, 0, 1, 0, 1, 0, 0, 0, 0], dtype=bool)  # node 4 goes with node 1, which is above it
    pruned, at = prune(tree, leaves, kept, BY_LEVELS)
    assert_array_equal(at, [1, 5, 6])
    assert_array_equal(pruned.feature, [0, -1, 2, -1, -1])
    assert_array_equal(pruned.left, [1, -1, 3, -1, -1])
    assert_array_equal(pruned.right, [2, -1, 4, -1, -1])
    assert_array_equal(pruned.threshold, [0.5, 0, 0.5, 0, 0])
    assert_array_equal(pruned.bin, [7, 0, 0, 0, 0])
    assert_array_equal(pruned.sets, [np.arange(8, 16)])
    assert_array_equal(pruned.missing_left, [1, 0, 1, 0, 0])
    assert_array_equal(pruned.gain, [1, 0, 1, 0, 0])
    assert_array_equal(pruned.count, [7, 4, 3, 2, 1])
    assert_array_equal(pruned.leaves.value, np.zeros(5))
    assert_array_equal(leaves.nodes, [1, 3, 4])
    assert_array_equal(leaves.of_row, [0, 1, 2, 0, 0, 0, 1])
    assert_array_equal(leaves.count, [4, 2, 1])


def test_prune_to_the_root(tree, leaves):
    pruned, at = prune(tree, leaves, np.zeros(9, dtype=bool), BY_LEVELS)
    assert_array_equal(pruned.feature, [-1])
    assert_array_equal(at, [0])
    assert len(pruned.sets) == 0
    assert_array_equal(leaves.of_row, np.zeros(7))


def test_prune_nothing(tree, leaves):
    pruned, at = prune(tree, leaves, FEATURE >= 0, BY_LEVELS)
    for name in Tree.names():
        assert_array_equal(getattr(pruned, name), getattr(tree, name))
    assert_array_equal(at, np.flatnonzero(FEATURE < 0))
    assert_array_equal(leaves.of_row, OF_ROW)

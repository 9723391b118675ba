from dataclasses import replace

import numpy as np
import pytest

from sapwood.importing.base import ImportedModelError
from sapwood.importing.builder import build_model, depth_first, make_schema, rows_and_cover
from sapwood.model import Model
from sapwood.trees.column_tree import ColumnTree
from sapwood.trees.leaf_models import ConstantLeaves

N_LEVELS = 600


def stump(left, missing_left, value):
    """A split on the category in column 1, children before the root's end of the list."""
    return ColumnTree(
        column=np.array([1, -1, -1], dtype=np.int32),
        threshold=np.zeros(3),
        left=np.array([2, -1, -1], dtype=np.int32),
        right=np.array([1, -1, -1], dtype=np.int32),
        missing_left=np.array([missing_left, False, False]),
        gain=np.zeros(3),
        count=np.array([10, 4, 6]),
        leaves=ConstantLeaves(np.array([[0.0], [0.0], [value]])),
        levels={0: left},
    )


def test_a_category_takes_as_many_features_as_its_sets_need():
    rng = np.random.default_rng(0)
    sets, ways = rng.random((30, N_LEVELS)) < 0.5, rng.random(30) < 0.5
    trees = [stump(left, way, 2.0**t) for t, (left, way) in enumerate(zip(sets, ways, strict=True))]
    model = build_model(trees, make_schema(2, None, {1: range(N_LEVELS)}), np.zeros(1), "squared_error", "identity")
    assert model.n_features > 3
    x = np.column_stack([np.zeros(N_LEVELS + 2), [*range(N_LEVELS), np.nan, N_LEVELS]])
    expected = np.append(2.0 ** np.arange(30) @ sets, [2.0 ** np.arange(30) @ ways] * 2)
    for own in (model, Model.from_bytes(model.to_bytes())):
        np.testing.assert_array_equal(np.ravel(own.predict(x)), expected)


@pytest.mark.parametrize(
    ("trees", "n_outputs", "message"),
    [
        ([], 1, r"0 trees for 1 output\(s\): the last round is incomplete"),
        ([{}], 2, r"1 trees for 2 output\(s\)"),
        ([{"column": np.array([2, -1, -1], dtype=np.int32)}], 1, "unknown column"),
        ([{"threshold": np.full(3, np.nan)}], 1, "a threshold that is NaN"),
        ([{"leaves": ConstantLeaves(np.array([[0.0], [0.0], [np.inf]]))}], 1, "a leaf value that is not finite"),
        ([{"left": np.array([1, -1, -1], dtype=np.int32)}], 1, "two nodes have the same child"),
        ([{"left": np.array([3, -1, -1], dtype=np.int32)}], 1, "unknown child"),
    ],
)
def test_trees_that_do_not_fit(trees, n_outputs, message):
    made = [replace(stump(np.array([True, False]), True, 1.0), **changes) for changes in trees]
    with pytest.raises(ImportedModelError, match=message):
        build_model(made, make_schema(2, None, {1: range(2)}), np.zeros(n_outputs), "squared_error", "identity")


def test_in_order_drops_what_is_out_of_reach():
    tree = stump(np.array([True, False]), True, 1.0)
    more = ColumnTree(
        **{
            name: np.append(getattr(tree, name), getattr(tree, name)[1:2], axis=0)
            for name in ("column", "threshold", "left", "right", "missing_left", "gain", "count")
        },
        leaves=tree.leaves.take([0, 1, 2, 1]),
        levels=tree.levels,
    )
    found = depth_first(more)
    assert found.left.tolist() == [1, -1, -1]
    assert found.leaves.value.tolist() == [[0.0], [1.0], [0.0]]


def test_rows_and_cover():
    assert rows_and_cover(np.array([3.0, 1.0, 2.0]), "w")["count"].tolist() == [3, 1, 2]
    assert rows_and_cover(np.array([3.0, 1.0, 2.0]), "w")["cover"] is None
    found = rows_and_cover(np.array([1.0, 0.25, 0.1]), "w")
    assert found["count"].tolist() == [1, 1, 1] and found["cover"].tolist() == [1, 0.25, 0.1]

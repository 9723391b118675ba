"""Checks of every leaf model. A new member of the table needs an entry in tests/reference/leaf_models.py, and nothing here."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sapwood.data.binning import Binning
from sapwood.data.pages import Pages
from sapwood.data.sorted import SortedRows
from sapwood.data.tables import ArrayTable
from sapwood.inspection.recursion import expected_raw
from sapwood.model import Model, ModelFormatError
from sapwood.model.explain import TreeExplainer
from sapwood.model.export import EXPORTERS, ExportError
from sapwood.model.file import pack
from sapwood.model.merging import merge_models
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.trees.binned_prediction import add_tree, leaf_of_rows
from sapwood.trees.leaf_assignment import LeafAssignment
from sapwood.trees.leaf_models import LEAF_MODELS, ConstantLeaves
from sapwood.trees.rules import Limits
from sapwood.trees.tree import Tree
from tests.kernels.test_scoring import random_tree
from tests.paging import cut
from tests.reference import predict as twin
from tests.reference.leaf_models import LEAF_REFERENCES

N_FEATURES, N_ROWS = 3, 200
CUTS = np.arange(10.0)
BASE = np.array([0.5, -1.0, 2.0])


def make_tree(rng, name, n_leaves, n_outputs):
    """Random tree in which some leaves have no training rows."""
    shape = random_tree(rng, n_leaves, N_FEATURES, CUTS)
    count = np.where(shape.feature < 0, rng.integers(0, 9, len(shape.feature)), 0)
    for node in np.flatnonzero(shape.feature >= 0)[::-1]:
        count[node] = count[shape.left[node]] + count[shape.right[node]]
    return Tree(
        feature=shape.feature,
        threshold=shape.threshold,
        bin=shape.threshold.astype(np.int32),
        left=shape.left,
        right=shape.right,
        missing_left=shape.missing_left,
        gain=np.where(shape.feature < 0, 0.0, 1.0),
        count=count.astype(np.int64),
        leaves=LEAF_REFERENCES[name].example(rng, shape.feature, n_outputs),
    )


class Case:
    """Model with a leaf model, with one or several outputs per tree, and rows."""

    def __init__(self, name, shared, seed=0):
        rng = np.random.default_rng(seed)
        self.name, self.shared, self.leaf_model, self.added = name, shared, LEAF_MODELS[name], LEAF_REFERENCES[name].added
        self.n_outputs = len(BASE) if shared else None
        self.trees = [make_tree(rng, name, n, self.n_outputs) for n in (1, 2, 7, 20, 33, 70)]
        self.tree = self.trees[3]
        self.other = LEAF_REFERENCES[name].example(rng, self.tree.feature, self.n_outputs)
        self.x = rng.normal(5, 4, size=(N_ROWS, N_FEATURES)).round(1)
        self.x[rng.random(self.x.shape) < 0.1] = np.nan

    def model(self):
        binning = Binning([CUTS] * N_FEATURES)
        return Model(binning, BASE, "squared_error", "identity", list(self.trees), int(self.shared), leaf_model=self.leaf_model)

    def adds(self, leaves, node, row=None):
        """Value that a leaf adds to the raw prediction of a row, (n_outputs,)."""
        return self.added(leaves, node, self.x[0] if row is None else row)

    def all_added(self, leaves):
        return np.array([self.adds(leaves, node, row) for node in self.leaf_nodes for row in self.x[:5]])

    @property
    def leaf_nodes(self):
        return np.flatnonzero(self.tree.feature < 0)

    def expected(self, tree, x):
        """Raw predictions of a tree, row by row, (n_outputs of the tree, n_rows)."""
        reached = twin.leaves([tree], x)[:, 0]
        return np.array([self.added(tree.leaves, node, row) for node, row in zip(reached, x, strict=True)]).T

    def raw(self, x):
        out = np.repeat(BASE[:, None], len(x), axis=1)
        for t, tree in enumerate(self.trees):
            out[self.model().outputs_of(t)] += self.expected(tree, x)
        return out.T


KINDS = [(name, shared) for name in LEAF_MODELS for shared in (False, True)[: 1 + LEAF_REFERENCES[name].shares]]


@pytest.fixture(params=KINDS, ids=lambda p: f"{p[0]}-{p[1] and 'shared'}")
def case(request):
    return Case(*request.param)


def assert_same_leaves(leaves, others):
    for name, array in leaves.arrays().items():
        other = others.arrays()[name]
        assert_array_equal(array, other)
        assert (array.dtype, array.shape) == (other.dtype, other.shape)


def test_every_member_has_a_reference():
    assert set(LEAF_REFERENCES) == set(LEAF_MODELS)
    assert all(model.name == name for name, model in LEAF_MODELS.items())


def test_sizes(case):
    leaves = case.tree.leaves
    assert (leaves.n_nodes, leaves.n_outputs) == (len(case.tree.feature), case.n_outputs or 1)
    assert leaves.is_finite and not leaves.plus(np.nan, case.leaf_nodes[:1]).is_finite
    assert case.leaf_model.empty(case.n_outputs).n_nodes == 0


def test_steps_are_added_to_every_row(case):
    nodes = case.leaf_nodes
    steps = np.random.default_rng(1).normal(size=(len(nodes), case.n_outputs) if case.shared else len(nodes))
    for leaves in (case.leaf_model.of_steps(len(case.tree.feature), nodes, steps), case.tree.leaves.with_steps(nodes, steps)):
        assert (leaves.n_nodes, leaves.n_outputs) == (case.tree.leaves.n_nodes, case.tree.leaves.n_outputs)
        for node, step in zip(nodes, steps, strict=True):
            assert_array_equal(case.adds(leaves, node), np.atleast_1d(step))
            assert_array_equal(leaves.mean_values()[node], np.atleast_1d(step))


def test_scaled(case):
    leaves = case.tree.leaves
    before = case.all_added(leaves)
    assert_allclose(case.all_added(leaves.scaled(-0.3)), -0.3 * before)
    assert_allclose(case.all_added(leaves.scaled(-0.3).unscaled(-0.3)), before)
    assert_same_leaves(leaves.scaled(1.0), leaves)
    assert_array_equal(case.all_added(leaves), before)  # it is not changed


@pytest.mark.parametrize("decay", [0.0, 0.3, 1.0])
def test_blended(case, decay):
    old, new, nodes = case.tree.leaves, case.other, case.leaf_nodes[::2]
    blended = old.blended(new, decay, nodes)
    for node in case.leaf_nodes:
        a, b = case.adds(old, node), case.adds(new, node)
        if node not in nodes:
            assert_array_equal(case.adds(blended, node), a)
        elif decay in (0, 1):
            assert_array_equal(case.adds(blended, node), a if decay else b)
        else:
            assert_allclose(case.adds(blended, node), decay * a + (1 - decay) * b)


def test_some_of_the_nodes(case):
    leaves, nodes = case.tree.leaves, case.leaf_nodes
    order = nodes[::-3]
    taken = leaves.take(order)
    assert taken.n_nodes == len(order)
    for at, node in enumerate(order):
        assert_array_equal(case.adds(taken, at), case.adds(leaves, node))
    only = leaves.only(nodes[:4])
    assert_array_equal([case.adds(only, node) for node in nodes[:4]], [case.adds(leaves, node) for node in nodes[:4]])
    assert not np.array([case.adds(only, node) for node in nodes[4:]]).any()


def test_one_output_and_a_constant(case):
    leaves, nodes = case.tree.leaves, case.leaf_nodes
    for k in range(leaves.n_outputs):
        own = leaves.output(k)
        assert own.n_outputs == 1
        assert_array_equal([case.adds(own, node)[0] for node in nodes], [case.adds(leaves, node)[k] for node in nodes])
    moved = leaves.plus(2.5, nodes[1:])
    assert_array_equal(case.adds(moved, nodes[0]), case.adds(leaves, nodes[0]))
    assert_allclose([case.adds(moved, node) for node in nodes[1:]], [case.adds(leaves, node) + 2.5 for node in nodes[1:]])


def test_arrays_of_all_trees(case):
    all_leaves = [tree.leaves for tree in case.trees]
    arrays = case.leaf_model.join(all_leaves)
    assert {name: array.dtype.name for name, array in arrays.items()} == dict(case.leaf_model.dtypes)
    begin = np.cumsum([0] + [leaves.n_nodes for leaves in all_leaves]).tolist()
    for leaves, again in zip(all_leaves, case.leaf_model.split(arrays, begin), strict=True):
        assert_same_leaves(leaves, again)
        assert_same_leaves(leaves, case.leaf_model.from_arrays(leaves.arrays(), leaves.n_nodes))


def test_file(case):
    model = case.model()
    data = model.to_bytes()
    again = Model.from_bytes(data)
    assert again.leaf_model is case.leaf_model
    for tree, other in zip(case.trees, again.trees, strict=True):
        assert_same_leaves(tree.leaves, other.leaves)
    assert again.to_bytes() == data
    assert Model.from_bytes(model[:0].to_bytes()).n_trees == 0


def test_faults_of_a_file(case):
    arrays, about = case.model().to_parts()
    n_nodes = len(arrays["feature"])
    assert case.leaf_model.find_fault(arrays, n_nodes, case.n_outputs) is None
    for name, dtype in case.leaf_model.dtypes.items():
        wrong = [arrays[name][:-1], np.concatenate([arrays[name], arrays[name][:1]])]
        if dtype == "float64":
            wrong += [np.where(np.arange(len(arrays[name])) == 1, bad, arrays[name].T).T for bad in (np.nan, np.inf)]
        for array in wrong:
            assert case.leaf_model.find_fault({**arrays, name: array}, n_nodes, case.n_outputs) is not None
            with pytest.raises(ModelFormatError):
                Model.from_bytes(pack({**arrays, name: array}, about))


@pytest.mark.parametrize("name", ["unknown", None, 3, ["constant"], ""])
def test_a_file_with_an_unknown_leaf_model(case, name):
    arrays, about = case.model().to_parts()
    with pytest.raises(ModelFormatError, match=r"leaf model .* is unknown to this version, which reads constant"):
        Model.from_parts(arrays, {**about, "leaves": name})


@pytest.mark.parametrize("n_rows", [1, 5, N_ROWS])  # few rows use the tree walk, others blocks
def test_scorer(case, n_rows):
    x = case.x[:n_rows]
    assert_allclose(case.model().predict_raw(ArrayTable(x), Execution(2)), case.raw(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("factor", [1.0, -0.25])
@pytest.mark.parametrize("kind", ["pages", "several pages", "sorted", "some sorted"])
def test_rows_of_training(case, kind, factor):
    table, rows = ArrayTable(case.x), np.arange(1, N_ROWS, 2)
    binned = Pages.build(table, Binning([CUTS] * N_FEATURES), SERIAL)
    held = {
        "pages": lambda: (binned, case.x),
        "several pages": lambda: (cut(binned, 3), case.x),
        "sorted": lambda: (SortedRows(table, SERIAL), case.x),
        "some sorted": lambda: (SortedRows(table, SERIAL, rows), case.x[rows]),
    }
    given, x = held[kind]()
    raw = np.ones((case.tree.leaves.n_outputs, len(x)))
    add_tree(given, case.tree, raw, SERIAL, factor)
    assert_allclose(raw, 1 + factor * case.expected(case.tree, x), rtol=1e-12, atol=1e-12)
    nodes = case.leaf_nodes
    assert_array_equal(nodes[leaf_of_rows(given, case.tree, nodes, SERIAL)], twin.leaves([case.tree], x)[:, 0])


def test_rows_whose_leaves_are_known(case):
    nodes, reached = case.leaf_nodes, twin.leaves([case.tree], case.x)[:, 0]
    assignment = LeafAssignment(N_ROWS, Pages.build(ArrayTable(case.x), Binning([CUTS] * N_FEATURES), SERIAL, page_rows=70))
    assignment.reset(nodes, np.bincount(np.searchsorted(nodes, reached), minlength=len(nodes)), Limits(*np.zeros((3, len(nodes)))))
    assignment.of_row[:] = np.searchsorted(nodes, reached)
    raw = np.ones((case.tree.leaves.n_outputs, N_ROWS))
    case.tree.leaves.add_to(raw, assignment, SERIAL)
    assert_allclose(raw, 1 + case.expected(case.tree, case.x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("against", [False, True])
def test_shapley_values_add_up_to_the_prediction(case, against):
    model, table = case.model(), ArrayTable(case.x[:30])
    explainer = TreeExplainer(model, background=ArrayTable(case.x[30:50]) if against else None)
    values, base = explainer.values(table, SERIAL)
    assert_allclose(values.sum(axis=1) + base, case.raw(case.x[:30]), rtol=1e-10, atol=1e-10)
    if against:
        assert_allclose(base, np.broadcast_to(case.raw(case.x[30:50]).mean(axis=0), base.shape), rtol=1e-10, atol=1e-10)
    else:
        pairs, _ = explainer.interactions(table, SERIAL)
        assert_allclose(pairs.sum(axis=2), values, rtol=1e-10, atol=1e-10)


def test_partial_dependence_of_all_features_is_the_prediction(case):
    found = expected_raw(case.model(), case.x[:20], np.arange(N_FEATURES))
    assert_allclose(found.T, case.raw(case.x[:20]), rtol=1e-10, atol=1e-10)


def test_expected_of_a_leaf(case):
    leaves, known = case.tree.leaves, {f: case.x[:5, f] for f in range(N_FEATURES)}
    for node in case.leaf_nodes:
        found = np.broadcast_to(leaves.expected(node, known), (leaves.n_outputs, 5))
        assert_allclose(found.T, [case.adds(leaves, node, row) for row in case.x[:5]])
        assert_allclose(leaves.expected(node, {})[:, 0], leaves.mean_values()[node])


def test_constants_are_what_the_leaves_add_to_every_row(case):
    values = case.tree.leaves.constant_values()
    if values is None:
        assert len(np.unique(case.all_added(case.tree.leaves), axis=0)) > len(case.leaf_nodes)
        return
    assert values.shape == (len(case.tree.feature), case.tree.leaves.n_outputs)
    for node in case.leaf_nodes:
        assert_array_equal([case.adds(case.tree.leaves, node, row) for row in case.x[:5]], [values[node]] * 5)


def test_descriptions(case):
    node = case.leaf_nodes[0]
    json.dumps(case.tree.leaves.describe(node), allow_nan=False)
    assert case.leaf_model.summary(case.shared)
    assert case.tree.leaves.label(node, 4) and "…" not in case.tree.leaves.label(node, 4)
    assert case.tree.leaves.label(node, 1).endswith("…") == case.shared
    document = json.loads(case.model().to_json())
    assert document["leaves_hold"] == case.leaf_model.summary(case.shared)
    described = document["rounds"][0][0]["nodes"][0]
    assert case.trees[0].leaves.describe(0).items() <= described.items()


def test_merging_scales_the_leaves(case):
    model, other = case.model(), Case(case.name, case.shared, seed=1)
    merged = merge_models([model, other.model()], [0.25, 1.0])
    assert_allclose(merged.predict_raw(ArrayTable(case.x), SERIAL), 0.25 * case.raw(case.x) + other.raw(case.x), rtol=1e-10, atol=1e-10)


class VaryingLeaves(ConstantLeaves):
    """Leaf model without constant values."""

    name = "varying"

    def constant_values(self):
        return None


@pytest.mark.parametrize("format", EXPORTERS)
def test_formats_with_constant_leaves_raise_for_others(format):
    model = Case("constant", False).model()
    model.trees = [Tree(**{**vars(tree), "leaves": VaryingLeaves(tree.leaves.value)}) for tree in model.trees]
    with pytest.raises(ExportError, match=f"format='{format}' does not support varying leaves"):
        model.export(format)


def test_other_leaf_models_are_not_merged():
    one, other = Case("constant", False).model(), Case("constant", False).model()
    other.leaf_model = VaryingLeaves
    with pytest.raises(ValueError, match="models cannot be merged: leaves are constant in the first, but varying in number 1"):
        merge_models([one, other], [1.0, 1.0])

"""docs/format.md is enough to read a file by: readers written from it answer as Sapwood does."""

import json

import numpy as np
import pytest

from tests.model.kinds import KINDS, as_rows, make
from tests.model.plain_reader import BinaryModel, JsonModel


@pytest.fixture(scope="module", params=KINDS)
def made(request):
    return make(request.param)


def expected(estimator, x):
    raw, linked = (np.reshape(estimator.model_.predict(x, raw=raw), (len(x), -1)) for raw in (True, False))
    return raw, linked


@pytest.mark.parametrize("form", ["binary", "binary of an estimator", "json"])
def test_a_reader_written_from_the_specification_predicts_the_same(made, form):
    estimator, x = made
    model = estimator.model_
    read = {
        "binary": lambda: BinaryModel(model.to_bytes()),
        "binary of an estimator": lambda: BinaryModel(estimator.to_bytes()),
        "json": lambda: JsonModel(model.to_json()),
    }[form]()
    raw, linked = expected(estimator, x)
    for i, row in enumerate(as_rows(x)):
        assert read.raw(row) == raw[i].tolist()
        np.testing.assert_allclose(read.predict(row), linked[i], rtol=1e-14)


def test_levels_that_the_fit_did_not_see():
    estimator, x = make("categories")
    x = x.assign(town="Rom", zone=77.0)
    raw, _ = expected(estimator, x)
    for read in (BinaryModel(estimator.model_.to_bytes()), JsonModel(estimator.model_.to_json())):
        assert [read.raw(row) for row in as_rows(x)] == raw.tolist()


def test_json_is_meant_to_be_read():
    estimator, _ = make("categories")
    found = json.loads(estimator.model_.to_json(indent=2))
    nodes = [node for trees in found["rounds"] for tree in trees for node in tree["nodes"]]
    assert {"size", "town", "zone"} & {node.get("name") for node in nodes}
    assert any("Ulm" in node.get("levels", []) for node in nodes)
    assert found["columns"][1] == {"name": "town", "kind": "category", "levels": ["Bonn", "Köln", "Ulm", 'x, "y"'], "ordered": False}
    assert found["columns"][2]["levels"][-1] == {"number": "inf"}
    assert nodes[0]["count"] == 160


def test_deep_trees_do_not_nest():
    x = np.arange(3_000.0)[:, None] ** 3
    estimator = type(make("numbers")[0])(max_iter=1, max_leaf_nodes=None, min_samples_leaf=1, max_bins=3_000).fit(x, x[:, 0])
    assert JsonModel(estimator.model_.to_json()).raw([x[7, 0]]) == [estimator.model_.predict(x[7:8])[0]]

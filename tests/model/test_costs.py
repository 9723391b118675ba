"""Limits on cost: a small file cannot make reading or explaining it expensive."""

import os
import struct
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from fuzz.seeds import load_seeds, put_together, take_apart

from sapwood import BoostingRegressor, Model, ModelFormatError, load
from sapwood.data.columns import ColumnError, is_zone
from sapwood.data.tables import ArrayTable
from sapwood.estimators.values import MAX_DEPTH, from_data
from sapwood.loading import read_file
from sapwood.model import disk
from sapwood.model.explain import TreeExplainer
from sapwood.runtime import memory
from sapwood.runtime.execution import SERIAL


@pytest.fixture(scope="module")
def estimator():
    x = np.random.default_rng(0).normal(size=(200, 3))
    return BoostingRegressor(max_iter=2, max_leaf_nodes=4).fit(x, x[:, 0])


def chain(estimator, depth, n_features=3):
    """A model of one tree: every node has a leaf and the next node below it. It asks for the features in turn."""
    arrays, document = take_apart(estimator.model_.to_bytes())
    node = np.arange(2 * depth + 1, dtype=np.int32)
    inner = (node % 2 == 0) & (node < 2 * depth)
    zeros = np.zeros(len(node))
    document["encoding"]["n_columns"] = n_features
    arrays |= {"kinds": np.zeros(n_features, dtype=np.uint8), "cuts": zeros[:0], "cuts_begin": np.zeros(n_features + 1, dtype=np.int64)}
    arrays |= {"threshold": zeros, "gain": zeros, "value": np.where(inner, 0.0, 1.0), "bin": zeros.astype(np.int32)}
    arrays |= {"missing_left": zeros.astype(np.uint8), "count": np.ones(len(node), dtype=np.int64), "begin": np.array([0, len(node)])}
    arrays["feature"] = np.where(inner, node // 2 % n_features, -1).astype(np.int32)
    arrays["left"], arrays["right"] = (np.where(inner, node + step, -1).astype(np.int32) for step in (1, 2))
    return Model.from_bytes(put_together(arrays, document))


class TestDeepTrees:
    @pytest.mark.parametrize(("depth", "n_features"), [(200_000, 3), (3_000, 3_000)])
    def test_explanations_that_would_cost_too_much(self, estimator, depth, n_features):
        model, row = chain(estimator, depth, n_features), np.ones((1, n_features))
        assert model.predict(row) == estimator.model_.base_score[0] + 1.0
        with pytest.raises(ValueError, match=r"too deep to be explained.*more than 64 on average"):
            TreeExplainer(model)

    def test_interactions(self, estimator):
        model, row = chain(estimator, 300, 300), ArrayTable(np.ones((1, 300)))
        explainer = TreeExplainer(model)
        values, base = explainer.values(row, SERIAL)
        np.testing.assert_allclose(values.sum() + base.sum(), model.predict(np.ones((1, 300))))
        with pytest.raises(ValueError, match="too deep for interactions"):
            explainer.interactions(row, SERIAL)

    def test_deep_ones_of_few_features(self, estimator):
        model, rows = chain(estimator, 2_000), np.random.default_rng(0).normal(size=(5, 3))
        values, base = TreeExplainer(model).values(ArrayTable(rows), SERIAL)
        np.testing.assert_allclose(values.sum(axis=1)[:, 0] + base[:, 0], model.predict(rows))

    def test_large_trees_and_many_rows(self, estimator):
        """Rows are explained in blocks that fit the tree."""
        model, rows = chain(estimator, 5_000), ArrayTable(np.random.default_rng(0).normal(size=(40, 3)))
        whole = TreeExplainer(model).values(rows, SERIAL)[0]
        single = [TreeExplainer(model).values(ArrayTable(rows.array[i : i + 1]), SERIAL)[0][0] for i in range(0, 40, 13)]
        np.testing.assert_array_equal(whole[::13], single)


def test_many_columns_are_explained_in_linear_time(estimator):
    n = 100_000
    model = chain(estimator, 3, n)
    assert TreeExplainer(model).values(ArrayTable(np.ones((1, n))), SERIAL)[0].shape == (1, n, 1)


class TestLargeFiles:
    def make(self, path, size, head=None):
        header = head or b'{"__metadata__":{"sapwood":"{}"},"value":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}' % (size, size)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(size)

    @pytest.mark.parametrize(
        ("size", "message"),
        [(10**12, "bytes of memory that this process may use"), (1 << 30, "of its 1,073,741,824 bytes only [0-9,]+ are stored")],
    )
    def test_of_holes(self, tmp_path, monkeypatch, size, message):
        monkeypatch.setattr(disk, "memory_limit", lambda: 1 << 34)
        self.make(tmp_path / "file", size)
        if os.stat(tmp_path / "file").st_blocks * 512 > 1 << 20:
            pytest.skip("this file system has no holes")
        tracemalloc.start()
        with pytest.raises(ModelFormatError, match=message):
            load(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()

    def test_file_systems_that_do_not_say(self, monkeypatch):
        monkeypatch.setattr(disk, "memory_limit", lambda: 1 << 34)
        fields = {"st_mode": 0, "st_size": 1 << 30, "st_blocks": 0}
        about = type("stat", (), fields)
        disk._check_size(about)
        about.st_blocks = 8
        with pytest.raises(ModelFormatError, match="hole"):
            disk._check_size(about)
        about.st_size = 1 << 28  # read in no time
        disk._check_size(about)

    def test_limit_of_memory(self, tmp_path, monkeypatch):
        assert 1 << 20 < memory.memory_limit() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        (tmp_path / "two").write_text("1048576\n")
        (tmp_path / "one").write_text("max\n")
        monkeypatch.setattr(memory, "CGROUP_LIMITS", [str(tmp_path / name) for name in ("one", "two", "none")])
        assert memory.memory_limit() == 1 << 20
        monkeypatch.setattr(memory, "CGROUP_LIMITS", [])
        monkeypatch.setattr(memory.resource, "getrlimit", lambda what: (1 << 21, -1))
        assert memory.memory_limit() == 1 << 21


class TestNumbersOutOfRange:
    @pytest.mark.parametrize("value", [10**400, -(10**400), {"number": 10**400}, [10**400]], ids=["large", "low", "number", "list"])
    @pytest.mark.parametrize("name", ["train_score", "validation_score", "scores"])
    def test_scores(self, estimator, name, value):
        arrays, document = take_apart(estimator.to_bytes())
        document["estimator"]["fitted"][name] = {"dict": [["a", {"dict": [["b", [value]]]}]]} if name == "scores" else [value]
        with pytest.raises(ModelFormatError):
            read_file(put_together(arrays, document))

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("constraints", "ab", "constraints must be a list of strings, one for each column"),
            ("constraints", [1, 2], "constraints must be a list of strings"),
            ("scores", [], "scores must be a dict of data set -> metric -> list"),
            ("train_score", ["a"], "scores must be lists of numbers"),
            ("provenance", {"dict": [["version", 0.5]]}, "provenance must be a dict of strings and integers"),
            ("resolved", [], "resolved parameters must be named"),
            ("resolved", {"other": [1, "reason"]}, "resolved parameters must be named"),
            ("resolved", {"learning_rate": [0.1]}, "a resolved parameter must be a value and a reason"),
            ("resolved", {"learning_rate": [0.1, 2]}, "a resolved parameter must be a value and a reason"),
            ("resolved", {"learning_rate": "ab"}, "a resolved parameter must be a value and a reason"),
            ("resolved", {"learning_rate": [-1, "reason"]}, "'learning_rate' parameter of resolved_params_ must be"),
        ],
    )
    def test_fitted_values(self, estimator, name, value, message):
        arrays, document = take_apart(estimator.to_bytes())
        document["estimator"]["fitted"][name] = value
        with pytest.raises(ModelFormatError, match=message):
            read_file(put_together(arrays, document))

    @pytest.mark.parametrize(
        "value", [10**400, [10**400], {"array": {"dtype": "<f8", "shape": [1], "values": [10**400]}}], ids=["number", "list", "array"]
    )
    def test_everywhere(self, value):
        """A number that no double holds, in the place of every other number of all golden files."""

        def places(data, path=()):
            if isinstance(data, dict | list):
                for key, own in data.items() if isinstance(data, dict) else enumerate(data[:3]):
                    yield from places(own, (*path, key))
            elif type(data) in (int, float):
                yield path

        n_places = 0
        for seed in load_seeds():
            arrays, document = take_apart(seed)
            for path in places(document):
                changed = take_apart(seed)[1]
                at = changed
                for key in path[:-1]:
                    at = at[key]
                at[path[-1]] = value
                n_places += 1
                try:
                    read_file(put_together(arrays, changed))
                except ModelFormatError:
                    continue
        assert n_places > 100

    @pytest.mark.parametrize("count", [-1, 2**53 + 1, 2**63 - 1])
    def test_counts(self, estimator, count):
        arrays, document = take_apart(estimator.to_bytes())
        arrays["count"][1] = count
        with pytest.raises(ModelFormatError, match="a count is out of range"):
            read_file(put_together(arrays, document))


class TestTimeZones:
    def test_offsets(self):
        good = ["+00:00", "-23:59", "UTC+05:30", "+0530", "Europe/Berlin", "no such place", "UTC+05:30:15"]
        bad = ["+99:99", "+24:00", "-00:60", "UTC+25:00", "+2400"]
        assert all(map(is_zone, good)) and not any(map(is_zone, bad))

    def test_fit_and_file_agree(self):
        def table(zone):
            moments = np.arange(50, dtype=np.int64) * 10**12
            return pa.table({"at": pa.array(moments, pa.timestamp("us", tz=zone))})

        with pytest.raises(ColumnError, match=r"Column 'at' has the time zone '\+99:99'; an offset from UTC must be less than 24:00"):
            BoostingRegressor(max_iter=1).fit(table("+99:99"), np.arange(50.0))
        fitted = BoostingRegressor(max_iter=1).fit(table("+09:00"), np.arange(50.0))
        arrays, document = take_apart(fitted.to_bytes())
        assert document["features"]["kinds"]["0"]["zone"] == "+09:00"
        document["features"]["kinds"]["0"]["zone"] = "+99:99"
        with pytest.raises(ModelFormatError, match="features: invalid kind of a feature"):
            read_file(put_together(arrays, document))


def nested(depth, inner):
    for _ in range(depth):
        inner = [inner]
    return inner


def test_depth_of_lists():
    assert from_data(nested(MAX_DEPTH, 1)) == nested(MAX_DEPTH, 1)
    with pytest.raises(ValueError, match="a value is nested too deeply"):
        from_data(nested(MAX_DEPTH + 1, 1))
    for name in ("tuple", "set", "dict", "slice"):
        data = 1
        for _ in range(MAX_DEPTH + 1):
            data = {name: [[data, data]] if name == "dict" else [data]}
        with pytest.raises(ValueError, match="a value is nested too deeply"):
            from_data(data)

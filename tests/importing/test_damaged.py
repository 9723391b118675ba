"""Models of other libraries with impossible numbers are refused; what is imported can be saved and loaded."""

import json
import sys
import tracemalloc

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.ensemble import RandomForestRegressor

from sapwood import BoostingRegressor, import_model
from sapwood.importing import ImportedModelError, from_lightgbm, from_xgboost
from sapwood.importing.base import check_sets, reading_model
from sapwood.importing.xgboost import read_document
from sapwood.loading import read_file

N_ROWS = 400


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, 3))
    return x, x[:, 0] * x[:, 1] + rng.normal(size=N_ROWS) > 0


def change(text, name, at, value, tree=0):
    """A text of LightGBM with another number in a field of a tree (None: of the head)."""
    blocks = text.split("\nTree=")
    number = 0 if tree is None else tree + 1
    lines = blocks[number].split("\n")
    for i, line in enumerate(lines):
        if line.startswith(f"{name}="):
            values = line.partition("=")[2].split(" ")
            values[at] = str(value)
            lines[i] = f"{name}={' '.join(values)}"
    blocks[number] = "\n".join(lines)
    return "\nTree=".join(blocks)


class TestLightGbm:
    @pytest.fixture(scope="class")
    @classmethod
    def text(cls):
        x, y = data()
        made = lgb.train({"objective": "binary", "verbose": -1, "num_leaves": 8, "num_threads": 1}, lgb.Dataset(x, y), 3)
        return made.model_to_string()

    @pytest.mark.parametrize("value", [4294967297, -1, -2, 2147483648, 3, 2**62])
    def test_features_out_of_range(self, text, value):
        with pytest.raises(ImportedModelError, match=f"split_feature is {value}, and must be from 0 to 2"):
            from_lightgbm(change(text, "split_feature", 1, value))

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("leaf_count", -5, "leaf_count is -5"),
            ("leaf_count", "nan", "leaf_count is nan"),
            ("leaf_count", "1e300", "leaf_count is 1e"),
            ("internal_count", -1, "internal_count is -1"),
            ("split_gain", "nan", "a gain is not a number"),
            ("leaf_value", "nan", "a leaf value that is not finite"),
            ("leaf_value", "inf", "a leaf value that is not finite"),
            ("threshold", "nan", "a threshold that is NaN"),
            ("left_child", 99, "left_child is 99"),
            ("left_child", -99, "left_child is -99"),
            ("right_child", 4294967297, "right_child is 4294967297"),
            ("left_child", 0, "unknown child, or two nodes have the same child"),
            ("decision_type", "nan", "damaged model"),
            ("decision_type", 1, "damaged model"),
            ("decision_type", 12, "decision_type is 12, and must be from 0 to 11"),
            ("decision_type", 2**31, "decision_type is 2147483648"),
            ("decision_type", -2, "decision_type is -2"),
        ],
    )
    def test_numbers(self, text, name, value, message):
        with pytest.raises(ImportedModelError, match=message):
            from_lightgbm(change(text, name, 0, value))

    @pytest.mark.parametrize(
        "name", ["leaf_count", "internal_count", "split_gain", "threshold", "split_feature", "left_child", "leaf_value"]
    )
    def test_lengths(self, text, name):
        with pytest.raises(ImportedModelError, match=r"and must have|splits and"):
            from_lightgbm(change(text, name, 0, "1 1"))

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("max_feature_idx", 10_000_000, "max_feature_idx=10000000 beside 3 feature_names: a part of the model is missing"),
            ("max_feature_idx", -5, "max_feature_idx=-5 beside 3 feature_names"),
            ("num_tree_per_iteration", 10**9, r"1000000000 outputs for 3 value\(s\) of leaves: a round is not whole"),
            ("num_tree_per_iteration", 0, r"0 outputs for 3 value\(s\) of leaves"),
            ("num_tree_per_iteration", 2, r"3 trees for 2 output\(s\): the last round is incomplete"),
        ],
    )
    def test_cost(self, text, name, value, message):
        tracemalloc.start()
        with pytest.raises(ImportedModelError, match=message):
            from_lightgbm(change(text, name, 0, value, None))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()

    def test_texts_of_something_else(self, text):
        with pytest.raises(ImportedModelError, match="not a LightGBM model: the text does not begin with 'tree'"):
            from_lightgbm(f"a forest\n{text}")
        with pytest.raises(ImportedModelError, match=r"objective 'other' of LightGBM cannot be imported; choose from .*regression"):
            from_lightgbm(text.replace("objective=binary", "objective=other"))

    def test_leaves_that_do_not_fit_the_splits(self, text):
        with pytest.raises(ImportedModelError, match="a tree has 7 splits and 9 leaves"):
            from_lightgbm(change(text, "leaf_value", 0, "1 1"))

    def test_zero_and_nan_as_missing_values(self, text):
        mixed = change(change(text, "decision_type", 0, 4), "decision_type", 1, 8)
        with pytest.raises(ImportedModelError, match="zero_as_missing cannot be imported in combination"):
            from_lightgbm(mixed)

    def test_levels_of_other_columns(self, text):
        with pytest.raises(ImportedModelError, match="0 columns are categorical, but pandas_categorical has 1: they cannot be matched"):
            from_lightgbm(text.replace("pandas_categorical:null", 'pandas_categorical:[["a"]]'))

    def test_names_twice(self, text):
        with pytest.raises(ImportedModelError, match="names must be unique"):
            from_lightgbm(change(text, "feature_names", 1, "Column_0", None))


class TestXgboost:
    @pytest.fixture(scope="class")
    @classmethod
    def peer(cls):
        x, y = data()
        return xgb.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(x, y)

    @pytest.fixture
    def document(self, peer):
        return json.loads(bytes(peer.get_booster().save_raw("json")))

    @staticmethod
    def read(document):
        with reading_model("XGBoost"):
            return read_document(document, len(json.dumps(document)))

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("split_indices", -1, "split_indices is -1"),
            ("split_indices", 3, "split_indices is 3, and must be from 0 to 2"),
            ("split_indices", 2**32 + 1, "split_indices is 4294967297"),
            ("sum_hessian", float("nan"), "sum_hessian is nan"),
            ("sum_hessian", 1e30, "sum_hessian is 1e"),
            ("loss_changes", float("nan"), "a gain is not a number"),
            ("split_conditions", float("nan"), "a threshold that is NaN"),
            ("left_children", 2**40, "damaged model"),
            ("left_children", 0, "unknown child"),
        ],
    )
    def test_numbers(self, document, name, value, message):
        document["learner"]["gradient_booster"]["model"]["trees"][0][name][0] = value
        with pytest.raises(ImportedModelError, match=message):
            self.read(document)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("num_feature", 10**9, r"a model of [\d,]+ bytes has 1000000000 columns; from 1 to [\d,]+ can be imported"),
            ("num_feature", 0, "bytes has 0 columns; from 1 to"),
            ("num_class", 10**9, r"1000000000 outputs for \d+ value\(s\) of leaves: a round is not whole"),
            ("num_class", 2, "outputs have different numbers of trees"),
        ],
    )
    def test_cost(self, document, name, value, message):
        document["learner"]["learner_model_param"][name] = str(value)
        tracemalloc.start()
        with pytest.raises(ImportedModelError, match=message):
            self.read(document)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()

    @pytest.mark.parametrize("other", [{}, {"learner": {}}, {"learner": []}, []])
    def test_documents_of_something_else(self, other):
        with pytest.raises(ImportedModelError, match="not an XGBoost model: there is no learner with an objective"):
            self.read(other)

    def test_an_unknown_objective(self, document):
        document["learner"]["objective"]["name"] = "other"
        with pytest.raises(ImportedModelError, match=r"objective 'other' of XGBoost cannot be imported; choose from .*reg:squarederror"):
            self.read(document)

    def test_binary_files_without_xgboost(self, tmp_path, monkeypatch):
        (tmp_path / "model.ubj").write_bytes(b"{L not JSON")
        monkeypatch.setitem(sys.modules, "xgboost", None)
        with pytest.raises(ImportedModelError, match=r"model\.ubj is not JSON: install xgboost to read its binary files"):
            from_xgboost(tmp_path / "model.ubj")

    def test_many_columns_cost_little(self, document):
        """Hashed features: a column that no tree uses takes some bytes."""
        document["learner"]["learner_model_param"]["num_feature"] = str(1 << 20)
        document["learner"]["feature_names"] = []
        tracemalloc.start()
        made = self.read(document)
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
        tracemalloc.stop()
        assert made.model_.n_features == 1 << 20

    @pytest.mark.parametrize(
        ("code", "node", "begin", "size", "message"),
        [
            (2**31, 0, 0, 1, "categories is 2147483648"),
            (-1, 0, 0, 1, "categories is -1"),
            (1, -1, 0, 1, "out of range"),
            (1, 0, -1, 1, "out of range"),
            (1, 0, 0, 2, "out of range"),
        ],
    )
    def test_sets(self, document, code, node, begin, size, message):
        document["learner"]["feature_types"] = ["c", "c", "c"]
        sets = {"categories": [code], "categories_nodes": [node], "categories_segments": [begin], "categories_sizes": [size]}
        document["learner"]["gradient_booster"]["model"]["trees"][0].update(sets)
        with pytest.raises(ImportedModelError, match=message):
            self.read(document)

    def test_outputs(self, document):
        document["learner"]["gradient_booster"]["model"]["tree_info"][0] = 5
        with pytest.raises(ImportedModelError, match="tree_info is 5"):
            self.read(document)

    def test_rows_and_cover(self, peer):
        """Hessians are the cover, as XGBoost counts it; a node never has more rows than there were."""
        ours = import_model(peer)
        booster = peer.get_booster()
        total = booster.get_score(importance_type="total_cover")
        np.testing.assert_allclose(ours.importances("cover"), [total.get(f"f{c}", 0.0) for c in range(3)], rtol=1e-5)
        assert all(tree.count.max() <= N_ROWS for tree in ours.model_.trees)
        again = read_file(ours.to_bytes())
        assert again.to_bytes() == ours.to_bytes()
        np.testing.assert_array_equal(again.importances("cover"), ours.importances("cover"))
        x, _ = data()
        np.testing.assert_array_equal(again.explain(x[:5]).values, ours.explain(x[:5]).values)
        np.testing.assert_array_equal(ours[1:].importances("cover"), again[1:].importances("cover"))

    def test_rows_without_hessians(self):
        x, y = data()
        ours = import_model(xgb.XGBRegressor(n_estimators=2, max_depth=3, n_jobs=1).fit(x, y))
        assert [tree.count[0] for tree in ours.model_.trees] == [N_ROWS] * 2
        assert all(tree.cover is None for tree in ours.model_.trees)

    def test_more_rounds(self, peer):
        """Trees with and without cover in one model."""
        x, y = data()
        more = BoostingRegressor(max_iter=2, learning_rate=0.5).fit(x, y)
        merged = BoostingRegressor(max_iter=1).fit(x, y).model_
        merged.trees[0].cover = merged.trees[0].count * 0.5
        merged.trees.append(more.model_.trees[0])
        arrays = type(merged).from_bytes(merged.to_bytes()).arrays()
        np.testing.assert_array_equal(arrays["cover"], np.concatenate([merged.trees[0].cover, more.model_.trees[0].count]))


class TestSklearn:
    def test_rows_and_weights(self):
        x, y = data()
        weight = np.random.default_rng(1).random(N_ROWS)
        peer = RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0).fit(x, y, sample_weight=weight)
        ours = import_model(peer)
        for tree, theirs in zip(ours.model_.trees, peer.estimators_, strict=True):
            assert tree.count[0] == theirs.tree_.n_node_samples[0] <= N_ROWS
            np.testing.assert_allclose(tree.weights[0], theirs.tree_.weighted_n_node_samples[0])


class TestOneValidator:
    """Models that were changed are refused when they are saved, not when they are loaded."""

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("gain", np.nan, "a gain is not a number"),
            ("count", -1, "a count is out of range"),
            ("threshold", np.nan, "a threshold is not a number"),
            ("feature", 99, "a feature is out of range"),
            ("left", 10**6, "a left child is out of range"),
            ("bin", -1, "a bin is out of range"),
        ],
    )
    def test_of_trees(self, name, value, message):
        x, y = data()
        model = BoostingRegressor(max_iter=1).fit(x, y)
        getattr(model.model_.trees[0], name)[0] = value
        with pytest.raises(ValueError, match=message):
            model.to_bytes()

    @pytest.mark.parametrize("cover", [-1.0, np.nan, np.inf])
    def test_of_cover(self, cover):
        x, y = data()
        model = BoostingRegressor(max_iter=1).fit(x, y)
        model.model_.trees[0].cover = np.full(len(model.model_.trees[0].count), cover)
        with pytest.raises(ValueError, match="cover is out of range"):
            model.to_bytes()

    def test_of_parameters(self):
        x, y = data()
        model = BoostingRegressor(max_iter=1).fit(x, y)
        model.set_params(max_depth=-5)
        with pytest.raises(ValueError, match=r"BoostingRegressor cannot be saved: .*max_depth"):
            model.to_bytes()


def test_sets_that_would_take_too_much_memory():
    check_sets(1 << 10, 1 << 20)
    with pytest.raises(ImportedModelError, match="a category of 1,048,576 levels is split 1,025 times: too much"):
        check_sets((1 << 10) + 1, 1 << 20)

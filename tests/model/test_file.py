import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from sapwood import BoostingClassifier, BoostingRegressor, Model, ModelFormatError
from sapwood.data.tables import ArrayTable
from sapwood.model.file import ARRAYS, SCHEMA, checksum, pack, seal, unpack
from sapwood.runtime import kernels
from sapwood.runtime.execution import SERIAL
from tests.model.plain_reader import hash_of


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 3)).round(1)
    x[::9, 1] = np.nan
    x[:, 2] = rng.integers(0, 10, 150)
    categories = {"categorical_features": [2], "categorical_encoding": ["partition", "target"], "min_samples_level": 1, "cat_l2": 0.0}
    y = np.digitize(x[:, 0] + (x[:, 2] % 3 - 1) + rng.normal(size=150), [-0.5, 0.5])
    return BoostingClassifier(max_iter=3, max_leaf_nodes=5, multi_strategy="one_output_per_tree", **categories).fit(x, y).model_


@pytest.fixture(scope="module")
def data(model):
    return model.to_bytes()


X = np.random.default_rng(1).normal(size=(40, 3))


def answer(model):
    return model.predict_raw(ArrayTable(X), SERIAL).tobytes(), model.importances().tobytes(), model.loss, model.link, model.best_round


def check_damaged(damaged, model):
    """Damage is found, or did not matter."""
    try:
        loaded = Model.from_bytes(damaged)
    except ModelFormatError:
        return "refused"
    assert answer(loaded) == answer(model)
    return "harmless"


class TestDamage:
    @pytest.mark.parametrize("what", ["a bit", "a byte"])
    def test_anywhere(self, model, data, what):
        rng = np.random.default_rng(2)
        found = []
        for at in np.concatenate([np.arange(0, 64), rng.integers(0, len(data), 400)]):
            damaged = bytearray(data)
            damaged[at] ^= 1 << rng.integers(8) if what == "a bit" else rng.integers(1, 256)
            found.append(check_damaged(bytes(damaged), model))
        assert found.count("refused") > 400

    def test_in_the_header(self, model, data):
        rng = np.random.default_rng(3)
        (length,) = struct.unpack("<Q", data[:8])
        for _ in range(300):
            damaged = bytearray(data)
            damaged[8 + rng.integers(length)] = rng.choice(list(b'0123456789-",:{}[]abFIx \\\x00\xff'))
            check_damaged(bytes(damaged), model)

    def test_cut_short(self, model, data):
        rng = np.random.default_rng(4)
        for size in [*range(32), *rng.integers(32, len(data), 100).tolist(), len(data) - 1]:
            assert check_damaged(data[:size], model) == "refused"

    def test_longer(self, model, data):
        assert check_damaged(data + b"\x00", model) == "refused"
        assert check_damaged(data + data, model) == "refused"

    def test_parts_swapped(self, model, data):
        rng = np.random.default_rng(5)
        for _ in range(100):
            a, b, size = *np.sort(rng.integers(8, len(data) - 16, 2)).tolist(), 8
            damaged = bytearray(data)
            damaged[a : a + size], damaged[b : b + size] = damaged[b : b + size], damaged[a : a + size]
            check_damaged(bytes(damaged), model)

    @given(st.binary(max_size=200))
    def test_anything_else(self, noise):
        with pytest.raises(ModelFormatError):
            Model.from_bytes(noise)


@pytest.fixture
def parts(data):
    """The arrays and the document of a good model, to be spoilt."""
    arrays, about = unpack(data)
    return {name: array.copy() for name, array in arrays.items()}, {k: v for k, v in about.items() if k != "schema"}


def refuse(arrays, about, match):
    """Packed as they are, with a true checksum."""
    with pytest.raises(ModelFormatError, match=match):
        Model.from_bytes(pack(arrays, about))


class TestCraftedArrays:
    """A file whose checksum is right may still mean harm."""

    def test_the_parts_are_good(self, parts, model):
        assert answer(Model.from_bytes(pack(*parts))) == answer(model)

    def inner(self, arrays, n=0):
        """The n-th inner node."""
        return np.flatnonzero(arrays["feature"] >= 0)[n]

    @pytest.mark.parametrize(
        "name, child, match",
        [
            ("left", 0, "child is out of range"),  # a cycle
            ("right", 0, "child is out of range"),
            ("left", -1, "child is out of range"),
            ("right", 9, "child is out of range"),  # in the next tree
            ("left", 2**31 - 1, "child is out of range"),
            ("left", 2, "no parent, or two"),  # shared
        ],
    )
    def test_children(self, parts, name, child, match):
        arrays, about = parts
        arrays[name][self.inner(arrays)] = child
        refuse(arrays, about, match)

    def test_a_longer_cycle(self, parts):
        arrays, about = parts
        arrays["left"][self.inner(arrays, 1)] = 1
        refuse(arrays, about, "child is out of range|no parent, or two")

    def test_an_orphan(self, parts):
        arrays, about = parts
        arrays["feature"][self.inner(arrays, 1)] = -1
        refuse(arrays, about, "no parent, or two")

    @pytest.mark.parametrize("feature", [6, 2**31 - 1, -2])
    def test_features(self, parts, feature):
        arrays, about = parts
        arrays["feature"][self.inner(arrays)] = feature
        refuse(arrays, about, "feature is out of range")

    @pytest.mark.parametrize(
        "name, wrong, match",
        [
            ("threshold", np.nan, "threshold"),
            ("value", np.nan, "value"),
            ("value", np.inf, "value"),
            ("bin", -1, "bin"),
            ("bin", 256, "bin"),
            ("missing_left", 2, "missing_left"),
            ("count", -1, "count"),
            ("gain", np.nan, "gain"),
            ("base_score", np.nan, "base_score"),
            ("base_score", np.inf, "base_score"),
            ("cuts", np.nan, "cuts"),
            ("cuts", np.inf, "cuts"),  # before others
        ],
    )
    def test_numbers(self, parts, name, wrong, match):
        arrays, about = parts
        arrays[name][0] = wrong
        refuse(arrays, about, match)

    @pytest.mark.parametrize("name", ARRAYS)
    @pytest.mark.parametrize("change", ["shorter", "longer", "empty"])
    def test_lengths(self, parts, name, change):
        arrays, about = parts
        arrays[name] = {"shorter": arrays[name][:-1], "longer": np.append(arrays[name], 0), "empty": arrays[name][:0]}[change]
        refuse(arrays, about, "damaged")

    @pytest.mark.parametrize("name", ["begin", "cuts_begin", "lookup_begin"])
    def test_beginnings_that_go_round_the_clock(self, parts, name):
        arrays, about = parts
        arrays[name] = np.array([0, 2**63 - 1, -2, *[arrays[name][-1]] * (len(arrays[name]) - 3)])  # no difference is negative
        refuse(arrays, about, "damaged")

    @pytest.mark.parametrize("name", ["begin", "cuts_begin"])
    @pytest.mark.parametrize("at, wrong", [(0, 1), (0, -1), (1, -1), (1, 2**62), (-1, 2**62), (-2, 2**63 - 1), (1, -(2**63))])
    def test_where_things_begin(self, parts, name, at, wrong):
        arrays, about = parts
        arrays[name][at] = wrong
        refuse(arrays, about, f"damaged.*{name}")

    def test_a_tree_without_nodes(self, parts):
        arrays, about = parts
        arrays["begin"][1] = 0
        refuse(arrays, about, "no nodes")

    @pytest.mark.parametrize("shared", [True, None, -1, 1, 1001, 0.0, "0", [0]])
    def test_what_a_round_is(self, parts, shared):
        arrays, about = parts
        refuse(arrays, {**about, "shared": shared}, "shared trees|wrong number of values")

    def test_values_for_each_output(self, parts):
        arrays, about = parts
        n = len(arrays["value"])
        assert Model.from_bytes(pack({**arrays, "value": np.zeros((n, 3))}, {**about, "shared": 1, "best_round": 9})).n_rounds == 9
        for shape, shared in (((n, 3), 0), ((n, 2), 1), ((n, 4), 1), ((n, 0), 1), ((n, 1), 1), ((n, 3, 1), 1)):
            refuse({**arrays, "value": np.zeros(shape)}, {**about, "shared": shared}, "value")
        refuse({**arrays, "value": np.zeros((n - 1, 3))}, {**about, "shared": 1}, "one entry per node")
        refuse({**arrays, "value": np.full((n, 3), np.nan)}, {**about, "shared": 1}, "not finite")
        refuse({**arrays, "value": np.zeros((n, 3))}, {**about, "shared": 2}, "last round is incomplete")

    def test_half_a_round(self, parts):
        arrays, about = parts
        arrays["base_score"] = arrays["base_score"][:2]
        refuse(arrays, about, "last round is incomplete")

    def test_too_many_cuts(self, parts):
        arrays, about = parts
        at = arrays["cuts_begin"][3]  # where the category's end
        arrays["cuts"] = np.insert(arrays["cuts"], at, arrays["cuts"][at - 1] + 1 + np.arange(255))
        arrays["cuts_begin"][3:] += 255
        refuse(arrays, about, "too many cuts")

    def test_no_features(self, parts):
        arrays, about = parts
        leaf = {"begin": np.arange(4), "feature": -np.ones(3), "missing_left": np.zeros(3)}
        leaf |= {name: np.zeros(3) for name in ("threshold", "bin", "left", "right", "value", "gain", "count")}
        refuse({"base_score": arrays["base_score"], "cuts": np.empty(0), "cuts_begin": np.zeros(1), **leaf}, about, "no features")

    @pytest.mark.parametrize(
        "change", [{"loss": "not a name"}, {"loss": ""}, {"loss": ["log_loss"]}, {"loss": None}, {"link": "probit"}, {"link": {}}]
    )
    def test_losses_and_links(self, parts, change):
        arrays, about = parts
        refuse(arrays, {**about, **change}, "loss or link")

    @pytest.mark.parametrize("name", ["value", "cover"])
    def test_arrays_of_nodes(self, parts, name):
        arrays, about = parts
        n = len(arrays["feature"])
        good = {**arrays, "cover": np.ones(n)}
        assert Model.from_bytes(seal(good, about)).n_trees == len(arrays["begin"]) - 1
        for wrong in (good[name].astype(np.int64), good[name].astype(np.uint8)):
            with pytest.raises(ModelFormatError, match=f"{name} must be an array of float64"):
                Model.from_bytes(seal(good | {name: wrong}, about))
        for wrong in (good["cover"][1:], good["cover"].reshape(1, -1)):
            with pytest.raises(ModelFormatError, match="cover must be an array of float64"):
                Model.from_bytes(seal(good | {"cover": wrong}, about))

    @pytest.mark.parametrize("leaves", ["cubic", "", None, 3, ["constant"]])
    def test_leaf_models(self, parts, leaves):
        arrays, about = parts
        with pytest.raises(ModelFormatError, match=r"the leaf model .* is unknown to this version, which reads constant"):
            Model.from_bytes(seal(arrays, {**about, "leaves": leaves}))

    @pytest.mark.parametrize("best_round", [-1, 4, 1.0, True, "2", [1], 10**30])
    def test_best_rounds(self, parts, best_round):
        arrays, about = parts
        refuse(arrays, {**about, "best_round": best_round}, "best_round")
        refuse(arrays, {name: value for name, value in about.items() if name != "best_round"}, "best_round")

    def test_a_newer_schema(self, parts):
        arrays, about = parts
        refuse(arrays, {**about, "schema": SCHEMA + 1}, f"schema {SCHEMA + 1} is unknown.*upgrade")

    @pytest.mark.parametrize("schema", [0, None, "1", [], {}, True, 1.0])
    def test_another_schema(self, parts, schema):
        arrays, about = parts
        refuse(arrays, {**about, "schema": schema}, "schema .* is unknown to this version, which reads 1$")


class TestOtherFiles:
    """Files of safetensors that `pack` would not write."""

    def document(self, about):
        return json.dumps({"schema": SCHEMA, **about})

    def refuse(self, arrays, document, match="Sapwood model"):
        """With a true checksum."""
        with pytest.raises(ModelFormatError, match=match):
            Model.from_bytes(save(arrays, {"sapwood": document, "sha256": checksum(arrays, document)}))

    def test_safetensors_reads_ours_and_we_read_theirs(self, model, data):
        theirs, ours = load(data), unpack(data)[0]
        assert set(theirs) == set(ours)
        for name, array in theirs.items():
            assert array.dtype == ours[name].dtype and np.array_equal(array, ours[name], equal_nan=array.dtype.kind == "f")
        (length,) = struct.unpack("<Q", data[:8])
        again = save(theirs, json.loads(data[8 : 8 + length])["__metadata__"])
        assert answer(Model.from_bytes(again)) == answer(model)

    @pytest.mark.parametrize("metadata", [None, {}, {"other": "{}"}])
    def test_no_document(self, parts, metadata):
        with pytest.raises(ModelFormatError, match="not a Sapwood model"):
            Model.from_bytes(save(parts[0], metadata))

    @pytest.mark.parametrize("document", ["", "{", "[]", "1", "null", '"text"', "[" * 100_000, "1" * 5000, "NaN", '{"schema":Infinity}'])
    def test_documents_that_are_no_object(self, parts, document):
        self.refuse(parts[0], document)

    def test_missing_and_further_arrays(self, parts):
        arrays, document = parts[0], self.document(parts[1])
        self.refuse({name: array for name, array in arrays.items() if name != "gain"}, document, "arrays are missing or unknown")
        self.refuse({**arrays, "more": np.zeros(1)}, document, "arrays are missing or unknown")
        self.refuse({**arrays, "init": np.zeros(1)}, document, "init must be an array of uint8")

    @pytest.mark.parametrize("name", [name for name, (dtype, _) in ARRAYS.items() if dtype not in ("float64", "int64")])
    def test_wider_types(self, parts, name):
        arrays, document = parts[0], self.document(parts[1])
        self.refuse({**arrays, name: arrays[name].astype(np.int64)}, document, f"{name} must be an array of {ARRAYS[name][0]}")

    @pytest.mark.parametrize("name", ["feature", "threshold", "begin"])
    def test_other_types_and_shapes(self, parts, name):
        arrays, document = parts[0], self.document(parts[1])
        others = (arrays[name].astype(np.uint8), arrays[name].astype(np.float32), arrays[name][:, None], arrays[name][:1].reshape(()))
        for other in others:
            self.refuse({**arrays, name: other.copy()}, document, f"{name}")

    @pytest.mark.parametrize("wrong", ["0" * 64, "", "0"])
    def test_a_checksum_of_something_else(self, parts, wrong):
        with pytest.raises(ModelFormatError, match="checksum"):
            Model.from_bytes(save(parts[0], {"sapwood": self.document(parts[1]), "sha256": wrong}))
        with pytest.raises(ModelFormatError, match="checksum"):
            Model.from_bytes(save(parts[0], {"sapwood": self.document(parts[1])}))


class TestHash:
    @pytest.mark.parametrize("n", [0, 1, 7, 8, 63, 64, 65, 1000])
    def test_is_that_of_the_specification(self, n):
        data = np.random.default_rng(n).bytes(n)
        assert kernels.hash_bytes(np.frombuffer(data, dtype=np.uint8)) == hash_of(data)

    def test_any_bits_of_any_two_words_show(self):
        rng = np.random.default_rng(0)
        words = rng.integers(0, 2**63, 200).astype(np.uint64)
        before = kernels.hash_bytes(words.view(np.uint8))
        for _ in range(2_000):
            changed = words.copy()
            for at in rng.choice(200, 2, replace=False):
                changed[at] ^= np.uint64(1) << np.uint64(rng.choice([63, 62, 52, 31, 0, rng.integers(64)]))
            assert kernels.hash_bytes(changed.view(np.uint8)) != before


def test_sets_of_levels_are_numbered_through_all_trees():
    """A node that names the set of another one, or one that is not there."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, 8, 200), rng.normal(size=200)])
    fitted = BoostingRegressor(max_iter=3, categorical_features=[0], min_samples_leaf=3).fit(x, np.sin(x[:, 0]) + 0.1 * x[:, 1])
    arrays, document = unpack(fitted.model_.to_bytes())
    by_set = np.flatnonzero((arrays["feature"] >= 0) & (arrays["kinds"][arrays["feature"]] > 0))
    assert len(by_set) == len(arrays["sets"]) > 1
    for wrong in (1, len(by_set), 10**6):
        bins = arrays["bin"].copy()
        bins[by_set[0]] = wrong
        with pytest.raises(ModelFormatError, match="a set of levels is missing, or one too many"):
            pack({**arrays, "bin": bins}, document)

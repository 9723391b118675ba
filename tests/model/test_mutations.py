"""Files that mean harm. `make fuzz` tries 10,000 mutations, of which these are the first; here are also files that would cost most."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from fuzz.judge import Finding, judge
from fuzz.mutations import ALL, mutate
from fuzz.seeds import load_seeds, put_together, take_apart

from sapwood import BoostingRegressor, Model, ModelFormatError
from sapwood.data import container
from sapwood.model.file import checksum

ROOT = Path(__file__).parents[2]
SEEDS = load_seeds()


def test_mutations():
    """In processes of their own, which may die or hang."""
    run = subprocess.run([sys.executable, "-m", "fuzz", "--n", "400"], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "400 mutations" in run.stdout and "refused" in run.stdout


def test_mutations_are_of_all_kinds_and_repeat():
    made = [mutate(SEEDS, number) for number in range(300)]
    assert {way for way, _, _ in made} == {way.__name__ for way in ALL}
    assert made == [mutate(SEEDS, number) for number in range(300)]
    assert sum(data == SEEDS[seed] for _, seed, data in made) < 30


class TestTheJudge:
    """It can find something."""

    def test_an_error_of_another_kind(self, monkeypatch):
        monkeypatch.setattr("fuzz.judge.read_file", lambda *args: {}["key"])
        with pytest.raises(Finding, match="KeyError while loading"):
            judge(SEEDS[0])

    def test_an_allocation(self, monkeypatch):
        def hungry(*args):
            np.zeros(10_000_000)
            raise ModelFormatError

        monkeypatch.setattr("fuzz.judge.read_file", hungry)
        with pytest.raises(Finding, match="bytes were allocated"):
            judge(SEEDS[0])

    def test_a_wrong_answer(self, monkeypatch):
        monkeypatch.setattr(Model, "predict_raw", lambda self, table, n_threads: np.full((3, self.n_outputs), 7.0))
        with pytest.raises(Finding, match="by the specification"):
            judge(SEEDS[0])

    @pytest.mark.parametrize("seed", range(len(SEEDS)))
    def test_good_files_pass(self, seed):
        assert judge(SEEDS[seed]) == "another model"


# What costs most for its bytes


def model_parts(n_columns=2):
    """Arrays and document of a model of numbers."""
    x = np.random.default_rng(0).normal(size=(200, n_columns))
    return take_apart(BoostingRegressor(max_iter=1, max_leaf_nodes=2).fit(x, x[:, 0]).model_.to_bytes())


def small_trees(n):
    """As many trees of one node as there can be."""
    arrays, document = model_parts()
    nodes = {
        name: np.zeros(n, dtype=arrays[name].dtype)
        for name in ("threshold", "bin", "left", "right", "missing_left", "value", "gain", "count")
    }
    return put_together({**arrays, **nodes, "feature": np.full(n, -1, dtype=np.int32), "begin": np.arange(n + 1)}, document)


def many_features(n):
    arrays, document = model_parts()
    document["encoding"]["n_columns"], arrays["bin"][:] = n, 0
    return put_together(
        {**arrays, "kinds": np.zeros(n, dtype=np.uint8), "cuts": np.empty(0), "cuts_begin": np.zeros(n + 1, dtype=np.int64)}, document
    )


def many_names(n):
    arrays, document = model_parts()
    document["encoding"]["n_columns"], document["features"]["names"], arrays["bin"][:] = n, list(range(n)), 0
    return put_together(
        {**arrays, "kinds": np.zeros(n, dtype=np.uint8), "cuts": np.empty(0), "cuts_begin": np.zeros(n + 1, dtype=np.int64)}, document
    )


def with_text(text):
    """A document that is mostly this."""
    arrays, document = model_parts()
    return put_together(arrays, json.dumps(document)[:-1] + f',"more":{text}}}')


def many_arrays(n):
    text = "{}"
    return bytes(container.pack({f"{i:x}": np.empty(0) for i in range(n)}, {"sapwood": text, "sha256": checksum({}, text)}))


def escapes(n):
    arrays, document = model_parts()
    return put_together(arrays, json.dumps(document)[:-1] + ',"more":"' + "\\u00e9" * n + '"}')


COSTLY = {
    "small trees": lambda: small_trees(30_000),
    "many features": lambda: many_features(150_000),
    "many names": lambda: many_names(100_000),
    "lists in a list": lambda: with_text("[" + "[]," * 300_000 + "0]"),
    "objects in a list": lambda: with_text("[" + "{}," * 300_000 + "0]"),
    "short words": lambda: with_text("[" + '"ab",' * 200_000 + "0]"),
    "small numbers": lambda: with_text("[" + "999," * 250_000 + "0]"),
    "commas in a word": lambda: with_text('"' + "," * 3_000_000 + '"'),
    "a word without an end": lambda: with_text('"' + '\\"' * 500_000),
    "escapes": lambda: escapes(200_000),
    "many arrays": lambda: many_arrays(15_000),
    "deep": lambda: with_text("[" * 700_000),
}


@pytest.mark.parametrize("make", COSTLY.values(), ids=COSTLY)
def test_no_more_than_ten_times_the_file(make):
    data = make()
    assert len(data) > 700_000
    tracemalloc.start()
    try:
        model = Model.from_bytes(data)
    except ModelFormatError:
        model = None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(data)
    if model is not None:
        model.predict(np.zeros((1, model.n_features)))


def test_what_is_large_and_good_is_read():
    assert Model.from_bytes(small_trees(50_000)).n_trees == 50_000
    assert Model.from_bytes(many_features(50_000)).n_features == 50_000
    assert Model.from_bytes(with_text('"' + "," * 3_000_000 + '"')).n_trees == 1

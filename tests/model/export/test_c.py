import ctypes
import subprocess

import numpy as np
import pytest

from sapwood import BoostingClassifier
from tests.model.export import kinds


def build(source, folder):
    """The functions of a source."""
    (folder / "model.c").write_text(source)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["cc", *strict, "-O1", "-shared", "-fPIC", "model.c", "-o", "model.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "model.so"))


def run(function, x, n_outputs):
    out, double = np.empty((len(x), n_outputs)), ctypes.POINTER(ctypes.c_double)
    x = np.ascontiguousarray(x)
    for row, to in zip(x, out, strict=True):
        function(row.ctypes.data_as(double), to.ctypes.data_as(double))
    return out


@pytest.mark.parametrize("kind", [*kinds.MAKERS, *kinds.LINEAR_MAKERS])
def test_it_predicts_the_same_bits(kind, tmp_path):
    library = build(kinds.fitted(kind).export("c"), tmp_path)
    x, expected = kinds.matrix(kind), kinds.raw(kind)
    np.testing.assert_array_equal(run(library.sapwood_raw, x, expected.shape[1]), expected)
    np.testing.assert_array_equal(run(library.sapwood_predict, x, expected.shape[1]), kinds.linked(kind))


@pytest.mark.parametrize("kind", ["deep sets of levels", "combinations"])
def test_codes_that_are_none_count_as_missing(kind, tmp_path):
    model = kinds.fitted(kind)
    library, missing = build(model.export("c"), tmp_path), kinds.matrix(kind)
    for code in (-1, 1000, np.inf):
        x = missing.copy()
        for column in model.model_.schema.categories:
            missing[::3, column], x[::3, column] = np.nan, code
        np.testing.assert_array_equal(run(library.sapwood_raw, x, 1), run(library.sapwood_raw, missing, 1))


@pytest.mark.parametrize("kind", ["two classes", "four classes"])
def test_it_names_the_class(kind, tmp_path):
    model = kinds.fitted(kind)
    library = build(model.export("c", tmp_path / "written.c", name="own"), tmp_path)
    assert (tmp_path / "written.c").read_text() == (tmp_path / "model.c").read_text()
    labels = (ctypes.c_char_p * len(model.classes_)).in_dll(library, "own_classes")
    x = kinds.matrix(kind)
    double = ctypes.POINTER(ctypes.c_double)
    found = [labels[library.own_class(np.ascontiguousarray(row).ctypes.data_as(double))].decode() for row in x]
    assert found == kinds.fitted(kind).predict(x).tolist()


def test_levels_have_codes(tmp_path):
    model = kinds.fitted("sets of levels")
    library = build(model.export("c"), tmp_path)
    library.sapwood_code.restype = library.sapwood_number_code.restype = ctypes.c_double
    columns = (ctypes.c_char_p * 4).in_dll(library, "sapwood_columns")
    assert [name.decode() for name in columns] == ["size", "color", "kind", "town"]
    for c, function, as_level in ((1, library.sapwood_code, str.encode), (2, library.sapwood_number_code, ctypes.c_double)):
        levels = model.model_.schema.kind(c).levels
        assert [function(c, as_level(level)) for level in levels] == list(range(len(levels)))
    assert np.isnan(library.sapwood_code(1, b"purple"))
    assert np.isnan(library.sapwood_code(3, b"red"))  # a level of another column
    assert np.isnan(library.sapwood_number_code(2, ctypes.c_double(4)))


def test_names_that_are_none_are_refused():
    with pytest.raises(ValueError, match="name='a-b' must be a C identifier"):
        kinds.fitted("squares").export("c", name="a-b")


def test_hostile_names_stay_text(tmp_path):
    import pandas as pd

    x = pd.DataFrame({'*/ int main(){} "??/': [0.0, 1.0] * 30, "a\n\\": [1.0, 2.0, 3.0] * 20})
    model = BoostingClassifier(max_iter=1).fit(x, ['*/ "\n', "??="] * 30)
    library = build(model.export("c"), tmp_path)
    assert list((ctypes.c_char_p * 2).in_dll(library, "sapwood_columns")) == [name.encode() for name in x]
    assert list((ctypes.c_char_p * 2).in_dll(library, "sapwood_classes")) == [b'*/ "\n', b"??="]

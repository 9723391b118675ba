"""Models saved during training."""

import os

import pytest

import sapwood
from sapwood.callbacks import Callback, SaveModel
from sapwood.model import disk
from tests.callbacks.example import X, Y, regressor


@pytest.mark.parametrize("parameters", [{}, {"tree_method": "exact"}])
def test_one_file_per_interval_and_one_for_the_last_round(parameters, tmp_path):
    regressor(**parameters).fit(X, Y, callbacks=[SaveModel(tmp_path / "model-{round}.sapwood", every=5)])
    assert sorted(os.listdir(tmp_path)) == [f"model-{n}.sapwood" for n in (10, 12, 5)]
    for n in (5, 10, 12):
        expected = regressor(**parameters, max_iter=n).fit(X, Y).model_
        assert (tmp_path / f"model-{n}.sapwood").read_bytes() == expected.to_bytes()


def test_one_file_is_replaced(tmp_path):
    path, seen = tmp_path / "model.sapwood", []

    class Read(Callback):
        def after_round(self, state):
            seen.append(sapwood.load(path).n_rounds if path.exists() else 0)

    fitted = regressor().fit(X, Y, callbacks=[SaveModel(str(path), every=5), Read()])
    assert seen == [0] * 4 + [5] * 5 + [10] * 3
    assert path.read_bytes() == fitted.model_.to_bytes()
    assert os.listdir(tmp_path) == ["model.sapwood"]


def test_the_last_model_is_saved_once(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(disk, "write", lambda path, data: written.append(path))
    regressor(max_iter=10).fit(X, Y, callbacks=[SaveModel("{round}", every=5)])
    assert written == ["5", "10"]


def test_the_model_is_saved_after_an_error(tmp_path):
    class Fail(Callback):
        def after_round(self, state):
            if state.n_rounds == 7:
                raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        regressor().fit(X, Y, callbacks=[SaveModel(tmp_path / "model.sapwood", every=5), Fail()])
    assert sapwood.load(tmp_path / "model.sapwood").n_rounds == 7


def test_a_full_disk_does_not_end_training(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk, "write", full)
    with pytest.warns(RuntimeWarning, match="SaveModel could not write the model; training continues: .*No space left"):
        fitted = regressor().fit(X, Y, callbacks=[SaveModel(tmp_path / "model.sapwood", every=20)])
    assert fitted.n_iter_ == 12


def test_bad_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"SaveModel: every must be >= 1; got 0"):
        SaveModel("model.sapwood", every=0)
    with pytest.raises(TypeError, match=r"SaveModel: path must be a str or path-like; got <built-in function print>"):
        SaveModel(print)
    with pytest.raises(FileNotFoundError, match=r"SaveModel\(path='.*'\): the folder '.*none' does not exist"):
        regressor().fit(X, Y, callbacks=[SaveModel(tmp_path / "none" / "model.sapwood")])

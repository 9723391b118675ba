"""Estimators as files: what comes back is what was saved."""

import copy
import errno
import os
import pickle
import re
import resource
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fuzz.seeds import put_together, take_apart
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import sapwood
from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, FeatureSpec, Loss, Model, ModelFormatError, register_loss
from sapwood.estimators.values import Unsaved
from sapwood.losses.registry import REGISTERED
from sapwood.model import disk
from sapwood.model.file import seal, unseal

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 4)).round(2)
X[::7, 1] = np.nan
SIGNAL = X[:, 0] + np.sin(3 * X[:, 2])
Y = SIGNAL + 0.3 * rng.normal(size=240)
THREE = np.digitize(Y, [-0.5, 0.5])
FRAME = pd.DataFrame({"a": X[:, 0], "city": np.array(["Ulm", "Bonn", "Köln", None], dtype=object)[np.arange(240) % 4], "c": X[:, 2]})
FRAME["level"] = pd.Categorical(np.array(["low", "mid", "high"])[THREE], ["low", "mid", "high"], ordered=True)
FRAME["when"] = pd.Timestamp("2024-02-01", tz="UTC") + pd.to_timedelta(np.arange(240), "h")
MISSING = np.where(np.isnan(X), -99.0, X)
QUERIES = np.repeat(np.arange(24), 10)
SMALL = {"max_iter": 4, "max_leaf_nodes": 5}


def regressor(**parameters):
    return BoostingRegressor(**(SMALL | parameters))


def classifier(**parameters):
    return BoostingClassifier(**(SMALL | parameters))


class Cubic(Loss):
    def loss(self, y, raw):
        return np.abs(raw - y) ** 3 / 3

    def gradients(self, y, raw):
        return (raw - y) * np.abs(raw - y), 2 * np.abs(raw - y) + 0.1


@pytest.fixture(scope="module", autouse=True)
def cubic():
    register_loss("cubic_of_a_file", Cubic)
    yield
    del REGISTERED["cubic_of_a_file"]


CASES = {
    "numbers": lambda: (regressor(), X, Y, {}),
    "frame": lambda: (regressor(monotonic_cst={"a": 1}, feature_weights={"c": 2.0}), FRAME, Y, {}),
    "polars": lambda: (regressor(), pl.from_pandas(FRAME[["a", "c", "city"]]), Y, {}),
    "encoded": lambda: (regressor(categorical_encoding={"city": ["target", "onehot"], "level": "count"}, max_combination=2), FRAME, Y, {}),
    "spec": lambda: (
        regressor(feature_spec=FeatureSpec({"a": {"monotonic": 1, "max_bins": 9}, str: {"encoding": "target"}})),
        FRAME,
        Y,
        {},
    ),
    "missing values": lambda: (regressor(missing=[-99.0, "x"]), MISSING, Y, {}),
    "sparse": lambda: (regressor(sparse_absent="missing"), sparse.csr_array(np.nan_to_num(X)), Y, {}),
    "poisson": lambda: (regressor(loss="poisson"), X, np.exp(Y), {}),
    "quantiles": lambda: (regressor(loss="quantile", quantile=[0.1, 0.5, 0.9]), X, Y, {}),
    "quantiles of an array": lambda: (regressor(loss="quantile", quantile=np.array([0.1, 0.9])), X, Y, {}),
    "several outputs": lambda: (regressor(), X, np.column_stack([Y, -Y]), {}),
    "shared trees": lambda: (regressor(multi_strategy="multi_output_tree", shared_trees=2), X, np.column_stack([Y, X[:, 2]]), {}),
    "survival": lambda: (regressor(loss="cox"), X, np.where(np.arange(240) % 3, np.exp(Y), -np.exp(Y)), {}),
    "symmetric": lambda: (regressor(grow_policy="symmetric", max_leaf_nodes=8), X, Y, {}),
    "exact": lambda: (regressor(tree_method="exact"), X, Y, {}),
    "dart": lambda: (regressor(boosting="dart", skip_drop=0.0), X, Y, {}),
    "registered loss": lambda: (regressor(loss="cubic_of_a_file"), X, Y, {}),
    "class of a registered loss": lambda: (regressor(loss=Cubic), X, Y, {}),
    "early stopping": lambda: (regressor(early_stopping=True, scoring="r2", max_iter=30), X, Y, {"eval_sets": {"more": (X, Y)}}),
    "offset": lambda: (regressor(), X, Y, {"offset": SIGNAL}),
    "init": lambda: (regressor(init=regressor(max_iter=2)), X, Y, {}),
    "fitted init": lambda: (regressor(init=regressor(max_iter=2).fit(X, Y)), X, Y, {}),
    "model as init": lambda: (regressor(init=regressor(max_iter=2).fit(X, Y).model_), X, Y, {}),
    "init of an init": lambda: (regressor(init=regressor(init=regressor()), loss="huber"), X, Y, {}),
    "two classes": lambda: (classifier(), X, THREE > 0, {}),
    "integers": lambda: (classifier(), X, (THREE == 1) * 7 - 3, {}),
    "floats": lambda: (classifier(), X, THREE * 1.0, {}),
    "text": lambda: (classifier(class_weight={"low": 2.0, "mid": 1.0}), X, np.array(["low", "mid", "höher"])[THREE], {}),
    "objects": lambda: (classifier(), X, np.array(["a", "bc", "d"], dtype=object)[THREE], {}),
    "days": lambda: (classifier(), X, np.array(["2024-01-01", "2024-01-02", "2025-01-01"], dtype="M8[D]")[THREE], {}),
    "one class": lambda: (classifier(), X, np.full(240, "only"), {}),
    "label sets": lambda: (classifier(), X, np.column_stack([THREE > 0, THREE > 1, THREE == 1]).astype(int), {}),
    "shares": lambda: (classifier(), X, np.column_stack([THREE == 0, THREE == 1, THREE == 2]) * 0.7 + 0.1, {}),
    "a tree a class": lambda: (classifier(multi_strategy="one_output_per_tree"), X, THREE, {}),
    "init of classes": lambda: (classifier(init=classifier()), X, THREE, {}),
    "ranker": lambda: (BoostingRanker(**SMALL, label_gain=[0, 1, 5]), X, THREE, {"qid": QUERIES}),
}


def answers(estimator, x, offset=None):
    """Everything that users may ask a fitted estimator for."""
    more = {} if offset is None else {"offset": offset}
    names = ("predict", "predict_proba", "decision_function")
    found = [np.asarray(getattr(estimator, name)(x, **more)) for name in names if hasattr(estimator, name)]
    found += list(estimator.staged_predict(x, **more))
    explained = estimator.explain(x[:9] if not isinstance(x, sparse.sparray) else x[:9].toarray())
    found += [explained.values, explained.base_values, estimator.feature_importances_, *map(estimator.importances, ("split", "cover"))]
    found += [estimator.train_score_, estimator.validation_score_, getattr(estimator, "classes_", np.empty(0))]
    plain = [estimator.evals_result_, estimator.n_iter_, estimator.best_iteration_, estimator.n_features_in_, estimator.do_early_stopping_]
    plain += [
        estimator.provenance_,
        list(getattr(estimator, "feature_names_in_", [])),
        str(estimator.describe_features(x)),
        type(estimator),
    ]
    return found, plain


def assert_same_answers(a, b):
    assert a[1] == b[1]
    assert len(a[0]) == len(b[0])
    for one, other in zip(a[0], b[0], strict=True):
        assert one.dtype == other.dtype
        assert_array_equal(one, other)


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def fitted(request):
    estimator, x, y, more = request.param()
    return estimator.fit(x, y, **more), x, y, more


def through_a_file(estimator, folder, **given):
    path = folder / "model.sapwood"
    estimator.save(path)
    return sapwood.load(path, **given)


class TestSameAnswers:
    def test_all_of_them(self, fitted, tmp_path):
        estimator, x, _, more = fitted
        again = through_a_file(estimator, tmp_path)
        assert_same_answers(answers(again, x, more.get("offset")), answers(estimator, x, more.get("offset")))

    def test_score(self, fitted, tmp_path):
        estimator, x, y, more = fitted
        if estimator.__class__ is BoostingClassifier and np.ndim(y) == 2 and not estimator.multilabel_:
            y = y.argmax(axis=1)  # shares have no accuracy
        score = {key: value for key, value in more.items() if key in ("qid", "offset")}
        assert through_a_file(estimator, tmp_path).score(x, y, **score) == estimator.score(x, y, **score)

    def test_the_same_bytes_again(self, fitted):
        estimator = fitted[0]
        data = estimator.to_bytes()
        assert type(estimator).from_bytes(data).to_bytes() == data
        assert Model.from_bytes(data).to_bytes() == estimator.model_.to_bytes()
        assert copy.deepcopy(estimator).to_bytes() == data
        assert pickle.loads(pickle.dumps(estimator)).to_bytes() == data

    def test_threads_leave_no_trace(self, fitted):
        estimator, x, y, more = fitted
        other = copy.deepcopy(estimator).set_params(n_jobs=2, verbose=0)
        assert other.fit(x, y, **more).to_bytes() == estimator.to_bytes()

    def test_parameters(self, fitted, tmp_path):
        estimator = fitted[0]
        again = through_a_file(estimator, tmp_path)
        for name, value in estimator.get_params(deep=False).items():
            if name == "init" and value is not None:
                assert type(again.init) is type(value) and (again.init is again.init_) == (value is estimator.init_)
            elif value is Cubic:
                assert again.loss == "cubic_of_a_file"
            elif isinstance(value, np.ndarray):
                assert_array_equal(getattr(again, name), value)
            else:
                assert getattr(again, name) == value and type(getattr(again, name)) is type(value), name

    def test_a_fit_of_what_was_loaded(self, fitted, tmp_path):
        estimator, x, y, more = fitted
        assert through_a_file(estimator, tmp_path).fit(x, y, **more).to_bytes() == copy.deepcopy(estimator).fit(x, y, **more).to_bytes()


class TestProvenance:
    def test_says_where_a_model_comes_from(self):
        weight = np.arange(240) % 3
        assert regressor().fit(X, Y, weight).provenance_ | {"data": ""} == {"sapwood": sapwood.__version__, "n_rows": 160, "data": ""}

    def test_other_data_have_another_hash(self):
        fits = [
            regressor().fit(X, Y),
            regressor().fit(np.where(np.nanmax(X) == X, 9.0, X), Y),
            regressor().fit(X, Y + 1),
            regressor().fit(X, Y, np.arange(240)),
            regressor().fit(X, Y, offset=Y),
            BoostingRanker(**SMALL).fit(X, THREE, qid=QUERIES),
            BoostingRanker(**SMALL).fit(X, THREE, qid=QUERIES // 2),
        ]
        assert len({fit.provenance_["data"] for fit in fits}) == len(fits)

    def test_the_same_data_have_the_same(self):
        some = FRAME[["city", "a", "when"]]
        assert regressor().fit(some, Y).provenance_ == regressor(n_jobs=2, max_iter=9).fit(pl.from_pandas(some), Y).provenance_


def test_going_on_after_a_file(tmp_path):
    half = through_a_file(regressor(max_iter=5, warm_start=True, early_stopping=True).fit(X, Y), tmp_path)
    whole = regressor(max_iter=10, warm_start=True, early_stopping=True)
    assert half.set_params(max_iter=10).fit(X, Y).model_.to_bytes() == whole.fit(X, Y).model_.to_bytes()
    assert half.evals_result_ == whole.evals_result_


class TestWhatIsNoData:
    @pytest.mark.parametrize(
        "parameters, said",
        [
            ({"loss": lambda y, raw: (raw - y, np.ones_like(y))}, "loss=function TestWhatIsNoData.<lambda>"),
            ({"loss": Cubic()}, "loss=an object of Cubic"),
            ({"validation_split": KFold(3)}, "validation_split=an object of KFold"),
            ({"random_state": np.random.RandomState(0)}, "random_state=an object of RandomState"),
            ({"categorical_features": [lambda X: []]}, "categorical_features=function TestWhatIsNoData.<lambda>"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_is_named_and_must_be_set_again(self, parameters, said, tmp_path):
        estimator = regressor(**parameters).fit(X, Y)
        with pytest.warns(UserWarning, match=re.escape(said)) as caught:
            again = through_a_file(estimator, tmp_path)
        assert caught[0].filename == __file__
        assert_array_equal(again.predict(X), estimator.predict(X))
        assert again.score(X, Y) == estimator.score(X, Y)
        name = next(iter(parameters))
        assert isinstance(getattr(again, name), Unsaved)
        with pytest.raises(ValueError, match=f"{name}.*not saved"):
            again.fit(X, Y)
        again.set_params(**parameters).fit(X, Y)
        with pytest.warns(UserWarning, match="cannot be saved"):
            assert estimator.to_bytes() == estimator.to_bytes()  # no address in memory

    def test_another_librarys_init_must_be_given(self, tmp_path):
        start = LinearRegression().fit(np.nan_to_num(X), Y)
        estimator = regressor(init=start).fit(np.nan_to_num(X), Y)
        with pytest.warns(UserWarning, match="init=an object of LinearRegression"):
            estimator.save(tmp_path / "model")
        with pytest.raises(
            ModelFormatError, match=r"model: .*the init of this estimator, an object of LinearRegression.*load\(path, init=...\)"
        ):
            sapwood.load(tmp_path / "model")
        again = sapwood.load(tmp_path / "model", init=start)
        assert_array_equal(again.predict(np.nan_to_num(X)), estimator.predict(np.nan_to_num(X)))
        assert again.init is again.init_ is start

    def test_a_loss_that_is_not_registered_here(self, tmp_path):
        register_loss("for_a_while", Cubic)
        estimator = regressor(loss="for_a_while").fit(X, Y)
        estimator.save(tmp_path / "model")
        del REGISTERED["for_a_while"]
        again = sapwood.load(tmp_path / "model")
        assert_array_equal(again.predict(X), estimator.predict(X))
        assert again.score(X, Y) == pytest.approx(1 - ((Y - again.predict(X)) ** 2).sum() / ((Y - Y.mean()) ** 2).sum())
        with pytest.raises(ValueError, match="loss"):
            again.fit(X, Y)

    def test_too_many_that_start_from_each_other(self):
        estimator = regressor(max_iter=1).fit(X, Y)
        for _ in range(5):
            estimator = regressor(max_iter=1, init=estimator).fit(X, Y)
        with pytest.raises(ValueError, match="init cannot be saved: more than 4 nested estimators"):
            estimator.to_bytes()


def test_subclasses_read_the_files_of_what_they_come_from():
    class Own(BoostingRegressor):
        pass

    data = Own(**SMALL).fit(X, Y).to_bytes()
    assert type(BoostingRegressor.from_bytes(data)) is BoostingRegressor
    assert type(Own.from_bytes(data)) is Own
    with pytest.raises(ModelFormatError, match="class 'BoostingRegressor'"):
        BoostingClassifier.from_bytes(data)
    with pytest.raises(ModelFormatError, match="without an estimator"):
        Own.from_bytes(Own(**SMALL).fit(X, Y).model_.to_bytes())


def test_a_file_of_a_model_alone(tmp_path):
    model = regressor().fit(X, Y).model_
    (tmp_path / "model").write_bytes(model.to_bytes())
    again = sapwood.load(str(tmp_path / "model"))
    assert type(again) is Model and again.to_bytes() == model.to_bytes()


def test_before_the_fit_there_is_nothing_to_save(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        regressor().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# The disk


@pytest.fixture(scope="module")
def small():
    return regressor(max_iter=2).fit(X, Y)


class TestPermissions:
    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
    def test_a_new_file_is_like_any_new_file(self, small, tmp_path, mask):
        before = os.umask(mask)
        try:
            small.save(tmp_path / "model")
            (tmp_path / "other").touch()
        finally:
            os.umask(before)
        assert (tmp_path / "model").stat().st_mode == (tmp_path / "other").stat().st_mode

    def test_an_old_file_keeps_its_own(self, small, tmp_path):
        (tmp_path / "model").touch(0o600)
        small.save(tmp_path / "model")
        assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o600
        assert sapwood.load(tmp_path / "model").n_iter_ == 2


class TestPlaces:
    def test_a_link_stays_a_link(self, small, tmp_path):
        (tmp_path / "there").mkdir()
        (tmp_path / "link").symlink_to("there/model")
        for _ in range(2):
            small.save(tmp_path / "link")
            assert (tmp_path / "link").is_symlink() and (tmp_path / "there/model").is_file()
        assert sapwood.load(tmp_path / "link").n_iter_ == 2
        assert [path.name for path in (tmp_path / "there").iterdir()] == ["model"]

    def test_a_name_as_long_as_can_be(self, small, tmp_path):
        small.save(tmp_path / ("m" * 255))
        assert sapwood.load(tmp_path / ("m" * 255)).n_iter_ == 2

    def test_here(self, small, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        small.save("model")
        assert sapwood.load("model").n_iter_ == 2

    @pytest.mark.parametrize(
        "place, error", [("no/model", FileNotFoundError), ("folder", IsADirectoryError), ("loop", OSError), ("fifo", OSError)]
    )
    def test_where_nothing_can_be(self, small, tmp_path, place, error):
        (tmp_path / "folder").mkdir()
        (tmp_path / "loop").symlink_to("loop")
        os.mkfifo(tmp_path / "fifo")
        there = sorted(tmp_path.rglob("*"))
        with pytest.raises(error, match=place):
            small.save(tmp_path / place)
        assert sorted(tmp_path.rglob("*")) == there


@pytest.mark.parametrize(
    "what, number", [("write", errno.ENOSPC), ("write", errno.EDQUOT), ("fsync", errno.EIO), ("replace", errno.EACCES)]
)
def test_an_error_of_the_disk_leaves_the_old_file_and_nothing_else(small, tmp_path, monkeypatch, what, number):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    calls = []

    def fail(*args):
        calls.append(args)
        if what == "write" and len(calls) == 1:
            return real(args[0], args[1][:100])  # some of it
        raise OSError(number, os.strerror(number))

    real = os.write
    monkeypatch.setattr(disk.os, what, fail)
    with pytest.raises(OSError, match="model") as caught:
        small.save(path)
    monkeypatch.undo()
    assert caught.value.errno == number and caught.value.filename == str(path) and calls
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(small, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def interrupt(file):
        raise KeyboardInterrupt

    monkeypatch.setattr(disk.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        small.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


FULL = """
import resource, sys, sapwood
estimator = sapwood.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
try:
    estimator.save(sys.argv[1])
except OSError as error:
    print(type(error).__name__, error.errno, error.filename)
"""


def test_a_disk_that_is_full(small, tmp_path):
    """A real limit of the system on the size of files, in a process of its own."""
    path = tmp_path / "model"
    small.save(path)
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["OSError", str(errno.EFBIG), str(path)], run.stderr
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


# What is no model


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("was-here"),)


def pickles(path):
    path.write_bytes(pickle.dumps(Evil()))


def old_pickles(path):
    path.write_bytes(pickle.dumps(Evil(), protocol=0))


def archives(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(10_000_000))


def claims(path):
    path.write_bytes((10**12).to_bytes(8, "little") + b'{"a"')


def sparse_terabyte(path):
    path.touch()
    os.truncate(path, 10**12)


OTHER_FILES = {
    "empty": (lambda path: path.touch(), ModelFormatError, "is empty"),
    "a byte": (lambda path: path.write_bytes(b"{"), ModelFormatError, "too short"),
    "noise": (lambda path: path.write_bytes(np.random.default_rng(0).bytes(5_000)), ModelFormatError, "not a Sapwood model"),
    "text": (lambda path: path.write_text("tree\nversion=v4\nnum_class=1\n" * 9), ModelFormatError, "has a different header"),
    "pickle": (pickles, ModelFormatError, "pickle.*not supported"),
    "old pickle": (old_pickles, ModelFormatError, "pickle.*not supported"),
    "zip": (archives, ModelFormatError, "archive"),
    "a terabyte claimed": (claims, ModelFormatError, "not a Sapwood model"),
    "a terabyte of nothing": (sparse_terabyte, ModelFormatError, "not a Sapwood model"),
    "folder": (lambda path: path.mkdir(), IsADirectoryError, "directory"),
    "fifo": (os.mkfifo, ModelFormatError, "not a regular file"),
    "loop": (lambda path: path.symlink_to(path), OSError, "symbolic links"),
    "dangling": (lambda path: path.symlink_to("nowhere"), FileNotFoundError, "No such file"),
    "nothing": (lambda path: None, FileNotFoundError, "No such file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), ModelFormatError, "not a regular file"),
}


@pytest.mark.parametrize("make, error, said", OTHER_FILES.values(), ids=OTHER_FILES)
def test_what_is_no_model_is_refused_by_name(make, error, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "some-path"
    make(path)
    with pytest.raises(error, match=said) as caught:
        sapwood.load(path)
    assert "some-path" in str(caught.value)
    assert not (tmp_path / "was-here").exists()


def test_a_file_that_cannot_be_read(small, tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), args[0])

    monkeypatch.setattr(disk.os, "open", refuse)
    with pytest.raises(PermissionError, match="model"):
        sapwood.load(tmp_path / "model")


def test_a_class_too_large_for_its_type_is_refused():
    arrays, document = take_apart(classifier().fit(X, THREE).to_bytes())
    document["estimator"]["fitted"]["classes"]["values"][2] = 10**30
    with pytest.raises(ModelFormatError, match="a number that is too large"):
        BoostingClassifier.from_bytes(put_together(arrays, document))


def test_what_no_estimator_wrote_is_refused():
    """Files with a true checksum. The error says once what is wrong."""
    estimator = BoostingRegressor(max_iter=2).fit(np.arange(60.0)[:, None], np.arange(60.0))
    arrays, header = unseal(estimator.to_bytes())

    def refuse(message, **change):
        with pytest.raises(ModelFormatError) as caught:
            BoostingRegressor.from_bytes(seal(arrays, {**header, "estimator": {**header["estimator"], **change}}))
        assert message in str(caught.value)
        assert str(caught.value).count("damaged Sapwood model") == 1

    parameters = header["estimator"]["parameters"]
    refuse("the parameter 'no_such' is unknown to this version", parameters={**parameters, "no_such": 1})
    refuse("the parameter 'n_jobs' is unknown to this version", parameters={**parameters, "n_jobs": 1})
    refuse("'parameters' is missing", parameters=[])
    refuse("'fitted' is missing", fitted=None)
    refuse("its init is missing", init={"init": "stored"})
    data = estimator.to_bytes()
    for _ in range(5):
        own = {**header, "estimator": {**header["estimator"], "init": {"init": "stored"}}}
        data = seal({**arrays, "init": np.frombuffer(data, dtype=np.uint8)}, own)
    with pytest.raises(ModelFormatError, match="init: more than 4 nested estimators"):
        BoostingRegressor.from_bytes(data)
    nested = {"unfitted": {**header["estimator"], "parameters": {"no_such": 1}}}
    refuse("the parameter 'no_such' is unknown", parameters={**parameters, "init": nested})

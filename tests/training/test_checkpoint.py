"""Checkpoints: interrupted training resumes to the bytes of an uninterrupted fit; a checkpoint of another fit is refused by name."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit

from sapwood import Checkpoint, CheckpointError, Model
from sapwood.callbacks import Callback, EarlyStopping, LearningRate
from sapwood.data import container
from sapwood.model import disk
from sapwood.model.file import checksum
from sapwood.training.fit_signature import as_text
from tests import killed
from tests.estimators import test_warm_start as going_on
from tests.estimators.test_warm_start import FRAME, WORDS, N, X, Y, classifier, regressor

KILLS = max(1, int(os.environ.get("SAPWOOD_KILLS", "0")) // 10)  # of a training; `make kill` asks for many
EARLY = {"early_stopping": True, "learning_rate": 0.6, "n_iter_no_change": 3, "max_iter": 25}
CASES = going_on.CASES | {
    "dart": (regressor(boosting="dart", drop_rate=0.4, skip_drop=0.2), X, Y, {}),
    "dart, early": (regressor(boosting="dart", drop_rate=0.4, skip_drop=0.2, **EARLY), X, Y, {}),
    "dart, shared trees": (classifier(boosting="dart", drop_rate=0.4, skip_drop=0, shared_trees=2), X, WORDS, {}),
    "dart, exact, offset": (regressor(boosting="dart", drop_rate=0.5, tree_method="exact"), X, Y, {"offset": Y / 3}),
    "forest": (regressor(boosting="forest", subsample=0.6, max_features=0.5), X, Y, {"offset": Y / 3}),
    "ordered": (regressor(boosting="ordered"), X, Y, {"offset": Y / 3}),
    "ordered, classes": (classifier(boosting="ordered", shared_trees=2), X, WORDS, {}),
    "bayesian": (regressor(sampling="bayesian"), X, Y, {}),
    "stratified": (classifier(subsample=0.5, stratified=True), X, WORDS, {}),
    "features by level": (regressor(max_features_level=0.6, max_features_tree=0.8, extra_trees=True, score_noise=0.1), X, Y, {}),
    "early": (classifier(**EARLY), X, WORDS, {}),
    "early, training score": (regressor(**EARLY | {"validation_fraction": None}), X, Y, {}),
    "early, split, scorer": (regressor(**EARLY, scoring="r2", validation_split=ShuffleSplit(1, random_state=0)), X, Y, {}),
    "early, categories": (classifier(**EARLY, max_combination=2, categorical_encoding="target"), FRAME, WORDS, {}),
    "sets": (regressor(), X, Y, {"eval_sets": {"some": (X[:50], Y[:50])}, "eval_metric": ["rmse", "mae"]}),
    "given rows": (regressor(**EARLY), X[:200], Y[:200], {"X_val": X[200:], "y_val": Y[200:]}),
}


class CutOff(Callback):
    """Fails after a number of rounds, as if the power had gone."""

    def __init__(self, at=None):
        self.at, self.heard = at, []

    def after_round(self, state):
        self.heard.append(state.n_rounds)
        if state.n_rounds == self.at:
            raise InterruptedError


def cut_off(estimator, at, *args, checkpoint, callbacks=(), **kwargs):
    with pytest.raises(InterruptedError):
        clone(estimator).fit(*args, checkpoint=checkpoint, callbacks=[*callbacks, CutOff(at)], **kwargs)


@pytest.mark.parametrize("case", CASES)
def test_going_on_gives_the_bytes_of_never_having_stopped(case, tmp_path):
    estimator, x, y, more = CASES[case]
    whole = clone(estimator).fit(x, y, **more, callbacks=[CutOff()])
    checkpoint = Checkpoint(tmp_path / "a.checkpoint", every=3)
    last = min(11, whole.n_iter_)
    for at in sorted({2, min(5, last), last}):
        cut_off(estimator, at, x, y, checkpoint=checkpoint, **more)
    assert stored_model(checkpoint.path).n_rounds == (last - 1) // 3 * 3
    rest = clone(estimator).set_params(n_jobs=2).fit(x, y, **more, checkpoint=checkpoint, callbacks=[CutOff()])
    assert rest.model_.to_bytes() == whole.model_.to_bytes()
    assert rest.evals_result_ == whole.evals_result_
    assert_array_equal(rest.train_score_, whole.train_score_)
    assert_array_equal(rest.validation_score_, whole.validation_score_)
    # What is over stays over.
    ears = CutOff()
    again = clone(estimator).fit(x, y, **more, checkpoint=checkpoint, callbacks=[ears])
    assert again.model_.to_bytes() == whole.model_.to_bytes()
    assert again.evals_result_ == whole.evals_result_
    assert ears.heard == []


def stored_model(path):
    return Model.from_bytes(container.unpack(disk.read(path))[0]["model"].tobytes())


@pytest.mark.parametrize("at", range(1, 13))
def test_cut_off_after_any_round(at, tmp_path):
    estimator, x, y, _ = CASES["early"]
    whole = clone(estimator).fit(x, y).model_.to_bytes()
    checkpoint = Checkpoint(tmp_path / "a.checkpoint", every=1)
    at = min(at, Model.from_bytes(whole).n_rounds)
    cut_off(estimator, at, x, y, checkpoint=checkpoint)
    ears = CutOff()
    assert clone(estimator).fit(x, y, checkpoint=checkpoint, callbacks=[ears]).model_.to_bytes() == whole
    assert ears.heard[0] == at


def test_stopped_in_the_round_of_a_checkpoint(tmp_path):
    """A callback says stop, the checkpoint is written, the power goes: training must not go on."""
    estimator, x, y, _ = CASES["early"]
    whole = clone(estimator).fit(x, y)
    assert whole.n_iter_ < whole.max_iter

    class PowerGoes(Callback):
        def after_training(self, state):
            if self.goes:
                raise InterruptedError

    first, second = PowerGoes(), PowerGoes()
    first.goes, second.goes = True, False
    with pytest.raises(InterruptedError):
        clone(estimator).fit(x, y, checkpoint=Checkpoint(tmp_path / "a", every=1), callbacks=[first])
    rest = clone(estimator).fit(x, y, checkpoint=Checkpoint(tmp_path / "a", every=1), callbacks=[second])
    assert rest.model_.to_bytes() == whole.model_.to_bytes()


def test_more_rounds_may_be_asked_for_and_not_fewer(tmp_path):
    path = str(tmp_path / "a.checkpoint")
    regressor(max_iter=5).fit(X, Y, checkpoint=path)
    assert regressor(max_iter=12).fit(X, Y, checkpoint=path).model_.to_bytes() == regressor(max_iter=12).fit(X, Y).model_.to_bytes()
    with pytest.raises(CheckpointError, match="has 12 rounds, more than max_iter=5"):
        regressor(max_iter=5).fit(X, Y, checkpoint=path)


def test_going_on_from_a_model_can_be_cut_off_too(tmp_path):
    first = regressor(max_iter=4).fit(X[:150], Y[:150])
    whole = regressor(max_iter=8).fit(X, Y, init_model=first)
    checkpoint = Checkpoint(tmp_path / "a", every=2)
    cut_off(regressor(max_iter=8), 9, X, Y, checkpoint=checkpoint, init_model=first)
    rest = regressor(max_iter=8).fit(X, Y, init_model=first, checkpoint=checkpoint, callbacks=[CutOff()])
    assert rest.model_.to_bytes() == whole.model_.to_bytes()
    with pytest.raises(CheckpointError, match=r"the model to continue was Model of 4 rounds, .*, now it is None"):
        regressor(max_iter=8).fit(X, Y, checkpoint=checkpoint, callbacks=[CutOff()])
    parts = regressor(max_iter=3).partial_fit(X[:150], Y[:150]).partial_fit(X[150:], Y[150:], checkpoint=tmp_path / "b")
    assert parts.model_.to_bytes() == regressor(max_iter=3).partial_fit(X[:150], Y[:150]).partial_fit(X[150:], Y[150:]).model_.to_bytes()


class TestCallbacks:
    class Halve(Callback):
        """Halves the learning rate every third round, by a count of its own."""

        def before_training(self, state):
            self.count, self.rate = 0, state.config.learning_rate

        def before_round(self, state):
            self.count += 1
            if self.count % 3 == 0:
                self.rate /= 2
            state.config = replace(state.config, learning_rate=self.rate)

        def keep(self):
            return {"count": self.count, "rate": self.rate}

        def restore(self, kept):
            self.count, self.rate = kept["count"], kept["rate"]

    @pytest.mark.parametrize("at", [2, 7, 8])
    def test_with_a_state(self, at, tmp_path):
        whole = regressor().fit(X, Y, callbacks=[self.Halve()])
        checkpoint = Checkpoint(tmp_path / "a", every=2)
        cut_off(regressor(), at, X, Y, checkpoint=checkpoint, callbacks=[self.Halve()])
        rest = regressor().fit(X, Y, checkpoint=checkpoint, callbacks=[self.Halve(), CutOff()])
        assert rest.model_.to_bytes() == whole.model_.to_bytes()

    def test_ours(self, tmp_path):
        def own():
            return [LearningRate([0.5] * 5 + [0.2] * 20), EarlyStopping(3, on="some", metric="mae")]

        more = {"eval_sets": {"some": (X[200:], Y[200:])}, "eval_metric": ["rmse", "mae"]}
        whole = regressor(max_iter=25).fit(X[:200], Y[:200], callbacks=own(), **more)
        checkpoint = Checkpoint(tmp_path / "a", every=2)
        cut_off(regressor(max_iter=25), 5, X[:200], Y[:200], checkpoint=checkpoint, callbacks=own(), **more)
        rest = regressor(max_iter=25).fit(X[:200], Y[:200], checkpoint=checkpoint, callbacks=[*own(), CutOff()], **more)
        assert rest.model_.to_bytes() == whole.model_.to_bytes()

    def test_others_are_refused(self, tmp_path):
        regressor(max_iter=2).fit(X, Y, checkpoint=tmp_path / "a", callbacks=[LearningRate([0.1] * 2)])
        for callbacks in ([], [LearningRate([0.2] * 2)], [CutOff()]):
            with pytest.raises(CheckpointError, match=r"callbacks was .*LearningRate.*, now it is"):
                regressor(max_iter=2).fit(X, Y, checkpoint=tmp_path / "a", callbacks=callbacks)

    def test_what_is_kept_must_be_plain(self, tmp_path):
        class Odd(Callback):
            def keep(self):
                return object()

        with pytest.raises(TypeError, match=r"Odd.keep\(\) must return JSON data"):
            regressor().fit(X, Y, checkpoint=tmp_path / "a", callbacks=[Odd()])

    def test_the_progress_bar_does_not_matter(self, tmp_path):
        cut_off(regressor(verbose=1), 5, X, Y, checkpoint=Checkpoint(tmp_path / "a", every=1))
        rest = regressor(verbose=0).fit(X, Y, checkpoint=tmp_path / "a", callbacks=[CutOff()])
        assert rest.model_.to_bytes() == regressor().fit(X, Y).model_.to_bytes()


class TestAnotherFitIsRefused:
    @pytest.fixture
    def checkpoint(self, tmp_path):
        regressor(max_iter=3).fit(FRAME, Y, checkpoint=tmp_path / "a")
        return tmp_path / "a"

    @pytest.mark.parametrize(
        ("parameters", "difference"),
        [
            ({"learning_rate": 0.2}, r"learning_rate was 0\.1, now it is 0\.2\."),
            ({"loss": "absolute_error"}, "loss was 'squared_error', now it is 'absolute_error'"),
            ({"random_state": 7}, r"random_state was the seed 0, now it is the seed \d+"),
            ({"boosting": "dart"}, "boosting was 'plain', now it is 'dart'"),
            ({"monotonic_cst": {"a": 1}}, r"monotonic_cst was None, now it is \{'a': 1\}"),
            ({"categorical_encoding": "count"}, "categorical_encoding was 'auto', now it is 'count'"),
        ],
        ids=str,
    )
    def test_parameters(self, checkpoint, parameters, difference):
        before = checkpoint.read_bytes()
        with pytest.raises(CheckpointError, match=f"belongs to another fit: {difference}"):
            regressor(max_iter=3, **parameters).fit(FRAME, Y, checkpoint=checkpoint)
        assert checkpoint.read_bytes() == before

    @pytest.mark.parametrize(
        ("x", "y", "more", "difference"),
        [
            (FRAME.iloc[:200], Y[:200], {}, "the data set 'train' has changed: the number of rows was 300, now it is 200"),
            (FRAME.assign(b=FRAME.b + 1), Y, {}, "the data set 'train' has changed: the values of column 'b' differ"),
            (FRAME.assign(word=FRAME.word[::-1].values), Y, {}, "the data set 'train' has changed: the values of column 'word' differ"),
            (FRAME.drop(columns="c"), Y, {}, "the data set 'train' has changed: the columns differ: 'c' removed"),
            (FRAME, Y + 1e-12, {}, "the data set 'train' has changed: the values of y differ"),
            (FRAME, Y, {"sample_weight": np.arange(1.0, N + 1)}, "the data set 'train' has changed: the values of sample_weight differ"),
            (FRAME, Y, {"offset": Y}, "the data set 'train' has changed: the values of offset differ"),
            (FRAME, Y, {"eval_sets": {"some": (FRAME, Y)}}, "the metrics was .*, now it is .*'some'"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_data(self, checkpoint, x, y, more, difference):
        with pytest.raises(CheckpointError, match=f"belongs to another fit: {difference}"):
            regressor(max_iter=3).fit(x, y, checkpoint=checkpoint, **more)

    def test_classes_and_estimators(self, tmp_path):
        classifier(max_iter=3).fit(X, Y > 0, checkpoint=tmp_path / "a")
        with pytest.raises(CheckpointError, match=r"the classes was array\(\[False, True\]\), now it is array\(\[0, 1\]\)"):
            classifier(max_iter=3).fit(X, (Y > 0).astype(int), checkpoint=tmp_path / "a")
        with pytest.raises(CheckpointError, match="the estimator was 'BoostingClassifier', now it is 'BoostingRegressor'"):
            regressor(max_iter=3).fit(X, Y, checkpoint=tmp_path / "a")

    def test_other_rows_kept_aside(self, tmp_path):
        fit = {"X": X, "y": Y, "checkpoint": tmp_path / "a"}
        regressor(max_iter=3, early_stopping=True, validation_split=iter([(np.arange(200), np.arange(200, N))])).fit(**fit)
        with pytest.raises(CheckpointError, match="the data set 'train' has changed: the values of rows differ"):
            regressor(max_iter=3, early_stopping=True, validation_split=iter([(np.arange(210), np.arange(210, N))])).fit(**fit)

    def test_forests_know_their_number_of_trees(self, tmp_path):
        forest = regressor(boosting="forest", subsample=0.5)
        forest.fit(X, Y, checkpoint=tmp_path / "a")
        with pytest.raises(CheckpointError, match="max_iter was 12, now it is 13"):
            clone(forest).set_params(max_iter=13).fit(X, Y, checkpoint=tmp_path / "a")


class TestFiles:
    @pytest.mark.parametrize("bytes_", [b"", b"nonsense", b"x" * 1000], ids=len)
    def test_no_checkpoint(self, bytes_, tmp_path):
        (tmp_path / "a").write_bytes(bytes_)
        with pytest.raises(CheckpointError, match="is not a checkpoint, or is damaged"):
            regressor().fit(X, Y, checkpoint=tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == bytes_

    @pytest.mark.parametrize("about", [{}, [], {"identity": {}}, {"identity": {"settings": {}, "data": {}}}], ids=str)
    def test_another_document(self, about, tmp_path):
        regressor(max_iter=1).fit(X, Y, checkpoint=tmp_path / "a")
        arrays, _ = container.unpack(disk.read(tmp_path / "a"))
        text = json.dumps(about)
        disk.write(tmp_path / "a", container.pack(arrays, {"checkpoint": text, "sha256": checksum(arrays, text)}))
        with pytest.raises(CheckpointError, match="is not a checkpoint, or is damaged"):
            regressor(max_iter=1).fit(X, Y, checkpoint=tmp_path / "a")

    def test_a_model_is_no_checkpoint(self, tmp_path):
        (tmp_path / "a").write_bytes(regressor().fit(X, Y).model_.to_bytes())
        with pytest.raises(CheckpointError, match="is not a checkpoint"):
            regressor().fit(X, Y, checkpoint=tmp_path / "a")

    def test_damage_is_seen(self, tmp_path):
        regressor(max_iter=3).fit(X, Y, checkpoint=tmp_path / "a")
        data = (tmp_path / "a").read_bytes()
        rng = random.Random(0)
        for _ in range(40):
            broken = bytearray(data)
            broken[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            (tmp_path / "a").write_bytes(broken)
            with pytest.raises(CheckpointError):
                regressor(max_iter=3).fit(X, Y, checkpoint=tmp_path / "a")

    def test_a_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
            regressor().fit(X, Y, checkpoint=tmp_path / "none" / "a")

    def test_a_full_disk_does_not_end_training(self, tmp_path, monkeypatch):
        def full(path, data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(disk, "write", full)
        with pytest.warns(RuntimeWarning, match="could not be written; training continues: .*No space left"):
            fitted = regressor().fit(X, Y, checkpoint=tmp_path / "a")
        assert fitted.model_.to_bytes() == regressor().fit(X, Y).model_.to_bytes()

    @pytest.mark.parametrize(
        ("when", "n_written"), [({"every": 5}, 3), ({"every": 100}, 1), ({"seconds": 0}, 12), ({}, 1), ({"seconds": 1e9}, 1)]
    )
    def test_how_often(self, when, n_written, tmp_path, monkeypatch):
        written = []
        monkeypatch.setattr(disk, "write", lambda path, data: written.append(len(data)))
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path / "a", **when))
        assert len(written) == n_written

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"every": 0}, "every must be >= 1; got 0"),
            ({"seconds": -1}, "seconds must be >= 0; got -1"),
            ({"seconds": float("nan")}, "seconds must be >= 0"),
        ],
        ids=str,
    )
    def test_bad_settings(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            Checkpoint("a", **wrong)

    def test_a_path_is_needed(self):
        with pytest.raises(TypeError, match="Checkpoint: path must be a str or path-like; got 5"):
            regressor().fit(X, Y, checkpoint=5)


def test_text_tells_values_apart():
    values = [None, True, 1, 1.5, "1", [1, 2], [2, 1], {"a": 1}, {"a": 2}, {3, 4}, np.arange(3), np.arange(100), np.arange(100)[::-1]]
    values += [len, np.sin, as_text, ShuffleSplit(3), ShuffleSplit(4), regressor(), regressor(max_iter=3), Model]
    assert len({as_text(value) for value in values}) == len(values)
    for value in values:
        assert " at 0x" not in as_text(value)
    assert as_text(pd.Series([1, 2])) != as_text(pd.Series([1, 3]))


def run(path, at, n_jobs):
    """`killed.fit` in a process of its own."""
    command = [sys.executable, "-m", "tests.killed", str(path), str(at), str(n_jobs), f"{path}.model"]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2])


def kill_while_it_trains(path, rng):
    """Whether it was still alive then."""
    before = path.stat().st_mtime_ns if path.exists() else None
    child = run(path, -1, rng.choice([1, 2]))
    while child.poll() is None and (path.stat().st_mtime_ns if path.exists() else None) == before:  # not yet
        time.sleep(0.001)
    time.sleep(rng.random() * 0.05)
    alive = child.poll() is None
    child.kill()
    child.wait()
    return alive


def test_kill_9_at_random_moments(tmp_path):
    """At the end of a round, and at any moment, also while a checkpoint is written; then it ends as if nothing had been."""
    whole = killed.fit()
    rng = random.Random(5)
    path = tmp_path / "run.checkpoint"
    at = rng.randrange(2, Model.from_bytes(whole).n_rounds)
    assert run(path, at, 2).wait() == -signal.SIGKILL
    assert stored_model(path).n_rounds == at - 1
    for _ in range(KILLS):
        if not kill_while_it_trains(path, rng):
            assert Path(f"{path}.model").read_bytes() == whole
            path.unlink()
    assert run(path, -1, 1).wait() == 0
    assert Path(f"{path}.model").read_bytes() == whole

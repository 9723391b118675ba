"""Workers that die, drivers that die, workers that are slow: the same bytes at the end, or an error that says what was lost."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import dask
import pytest
from distributed import Client, LocalCluster

from sapwood import BoostingClassifier, BoostingRegressor, Checkpoint, CheckpointError
from sapwood.cluster import driver
from sapwood.dask import DaskBoostingClassifier, DaskBoostingRegressor
from tests.cluster.cases import CASES, NOISY, SMALL, X, cut
from tests.cluster.faulty import KillWorker, SlowWorker

pytestmark = pytest.mark.xdist_group("dask")
PARAMETERS = {**SMALL, "max_iter": 8, "random_state": 3}


def delayed(values, split="even"):
    return [dask.delayed(piece) for piece in cut(values, split)]


@pytest.fixture
def quick(monkeypatch):
    """Do not wait long for workers that do not come."""
    monkeypatch.setattr(driver, "REPLACEMENT_SECONDS", 1.0)
    monkeypatch.setattr(driver, "NO_WORKER_SECONDS", 2.0)


@pytest.fixture
def mortal(client):
    """A client whose workers may be killed. A nanny replaces them."""
    client.wait_for_workers(4)
    return client


def test_a_killed_worker(mortal, quick, tmp_path):
    """Training goes on from the last finished round."""
    kill = KillWorker(tmp_path / "killed", after=5)
    fitted = DaskBoostingRegressor(client=mortal, **PARAMETERS).fit(delayed(X), delayed(NOISY), callbacks=[kill])
    assert fitted.to_bytes() == BoostingRegressor(**PARAMETERS).fit(X, NOISY).to_bytes()
    assert fitted.communication_["restarts"] == 1
    assert fitted.communication_["trees"] == 4, "finished rounds were trained again"


def test_a_driver_that_ends(client, tmp_path):
    """The next call goes on from the checkpoint, on any number of workers, or in one process."""
    path = tmp_path / "fit.checkpoint"

    def fit(max_iter, **more):
        estimator = DaskBoostingRegressor(client=client, **PARAMETERS | {"max_iter": max_iter})
        return estimator.fit(delayed(X), delayed(NOISY), checkpoint=Checkpoint(path, every=1), **more)

    fit(4)
    assert path.exists()
    again = fit(8)
    assert again.communication_["trees"] == 4
    whole = BoostingRegressor(**PARAMETERS).fit(X, NOISY).to_bytes()
    assert again.to_bytes() == whole
    assert BoostingRegressor(**PARAMETERS).fit(X, NOISY, checkpoint=path).to_bytes() == whole
    with pytest.raises(CheckpointError, match="belongs to another fit: learning_rate was"):
        DaskBoostingRegressor(client=client, learning_rate=0.7, **PARAMETERS).fit(delayed(X), delayed(NOISY), checkpoint=path)


def test_a_checkpoint_with_a_preset(client, tmp_path):
    """A preset that trains one model works with a checkpoint."""
    single = {"preset": "auto", "validation_folds": None, "refit_all": False, "n_iter_no_change": 2, "learning_rate": 0.8}
    rows, path = (delayed(X), delayed(NOISY)), tmp_path / "fit.checkpoint"
    fitted = DaskBoostingRegressor(client=client, **single).fit(*rows, checkpoint=path)
    assert fitted.to_bytes() == BoostingRegressor(**single).fit(X, NOISY).to_bytes()
    again = DaskBoostingRegressor(client=client, **single).fit(*rows, checkpoint=path)
    assert again.to_bytes() == fitted.to_bytes()
    assert again.communication_["trees"] == 0


def test_a_slow_worker_slows_and_nothing_more(client, monkeypatch):
    monkeypatch.setattr("sapwood.cluster.mailbox.PATIENCE", 0.1)
    slow = {**PARAMETERS, "max_iter": 3}
    fitted = DaskBoostingRegressor(client=client, **slow).fit(delayed(X), delayed(NOISY), callbacks=[SlowWorker(0.3)])
    assert fitted.to_bytes() == BoostingRegressor(**slow).fit(X, NOISY).to_bytes()
    assert fitted.communication_["restarts"] == 0


def test_an_error_in_one_worker_ends_the_fit(client):
    """The others do not wait for it for ever, and the workers can be used again."""
    fail = Fail()
    with pytest.raises(ZeroDivisionError, match="of the callback"):
        DaskBoostingRegressor(client=client, **PARAMETERS).fit(delayed(X), delayed(NOISY), callbacks=[fail])
    assert DaskBoostingRegressor(client=client, **PARAMETERS).fit(delayed(X), delayed(NOISY)).n_iter_ == 8


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt. Shells ignore it in background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c(client):
    """The workers stop, keep nothing, and can be used again; the estimator is not changed."""
    estimator = DaskBoostingRegressor(client=client, **PARAMETERS | {"max_iter": 1_000})
    interrupt = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(delayed(X), delayed(NOISY), callbacks=[SlowWorker(0.1)])
    assert time.monotonic() - began < 30
    assert not hasattr(estimator, "model_")
    assert set(client.run(n_attempts).values()) == {0}
    fitted = DaskBoostingRegressor(client=client, **PARAMETERS).fit(delayed(X), delayed(NOISY))
    assert fitted.to_bytes() == BoostingRegressor(**PARAMETERS).fit(X, NOISY).to_bytes()


def n_attempts():
    """Number of fits that this worker remembers."""
    from sapwood.cluster.worker import ATTEMPTS

    return len(ATTEMPTS._mailboxes) + len(ATTEMPTS._progress)


class Fail(SlowWorker):
    def __init__(self):
        super().__init__(0)

    def after_round(self, state):
        raise ZeroDivisionError("of the callback")


def test_no_worker_left(quick):
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0", memory_limit=0) as cluster, Client(cluster) as client:
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        began = time.monotonic()
        with pytest.raises(RuntimeError, match="no Dask worker is left"):
            DaskBoostingRegressor(client=client).fit(delayed(X), delayed(NOISY))
        assert time.monotonic() - began < 30


def test_changed_rows_are_detected(mortal, quick, tmp_path):
    """A worker that replaces another one reads rows again. If they differ, there is no model that is a mixture of both."""
    rows = [dask.delayed(random_rows)(i) for i in range(4)]
    kill = KillWorker(tmp_path / "killed", after=3)
    with pytest.raises(CheckpointError, match="the data set 'train' has changed"):
        DaskBoostingRegressor(client=mortal, **PARAMETERS).fit(rows, delayed(NOISY), callbacks=[kill])


def random_rows(i):
    import numpy as np

    return np.random.default_rng().normal(size=(500, 3))


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(20))
def test_workers_killed_at_random(trial, mortal, tmp_path):
    """kill -9 at a random moment: while rows are read, while trees are grown, in any worker."""
    rng = random.Random(trial)
    name = rng.choice(["categories", "two classes", "vector leaves", "dart", "early stopping", "subsample"])
    case = CASES[name]
    classes = {BoostingClassifier: DaskBoostingClassifier, BoostingRegressor: DaskBoostingRegressor}
    parameters = case.estimator.get_params() | {"max_iter": 60}
    estimator = classes[type(case.estimator)](client=mortal, **parameters)
    pids = list(mortal.run(os.getpid, on_error="ignore").values())
    delay = rng.uniform(0, 4)
    killer = threading.Timer(delay, lambda: os.kill(rng.choice(pids), signal.SIGKILL))
    killer.start()
    try:
        fitted = estimator.fit(delayed(case.X, "uneven"), delayed(case.y, "uneven"))
    finally:
        killer.join()
    assert fitted.to_bytes() == type(case.estimator)(**parameters).fit(case.X, case.y).to_bytes()


@pytest.mark.slow
def test_a_killed_driver(mortal, tmp_path):
    """kill -9 of the user's process; the same script goes on from its checkpoint."""
    files = [str(tmp_path / name) for name in ("fit.checkpoint", "out")]
    script = [sys.executable, "-m", "tests.cluster.driven", mortal.scheduler.address, *files]
    first = subprocess.Popen(script)
    until = time.monotonic() + 60
    while not (tmp_path / "fit.checkpoint").exists() and time.monotonic() < until:
        time.sleep(0.05)
    first.kill()
    first.wait()
    assert not (tmp_path / "out").exists()
    subprocess.run(script, check=True, timeout=120)
    from tests.cluster import driven

    assert (tmp_path / "out").read_bytes() == BoostingRegressor(**driven.PARAMETERS).fit(X, NOISY).to_bytes()

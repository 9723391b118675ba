"""Threads, processes, signals, and the surroundings a process runs in."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor, Model
from sapwood.data.tables import ArrayTable
from sapwood.runtime import threads
from sapwood.runtime.execution import SERIAL, Execution
from sapwood.runtime.threads import resolve_threads

ROOT = Path(__file__).parents[2]
SECONDS = 60  # what hangs fails after this long


def make_data(seed, n_rows=30_000):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n_rows)


def fit(seed, n_jobs=None):
    """A model of its own for each seed, of one of three kinds."""
    X, y = make_data(seed)
    kind = seed % 3
    if kind == 0:
        return BoostingRegressor(max_iter=3, n_jobs=n_jobs).fit(X, y)
    if kind == 1:
        return BoostingClassifier(max_iter=3, n_jobs=n_jobs, max_features=0.5).fit(X, np.digitize(y, [-0.5, 0.5]))
    return BoostingRegressor("absolute_error", max_iter=3, n_jobs=n_jobs, grow_policy="depthwise").fit(X, y)


def fit_bytes(seed, n_jobs=None):
    return fit(seed, n_jobs).model_.to_bytes()


def run(script, *arguments, timeout=SECONDS, cwd=ROOT, **environment):
    """What a script prints as JSON, in a process of its own."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = {name: value for name, value in (os.environ | environment).items() if value is not None}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def together(n_threads, work):
    """The results of work(0), work(1), ..., each in a thread of its own, all begun at once."""
    barrier = threading.Barrier(n_threads)

    def begin(number):
        barrier.wait(SECONDS)
        return work(number)

    with ThreadPoolExecutor(n_threads) as pool:
        return [future.result(SECONDS) for future in [pool.submit(begin, number) for number in range(n_threads)]]


# Threads


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_eight_threads_predict_with_one_model(n_jobs):
    fitted = fit(1, n_jobs)
    X, _ = make_data(1)
    expected = fitted.predict_proba(X)
    for predictions in together(8, lambda _: fitted.predict_proba(X)):
        assert_array_equal(predictions, expected)


def test_the_first_predictions_of_a_loaded_model_may_come_from_many_threads():
    fitted = fit(0)
    X, _ = make_data(0, n_rows=2_000)
    expected = fitted.model_.predict_raw(ArrayTable(X), SERIAL)
    for _ in range(5):
        loaded = Model.from_bytes(fitted.model_.to_bytes())
        for raw in together(8, lambda _, loaded=loaded: loaded.predict_raw(ArrayTable(X), Execution(2))):
            assert_array_equal(raw, expected)


@pytest.mark.parametrize("n_threads", [4, 8])
def test_threads_fit_models_of_their_own_at_once(n_threads):
    expected = [fit_bytes(seed, n_jobs=1) for seed in range(n_threads)]
    assert together(n_threads, fit_bytes) == expected


def test_fitting_and_predicting_at_once():
    fitted = fit(1)
    X, _ = make_data(1)
    predictions, model = fitted.predict_proba(X), fit_bytes(2)

    def work(number):
        return fit_bytes(2) if number % 2 else fitted.predict_proba(X)

    for number, result in enumerate(together(6, work)):
        if number % 2:
            assert result == model
        else:
            assert_array_equal(result, predictions)


def test_whoever_predicts_during_a_refit_sees_the_old_model_or_the_new():
    estimator, (X, y) = fit(0), make_data(0)
    table = X[:100]
    old = estimator.predict(table).tobytes()
    new = BoostingRegressor(max_iter=3, learning_rate=0.5).fit(X, y).predict(table).tobytes()
    estimator.set_params(learning_rate=0.5)

    def work(number):
        if number == 0:
            return [estimator.fit(X, y).predict(table).tobytes()]
        return [estimator.predict(table).tobytes() for _ in range(50)]

    first, *others = together(4, work)
    assert first == [new]
    assert {prediction for predictions in others for prediction in predictions} <= {old, new}


# Processes

IN_CHILDREN = """
import joblib, json, multiprocessing, sys
from tests.estimators.test_concurrency import fit_bytes
fit_bytes(0)  # the parent's threads are up
context = multiprocessing.get_context(sys.argv[1])
with context.Pool(1) as pool:
    models = pool.map_async(fit_bytes, range(3)).get(timeout=50)
print(json.dumps([joblib.hash(model) for model in models]))
"""


@pytest.fixture(scope="module")
def digests():
    return [joblib.hash(fit_bytes(seed)) for seed in range(3)]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_child_processes_fit_after_their_parent_did(method, digests):
    assert run(IN_CHILDREN, method) == digests


FORK_IN_A_STORM = """
import json, os, signal, threading
from tests.estimators.test_concurrency import fit_bytes
expected, stop = fit_bytes(0), threading.Event()

def storm():
    while not stop.is_set():
        fit_bytes(1)

threads = [threading.Thread(target=storm) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is ended by the system
        os._exit(0 if fit_bytes(0) == expected else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(json.dumps([codes, fit_bytes(0) == expected]))
"""


def test_children_forked_while_other_threads_fit():
    codes, parent_is_well = run(FORK_IN_A_STORM, timeout=150)
    assert codes == [0] * 6
    assert parent_is_well


def test_joblibs_processes(digests):
    models = joblib.Parallel(n_jobs=2, backend="loky", timeout=SECONDS)(joblib.delayed(fit_bytes)(seed) for seed in range(3))
    assert [joblib.hash(model) for model in models] == digests


def test_a_fitted_estimator_predicts_in_another_process():
    fitted, (X, _) = fit(1), make_data(1, n_rows=1_000)
    (there,) = joblib.Parallel(n_jobs=2, backend="loky", timeout=SECONDS)([joblib.delayed(fitted.predict_proba)(X)])
    assert_array_equal(there, fitted.predict_proba(X))


# Interrupts

INTERRUPT = """
import json, os, signal, threading, time
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in background jobs
from sapwood import BoostingClassifier, BoostingRegressor
X = np.random.default_rng(0).random((5_000_000, 10), dtype=np.float32)
y = X[:, 0] + X[:, 1]

def small_fit():
    return BoostingClassifier(max_iter=3).fit(X[:50_000], y[:50_000] > 1).model_.to_bytes()

undisturbed, n_threads, waits = small_fit(), len(os.listdir("/proc/self/task")), []
classifier, regressor = BoostingClassifier(), BoostingRegressor("absolute_error")
for estimator, target, delay in ((classifier, y > 1, 0.05), (classifier, y > 1, 0.5), (classifier, y > 1, 2.0), (regressor, y, 1.0)):

    def send():
        waits.append(-time.process_time())  # CPU time: other processes do not count
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, send)
    timer.start()
    try:
        estimator.fit(X, target)
    except KeyboardInterrupt:
        waits[-1] += time.process_time()
    timer.join()
    assert not hasattr(estimator, "model_")
print(json.dumps([waits, len(os.listdir("/proc/self/task")) - n_threads, small_fit() == undisturbed]))
"""


def test_an_interrupt_ends_a_large_fit_within_a_second_and_the_next_fit_works():
    waits, new_threads, next_fit_works = run(INTERRUPT, timeout=150)
    assert len(waits) == 4
    assert 0 <= min(waits) <= max(waits) < 1
    assert new_threads == 0
    assert next_fit_works


INTERRUPT_PREDICTION = """
import json, os, signal, threading, time
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in background jobs
from sapwood import BoostingRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(3_000, 12))
estimator = BoostingRegressor(max_iter=300, max_leaf_nodes=31, early_stopping=False).fit(X, X[:, 0] * X[:, 1] + rng.normal(size=len(X)))
many, waits = rng.normal(size=(4_000_000, 12)), []
few = estimator.predict(X[:100]).tobytes()
calls = [lambda: estimator.predict(many), lambda: estimator.apply(many[:1_000_000]), lambda: estimator.explain(many[:200_000])]
calls += [lambda: estimator.explain(many[:20_000], interactions=True), lambda: estimator.explain(many[:5_000], background=X)]
for n_jobs in (1, 2):
    estimator.set_params(n_jobs=n_jobs)
    for call in calls:

        def send():
            waits.append(-time.process_time())  # CPU time: other processes do not count
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.3, send)
        timer.start()
        try:
            call()
        except KeyboardInterrupt:
            waits[-1] += time.process_time()
        timer.join()
print(json.dumps([waits, estimator.predict(X[:100]).tobytes() == few]))
"""


def test_an_interrupt_ends_predictions_and_explanations_within_a_second():
    waits, still_predicts = run(INTERRUPT_PREDICTION, timeout=150)
    assert len(waits) == 10
    assert 0 <= min(waits) <= max(waits) < 1
    assert still_predicts


# How many threads


@pytest.mark.parametrize(
    ("n_jobs", "n_threads"),
    [(None, 4), (1, 1), (3, 3), (4, 4), (5, 4), (1000, 4), (-1, 4), (-2, 3), (-4, 1), (-5, 1), (-1000, 1)],
)
def test_n_jobs_as_in_scikit_learn_but_never_more_than_there_are_cpus(n_jobs, n_threads, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "available_cpus", lambda: 4)
    assert resolve_threads(n_jobs) == n_threads


def test_no_jobs_at_all_is_an_error():
    with pytest.raises(ValueError, match="n_jobs must not be 0; use a positive number, -1 for all CPUs, or None"):
        resolve_threads(0)
    X, y = make_data(0, n_rows=50)
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        BoostingRegressor(n_jobs=0).fit(X, y)


@pytest.mark.parametrize(
    ("variable", "n_threads"),
    [("1", 1), ("3", 3), ("16", 4), ("2,1", 2), ("", 4), ("0", 4), ("-1", 4), ("many", 4)],
)
def test_the_openmp_variable_limits_the_default(variable, n_threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    monkeypatch.setattr(threads, "available_cpus", lambda: 4)
    assert resolve_threads(None) == n_threads
    assert resolve_threads(4) == 4
    assert resolve_threads(-1) == 4


THREADS_STARTED = """
import json, os
from tests.estimators.test_concurrency import fit
cpus, before, started = os.sched_getaffinity(0), len(os.listdir("/proc/self/task")), []
for n_jobs, allowed in ((64, {min(cpus)}), (None, {min(cpus)}), (1, cpus), (64, cpus)):
    os.sched_setaffinity(0, allowed)
    fit(0, n_jobs)
    started.append(len(os.listdir("/proc/self/task")) - before)
print(json.dumps([started, len(cpus)]))
"""


def test_no_more_threads_are_started_than_there_are_cpus():
    (many_on_one_cpu, default_on_one_cpu, one, many), n_cpus = run(THREADS_STARTED)
    assert many_on_one_cpu == default_on_one_cpu == one == 0
    assert many <= n_cpus - 1


# Surroundings

EVERYTHING = """
import json
import numpy as np
from sapwood import BoostingClassifier
X = np.random.default_rng(0).normal(size=(2_000, 3))
print(json.dumps(BoostingClassifier(max_iter=5).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0)))
"""


def test_neither_home_nor_cache_nor_temporary_folder_is_needed(tmp_path):
    package = Path(sapwood.__file__).parent
    before = sorted(path for path in package.rglob("*") if path.suffix != ".pyc")
    nowhere = dict.fromkeys(["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR"], "/nonexistent")
    assert run(EVERYTHING, cwd=tmp_path, PYTHONDONTWRITEBYTECODE="1", USER=None, **nowhere) > 0.95
    assert list(tmp_path.iterdir()) == []
    assert sorted(path for path in package.rglob("*") if path.suffix != ".pyc") == before


SIDE_EFFECTS = """
import decimal, json, locale, logging, os, pickle, random, signal, sys, threading, warnings
import narwhals.stable.v2, numpy as np, safetensors.numpy, scipy, sklearn.base, sklearn.metrics, sklearn.model_selection

def surroundings():
    return {
        "warnings": [str(entry) for entry in warnings.filters],
        "showwarning": repr(warnings.showwarning),
        "logging": [logging.root.level, logging.root.disabled, len(logging.root.handlers), logging.Logger.manager.disable],
        "random": hash(random.getstate()),
        "numpy random": pickle.dumps(np.random.get_state()).hex(),
        "numpy errors": np.geterr(),
        "numpy printing": str(np.get_printoptions()),
        "signals": [repr(signal.getsignal(number)) for number in signal.valid_signals()],
        "environment": dict(os.environ),
        "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
        "affinity": sorted(os.sched_getaffinity(0)),
        "hooks": [repr(sys.excepthook), repr(sys.displayhook), sys.getrecursionlimit(), sys.getswitchinterval()],
        "decimal": str(decimal.getcontext()),
        "locale": locale.setlocale(locale.LC_ALL),
        "folder": os.getcwd(),
        "scikit-learn": {name: str(value) for name, value in sklearn.get_config().items()},
    }

before = surroundings()
import sapwood
after_import = surroundings()
X = np.linspace(-1, 1, 3_000).reshape(1_000, 3)
sapwood.BoostingClassifier(max_features=0.5, early_stopping=True, max_iter=3, n_jobs=1).fit(X, X[:, 0] > 0).predict(X)
after_fit = surroundings()
changed = [[name for name in before if before[name] != after[name]] for after in (after_import, after_fit)]
print(json.dumps(changed))
"""


def test_import_and_fit_leave_the_process_as_it_was():
    assert run(SIDE_EFFECTS, PYTHONHASHSEED="0") == [[], []]

"""Flush-to-zero flags and rounding of the calling thread: neither kernels nor fits see them, and both leave them as they were."""

import json
import platform
import subprocess
import sys

import lightgbm
import numpy as np
import pytest

import sapwood
from sapwood import BoostingRegressor
from sapwood.runtime import kernels
from sapwood.runtime.float_mode import DefaultFloatMode

DEFAULT = kernels.DEFAULT_FLOAT_MODE
if platform.machine() in ("x86_64", "AMD64"):
    MODES = {"flush to zero": DEFAULT | 0x8040, "up": DEFAULT | 0x4000, "down": DEFAULT | 0x2000, "toward zero": DEFAULT | 0x6000}
else:
    MODES = {"flush to zero": 1 << 24, "up": 1 << 22, "down": 2 << 22, "toward zero": 3 << 22}

modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES)


@pytest.fixture
def restored():
    before = kernels.set_float_mode(DEFAULT)
    yield
    kernels.set_float_mode(before)


@modes
def test_the_mode_is_restored(restored, mode):
    kernels.set_float_mode(mode)
    with DefaultFloatMode():
        assert kernels.set_float_mode(DEFAULT) == DEFAULT
    kernels.exact_sum(np.arange(3.0))
    assert kernels.set_float_mode(DEFAULT) == mode


@modes
@pytest.mark.parametrize("n_threads", [1, 2])
def test_kernels_do_not_see_the_mode(restored, mode, n_threads):
    x = np.concatenate([np.random.default_rng(0).normal(size=40_000), np.random.default_rng(1).normal(size=40_000) * 1e-310])

    def compute():
        rows, gradients = kernels.LossRows(x, x[::-1].copy(), None), np.empty((2, len(x)))
        kernels.loss_gradients(kernels.Loss(4), rows, *gradients, n_threads)
        return gradients.tobytes() + np.concatenate(kernels.find_cuts(x[:, None], None, None, 255, n_threads)).tobytes()

    expected = compute()
    kernels.set_float_mode(mode)
    found = compute()
    kernels.set_float_mode(DEFAULT)
    assert found == expected


# In a forked process for each mode. The threads of the pool are started while the mode is set: a thread inherits it.
FIT = """
import json, os, sys
import joblib
import lightgbm
import numpy as np
from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.runtime import kernels
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 5)) * [1, 1, 1e-310, 1, 1e-5]
times = np.exp(X[:, 0] + rng.normal(size=len(X)))
cases = (
    (BoostingClassifier(), X[:, 0] + X[:, 1] > rng.normal(size=len(X))),
    (BoostingClassifier(loss="focal"), np.digitize(X[:, 0], [-0.5, 0.5])),
    (BoostingRegressor(loss="aft"), np.column_stack([times, times * (1 + (X[:, 3] > 0))])),
)
for mode in map(int, sys.argv[1:]):
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        continue
    models = []
    for n_jobs in (2, 1):
        for estimator, y in cases:
            before = kernels.set_float_mode(mode)
            estimator.set_params(max_iter=3, n_jobs=n_jobs).fit(X, y)
            predicted = (estimator.predict_proba if hasattr(estimator, "predict_proba") else estimator.predict)(X)
            kernels.set_float_mode(before)
            models.append([joblib.hash(estimator.model_.to_bytes()), joblib.hash(predicted)])
    print(json.dumps(models), flush=True)
    os._exit(0)
"""


def test_a_fit_gives_the_same_bytes_in_every_mode():
    command = [sys.executable, "-c", FIT, *map(str, [DEFAULT, *MODES.values()])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected, *found = map(json.loads, done.stdout.splitlines())
    assert expected[:3] == expected[3:]
    assert found == [expected] * len(MODES)


@modes
def test_files_are_written_and_read_in_every_mode(restored, mode, tmp_path):
    x = np.arange(1.0, 101.0)[:, None] * 5e-324  # cut points that are zero where subnormal numbers are
    fitted = BoostingRegressor(max_iter=2, min_samples_leaf=5).fit(x, x[:, 0] > 2e-322)
    expected = fitted.to_bytes()
    kernels.set_float_mode(mode)
    found = fitted.to_bytes()
    fitted.save(tmp_path / "model.sapwood")
    loaded, model = sapwood.load(tmp_path / "model.sapwood").to_bytes(), sapwood.Model.from_bytes(fitted.model_.to_bytes())
    kernels.set_float_mode(DEFAULT)
    assert found == expected == loaded
    assert model.to_bytes() == fitted.model_.to_bytes()


@modes
def test_models_are_exported_and_imported_in_every_mode(restored, mode):
    x = np.random.default_rng(0).normal(size=(200, 3))
    text = lightgbm.train({"verbose": -1, "num_threads": 1}, lightgbm.Dataset(x, x[:, 0]), 2).model_to_string()

    def convert():
        imported = sapwood.import_model(text)
        return imported.to_bytes(), imported.export("c"), imported.export("lightgbm")

    expected = convert()
    kernels.set_float_mode(mode)
    found = convert()
    kernels.set_float_mode(DEFAULT)
    assert found == expected

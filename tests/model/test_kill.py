"""kill -9 at random moments while a file is saved: it is the old or the new one, never a broken one. `make kill` takes 200 moments."""

import os
import random
import signal
import time
import warnings

import numpy as np

import sapwood
from sapwood import BoostingRegressor

KILLS = int(os.environ.get("SAPWOOD_KILLS", "30"))


def save_for_ever(models, path, ready):
    """In a child; only a kill ends it."""
    os.write(ready, b".")
    while True:
        for model in models:
            model.save(path)


def test_there_is_always_a_whole_file(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2_000, 4))
    path, y = tmp_path / "model", x[:, 0] * x[:, 1]
    models = [BoostingRegressor(max_iter=n, max_leaf_nodes=255, min_samples_leaf=1, n_jobs=1).fit(x, y) for n in (2, 60)]
    whole = {model.to_bytes(): model.n_iter_ for model in models}
    start = time.perf_counter()
    for model in models:
        model.save(tmp_path / "model")
    longest = 3 * (time.perf_counter() - start)  # a kill comes within some saves
    moments, found, half_done = random.Random(1), [], 0
    reading, writing = os.pipe()
    while len(found) < KILLS or (half_done == 0 and len(found) < 50 * KILLS):  # a kill while a file is written is rare on a fast disk
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that this process has threads
            child = os.fork()
        if child == 0:
            try:
                save_for_ever(models, path, writing)
            finally:
                os._exit(1)
        os.read(reading, 1)
        time.sleep(moments.random() * longest)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        found.append(whole[path.read_bytes()])
        left = [other.name for other in tmp_path.iterdir() if other != path]
        assert len(left) <= 1 and all(name.startswith(".sapwood-") and name.endswith(".part") for name in left)
        half_done += len(left)  # the next save removes it
        assert sapwood.load(path).n_iter_ == found[-1]
    os.close(reading), os.close(writing)
    assert set(found) == {2, 60}  # kills hit both
    assert half_done > 0
    models[0].save(path)
    assert list(tmp_path.iterdir()) == [path]

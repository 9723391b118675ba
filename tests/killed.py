"""A fit with checkpoints that kills its own process after a round: `python -m tests.killed PATH ROUND N_JOBS OUT`."""

import os
import signal
import sys
from pathlib import Path

import numpy as np

from sapwood import BoostingClassifier, Checkpoint
from sapwood.callbacks import Callback


class Kill(Callback):
    def __init__(self, at):
        self.at = at

    def after_round(self, state):
        if state.n_rounds == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def fit(path=None, at=-1, n_jobs=1):
    """The bytes of the model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 6))
    y = np.digitize(X[:, 0] * X[:, 1] + rng.normal(size=1000), [-0.5, 0.5])
    ways = {"boosting": "dart", "subsample": 0.7, "max_features": 0.5, "early_stopping": True, "n_iter_no_change": 20}
    checkpoint = None if path is None else Checkpoint(path, every=1)
    fitted = BoostingClassifier(max_iter=40, **ways, n_jobs=n_jobs).fit(X, y, checkpoint=checkpoint, callbacks=[Kill(at)])
    return fitted.model_.to_bytes()


if __name__ == "__main__":
    Path(sys.argv[4]).write_bytes(fit(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

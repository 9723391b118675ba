"""Checkpoints of fits with several training runs: they do not change the model, and an interrupted fit resumes to the same bytes."""

from unittest import mock

import numpy as np
import pytest

from sapwood import BoostingRegressor, Checkpoint, CheckpointError
from sapwood.training.checkpoint import FileCheckpointWriter

rng = np.random.default_rng(1)
X = rng.integers(0, 40, size=(400, 4)).astype(float)
Y = np.sin(X[:, 0] / 6) + 0.02 * X[:, 1] + 0.3 * rng.normal(size=400)
SETTINGS = {"max_iter": 40, "n_iter_no_change": 5, "min_samples_leaf": 5, "max_leaf_nodes": 6, "random_state": 0}


def interrupted_after(n_rounds):
    """Raise an InterruptedError when so many rounds of all runs are done."""
    after_round, calls = FileCheckpointWriter.after_round, []

    def count(self, *args):
        after_round(self, *args)
        calls.append(args)
        if len(calls) == n_rounds:
            raise InterruptedError

    return mock.patch.object(FileCheckpointWriter, "after_round", count)


@pytest.mark.parametrize("procedure", [{"validation_folds": 3}, {"refit_all": True}, {"preset": "auto", "max_iter": "auto"}])
@pytest.mark.parametrize("n_rounds", [7, 18])
def test_interrupted_fits_resume_to_the_same_bytes(procedure, n_rounds, tmp_path):
    estimator = BoostingRegressor(**SETTINGS | procedure)
    whole = estimator.fit(X, Y).to_bytes()
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", every=3)
    with interrupted_after(n_rounds), pytest.raises(InterruptedError):
        estimator.fit(X, Y, checkpoint=checkpoint)
    assert estimator.fit(X, Y, checkpoint=checkpoint).to_bytes() == whole
    with mock.patch.object(FileCheckpointWriter, "after_round", side_effect=AssertionError("training must not run again")):
        assert estimator.fit(X, Y, checkpoint=checkpoint).to_bytes() == whole


def test_folds_have_files_of_their_own(tmp_path):
    checkpoint = tmp_path / "run.checkpoint"
    estimator = BoostingRegressor(validation_folds=3, **SETTINGS).fit(X, Y, checkpoint=checkpoint)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run.checkpoint.fold{k}" for k in (1, 2, 3)]
    (tmp_path / "run.checkpoint.fold2").rename(tmp_path / "run.checkpoint.fold1")
    with pytest.raises(CheckpointError, match="the training run was fold2, now it is fold1"):
        estimator.fit(X, Y, checkpoint=checkpoint)

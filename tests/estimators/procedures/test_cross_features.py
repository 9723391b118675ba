"""Cross features or none: held-out rows decide."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.callbacks.comparison import Comparison, exceeds
from tests.partitions import assert_same_bytes

rng = np.random.default_rng(0)
N = 5000
X = rng.integers(0, 60, size=(N, 3)).astype(float)
BY_DIFFERENCE = np.sin((X[:, 0] - X[:, 1]) / 3) + 0.1 * rng.normal(size=N)
ADDITIVE = X[:, 0] + 0.1 * rng.normal(size=N)
SETTINGS = {"learning_rate": 0.3, "n_iter_no_change": 5, "max_leaf_nodes": 8, "n_models": 1}


@pytest.mark.parametrize(("y", "wins"), [(BY_DIFFERENCE, True), (ADDITIVE, False)], ids=["difference", "additive"])
def test_held_out_rows_decide(y, wins):
    fitted = BoostingRegressor(**SETTINGS).fit(X, y)
    chosen = fitted.resolved_params_["cross_features"]
    assert (chosen is not None) == wins
    if wins:
        assert ("difference", 0, 1) in chosen
        assert "better than none" in fitted.resolved_params_.reasons["cross_features"]
        assert fitted.score(X, y) > BoostingRegressor(**SETTINGS, cross_features=None).fit(X, y).score(X, y)
    explicit = BoostingRegressor(**SETTINGS | fitted.resolved_params_).fit(X, y)
    assert explicit.model_.to_bytes() == fitted.model_.to_bytes()


def test_columns_are_named_and_categories_center():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(group=rng.choice(list("xyz"), N))
    means = frame["group"].map({"x": 0.0, "y": 40.0, "z": 90.0})
    frame["a"] += means
    fitted = BoostingRegressor(**SETTINGS).fit(frame, np.sin((frame["a"] - means) / 4))
    assert ("centered", "a", "group") in fitted.resolved_params_["cross_features"]


@pytest.mark.parametrize(
    "given",
    [{"cross_features": None}, {"monotonic_cst": [1, 0, 0]}, {"interaction_cst": [[0], [1], [2]]}, {"max_iter": 20}, {"preset": "fast"}],
    ids=lambda given: next(iter(given)),
)
def test_what_is_not_compared(given):
    fitted = BoostingRegressor(**SETTINGS | given).fit(X, BY_DIFFERENCE)
    assert not fitted.model_.encoding.crosses


def test_too_few_rows():
    assert BoostingRegressor(**SETTINGS).fit(X[:4000], BY_DIFFERENCE[:4000]).resolved_params_["cross_features"] is None


@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_threads_and_partitions_give_the_same_bytes(estimator):
    y = BY_DIFFERENCE if estimator is BoostingRegressor else np.digitize(BY_DIFFERENCE, [-0.5, 0.5])
    assert estimator(**SETTINGS).fit(X, y).model_.encoding.crosses
    assert_same_bytes(partial(estimator, **SETTINGS), X, y)


def test_checkpoints(tmp_path):
    path = tmp_path / "fit.checkpoint"
    fitted = BoostingRegressor(**SETTINGS).fit(X, BY_DIFFERENCE, checkpoint=path)
    assert (tmp_path / "fit.checkpoint.cross").exists()
    assert BoostingRegressor(**SETTINGS).fit(X, BY_DIFFERENCE, checkpoint=path).to_bytes() == fitted.to_bytes()


def test_training_ends_when_another_run_was_better():
    losses = [10.0 - i for i in range(8)]
    worse, better = ([one + shift for one in losses] for shift in (0.0, -1.0))

    def rounds(own):
        state = SimpleNamespace(measures={"validation": [SimpleNamespace(name="loss", higher_is_better=False)]}, scores={})
        callback = Comparison(losses, every=3, margin=0.05)
        for n in range(1, len(own) + 1):
            state.scores = {"validation": {"loss": own[:n]}}
            if callback.after_round(state):
                return n - 1
        return None

    assert rounds(worse) == 3
    assert rounds(better) is None
    assert rounds(better[:4] + worse[4:]) == 6


def test_margins():
    assert exceeds(0.9, 1.0, False, 0.05) and not exceeds(0.96, 1.0, False, 0.05)
    assert exceeds(1.1, 1.0, True, 0.05) and not exceeds(1.04, 1.0, True, 0.05)
    assert exceeds(-1.1, -1.0, False, 0.05) and not exceeds(-1.0, -1.0, False, 0.0)

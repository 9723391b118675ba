"""Training ends before a round that would exceed the time limit."""

import numpy as np
import pytest

from sapwood import BoostingRegressor
from sapwood.callbacks import TimeLimit

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = X[:, 0] + rng.normal(size=300)


class Clock:
    """Returns the next of the given times, and then the last."""

    def __init__(self, *times):
        self.times = list(times)

    def __call__(self):
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]


def test_stops_before_a_round_that_would_exceed_it():
    # Created at 0; training begins at 1; rounds end at 2, 3, 6 (the longest takes 3): another one would end after 8.
    limit = TimeLimit(8.0, clock=Clock(0.0, 1.0, 2.0, 3.0, 6.0))
    model = BoostingRegressor(max_iter=50).fit(X, Y, callbacks=[limit])
    assert limit.reached
    assert model.n_iter_ == 3


def test_not_reached():
    limit = TimeLimit(1e6)
    assert BoostingRegressor(max_iter=5).fit(X, Y, callbacks=[limit]).n_iter_ == 5
    assert not limit.reached


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_bad_seconds(seconds):
    with pytest.raises(ValueError, match="TimeLimit needs seconds > 0"):
        TimeLimit(seconds)


@pytest.mark.parametrize(
    "parameters", [{"max_iter": 500}, {"preset": "auto"}, {"preset": "auto", "validation_folds": None, "refit_all": True}]
)
def test_parameter_of_the_estimator(parameters):
    with pytest.warns(UserWarning, match=r"time_limit=1e-09 ended training: the model has \d+ rounds"):
        model = BoostingRegressor(time_limit=1e-9, **parameters).fit(X, Y)
    assert model.time_limit_reached_
    assert model.n_iter_ <= 5  # one for each fold
    assert BoostingRegressor.from_bytes(model.to_bytes()).time_limit_reached_
    assert not BoostingRegressor(max_iter=3).fit(X, Y).time_limit_reached_

"""Learning-rate schedules."""

import pytest

from sapwood.callbacks import LearningRate
from tests.callbacks.example import X, Y, regressor


def test_learning_rates():
    rates = [0.3 * 0.9**i for i in range(12)]
    by_list, by_function = (regressor().fit(X, Y, callbacks=[LearningRate(schedule)]) for schedule in (rates, rates.__getitem__))
    assert by_list.model_.to_bytes() == by_function.model_.to_bytes()
    constant = regressor(learning_rate=0.2).fit(X, Y)
    assert regressor().fit(X, Y, callbacks=[LearningRate(lambda round_: 0.2)]).model_.to_bytes() == constant.model_.to_bytes()
    assert by_list.model_.to_bytes() != constant.model_.to_bytes()
    with pytest.raises(ValueError, match="LearningRate has 3 rates, but training continues"):
        regressor().fit(X, Y, callbacks=[LearningRate(rates[:3])])
    with pytest.raises(ValueError, match="LearningRate returned 0 for round 0"):
        regressor().fit(X, Y, callbacks=[LearningRate(lambda round_: 0)])

"""When callbacks are called."""

import pytest

from sapwood.callbacks import Callback
from tests.callbacks.example import X, Y, regressor


def test_all_callbacks_are_called_in_every_round_and_at_the_end_even_after_an_error():
    calls = []

    class Recorder(Callback):
        def __init__(self, name, stop_at):
            self.name, self.stop_at = name, stop_at

        def after_round(self, state):
            calls.append((self.name, state.n_rounds))
            if state.n_rounds == self.stop_at == 4:
                raise RuntimeError("enough")
            return state.n_rounds == self.stop_at

        def after_training(self, state):
            calls.append((self.name, "end"))

    regressor().fit(X, Y, callbacks=[Recorder("a", 2), Recorder("b", 99)])
    assert calls == [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", "end"), ("b", "end")]
    calls.clear()
    with pytest.raises(RuntimeError, match="enough"):
        regressor().fit(X, Y, callbacks=[Recorder("c", 4)])
    assert calls[-1] == ("c", "end")

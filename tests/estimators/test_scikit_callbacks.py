"""Callbacks of scikit-learn, which has them from 1.9 on."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sapwood import BoostingRegressor
from sapwood.callbacks import LearningRate

callback = pytest.importorskip("sklearn.callback")

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
Y = X[:, 0] + rng.normal(size=300)


def small(**parameters):
    return BoostingRegressor(**{"max_iter": 5, "max_leaf_nodes": 6, **parameters})


class Record:
    def __init__(self, stop_at=None):
        self.heard, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
        self.heard.append((context.task_name, fitted_estimator.n_iter_, fitted_estimator.predict(X)[0]))
        return fitted_estimator.n_iter_ == self.stop_at and context.task_name == "round"


def test_a_fit_is_a_task_and_each_round_one_of_it():
    record = Record()
    fitted = small(max_iter=2).set_callbacks(record).fit(X, Y)
    first, last = (stage[0] for stage in fitted.staged_predict(X))
    rounds = ["begin round", ("round", 1, first), "begin round", ("round", 2, last)]
    assert record.heard == ["setup", "begin fit", *rounds, ("fit", 2, last), "teardown"]
    assert fitted.model_.to_bytes() == small(max_iter=2).fit(X, Y).model_.to_bytes()


def test_it_may_end_training():
    assert small().set_callbacks(Record(stop_at=3)).fit(X, Y).n_iter_ == 3


def test_teardown_after_an_error():
    record = Record()
    with pytest.raises(ValueError, match="LearningRate"):
        small().set_callbacks(record).fit(X, Y, callbacks=[LearningRate([0.1])])
    assert record.heard[-1] == "teardown"


def test_scikit_learns_own_in_a_search():
    monitor = callback.ScoringMonitor(scoring="r2")
    small(max_iter=3).set_callbacks(monitor).fit(X, Y)
    search = GridSearchCV(small(max_iter=3), {"max_leaf_nodes": [3, 6]}, cv=2)
    search.set_callbacks(callback.ScoringMonitor(scoring="r2")).fit(X, Y)
    assert search.best_estimator_.n_iter_ == 3

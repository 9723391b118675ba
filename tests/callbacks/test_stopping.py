"""Early stopping."""

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error

from sapwood.callbacks import EarlyStopping
from tests.callbacks.example import NEW, NEW_Y, X, Y, regressor


def test_early_stopping_on_any_metric():
    stop = EarlyStopping(3, metric="mae", on="new", min_delta=0.01)
    fitted = regressor(max_iter=200).fit(X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)}, eval_metric=["rmse", "mae"], callbacks=[stop])
    scores = np.array(fitted.evals_result_["new"]["mae"])
    assert fitted.n_iter_ < 200
    assert fitted.best_iteration_ == scores.argmin() + 1
    assert (scores[-3:] >= scores[-4] - 0.01).all()
    assert mean_absolute_error(NEW_Y, fitted.predict(NEW)) == pytest.approx(scores.min())


def test_higher_is_better_where_the_metric_says_so():
    fitted = regressor(max_iter=100).fit(X[:400], Y[:400], eval_sets=[(NEW, NEW_Y)], eval_metric="r2", callbacks=[EarlyStopping(5)])
    assert fitted.best_iteration_ == np.argmax(fitted.evals_result_["eval_0"]["r2"]) + 1


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        (EarlyStopping(on="old"), "EarlyStopping(on='old'): unknown set; the sets are 'new'"),
        (EarlyStopping(metric="mse"), "EarlyStopping(metric='mse'): unknown metric for 'new'; choose from 'mae'"),
    ],
)
def test_unknown_set_or_metric(stop, message):
    with pytest.raises(ValueError) as error:
        regressor().fit(X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)}, eval_metric="mae", callbacks=[stop])
    assert message in str(error.value)


@pytest.mark.parametrize("arguments", [{"patience": 0}, {"min_delta": -1}])
def test_bad_arguments(arguments):
    with pytest.raises(ValueError, match=r"patience must be >= 1 and min_delta >= 0; got"):
        EarlyStopping(**arguments)

"""`is_categorical_`, as in scikit-learn's HistGradientBoosting."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from sapwood import BoostingRegressor, load

FRAME = pd.DataFrame({"a": np.arange(40.0), "b": pd.Categorical(["x", "y"] * 20), "c": np.arange(40) % 3})


@pytest.mark.parametrize("features", ["from_dtype", ["c"], ["b", "c"], [False, True, True]], ids=str)
def test_as_in_scikit_learn(features, tmp_path):
    frame = FRAME if features != ["c"] else FRAME.assign(b=FRAME["b"] == "x")
    theirs = HistGradientBoostingRegressor(categorical_features=features, max_iter=1).fit(frame, FRAME["a"])
    ours = BoostingRegressor(categorical_features=features, max_iter=1).fit(frame, FRAME["a"])
    assert ours.is_categorical_.dtype == bool
    np.testing.assert_array_equal(ours.is_categorical_, theirs.is_categorical_)
    ours.save(tmp_path / "model.sapwood")
    np.testing.assert_array_equal(load(tmp_path / "model.sapwood").is_categorical_, theirs.is_categorical_)


def test_none():
    x = FRAME[["a", "c"]]
    assert HistGradientBoostingRegressor(max_iter=1).fit(x, FRAME["a"]).is_categorical_ is None
    assert BoostingRegressor(max_iter=1).fit(x, FRAME["a"]).is_categorical_ is None

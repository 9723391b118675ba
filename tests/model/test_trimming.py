"""Trimming: outputs of a model without their last trees."""

import numpy as np
from numpy.testing import assert_array_equal

from sapwood import BoostingRegressor
from sapwood.model.trimming import rounds_by_output, trim_outputs

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
Y = np.column_stack([X[:, 0], X[:, 1] * X[:, 2], X[:, 0] - X[:, 1]])


def test_each_output_predicts_with_its_own_number_of_rounds():
    fitted = BoostingRegressor(max_iter=12).fit(X, Y)
    expected = np.column_stack([fitted[:last].predict(X)[:, output] for output, last in enumerate((3, 12, 0))])
    trim_outputs(fitted.model_, [3, 12, 0])
    assert_array_equal(fitted.predict(X), expected)
    assert rounds_by_output(fitted.model_) == [3, 12, 0]
    assert_array_equal(BoostingRegressor.from_bytes(fitted.to_bytes()).predict(X), expected)
    assert_array_equal(fitted.model_.trees[-1].count, [300])

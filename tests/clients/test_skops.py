"""skops stores fitted estimators as plain data and one type."""

from __future__ import annotations

import numpy as np
import pytest
import skops.io
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.datasets import make_queries, make_sales
from sapwood.integrations.skops import TRUSTED


def models():
    X, y = make_sales(300)
    yield BoostingRegressor(max_iter=3, preset="classic").fit(X, y), X
    yield BoostingRegressor(preset="auto", time_limit=60).fit(X, y), X
    yield BoostingClassifier(max_iter=3).fit(X, y > 40), X
    X, relevance, qid = make_queries(10)
    yield BoostingRanker(max_iter=3).fit(X, relevance, qid=qid), X


@pytest.mark.parametrize("number", range(4))
def test_estimators_have_one_type(number):
    model, X = [*models()][number]
    data = skops.io.dumps(model)
    assert skops.io.get_untrusted_types(data=data) == [f"{type(model).__module__}.{type(model).__qualname__}"]
    loaded = skops.io.loads(data, trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.resolved_params_ == model.resolved_params_
    assert loaded.resolved_params_.reasons == model.resolved_params_.reasons
    assert loaded.get_params() == model.get_params()


def test_pipelines(cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), BoostingClassifier(max_iter=3)).fit(X, y)
    loaded = skops.io.loads(skops.io.dumps(pipeline), trusted=TRUSTED)
    np.testing.assert_array_equal(loaded.predict_proba(X), pipeline.predict_proba(X))

"""Estimators in notebooks."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

X = pd.DataFrame({"<b>bold</b>": np.arange(60.0), "level": np.where(np.arange(60) % 2, "<i>odd</i>", "even")})
Y = np.arange(60) % 3


def html(estimator):
    return estimator._repr_mimebundle_()["text/html"]


def test_parameters_that_differ_from_the_defaults():
    found = html(BoostingRegressor(max_iter=7, monotonic_cst={"<b>": 1}))
    assert "not fitted" in found and "max_iter</td><td>7" in found and "&lt;b&gt;" in found
    assert "learning_rate" not in found and found.count("<tr>") == 3
    assert "All parameters have their default values" in html(BoostingClassifier())


@pytest.mark.parametrize(
    "estimator", [BoostingClassifier(max_iter=5), BoostingRegressor(max_iter=5), BoostingRegressor(max_iter=5, leaf_model="linear")]
)
def test_fitted(estimator):
    found = html(estimator.fit(X, Y, eval_sets={"<u>test</u>": (X, Y)}, sample_weight=np.ones(60)))
    assert "fitted on 60 rows x 2 columns: 5 rounds" in found
    assert "18 values chosen by preset=&#x27;auto&#x27;" in found
    assert found.count("<svg") == 2 and "First tree" in found and "&lt;u&gt;test&lt;/u&gt;" in found
    assert not re.search(r"<(b|i|u|script)>", found)


def test_without_splits_and_scores():
    found = html(BoostingRegressor().fit([[1.0], [1.0]], [0, 1]))
    assert "First tree" not in found and "<svg" not in found
    assert "fitted on 40 rows" in html(BoostingRanker(max_iter=2).fit(np.arange(40.0)[:, None], np.arange(40) % 2, qid=np.zeros(40)))


def test_text_display():
    with config_context(display="text"):
        assert set(BoostingRegressor()._repr_mimebundle_()) == {"text/plain"}


def test_explanation_of_one_row():
    model = BoostingRegressor(max_iter=5, min_samples_leaf=3).fit(X, Y.astype(float))
    found = model.explain(X[:1])._repr_html_()
    assert f"raw prediction {model.predict(X[:1])[0]:.4g}" in found and "SHAP value</th>" in found
    assert "&lt;b&gt;bold" in found

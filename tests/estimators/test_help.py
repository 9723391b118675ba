"""What users see: docstrings, `help`, and the rendering of objects in notebooks."""

import pydoc
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.params.table import TABLES

X = pd.DataFrame({"a": np.arange(60.0), "<b>": np.arange(60) % 3, "c": pd.Categorical(["u", "v"] * 30)})
Y = np.arange(60) % 3


@pytest.mark.parametrize("name", TABLES)
def test_parameters_have_types_and_ranges(name):
    doc = getattr(sapwood, f"Boosting{name}").__doc__
    for line in (
        "learning_rate : float > 0",
        "max_depth : int >= 1, 'auto' or None",
        "goss_top : float in (0, 1)",
        "max_combination : int in [1, 3]",
    ):
        assert line in doc
    assert "grow_policy : {'leafwise', 'depthwise', 'symmetric'} or 'auto', default='auto'" in doc
    for parameter in TABLES[name]:
        assert re.search(rf"^ *{parameter} : \S", doc, re.MULTILINE), parameter


@pytest.mark.parametrize("estimator", [BoostingRegressor, BoostingClassifier])
def test_generated_methods_do_not_drown_the_help(estimator):
    assert estimator.set_fit_request.__doc__ == "Request arguments of `fit` under scikit-learn's metadata routing."
    text = pydoc.plain(pydoc.render_doc(estimator))
    assert "Metadata routing for" not in text
    with config_context(enable_metadata_routing=True):
        assert estimator().set_fit_request(sample_weight=True).get_metadata_routing().fit.requests["sample_weight"] is True


def test_packages_are_imported_when_first_used():
    code = "import sys, sapwood; assert 'sapwood.plots' not in sys.modules; sapwood.plots.plot_tree, sapwood.uncertainty.ConformalRegressor"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        sapwood.nonsense  # noqa: B018


def test_rendering_in_notebooks():
    fitted = BoostingClassifier(max_iter=4).fit(X, Y)
    assert repr(fitted.model_).startswith("Model(loss='multinomial_log_loss', 4 rounds, 4 trees, 3 columns, 3 outputs")
    found = [fitted.describe_features(X), fitted.explain(X), fitted.explain(X, interactions=True), fitted.model_]
    for one in found:
        html = one._repr_html_()
        assert html.startswith("<table>") and html.count("<tr>") == 4 and html.count("<svg") == (one is fitted.model_)
        assert "&lt;b&gt;" in html and "<b>" not in html
    assert found[1]._repr_html_() == found[2]._repr_html_()
    assert "<th>output 2</th>" in found[1]._repr_html_()
    single = BoostingRegressor(max_iter=4).fit(X, Y).explain(X)
    assert "<th>mean absolute value</th>" in single._repr_html_()

import warnings

import matplotlib
import numpy as np
import pytest

from sapwood.model.export import ExportError
from tests.model.export import kinds

with warnings.catch_warnings():  # its own
    warnings.simplefilter("ignore")
    import shap

NUMBERS = [kind for kind in kinds.MAKERS if kind not in (*kinds.CATEGORIES, *kinds.CALENDARS, *kinds.CROSSED, "own missing values")]


def values_of(explainer, x):
    return np.asarray(explainer.shap_values(x, check_additivity=False))


@pytest.mark.parametrize("kind", NUMBERS)
def test_tree_explainer_agrees_with_explain(kind):
    estimator, x = kinds.fitted(kind), kinds.matrix(kind)
    explainer = shap.TreeExplainer(estimator.export("shap"), feature_perturbation="tree_path_dependent")
    ours = estimator.explain(kinds.rows(kind))
    np.testing.assert_allclose(values_of(explainer, x), ours.values, atol=1e-9)
    np.testing.assert_allclose(explainer.expected_value, ours.base_values[0], atol=1e-9)


def test_interventional():
    """Which shap computes in float32."""
    estimator, x = kinds.fitted("two classes"), np.nan_to_num(kinds.matrix("two classes"))[20:]
    explainer = shap.TreeExplainer(estimator.export("shap"), x[:50], feature_perturbation="interventional")
    np.testing.assert_allclose(values_of(explainer, x), estimator.explain(x, background=x[:50]).values, atol=1e-5)


CATEGORIES = [kind for kind in kinds.CATEGORIES if "combin" not in kind and "linear" not in kind and kind not in kinds.CROSSED]


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_codes(kind):
    estimator, x = kinds.fitted(kind), kinds.matrix(kind)
    explainer = shap.TreeExplainer(estimator.export("shap"), feature_perturbation="tree_path_dependent")
    ours = estimator.explain(kinds.rows(kind))
    np.testing.assert_allclose(values_of(explainer, x), ours.values, atol=1e-9)
    np.testing.assert_allclose(explainer.expected_value, ours.base_values[0], atol=1e-9)


def test_what_cannot_be_said_has_a_name(monkeypatch):
    monkeypatch.setattr("sapwood.model.export.shap.MAX_NODES", 100)
    with pytest.raises(ExportError, match=r"more than 100 splits on codes.*explain\(X\).to_shap\(\)"):
        kinds.fitted("sets of levels").export("shap")
    with pytest.raises(ValueError, match="leave path out"):
        kinds.fitted("squares").export("shap", "a file")


class TestPlots:
    @pytest.fixture(autouse=True)
    def pyplot(self):
        matplotlib.use("agg")
        import matplotlib.pyplot as plt

        yield plt
        plt.close("all")

    @pytest.mark.parametrize("kind", ["two classes", "sets of levels"])
    @pytest.mark.filterwarnings("ignore")  # shap's own
    def test_they_draw(self, kind, pyplot):
        found = kinds.fitted(kind).explain(kinds.rows(kind)).to_shap()
        assert isinstance(found, shap.Explanation)
        for draw in (shap.plots.beeswarm, shap.plots.bar, lambda e, show: shap.plots.waterfall(e[0], show=show)):
            pyplot.figure()
            draw(found, show=False)
            assert pyplot.gcf().axes

    def test_categories_are_shown_by_level(self):
        x = kinds.rows("sets of levels")
        found = kinds.fitted("sets of levels").explain(x).to_shap()
        assert found.display_data[:, 1].tolist() == [None if level != level else level for level in x["color"]]
        codes = found.data[:, 1]
        np.testing.assert_array_equal(np.isnan(codes), x["color"].isna())
        assert found.feature_names == ["size", "color", "kind", "town"]

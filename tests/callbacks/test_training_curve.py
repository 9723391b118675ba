import numpy as np
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from sapwood import BoostingRegressor
from sapwood.callbacks import TrainingCurve

X = np.arange(50.0)[:, None]


@pytest.fixture
def notebook():
    """IPython's shell as in a kernel of Jupyter; what it displays is collected."""
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.kernel = object()
    shell.display_pub = CapturingDisplayPublisher()
    yield shell.display_pub.outputs
    shell.history_manager.end_session()
    shell.history_manager.save_thread.stop()
    InteractiveShell.clear_instance()


def test_curve_grows_in_a_notebook(notebook):
    model = BoostingRegressor(max_iter=4).fit(X, X[:, 0], eval_sets={"<test>": (X, X[:, 0])}, callbacks=[TrainingCurve(every=0)])
    htmls = [output["data"]["text/html"] for output in notebook]
    assert len(htmls) == 6 and [output.get("update", False) for output in notebook] == [False] + [True] * 5
    assert "<polyline" in htmls[-1] and "&lt;test&gt;" in htmls[-1] and "<test>" not in htmls[-1]
    points = [html.split('points="')[1].split('"')[0].count(",") for html in htmls[1:]]
    assert points == [2, 3, 4, 5, 5]
    assert f"finished 4 rounds: &lt;test&gt; {next(iter(model.evals_result_['<test>']))}" in htmls[-1]


def test_nothing_elsewhere(capsys):
    InteractiveShell.clear_instance()
    BoostingRegressor(max_iter=2).fit(X, X[:, 0], callbacks=[TrainingCurve()])
    assert capsys.readouterr().out == ""


def test_bad_interval():
    with pytest.raises(ValueError, match="every must be >= 0"):
        TrainingCurve(every=-1)

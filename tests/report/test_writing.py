"""Reports of every kind of model, as text."""

import hashlib
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.report import render, write_report
from sapwood.report.payload import unpack
from tests.report.kinds import KINDS, ROUNDS, N, classes, mixed_table, regression, target

WEB = Path(__file__).parents[2] / "web"


def payload(html):
    return unpack(re.search(r'<script type="application/octet-stream" id="report-data">([^<]+)</script>', html)[1])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind):
    model, X, y, rest = KINDS[kind]()
    html = render(model, X, y, **rest)
    names = list(payload(html)["sections"])
    assert {"scores", "data", "learning", "card"} <= set(names)
    assert ("parameters" in names) == (kind != "model")
    assert len(html) < 600_000
    without = payload(render(model, X))["sections"]
    assert not {"scores", "errors", "slices", "calibration"} & set(without)


def test_averaged_models_say_so():
    """The first rounds of a mean of models are those of one of them: there is no curve of these on the rows of the report."""
    model, X, y, _ = regression(early_stopping=True, validation_folds=3)
    html = render(model, X, y)
    assert "It is the mean of 3 models" in html
    assert {curve["set"] for curve in payload(html)["sections"]["learning"]["curves"]} == {"train", "validation"}
    model, X, y, _ = regression()
    html = render(model, X, y)
    assert "It is the mean of" not in html
    assert "rows of this report" in {curve["set"] for curve in payload(html)["sections"]["learning"]["curves"]}


def test_same_arguments_give_the_same_bytes(tmp_path):
    model, X, y, _ = regression()
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    write_report(model, X, y, first, reference=X)
    model.report(X, y, second, reference=X)
    assert first.read_bytes() == second.read_bytes()


def test_old_report_survives_an_error(tmp_path):
    model, X, y, _ = regression()
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(ValueError, match="sample_weight"):
        write_report(model, X, y, path, sample_weight=np.full(N, -1.0))
    assert path.read_text() == "old" and [one.name for one in tmp_path.iterdir()] == ["report.html"]
    write_report(model, X, y, path)
    assert path.stat().st_size > 100_000 and stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(FileNotFoundError):
        write_report(model, X, y, tmp_path / "none" / "report.html")


def test_training_rows_are_recognised():
    model, X, y, _ = classes(2)
    warning = "These are the rows that the model was trained on"
    assert warning in render(model, X, y)
    assert warning not in render(model, X[::-1], y[::-1])
    assert warning not in render(model, mixed_table(seed=9), y)


def test_loaded_models(tmp_path):
    model, X, y, _ = classes(3)
    model.save(tmp_path / "m.sapwood")
    assert render(sapwood.load(tmp_path / "m.sapwood").set_params(n_jobs=1), X, y) == render(model, X, y)


def test_notes_and_title_are_in_the_card():
    model, X, y, _ = regression()
    html = render(model, X, y, title="Sizes & counts", notes={"Intended use": "Only <here>"})
    assert "<h1>Sizes &amp; counts</h1>" in html and "<title>Sizes &amp; counts</title>" in html
    assert "<h3>Intended use</h3><p>Only &lt;here&gt;</p>" in html
    assert "Not stated: limitations, training data, contact" in html


def test_weights_change_scores():
    model, X, y, _ = regression()
    weight = np.where(np.arange(N) < 20, 1.0, 0.0)
    few = render(model, X[:20], y[:20])
    weighted = render(model, X, y, sample_weight=weight)
    rmse = r'<th scope="row">RMSE</th><td class="number">([^<]+)</td>'
    assert re.search(rmse, few)[1] == re.search(rmse, weighted)[1] != re.search(rmse, render(model, X, y))[1]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"slice_by": "nothing"}, "feature 'nothing' is unknown"),
        ({"sensitive": [1, 2]}, "sensitive: 'sensitive' must have one value for each of the 240 rows"),
        ({"slice_by": {"team": [1]}}, "slice_by: 'team' must have one value for each of the 240 rows"),
    ],
)
def test_wrong_columns_are_named(argument, message):
    model, X, y, _ = regression()
    with pytest.raises(ValueError, match=re.escape(message)):
        render(model, X, y, **argument)


def test_only_sapwood_models():
    X = np.arange(40.0)[:, None]
    pipeline = make_pipeline(StandardScaler(), BoostingRegressor(max_iter=2)).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="got Pipeline: pass its last step and the transformed table"):
        render(pipeline, X)
    with pytest.raises(TypeError, match="got object"):
        render(object(), X)


def test_few_rows_and_constant_columns():
    model = BoostingRegressor(max_iter=2).fit([[0.0], [1.0]], [0, 1])
    assert "Model card" in render(model, [[0.5]], [1])
    X = np.column_stack([np.ones(60), np.full(60, np.nan), np.arange(60)])
    assert "Model card" in render(BoostingClassifier(**ROUNDS).fit(X, np.arange(60) > 30), X, np.arange(60) > 30, reference=X[:10])


def test_one_true_class_in_the_rows():
    model, X, y, _ = classes(2)
    only = y == "class 1"
    html = render(model, X[only], y[only])
    assert re.search(r'<th scope="row">ROC AUC</th><td class="number">–</td>', html)


@pytest.mark.slow
def test_a_million_rows_and_a_large_model_fit_in_3_mb():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 28))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)), [-2, -1, 0, 1, 2, 3])
    model = BoostingClassifier(max_iter=150, multi_strategy="one_output_per_tree", early_stopping=False).fit(X[:50_000], y[:50_000])
    html = render(model, X, y, reference=X[:50_000])
    assert len(html.encode()) < 3_000_000


def test_bundle_is_built_from_the_sources():
    """Run `make page` after a change in web/."""
    names = sorted(
        [
            *(f"src/{path.relative_to(WEB / 'src')}" for path in (WEB / "src").rglob("*") if path.suffix in (".js", ".css")),
            "package-lock.json",
        ]
    )
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\n".encode() + (WEB / name).read_bytes())
    assets = Path(sapwood.__file__).parent / "report" / "assets"
    assert (assets / "report.js").read_text().startswith(f"/* sources {digest.hexdigest()} */")
    assert "ISC" in (assets / "LICENSES.txt").read_text() and "@observablehq/plot" in (assets / "LICENSES.txt").read_text()
    assert "http" not in (WEB / "package-lock.json").read_text().replace("https://opencollective.com", "").replace("https://github.com", "")


def test_target_of_the_table_can_be_learned():
    X = mixed_table()
    assert BoostingRegressor(**ROUNDS).fit(X, target(X)).score(X, target(X)) > 0.5

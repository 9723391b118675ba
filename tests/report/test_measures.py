import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from sapwood.report import measures
from sapwood.report.measures import confidence_interval, losses_of, measures_of, scores_of
from sapwood.report.subject import Evaluated, Subject
from tests.report.kinds import KINDS, classes


def test_scores_are_those_of_the_metrics():
    model, X, y, _ = classes(2)
    scores = {one.measure.name: one for one in scores_of(Subject(model, X, y))}
    assert scores["roc_auc"].value == pytest.approx(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    assert scores["roc_auc"].baseline == 0.5
    assert scores["accuracy"].value == model.score(X, y)
    for one in scores.values():
        assert one.low <= one.value <= one.high


@pytest.mark.parametrize("kind", ["regression", "quantiles", "several outputs", "ranking", "multilabel"])
def test_intervals_contain_the_score(kind):
    model, X, y, rest = KINDS[kind]()
    for one in scores_of(Subject(model, X, y, **rest)):
        assert one.low - 1e-6 < one.value < one.high + 1e-6 and one.low <= one.high


@pytest.mark.parametrize("many", [10_000, 300])
def test_intervals_of_a_mean_cover_the_truth(monkeypatch, many):
    """Also if they come from a sample."""
    monkeypatch.setattr(measures, "MANY_UNITS", many)
    rng = np.random.default_rng(0)
    measure = next(one for one in measures_of(Subject(*classes(2)[:3])) if one.name == "accuracy")
    covered = 0
    for _ in range(40):
        hits = rng.random(500) < 0.8
        low, high = confidence_interval(measure, Evaluated(np.ones(500, dtype=int), hits.astype(int)))
        covered += low <= 0.8 <= high
        assert 0.05 < high - low < 0.09
    assert covered >= 34


def test_losses_average_to_the_metric():
    for kind, name in (("multiclass", "log_loss"), ("regression", "mae")):
        model, X, y, _ = KINDS[kind]()
        subject = Subject(model, X, y)
        score = next(one.value for one in scores_of(subject) if one.measure.name == name)
        assert losses_of(subject).values.mean() == pytest.approx(score)
    model, X, y, rest = KINDS["ranking"]()
    assert 1 - losses_of(Subject(model, X, y, **rest)).values.mean() == pytest.approx(model.score(X, y, **rest))

"""Every metric in the table, compared with that of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as sk

from sapwood.data.queries import Queries
from sapwood.metrics import METRICS, Metric, as_metric, find_metric

RNG = np.random.default_rng(0)
N = 200
Y = RNG.gamma(2.0, size=N)
MEANS = Y * RNG.uniform(0.5, 2.0, size=N)
WEIGHT = RNG.uniform(0.1, 3.0, size=N)
LABELS = RNG.integers(0, 3, N)
PREDICTED = np.where(RNG.random(N) < 0.6, LABELS, RNG.integers(0, 3, N))
PROBABILITIES = RNG.dirichlet([1, 1, 1], N)
RELEVANCE = RNG.integers(0, 4, N)
QUERIES = Queries.from_group([10] * 20, N)


def macro(function):
    return lambda y, p, sample_weight: function(y, p, sample_weight=sample_weight, average="macro", zero_division=0)


def each(function):
    return lambda y, p, sample_weight: np.mean([function(y == k, p[:, k], sample_weight=sample_weight) for k in range(3)])


SCIKIT_LEARN = {
    "mse": sk.mean_squared_error,
    "rmse": sk.root_mean_squared_error,
    "mae": sk.mean_absolute_error,
    "medae": sk.median_absolute_error,
    "max_error": lambda y, p, sample_weight: sk.max_error(y, p),
    "mape": sk.mean_absolute_percentage_error,
    "msle": sk.mean_squared_log_error,
    "pinball": sk.mean_pinball_loss,
    "poisson_deviance": sk.mean_poisson_deviance,
    "gamma_deviance": sk.mean_gamma_deviance,
    "tweedie_deviance": sk.mean_tweedie_deviance,
    "r2": sk.r2_score,
    "accuracy": sk.accuracy_score,
    "error": sk.zero_one_loss,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "f1": macro(sk.f1_score),
    "precision": macro(sk.precision_score),
    "recall": macro(sk.recall_score),
    "mcc": sk.matthews_corrcoef,
    "kappa": sk.cohen_kappa_score,
    "log_loss": sk.log_loss,
    "brier": sk.brier_score_loss,
    "roc_auc": each(sk.roc_auc_score),
    "average_precision": each(sk.average_precision_score),
}


def rows_of(metric):
    """Valid targets and predictions of a metric."""
    if metric.of_queries:
        return RELEVANCE, MEANS
    if metric.response == "predict_proba":
        return LABELS, PROBABILITIES
    return (LABELS, PREDICTED) if metric.name in list(METRICS)[list(METRICS).index("accuracy") :] else (Y, MEANS)


@pytest.mark.parametrize("name", METRICS)
def test_the_name_is_the_key_in_the_table(name):
    assert find_metric(name) is METRICS[name]


@pytest.mark.parametrize("name", SCIKIT_LEARN)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_agrees_with_scikit_learn(name, weight):
    y, predicted = rows_of(METRICS[name])
    assert METRICS[name](y, predicted, weight) == pytest.approx(SCIKIT_LEARN[name](y, predicted, sample_weight=weight), rel=1e-10)


def test_all_but_the_metrics_of_queries_and_times_have_a_twin():
    assert set(METRICS) - set(SCIKIT_LEARN) == {"ndcg", "map", "mrr", "concordance", "concordance_of_times"}


@pytest.mark.parametrize("name", METRICS)
def test_direction(name):
    metric = METRICS[name]
    y, predicted = rows_of(metric)
    perfect = np.eye(3)[y] if metric.response == "predict_proba" else y.astype(float)
    if name == "concordance":  # risks: higher is sooner
        perfect = -perfect
    better, worse = metric(y, perfect, None, QUERIES), metric(y, predicted, None, QUERIES)
    assert (better > worse) == metric.higher_is_better


@pytest.mark.parametrize("k", [1, 5, 10])
def test_ndcg_is_scikit_learns_of_gains(k):
    gain = 2.0 ** RELEVANCE.reshape(20, 10) - 1
    tied = np.round(MEANS, 0)
    expected = sk.ndcg_score(gain, tied.reshape(20, 10), k=k)
    assert find_metric(f"ndcg@{k}")(RELEVANCE, tied, None, QUERIES) == pytest.approx(expected, rel=1e-12)


def test_average_precision_of_queries_is_scikit_learns():
    relevant = (RELEVANCE > 0).reshape(20, 10)
    expected = [sk.average_precision_score(y, s) for y, s in zip(relevant, MEANS.reshape(20, 10), strict=True)]
    assert METRICS["map"](RELEVANCE, MEANS, None, QUERIES) == pytest.approx(np.mean(expected), rel=1e-12)


def test_a_query_without_relevant_rows_scores_one():
    queries = Queries.from_group([3, 3], 6)
    y, scores = np.array([0, 0, 0, 2, 0, 0]), np.array([1.0, 2, 3, 1, 2, 3])
    assert METRICS["ndcg"](y, scores, None, queries) == (1 + 0.5) / 2
    assert METRICS["map"](y, scores, None, queries) == METRICS["mrr"](y, scores, None, queries) == (1 + 1 / 3) / 2
    assert find_metric("mrr@2")(y, scores, None, queries) == 0.5


def test_names_with_a_parameter_and_synonyms():
    assert find_metric("ndcg@10").name == "ndcg@10"
    assert find_metric("pinball@0.9")(Y, MEANS) == pytest.approx(sk.mean_pinball_loss(Y, MEANS, alpha=0.9))
    assert find_metric("auc") is METRICS["roc_auc"]
    assert find_metric("nonsense") is None


@pytest.mark.parametrize("name", ["rmse@3", "ndcg@", "ndcg@0", "ndcg@2.5", "map@-1", "pinball@x"])
def test_invalid_parameters_raise(name):
    with pytest.raises(ValueError, match=f"metric '{name}' is unknown; metrics with a parameter are written pinball@0.9, .*ndcg@10"):
        find_metric(name)


def test_a_function_is_a_metric():
    def bias(y, predicted):
        return abs((y - predicted).mean())

    metric = as_metric(bias)
    assert (metric.name, metric.higher_is_better) == ("bias", False)
    assert metric(Y, MEANS, WEIGHT) == bias(Y, MEANS)
    assert as_metric(metric) is metric
    assert isinstance(as_metric("mae"), Metric)


def test_ranking_metrics_require_queries():
    with pytest.raises(ValueError, match="the metric 'ndcg' requires the queries"):
        METRICS["ndcg"](Y, MEANS)

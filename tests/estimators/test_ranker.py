"""BoostingRanker: fits queries whole, through scikit-learn's splitters, and says what is wrong."""

import itertools
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit, KFold, cross_val_score

from sapwood import BoostingRanker, Model
from sapwood.data.queries import Queries
from sapwood.estimators import fit_data as sets
from sapwood.losses import RANKING
from sapwood.metrics import find_metric
from sapwood.sampling.rows import WholeQueries

rng = np.random.default_rng(0)
N_QUERIES = 120
SIZES = rng.integers(3, 20, N_QUERIES)
N = SIZES.sum()
QID = np.repeat(rng.permutation(N_QUERIES), SIZES)
X = rng.normal(size=(N, 6))
X += np.repeat(rng.normal(size=(N_QUERIES, 6)), SIZES, axis=0)  # what a query's rows share says nothing
WITHIN = X[:, 0] - np.repeat([X[q == QID, 0].mean() for q in QID[np.concatenate([[0], np.cumsum(SIZES)[:-1]])]], SIZES)
Y = np.digitize(WITHIN + 0.3 * rng.normal(size=N), [-0.2, 0.6, 1.2, 1.8])
SMALL = {"max_iter": 15, "max_leaf_nodes": 8, "min_samples_leaf": 5}

each_loss = pytest.mark.parametrize(
    "parameters",
    [{}, {"rank_metric": "map"}, {"rank_metric": "mrr"}, {"loss": "pairwise"}, {"loss": "xendcg"}],
    ids=["ndcg", "map", "mrr", "pairwise", "xendcg"],
)


def ranker(**parameters):
    return BoostingRanker(**{**SMALL, **parameters})


@each_loss
class TestEveryLoss:
    def test_learns_an_order(self, parameters):
        train, test = next(GroupKFold(3).split(X, Y, QID))
        fitted = ranker(**parameters).fit(X[train], Y[train], qid=QID[train])
        by_chance = find_metric("ndcg")(Y[test], np.zeros(len(test)), None, Queries.from_qid(QID[test], len(test)))
        assert fitted.score(X[test], Y[test], qid=QID[test]) > by_chance + 0.08

    def test_the_same_bytes_for_any_number_of_threads(self, parameters):
        fits = [ranker(**parameters, n_jobs=n, subsample=0.8).fit(X, Y, qid=QID) for n in (1, 2, 8)]
        assert len({fitted.model_.to_bytes() for fitted in fits}) == 1

    def test_file_and_pickle(self, parameters):
        fitted = ranker(**parameters).fit(X, Y, qid=QID)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
        assert Model.from_bytes(fitted.model_.to_bytes()).loss == parameters.get("loss", "lambdamart")

    def test_early_stopping_keeps_queries_whole(self, parameters, monkeypatch):
        seen = {}
        split = sets.split

        def spy(*args):
            seen["parts"] = split(*args)
            return seen["parts"]

        monkeypatch.setattr(sets, "split", spy)
        fitted = ranker(**parameters, early_stopping=True).fit(X, Y, qid=QID)
        train, validation = (set(QID[part.rows]) for part in seen["parts"])
        assert not train & validation
        assert len(validation) == 12
        assert len(fitted.validation_score_) == fitted.n_iter_ + 1

    def test_warm_start_goes_on(self, parameters):
        whole = ranker(**parameters).fit(X, Y, qid=QID)
        parts = ranker(**parameters, warm_start=True, max_iter=6).fit(X, Y, qid=QID).set_params(max_iter=15).fit(X, Y, qid=QID)
        assert whole.model_.to_bytes() == parts.model_.to_bytes()


def test_group_and_qid_are_the_same():
    assert ranker().fit(X, Y, group=SIZES).model_.to_bytes() == ranker().fit(X, Y, qid=QID).model_.to_bytes()


def test_score_is_ndcg_as_scikit_learn_has_it():
    fitted = ranker().fit(X, Y, qid=QID)
    scores, gain = fitted.predict(X), 2.0**Y - 1
    begin = np.concatenate([[0], np.cumsum(SIZES)])
    expected = [ndcg_score([gain[a:b]], [scores[a:b]], k=5) if gain[a:b].any() else 1.0 for a, b in itertools.pairwise(begin)]
    assert fitted.score(X, Y, qid=QID, k=5) == pytest.approx(np.mean(expected), rel=1e-12)


def test_label_gain():
    as_default = ranker(label_gain=[0, 1, 3, 7, 15]).fit(X, Y, qid=QID)
    assert as_default.model_.to_bytes() == ranker().fit(X, Y, qid=QID).model_.to_bytes()
    linear = ranker(label_gain=[0, 1, 2, 3, 4]).fit(X, Y, qid=QID)
    assert linear.model_.to_bytes() != as_default.model_.to_bytes()
    with pytest.raises(ValueError, match=r"relevances, integers from 0 to 2 \(label_gain has a gain for each\); got"):
        ranker(label_gain=[0, 1, 3]).fit(X, Y, qid=QID)


@pytest.mark.parametrize("scoring", [None, "ndcg"])
def test_early_stopping_by_the_score(scoring):
    gain = [0, 1, 2, 3, 4]
    fitted = ranker(scoring=scoring, label_gain=gain, early_stopping=True).fit(X, Y, qid=QID, X_val=X, y_val=Y, qid_val=QID)
    assert fitted.validation_score_.max() == pytest.approx(fitted.score(X, Y, qid=QID), rel=1e-12)


def test_a_row_of_weight_zero_is_as_good_as_absent():
    weight = (np.arange(N) % 3 > 0).astype(float)
    kept = weight > 0
    some, weighted = ranker().fit(X[kept], Y[kept], qid=QID[kept]), ranker().fit(X, Y, weight, qid=QID)
    np.testing.assert_array_equal(weighted.predict(X), some.predict(X))


def test_early_stopping_on_a_metric_of_given_rows():
    train, test = next(GroupKFold(3).split(X, Y, QID))
    fitted = ranker(scoring="ndcg@3", n_iter_no_change=3, max_iter=60)
    fitted.fit(X[train], Y[train], qid=QID[train], X_val=X[test], y_val=Y[test], qid_val=QID[test])
    at_best = fitted.validation_score_.argmax()
    assert fitted.best_iteration_ == at_best
    assert fitted.score(X[test], Y[test], qid=QID[test], k=3) == pytest.approx(fitted.validation_score_[at_best], rel=1e-12)
    assert list(fitted.evals_result_["validation"]) == ["ndcg@3"]


def test_eval_sets_need_their_queries():
    sets = {"test": {"X": X, "y": Y, "qid": QID}}
    fitted = ranker().fit(X, Y, qid=QID, eval_sets=sets, eval_metric=["ndcg@5", "map", "mrr"])
    assert list(fitted.evals_result_["test"]) == ["ndcg@5", "map", "mrr"]
    assert fitted.evals_result_["test"]["ndcg@5"][-1] == pytest.approx(fitted.score(X, Y, qid=QID, k=5), rel=1e-12)
    with pytest.raises(ValueError, match=r"qid of eval_sets\['test'\] \(the query of each row\); got neither"):
        ranker().fit(X, Y, qid=QID, eval_sets={"test": (X, Y)})
    with pytest.raises(ValueError, match=r"'queries' of eval_sets\['test'\] is unknown"):
        ranker().fit(X, Y, qid=QID, eval_sets={"test": {"X": X, "y": Y, "queries": QID}})


class TestSplitters:
    def test_cross_validation_with_groups(self):
        with sklearn.config_context(enable_metadata_routing=True):
            scores = cross_val_score(ranker(), X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
        assert (scores > 0.6).all()

    def test_grid_search(self):
        with sklearn.config_context(enable_metadata_routing=True):
            search = GridSearchCV(ranker(early_stopping=True), {"max_leaf_nodes": [2, 8]}, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
        assert search.best_params_["max_leaf_nodes"] in (2, 8)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()

    def test_rows_of_a_query_that_a_shuffle_tore_apart_are_refused(self):
        shuffled = rng.permutation(N)
        with pytest.raises(ValueError, match=r"qid is not sorted: row \d+ belongs to query \d+, .* sort X, y and qid"):
            ranker().fit(X[shuffled], Y[shuffled], qid=QID[shuffled])

    def test_validation_split_is_given_the_queries(self):
        fitted = ranker(validation_split=GroupShuffleSplit(1, test_size=0.25, random_state=0)).fit(X, Y, qid=QID)
        assert fitted.do_early_stopping_
        assert fitted.validation_score_.size

    @pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
    def test_a_splitter_that_tears_queries_is_refused(self):
        with pytest.raises(ValueError, match=r"splits the query that begins in row \d+: use a splitter that keeps groups together"):
            ranker(validation_split=KFold(5, shuffle=True, random_state=0)).fit(X, Y, qid=QID)


class TestSampling:
    def test_whole_queries(self, monkeypatch):
        drawn = []
        draw = WholeQueries.draw
        monkeypatch.setattr(WholeQueries, "draw", lambda self, *args: drawn.append(draw(self, *args)) or drawn[-1])
        ranker(subsample=0.5, sampling_unit="query", max_iter=4).fit(X, Y, qid=QID)
        assert len(drawn) == 4
        for rows in drawn:
            assert np.isin(QID, QID[rows]).sum() == len(rows)
        assert len({rows.tobytes() for rows in drawn}) == 4

    def test_only_for_uniform_sampling(self):
        with pytest.raises(ValueError, match="sampling_unit='query' cannot be combined with sampling='goss'"):
            ranker(sampling="goss", sampling_unit="query").fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": SIZES}, "a ranker takes group (the number of rows of each query) or qid (the query of each row), not both"),
        ({"qid": None, "group": SIZES[:-1]}, f"group has {N - SIZES[-1]} rows in {N_QUERIES - 1} queries, but X has {N} rows"),
        ({"qid": QID[:-1]}, f"qid must have one entry for each of the {N} rows"),
        ({"y": np.where(np.arange(N) == 4, -1, Y)}, "y must hold relevances, integers from 0 to 31; got -1 in row 4"),
        ({"y": Y + 0.5}, "integers from 0 to 31"),
        ({"y": np.where(np.arange(N) == 9, np.nan, Y)}, "NaN"),
        ({"y": Y[:-1]}, "inconsistent numbers of samples"),
        ({"X_val": X, "y_val": Y}, "a ranker needs group_val (the number of rows of each query) or qid_val"),
        ({"qid_val": QID}, "qid_val is provided, but X_val was not provided"),
    ],
)
def test_bad_input(change, message):
    arguments = {"X": X, "y": Y, "qid": QID} | change
    with pytest.raises(ValueError) as error:
        ranker().fit(**arguments)
    assert message in str(error.value)


@pytest.mark.parametrize("label_gain", [[1, 0], [-1, 0, 1], [], [0, np.inf], [[0, 1]]])
def test_bad_label_gain(label_gain):
    with pytest.raises(ValueError, match="label_gain must be a list of finite, non-negative numbers that do not decrease"):
        ranker(label_gain=label_gain).fit(X, Y, qid=QID)


@pytest.mark.filterwarnings("default:all .* rows are ranked as one query")
def test_without_queries_all_rows_are_one():
    whole = ranker().fit(X, Y, qid=np.zeros(N))
    with pytest.warns(UserWarning, match=f"all {N} rows are ranked as one query"):
        fitted = ranker().fit(X, Y)
    assert fitted.model_.to_bytes() == whole.model_.to_bytes()
    with pytest.warns(UserWarning, match="one query"):
        assert fitted.score(X, Y) == whole.score(X, Y, qid=np.zeros(N))


def test_clone_and_parameters():
    estimator = clone(BoostingRanker("pairwise", lambdarank_truncation=7))
    assert estimator.get_params()["lambdarank_truncation"] == 7
    assert set(RANKING) == {"lambdamart", "pairwise", "xendcg"}
    with pytest.raises(ValueError, match="lambdarank_truncation"):
        ranker(lambdarank_truncation=0).fit(X, Y, qid=QID)


def test_a_scorer_that_calls_score_is_told_to_use_ndcg():
    with pytest.raises(ValueError, match="it does not know the queries; use scoring='ndcg'"):
        ranker(early_stopping=True, scoring=lambda estimator, x, y: estimator.score(x, y)).fit(X, Y, qid=QID)

"""Evaluation sets, metrics and validation splits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit, PredefinedSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.estimators import fit_data
from sapwood.metrics import Metric

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=600)
LABELS = np.where(Y > 0, "yes", "no")
NEW, NEW_Y, NEW_LABELS = X[400:], Y[400:], LABELS[400:]
WEIGHT = rng.uniform(0.5, 2, 200)
SMALL = {"max_iter": 12, "max_leaf_nodes": 6, "early_stopping": False}


def regressor(**parameters):
    return BoostingRegressor(**{**SMALL, **parameters})


def classifier(**parameters):
    return BoostingClassifier(**{**SMALL, **parameters})


class TestEvalSets:
    def test_any_number_of_sets_and_metrics(self):
        sets = {"new": (NEW, NEW_Y), "weighted": (NEW, NEW_Y, WEIGHT)}
        fitted = regressor().fit(X[:400], Y[:400], eval_sets=sets, eval_metric=["rmse", "mae", "r2"])
        assert list(fitted.evals_result_) == ["new", "weighted"]
        for of in fitted.evals_result_.values():
            assert list(of) == ["rmse", "mae", "r2"]
            assert all(len(values) == fitted.n_iter_ for values in of.values())
        stages = list(fitted.staged_predict(NEW))
        expected = [mean_absolute_error(NEW_Y, stage) for stage in stages]
        np.testing.assert_allclose(fitted.evals_result_["new"]["mae"], expected, rtol=1e-9)
        assert fitted.evals_result_["weighted"]["r2"][-1] == pytest.approx(r2_score(NEW_Y, stages[-1], sample_weight=WEIGHT))

    def test_evaluation_sets_do_not_change_the_model(self):
        plain = regressor().fit(X[:400], Y[:400])
        evaluated = regressor().fit(X[:400], Y[:400], eval_sets=[(NEW, NEW_Y)], eval_metric="r2")
        assert plain.model_.to_bytes() == evaluated.model_.to_bytes()
        assert list(evaluated.evals_result_) == ["eval_0"]
        assert plain.evals_result_ == {}

    def test_the_loss_is_the_default(self):
        fitted = regressor().fit(X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)})
        half = 0.5 * np.mean((NEW_Y - fitted.predict(NEW)) ** 2)
        assert fitted.evals_result_["new"]["loss"][-1] == pytest.approx(half, rel=1e-9)

    def test_classes(self):
        fitted = classifier().fit(
            X[:400], LABELS[:400], eval_sets={"new": (NEW, NEW_LABELS)}, eval_metric=["log_loss", "auc", "accuracy", "f1"]
        )
        last = {name: values[-1] for name, values in fitted.evals_result_["new"].items()}
        probabilities = fitted.predict_proba(NEW)
        assert last["log_loss"] == pytest.approx(log_loss(NEW_LABELS, probabilities))
        assert last["roc_auc"] == pytest.approx(roc_auc_score(NEW_LABELS, probabilities[:, 1]))
        assert last["accuracy"] == pytest.approx(fitted.score(NEW, NEW_LABELS))

    def test_functions_scorers_and_metrics(self):
        def bias(y, predicted):
            return float(np.mean(predicted - y))

        scorer = make_scorer(mean_absolute_error, greater_is_better=False)
        largest = Metric("largest", lambda y, p: np.abs(y - p).max(), takes_weight=False)
        fitted = regressor().fit(
            X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)}, eval_metric=[bias, scorer, largest, "neg_mean_squared_error"]
        )
        last = {name: values[-1] for name, values in fitted.evals_result_["new"].items()}
        predicted = fitted.predict(NEW)
        assert last == pytest.approx(
            {
                "bias": bias(NEW_Y, predicted),
                "mean_absolute_error": -mean_absolute_error(NEW_Y, predicted),
                "largest": np.abs(NEW_Y - predicted).max(),
                "neg_mean_squared_error": -np.mean((NEW_Y - predicted) ** 2),
            }
        )

    def test_beside_early_stopping(self):
        sets = {"new": (NEW, NEW_Y), "old": (X[:400], Y[:400])}
        with pytest.warns(UserWarning, match="early stopping uses a part of the training rows, because 2 eval_sets are given"):
            fitted = regressor(early_stopping=True, max_iter=30).fit(X[:400], Y[:400], eval_sets=sets, eval_metric="mae")
        assert {on: list(of) for on, of in fitted.evals_result_.items()} == {
            "train": ["loss"],
            "validation": ["loss", "mae"],
            "new": ["mae"],
            "old": ["mae"],
        }
        np.testing.assert_array_equal(fitted.validation_score_[1:], -np.array(fitted.evals_result_["validation"]["loss"]))

    def test_a_single_set_stops_training(self):
        stopping = {"early_stopping": True, "max_iter": 200, "n_iter_no_change": 3}
        fitted = regressor(**stopping).fit(X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)}, eval_metric="mae")
        as_validation = regressor(**stopping).fit(X[:400], Y[:400], X_val=NEW, y_val=NEW_Y)
        assert fitted.model_.to_bytes() == as_validation.model_.to_bytes()
        assert fitted.best_iteration_ < fitted.n_iter_ < 200
        assert {on: list(of) for on, of in fitted.evals_result_.items()} == {"train": ["loss"], "new": ["loss", "mae"]}
        np.testing.assert_array_equal(fitted.validation_score_, as_validation.validation_score_)
        np.testing.assert_array_equal(fitted.validation_score_[1:], -np.array(fitted.evals_result_["new"]["loss"]))

    def test_a_splitter_is_asked_for_rows_to_stop_on(self):
        splitter = PredefinedSplit(np.where(np.arange(400) < 50, 0, -1))
        fitted = regressor(early_stopping=True, validation_split=splitter).fit(X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)})
        assert list(fitted.evals_result_) == ["train", "validation", "new"]

    def test_scoring_by_a_function_of_predictions(self):
        def largest(y, predicted):
            return np.abs(y - predicted).max()

        stopping = {"early_stopping": True, "max_iter": 100, "n_iter_no_change": 5}
        for scoring, name, sign in ((largest, "largest", -1), (mean_absolute_error, "mean_absolute_error", -1), (r2_score, "r2_score", 1)):
            fitted = regressor(**stopping, scoring=scoring).fit(X[:400], Y[:400], X_val=NEW, y_val=NEW_Y)
            scores = np.array([scoring(NEW_Y, stage) for stage in fitted.staged_predict(NEW)])
            used = len(scores)
            np.testing.assert_allclose(fitted.validation_score_[1 : used + 1], sign * scores, rtol=1e-9)
            assert fitted.best_iteration_ == np.argmax(sign * np.array(fitted.evals_result_["validation"][name])) + 1
        as_scorer = regressor(**stopping, scoring=lambda estimator, x, y: r2_score(y, estimator.predict(x)))
        by_scorer = as_scorer.fit(X[:400], Y[:400], X_val=NEW, y_val=NEW_Y)
        assert by_scorer.model_.to_bytes() == fitted.model_.to_bytes()

    def test_a_function_with_weights_is_given_them(self):
        sets = {"weighted": (NEW, NEW_Y, WEIGHT)}
        fitted = regressor().fit(X[:400], Y[:400], eval_sets=sets, eval_metric=mean_absolute_error)
        expected = mean_absolute_error(NEW_Y, fitted.predict(NEW), sample_weight=WEIGHT)
        assert fitted.evals_result_["weighted"]["mean_absolute_error"][-1] == pytest.approx(expected)

    def test_warm_start_continues_the_scores(self):
        sets = {"new": (NEW, NEW_Y)}
        whole = regressor().fit(X[:400], Y[:400], eval_sets=sets)
        parts = regressor(warm_start=True, max_iter=5).fit(X[:400], Y[:400], eval_sets=sets)
        parts.set_params(max_iter=12).fit(X[:400], Y[:400], eval_sets=sets)
        assert parts.evals_result_ == whole.evals_result_

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"eval_sets": {"train": (NEW, NEW_Y)}}, "eval_sets must not have the name 'train'"),
            (
                {"eval_sets": {"new": (NEW,)}},
                "eval_sets['new'] must be (X, y), (X, y, sample_weight), (X, y, sample_weight, ",
            ),
            ({"eval_sets": {"new": {"X": NEW}}}, "eval_sets['new'] lacks y"),
            ({"eval_sets": {"new": {"X": NEW, "y": NEW_Y, "qid": NEW_Y}}}, "'qid' of eval_sets['new'] is unknown"),
            ({"eval_sets": {"new": (NEW, NEW_Y[:-1])}}, "X of eval_sets['new'] has 200"),
            ({"eval_sets": {"new": (NEW, NEW_Y, -WEIGHT)}}, "sample_weight of eval_sets['new'] must not be negative"),
            ({"eval_sets": {"new": (NEW[:, :2], NEW_Y)}}, "features"),
            ({"eval_metric": "mae"}, "eval_metric is given, but there is no evaluation set"),
            ({"eval_sets": 3}, "eval_sets must be a dict of name -> (X, y), or a list of (X, y); got int"),
            ({"eval_sets": {"new": (NEW, NEW_Y)}, "eval_metric": "nonsense"}, "metric 'nonsense' is unknown; choose from loss, mse, rmse"),
            ({"eval_sets": {"new": (NEW, NEW_Y)}, "eval_metric": "ndcg@5"}, "the metric 'ndcg@5' requires the queries"),
            ({"eval_sets": {"new": (NEW, NEW_Y)}, "eval_metric": "auc"}, "the metric 'roc_auc' needs predict_proba"),
        ],
    )
    def test_bad_input(self, arguments, message):
        with pytest.raises(ValueError) as error:
            regressor().fit(X[:400], Y[:400], **arguments)
        assert message in str(error.value)


class TestValidationSplit:
    GROUPS = np.repeat(np.arange(60), 10)

    def spy(self, monkeypatch):
        seen = []
        split = fit_data.split
        monkeypatch.setattr(fit_data, "split", lambda *args: seen.append(split(*args)) or seen[-1])
        return seen

    def test_groups_stay_whole(self, monkeypatch):
        seen = self.spy(monkeypatch)
        splitter = GroupShuffleSplit(1, test_size=0.2, random_state=0)
        fitted = regressor(early_stopping="auto", validation_split=splitter).fit(X, Y, groups=self.GROUPS)
        ((train, validation),) = seen
        assert fitted.do_early_stopping_
        assert not set(self.GROUPS[train.rows]) & set(self.GROUPS[validation.rows])
        assert len(validation.rows) == 120

    def test_time_keeps_its_order(self, monkeypatch):
        seen = self.spy(monkeypatch)
        regressor(early_stopping=True, validation_split=TimeSeriesSplit(5, test_size=50)).fit(X, Y)
        ((train, validation),) = seen
        np.testing.assert_array_equal(train.rows, np.arange(550))
        np.testing.assert_array_equal(validation.rows, np.arange(550, 600))

    def test_rows_of_weight_zero_stay_out(self, monkeypatch):
        seen = self.spy(monkeypatch)
        weight = np.where(np.arange(600) % 2, 1.0, 0.0)
        regressor(early_stopping=True, validation_split=TimeSeriesSplit(2, test_size=50)).fit(X, Y, weight)
        ((train, validation),) = seen
        assert (weight[np.concatenate([train.rows, validation.rows])] == 1).all()
        assert len(validation.rows) == 25

    def test_inside_a_pipeline_and_a_search(self):
        model = make_pipeline(StandardScaler(), classifier(early_stopping=True, validation_split=TimeSeriesSplit(2)))
        search = GridSearchCV(model, {"boostingclassifier__max_leaf_nodes": [3, 6]}, cv=TimeSeriesSplit(3)).fit(X, LABELS)
        assert search.best_estimator_[-1].validation_score_.size
        assert clone(model)[-1].validation_split.n_splits == 2

    def test_groups_of_a_search_are_not_taken_for_ours(self):
        search = GridSearchCV(regressor(), {"max_leaf_nodes": [3, 6]}, cv=GroupKFold(3)).fit(X, Y, groups=self.GROUPS)
        assert search.best_score_ > 0

    def test_predefined(self, monkeypatch):
        seen = self.spy(monkeypatch)
        regressor(validation_split=PredefinedSplit(np.where(np.arange(600) < 30, 0, -1)), early_stopping="auto").fit(X, Y)
        np.testing.assert_array_equal(seen[0][1].rows, np.arange(30))

    def test_overlapping_and_empty_splits(self):
        with pytest.raises(ValueError, match="puts row 5 into both training and validation rows"):
            regressor(early_stopping=True, validation_split=[(np.arange(10), np.arange(5, 20))]).fit(X, Y)
        with pytest.raises(ValueError, match="leaves 10 training and 0 validation rows"):
            regressor(early_stopping=True, validation_split=[(np.arange(10), np.arange(0))]).fit(X, Y)

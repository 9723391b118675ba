"""Wrappers as files: what comes back is what was saved."""

import json

import numpy as np
import pandas as pd
import pytest
from fuzz.mutations import change_bytes, change_document, change_lengths, change_numbers, change_text, cut_off
from fuzz.seeds import put_together, take_apart
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor, ModelFormatError
from sapwood.estimators.values import Unsaved
from sapwood.uncertainty import CalibratedClassifier, ConformalClassifier, ConformalRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(240, 3)).round(2)
X[::9, 1] = np.nan
Y = X[:, 0] + 0.3 * rng.normal(size=240)
TWO, THREE = np.where(Y > 0, "yes", "no"), np.digitize(Y, [-0.5, 0.5]) * 10
WEIGHT = rng.uniform(0.5, 2, 240)
FRAME = pd.DataFrame({"a": X[:, 0], "city": np.array(["Ulm", "Bonn", None], dtype=object)[np.arange(240) % 3]})
SMALL = {"max_iter": 4, "max_leaf_nodes": 5}


def regressor(**parameters):
    return BoostingRegressor(**(SMALL | parameters))


def classifier(**parameters):
    return BoostingClassifier(**(SMALL | parameters))


CASES = {
    "split": lambda: (ConformalRegressor(regressor(), confidence_level=0.8).fit(X, Y), X),
    "frame": lambda: (ConformalRegressor(regressor()).fit(FRAME, Y), FRAME),
    "weights": lambda: (ConformalRegressor(regressor(), method="cv+", cv=3).fit(X, Y, WEIGHT), X),
    "two quantiles": lambda: (ConformalRegressor(regressor(loss="quantile"), method="cv+", cv=2).fit(X, Y), X),
    "frozen": lambda: (ConformalRegressor(FrozenEstimator(regressor().fit(X[:99], Y[:99]))).fit(X[99:], Y[99:]), X),
    "lac": lambda: (ConformalClassifier(classifier()).fit(X, TWO), X),
    "aps": lambda: (ConformalClassifier(classifier(), conformity="aps", method="cv+", cv=3).fit(X, THREE), X),
    "temperature": lambda: (CalibratedClassifier(classifier()).fit(X, TWO), X),
    "isotonic": lambda: (CalibratedClassifier(classifier(), method="isotonic").fit(X, TWO), X),
    "isotonic, three classes": lambda: (CalibratedClassifier(classifier(), method="isotonic", random_state=3).fit(X, THREE), X),
    "one class": lambda: (CalibratedClassifier(classifier(), method="isotonic").fit(X, np.ones(240)), X),
    "one within another": lambda: (ConformalClassifier(CalibratedClassifier(classifier())).fit(X, THREE), X),
}


def answers(wrapper, x):
    names = ("predict", "predict_interval", "predict_set", "predict_proba")
    return {name: getattr(wrapper, name)(x) for name in names if hasattr(wrapper, name)}


@pytest.fixture(scope="module", params=CASES)
def saved(request):
    return CASES[request.param]()


class TestRoundTrip:
    def test_what_is_predicted(self, saved, tmp_path):
        wrapper, x = saved
        wrapper.save(tmp_path / "wrapper.sapwood")
        again = sapwood.load(tmp_path / "wrapper.sapwood")
        assert type(again) is type(wrapper)
        for name, answer in answers(wrapper, x).items():
            assert_array_equal(answers(again, x)[name], answer)

    def test_what_is_kept(self, saved):
        wrapper, _ = saved
        again = type(wrapper).from_bytes(wrapper.to_bytes())
        assert repr(again) == repr(wrapper)
        for name in ("classes_", "n_held_out_", "n_features_in_", "feature_names_in_"):
            assert hasattr(again, name) == hasattr(wrapper, name)
            assert_array_equal(getattr(again, name, 0), getattr(wrapper, name, 0))
        assert again.to_bytes() == wrapper.to_bytes()

    def test_it_can_be_fitted_again(self):
        wrapper, x = CASES["one within another"]()
        again = sapwood.uncertainty.ConformalClassifier.from_bytes(wrapper.to_bytes())
        assert again.fit(x, THREE).to_bytes() == wrapper.to_bytes()

    def test_threads_are_not_in_it(self):
        files = [ConformalRegressor(regressor(n_jobs=n)).fit(X, Y).to_bytes() for n in (1, 2)]
        assert files[0] == files[1]

    def test_a_subclass_reads_it(self):
        class Own(ConformalRegressor):
            pass

        wrapper, _ = CASES["split"]()
        own = Own.from_bytes(wrapper.to_bytes())
        assert type(own) is Own
        assert own.to_bytes() == wrapper.to_bytes()


class TestWhatAFileCannotHold:
    @pytest.mark.parametrize("around", [LinearRegression(), FrozenEstimator(LinearRegression().fit(np.nan_to_num(X), Y))])
    def test_other_estimators(self, around):
        wrapper = ConformalRegressor(around).fit(np.nan_to_num(X), Y)
        with pytest.raises(
            ValueError, match="ConformalRegressor containing an object of LinearRegression cannot be saved: the file can hold only"
        ):
            wrapper.to_bytes()
        with pytest.raises(ValueError, match="CalibratedClassifier containing an object of LogisticRegression"):
            CalibratedClassifier(LogisticRegression()).fit(np.nan_to_num(X), TWO).to_bytes()

    def test_a_splitter(self):
        wrapper = ConformalRegressor(regressor(), method="cv+", cv=KFold(3)).fit(X, Y)
        with pytest.warns(UserWarning, match="cv=an object of KFold cannot be saved: set it again") as said:
            data = wrapper.to_bytes()
        assert said[0].filename == __file__
        again = ConformalRegressor.from_bytes(data)
        assert isinstance(again.cv, Unsaved)
        assert_array_equal(again.predict_interval(X), wrapper.predict_interval(X))
        with pytest.raises(ValueError, match="The 'cv' parameter"):
            again.fit(X, Y)
        assert again.set_params(cv=KFold(3)).fit(X, Y).predict(X).shape == (240,)

    def test_a_start_of_another_library(self):
        wrapper = ConformalRegressor(regressor(init=regressor(init=LinearRegression()))).fit(np.nan_to_num(X), Y)
        with pytest.raises(ValueError, match="ConformalRegressor containing an object of LinearRegression cannot be saved"):
            wrapper.to_bytes()

    def test_it_must_be_fitted(self):
        with pytest.raises(ValueError, match="not fitted"):
            ConformalRegressor().to_bytes()


class TestFilesThatMeanHarm:
    def test_other_files(self):
        data = regressor().fit(X, Y).to_bytes()
        with pytest.raises(ModelFormatError, match="does not contain a wrapper"):
            ConformalRegressor.from_bytes(data)
        with pytest.raises(ModelFormatError):
            BoostingRegressor.from_bytes(CASES["split"]()[0].to_bytes())
        with pytest.raises(ModelFormatError, match="the class 'ConformalRegressor' is unknown, or not the expected class"):
            ConformalClassifier.from_bytes(CASES["split"]()[0].to_bytes())

    @pytest.mark.parametrize(
        ("case", "change", "message"),
        [
            ("split", lambda a, d: a.pop("estimator_0"), "contains no estimator"),
            (
                "split",
                lambda a, d: a.update(estimator_0=np.frombuffer(regressor().fit(X, Y).model_.to_bytes(), np.uint8)),
                "or a model without one",
            ),
            ("split", lambda a, d: a.update(estimator_0=np.frombuffer(classifier().fit(X, TWO).to_bytes(), np.uint8)), "be regressors"),
            ("split", lambda a, d: a.update(estimator_0=a["estimator_0"].astype(np.float64)), "one-dimensional array of bytes"),
            ("split", lambda a, d: a.update(estimator_0=a["estimator_0"].reshape(1, -1)), "one-dimensional array of bytes"),
            ("split", lambda a, d: a["scores_0"].fill(np.nan), "scores must not be NaN"),
            ("split", lambda a, d: a["weights_0"].fill(0), "weights must be positive"),
            ("split", lambda a, d: a.update(weights_0=a["weights_0"][1:]), "of the same length"),
            ("split", lambda a, d: a.update(more=np.zeros(1)), "other folds"),
            ("split", lambda a, d: d["fitted"].update(folds=[2]), "fold sizes do not add up"),
            ("split", lambda a, d: d["parameters"].update(confidence_level=2.0), "confidence_level"),
            ("split", lambda a, d: d["parameters"].update(estimator=3), "estimator"),
            ("split", lambda a, d: d["parameters"].update(verbose=1), "'verbose' is unknown to this version"),
            ("split", lambda a, d: d.update({"class": "BaseConformal"}), "the class 'BaseConformal' is unknown"),
            ("split", lambda a, d: d.pop("fitted"), "entry 'wrapper' is incomplete"),
            ("split", lambda a, d: d.update(parameters=None), "the parameters are missing"),
            ("split", lambda a, d: a.update(estimator_0=a["estimator_0"][:-1]), "damaged|truncated|not a Sapwood"),
            ("lac", lambda a, d: d["fitted"]["classes"].update(values=["yes", "no "]), "ascending order"),
            ("lac", lambda a, d: d["fitted"]["classes"].update(values=["abc", "yes"]), "classifiers of these classes"),
            ("aps", lambda a, d: d["fitted"].update(folds=[2, 1]), "other folds"),
            ("temperature", lambda a, d: a["temperature"].fill(0), "above 0"),
            ("temperature", lambda a, d: d["parameters"].update(method="isotonic"), "steps_0"),
            ("temperature", lambda a, d: d["fitted"]["classes"].update(values=["abc", "yes"]), "the same classes"),
            ("isotonic", lambda a, d: a["steps_0"].fill(2), "between 0 and 1"),
            ("isotonic", lambda a, d: a.update(steps_0=a["steps_0"][:, ::-1].copy()), "steps must be non-decreasing"),
            ("isotonic", lambda a, d: a.update(steps_0=a["steps_0"][0]), "steps must have the shape"),
            ("isotonic", lambda a, d: a.update(steps_1=a["steps_0"]), "other classes"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, case, change, message):
        wrapper, _ = CASES[case]()
        arrays, document = take_apart(wrapper.to_bytes())
        change(arrays, document["wrapper"])
        with pytest.raises(ModelFormatError, match=message) as caught:
            type(wrapper).from_bytes(put_together(arrays, json.dumps(document)))
        assert str(caught.value).count("damaged Sapwood model") <= 1

    def test_too_many_within_each_other(self):
        data = CASES["temperature"]()[0].to_bytes()
        for _ in range(5):
            arrays, document = take_apart(data)
            arrays["estimator_0"] = np.frombuffer(data, dtype=np.uint8)
            data = put_together(arrays, document)
        with pytest.raises(ModelFormatError, match="estimators are nested"):
            CalibratedClassifier.from_bytes(data)
        with pytest.raises(ValueError, match="more than 4 nested estimators cannot be saved"):
            CASES["temperature"]()[0]._to_bytes(2, depth=4)

    def test_mutations(self, saved, tmp_path):
        """Each is refused, or a wrapper that answers."""
        wrapper, x = saved
        data, ways = wrapper.to_bytes(), (change_bytes, cut_off, change_document, change_lengths, change_numbers, change_text)
        refused = 0
        for number in range(60):
            own = np.random.default_rng(number)
            (tmp_path / "spoilt.sapwood").write_bytes(ways[number % len(ways)](data, own))
            try:
                again = sapwood.load(tmp_path / "spoilt.sapwood")
            except ModelFormatError:
                refused += 1
                continue
            assert all(len(answer) == len(x) for answer in answers(again, x).values())
        assert refused > 30

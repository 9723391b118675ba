"""Custom losses: subclasses of Loss, functions, registered names."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax

from sapwood import BoostingClassifier, BoostingRegressor, Loss, Model, check_loss, register_loss
from sapwood.losses.registry import REGISTERED

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = X[:, 0] + X[:, 1] ** 2 + 0.1 * rng.normal(size=400)
COUNTS = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
LABELS = (Y > 1).astype(int)


class Squared(Loss):
    constant_hessian = True

    def loss(self, y, raw):
        return (raw - y) ** 2 / 2

    def gradients(self, y, raw):
        return raw - y, np.ones_like(raw)


class Medians(Loss):
    constant_hessian, exact_hessian, renews_leaves = True, False, True

    def loss(self, y, raw):
        return np.abs(raw - y)

    def gradients(self, y, raw):
        return np.sign(raw - y), np.ones_like(raw)

    def leaf_values(self, rows):
        rest = rows.y - rows.raw[rows.output]
        by_leaf = [rest[rows.leaf == leaf] for leaf in range(rows.n_leaves)]
        return np.array([np.median(one) if len(one) else 0.0 for one in by_leaf])


class Counts(Loss):
    link = "log"
    max_step = 4.0

    def loss(self, y, raw):
        return np.exp(raw) - y * raw

    def gradients(self, y, raw):
        return np.exp(raw) - y, np.exp(raw)


class Odds(Loss):
    link = "logit"
    min_hessian_per_sample = 0.1
    max_step = 4.0

    def loss(self, y, raw):
        return np.logaddexp(0, raw) - y * raw

    def gradients(self, y, raw):
        p = expit(raw)
        return p - y, p * (1 - p)


class ClassLabels(Loss):
    link = "softmax"
    min_hessian_per_sample = 0.02
    max_step = 4.0

    def loss(self, y, raw):
        return -np.log(softmax(raw, axis=1)[np.arange(len(y)), y.astype(int)])

    def gradients(self, y, raw):
        p = softmax(raw, axis=1)
        return p - (y[:, None] == np.arange(self.n_outputs)), p * (1 - p)


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 10} | parameters))


PAIRS = {
    "squared": (regressor(loss=Squared()), regressor(), Y),
    "counts": (regressor(loss=Counts), regressor(loss="poisson"), COUNTS),
    "two classes": (BoostingClassifier(loss=Odds(), max_iter=10), BoostingClassifier(max_iter=10), LABELS),
    "three classes": (BoostingClassifier(loss=ClassLabels(3), max_iter=5), BoostingClassifier(max_iter=5), np.digitize(Y, [0, 1])),
}


@pytest.mark.parametrize(("own", "built_in", "y"), PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("weight", [None, rng.uniform(0.5, 2, 400)], ids=["plain", "weighted"])
def test_a_numpy_loss_gives_the_model_of_the_built_in_loss(own, built_in, y, weight):
    predict = "predict_proba" if isinstance(own, BoostingClassifier) else "predict"
    for parameters in ({}, {"early_stopping": True, "n_iter_no_change": 2}):
        ours = own.set_params(**parameters).fit(X, y, sample_weight=weight)
        theirs = built_in.set_params(**parameters).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(getattr(ours, predict)(X), getattr(theirs, predict)(X), rtol=1e-6)
        np.testing.assert_allclose(ours.validation_score_, theirs.validation_score_, rtol=1e-9)


def test_a_function_predicts_raw():
    fitted = regressor(loss=lambda y, raw: (np.exp(raw) - y, np.exp(raw)), max_step=4.0).fit(X, COUNTS)
    assert (fitted.model_.loss, fitted.model_.link) == ("custom", "identity")
    np.testing.assert_allclose(np.exp(fitted.predict(X)), regressor(loss="poisson").fit(X, COUNTS).predict(X), rtol=1e-6)
    assert fitted.model_.base_score == pytest.approx([np.log(COUNTS.mean())])


def test_a_function_in_a_classifier_gets_log_odds():
    def function(y, raw):
        p = expit(raw)
        return p - y, p * (1 - p)

    fitted = BoostingClassifier(loss=function, max_iter=10, max_step=4.0, min_hessian=2.0).fit(X, LABELS)
    np.testing.assert_allclose(fitted.predict_proba(X), BoostingClassifier(max_iter=10).fit(X, LABELS).predict_proba(X), rtol=1e-6)


def test_a_function_of_several_classes_gets_one_column_per_class():
    shapes = set()

    def function(y, raw):
        shapes.add(raw.shape)
        p = softmax(raw, axis=1)
        return p - (y[:, None] == np.arange(3)), p * (1 - p)

    fitted = BoostingClassifier(loss=function, max_iter=3).fit(X, np.digitize(Y, [0, 1]))
    assert shapes == {(400, 3)}
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)


def test_without_a_loss_value_early_stopping_needs_a_scorer():
    def function(y, raw):
        return raw - y, np.ones_like(raw)

    many = np.tile(X, (30, 1))
    fitted = regressor(loss=function, max_iter=2).fit(many, np.tile(Y, 30))  # enough rows for early stopping
    assert not fitted.do_early_stopping_
    with pytest.raises(ValueError, match=r"FunctionLoss has no loss\(y, raw\).*scoring"):
        regressor(loss=function, early_stopping=True).fit(X, Y)
    assert regressor(loss=function, early_stopping=True, scoring="r2").fit(X, Y).validation_score_[-1] > 0.5


def test_fit_does_not_change_the_loss():
    loss = Squared()
    estimator = regressor(loss=loss).fit(X, Y)
    assert estimator.loss is loss
    assert vars(loss) == {"n_outputs": 1}
    assert regressor(loss=loss).fit(X, Y).model_.to_bytes() == estimator.model_.to_bytes()


def test_the_constructor_may_have_other_arguments():
    class Scaled(Squared):
        def __init__(self, scale):
            self.scale = scale

    np.testing.assert_array_equal(regressor(loss=Scaled(2)).fit(X, Y).predict(X), regressor(loss=Squared()).fit(X, Y).predict(X))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, raw: (raw - y, -np.ones_like(raw)), "negative hessian, -1 in row 0"),
        (lambda y, raw: (raw - y, np.where(y == y[5], -0.5, 1.0)), "negative hessian, -0.5 in row 5"),
        (lambda y, raw: (raw[:3], raw), r"a gradient of shape \(3,\); expected the shape of raw, \(400,\)"),
        (lambda y, raw: (raw, 1.0), r"a hessian of shape \(\); expected the shape of raw, \(400,\)"),
    ],
)
def test_the_result_of_a_function_is_checked(function, message):
    with pytest.raises(ValueError, match=message):
        regressor(loss=function).fit(X, Y)


@pytest.mark.parametrize("broken", [0, 1])
def test_gradients_that_are_not_finite_raise(broken):
    def function(y, raw):
        parts = raw - y, np.ones_like(raw)
        parts[broken][7] = np.nan
        return parts

    with pytest.raises(FloatingPointError, match="are not finite"):
        regressor(loss=function).fit(X, Y)


def test_a_loss_with_a_wrong_number_of_outputs_raises():
    with pytest.raises(ValueError, match=r"has 1 output.* the link 'identity'; for 2 classes BoostingClassifier needs 1 and 'logit'"):
        BoostingClassifier(loss=Squared()).fit(X, LABELS)
    with pytest.raises(ValueError, match="needs 3 and 'softmax'"):
        BoostingClassifier(loss=Odds()).fit(X, np.digitize(Y, [0, 1]))


class Probit(Squared):
    link = "probit"


class TestNames:
    @pytest.fixture(autouse=True)
    def forget(self):
        yield
        REGISTERED.clear()

    def test_a_registered_loss_is_known_by_its_name(self):
        register_loss("my_squared", Squared)
        by_name, by_instance = regressor(loss="my_squared").fit(X, Y), regressor(loss=Squared()).fit(X, Y)
        assert by_name.model_.loss == by_instance.model_.loss == "my_squared"
        again = Model.from_bytes(by_name.model_.to_bytes())
        assert again.loss == "my_squared"
        assert again.to_bytes() == by_name.model_.to_bytes()

    def test_a_model_predicts_without_its_registered_loss(self):
        register_loss("my_counts", Counts)
        fitted = regressor(loss="my_counts").fit(X, COUNTS)
        data = pickle.dumps(fitted)
        REGISTERED.clear()
        again = pickle.loads(data)
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        with pytest.raises(ValueError, match=r"'loss' parameter of BoostingRegressor must be .*squared_error.*Got 'my_counts'"):
            again.fit(X, COUNTS)

    def test_register_a_function_that_returns_a_loss(self):
        register_loss("made", lambda: Squared())
        assert regressor(loss="made").fit(X, Y).model_.loss == "made"
        assert regressor(loss=Squared()).fit(X, Y).model_.loss == "custom"

    def test_errors_list_registered_losses(self):
        register_loss("my_squared", Squared)
        with pytest.raises(ValueError, match=r"my_squared.*Got 'nonsense'"):
            regressor(loss="nonsense").fit(X, Y)

    @pytest.mark.parametrize("name", ["huber", "auto", "custom"])
    def test_names_of_built_in_losses_raise(self, name):
        with pytest.raises(ValueError, match=f"name='{name}' is the name of a built-in loss"):
            register_loss(name, Squared)

    @pytest.mark.parametrize("name", ["", "two words", "ä", "x" * 65, None])
    def test_invalid_names_raise(self, name):
        with pytest.raises(ValueError, match="name must be at most 64 letters"):
            register_loss(name, Squared)

    def test_invalid_losses_raise(self):
        with pytest.raises(TypeError, match="subclass of Loss"):
            register_loss("mine", dict)
        with pytest.raises(ValueError, match=r"Probit.link='probit' is unknown; choose from identity"):
            register_loss("mine", Probit)
        with pytest.raises(ValueError, match=r"Probit.link='probit' is unknown"):
            regressor(loss=Probit()).fit(X, Y)


class TestCheckLoss:
    @pytest.mark.parametrize("loss", [Squared(), Counts, Odds(), ClassLabels(3), "huber", lambda y, raw: (raw - y, np.ones_like(raw))])
    def test_correct_losses(self, loss):
        check_loss(loss)

    def test_a_wrong_gradient(self):
        class Wrong(Squared):
            def gradients(self, y, raw):
                gradient = raw - y
                gradient[3] += 0.5
                return gradient, np.ones_like(raw)

        y, raw = np.arange(5.0), np.zeros(5)
        message = r"^Wrong: the gradient is wrong in 1 of 5 rows, most in row 3 \(y=3, raw=0\): it is -2.5, the slope of the loss is -3$"
        with pytest.raises(ValueError, match=message):
            check_loss(Wrong(), y, raw)

    def test_a_wrong_hessian(self):
        class Wrong(Counts):
            def gradients(self, y, raw):
                return np.exp(raw) - y, 2 * np.exp(raw)

        with pytest.raises(ValueError, match=r"the hessian is wrong in 60 of 60 rows.*the slope of the gradient is"):
            check_loss(Wrong())

    def test_a_wrong_output(self):
        class Wrong(ClassLabels):
            def gradients(self, y, raw):
                gradient, hessian = super().gradients(y, raw)
                gradient[:, 1] *= 2
                return gradient, hessian

        with pytest.raises(ValueError, match=r"the gradient is wrong in 60 of 60 rows, most in row .*, output 1"):
            check_loss(Wrong(3))

    def test_a_negative_hessian(self):
        with pytest.raises(ValueError, match=r"the hessian is negative in .* rows, most in row"):
            check_loss(lambda y, raw: (np.sin(raw - y), np.cos(raw - y)))

    def test_wrong_shapes_and_non_finite_gradients(self):
        with pytest.raises(ValueError, match=r"the hessian has shape \(\), expected that of raw, \(60,\)"):
            check_loss(lambda y, raw: (raw - y, 1.0))
        with pytest.raises(ValueError, match="the gradient is not finite at raw=50: it is"), np.errstate(all="ignore"):
            check_loss(lambda y, raw: (np.where(raw > 40, np.nan, raw - y), np.ones_like(raw)))

    def test_modified_arguments(self):
        def function(y, raw):
            raw -= y
            return raw, np.ones_like(raw)

        with pytest.raises(ValueError, match="it modifies y or raw"):
            check_loss(function)

    def test_invalid_targets(self):
        with pytest.raises(ValueError, match="loss='gamma' requires strictly positive y"):
            check_loss("gamma", y=[0.0, 1.0])

        class Picky(Squared):
            def check_targets(self, y):
                raise ValueError("never")

        with pytest.raises(ValueError, match=r"Picky.check_targets rejected all random targets; pass valid ones"):
            check_loss(Picky())


@pytest.mark.parametrize("more", [{}, {"boosting": "ordered"}, {"multi_strategy": "multi_output_tree"}])
def test_a_custom_loss_may_compute_leaf_values(more):
    y = np.column_stack([Y, COUNTS]) if "multi_strategy" in more else Y
    own, ours = (BoostingRegressor(loss=loss, max_iter=5, **more).fit(X, y) for loss in (Medians(), "absolute_error"))
    np.testing.assert_allclose(own.predict(X), ours.predict(X), rtol=1e-12, atol=1e-12)

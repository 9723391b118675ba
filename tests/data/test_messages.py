"""What cannot be read raises an error that names it; what differs is not merged."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn._loss import HalfBinomialLoss, HalfSquaredError
from sklearn.metrics import mean_squared_error

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data.columns import ColumnError

N = 60
X = np.random.default_rng(0).normal(size=(N, 3))
Y = X[:, 0]
BOTH = N // 2


@pytest.mark.parametrize("name", ["max_depth", "min_samples_leaf", "min_samples_level", "max_leaf_nodes", "max_iter", "n_iter_no_change"])
@pytest.mark.parametrize("value", [2**40, 10**30])
def test_numbers_that_kernels_cannot_count(name, value):
    with pytest.raises(ValueError, match=rf"The '{name}' parameter of BoostingRegressor must be an int in the range \[\d, 2147483647\]"):
        BoostingRegressor(**{name: value}).fit(X, Y)


@pytest.mark.parametrize("name", ["learning_rate", "l2_regularization", "min_gain", "max_step", "tol"])
def test_integers_that_are_too_large_for_a_float(name):
    with pytest.raises(ValueError, match=rf"The '{name}' parameter of BoostingRegressor must be a float in the range"):
        BoostingRegressor(**{name: 10**400}).fit(X, Y)


@pytest.mark.parametrize(
    "table",
    [
        [[10**400, 1.0]] * N,
        np.array([[10**400, 1.0]] * N, dtype=object),
        pd.DataFrame({0: pd.Series([10**400, None] * BOTH, dtype=object)}),
        [{0: 10**400}] * N,
    ],
    ids=["lists", "array", "frame", "dicts"],
)
def test_cells_that_are_too_large_for_a_float(table):
    with pytest.raises(ColumnError, match="Column 0 has a number that is too large for a float"):
        BoostingRegressor(max_iter=2).fit(table, Y)


def regressor(loss="squared_error"):
    return BoostingRegressor(loss=loss, max_iter=2)


@pytest.mark.parametrize("sign", [1, -1], ids=["large", "low"])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("y", lambda value: regressor().fit(X, value)),
        ("y", lambda value: regressor().fit(X, np.column_stack([value, value]))),
        ("y", lambda value: regressor().fit(X, value).score(X, value)),
        ("y", lambda value: regressor().fit(X, Y).score(X, value)),
        ("y", lambda value: regressor("cox").fit(X, [(abs(number), True) for number in value])),
        ("y", lambda value: regressor("aft").fit(X, [(abs(number), 2 * abs(number)) for number in value])),
        ("y", lambda value: BoostingClassifier(max_iter=2).fit(X, [(number, 1 - number) for number in value])),
        ("y", lambda value: BoostingRanker(max_iter=2).fit(X, value, qid=[0] * N)),
        ("y_val", lambda value: regressor().fit(X, Y, X_val=X, y_val=value)),
        ("y of eval_sets['other']", lambda value: regressor().fit(X, Y, eval_sets={"other": (X, value)})),
        ("sample_weight", lambda value: regressor().fit(X, Y, value)),
        ("sample_weight", lambda value: regressor().fit(X, Y).score(X, Y, value)),
        ("sample_weight", lambda value: BoostingClassifier(max_iter=2).fit(X, Y > 0).score(X, Y > 0, value)),
        ("sample_weight_val", lambda value: regressor().fit(X, Y, X_val=X, y_val=Y, sample_weight_val=value)),
        ("offset", lambda value: regressor().fit(X, Y, offset=value)),
        ("offset", lambda value: BoostingClassifier(max_iter=2).fit(X, Y > 0, offset=value)),
        ("offset", lambda value: regressor().fit(X, Y).predict(X, offset=value)),
        ("offset", lambda value: regressor().fit(X, Y).explain(X, offset=value)),
        ("offset_val", lambda value: regressor().fit(X, Y, X_val=X, y_val=Y, offset_val=value)),
    ],
)
@pytest.mark.parametrize("container", [list, lambda value: np.array(value, dtype=object), pd.Series], ids=["list", "array", "series"])
def test_arguments_that_are_too_large_for_a_float(name, call, container, sign):
    with pytest.raises(ValueError, match=rf"{re.escape(name)} has a number that is too large for a float in row {N - 1}: divide"):
        call(container([*[1] * (N - 1), sign * 10**400]))


def test_a_weight_of_all_rows_that_is_too_large_for_a_float():
    with pytest.raises(ValueError, match="sample_weight has a number that is too large for a float: divide"):
        regressor().fit(X, Y, sample_weight=10**400)


@pytest.mark.parametrize("label", [2**63, -(2**63) - 1, 10**400])
def test_class_labels_that_no_integer_type_holds(label):
    with pytest.raises(ValueError, match="y has an integer that does not fit into int64 in row 1: convert the labels to strings"):
        BoostingClassifier(max_iter=2).fit(X, np.array([-1, label] * BOTH, dtype=object))


@pytest.mark.parametrize(
    ("estimator", "parameter", "value"),
    [
        (BoostingRegressor, "feature_weights", [10**400, 1, 1]),
        (BoostingRegressor, "feature_weights", {0: 10**400}),
        (BoostingRegressor, "cut_points", {0: [10**400]}),
        (BoostingClassifier, "class_weight", {False: 1, True: 10**400}),
        (BoostingRanker, "label_gain", [0, 10**400]),
    ],
)
def test_lists_in_parameters_that_are_too_large_for_a_float(estimator, parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} has a number that is too large for a float"):
        estimator(max_iter=2, **{parameter: value}).fit(X, Y > 0, **({"qid": [0] * N} if estimator is BoostingRanker else {}))


def test_a_threshold_and_a_time_that_are_too_large_for_a_float():
    with pytest.raises(ValueError, match="forced_splits must have finite numbers as thresholds"):
        BoostingRegressor(forced_splits={"feature": 0, "threshold": 10**400}).fit(X, Y)
    with pytest.raises(ValueError, match="times has a number that is too large for a float"):
        regressor("aft").fit(X, np.exp(Y)).predict_survival_function(X, [10**400])


def test_a_missing_value_that_is_too_large_for_a_float():
    with pytest.raises(ValueError, match="missing has an integer that is too large for a float"):
        BoostingRegressor(missing=[10**400]).fit(X, Y)


@pytest.mark.parametrize("name", ["boosting_permutations", "target_permutations"])
def test_numbers_that_would_take_for_ever(name):
    with pytest.raises(ValueError, match=rf"'{name}' parameter of BoostingRegressor must be an int in the range \[1, 1000\]"):
        BoostingRegressor(**{name: 2**30}).fit(X, Y)


def test_the_largest_numbers_work():
    fitted = BoostingRegressor(max_depth=2**31 - 1, min_samples_leaf=2**31 - 1, n_jobs=2**31 - 1, max_iter=2).fit(X, Y)
    assert fitted.n_iter_ == 2


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020-01-01", "NaT"] * BOTH, dtype="M8[s]"),
        pd.Series([pd.Timestamp("2020"), pd.NaT] * BOTH),
        pd.Series([1, pd.NA] * BOTH, dtype=object),
        pd.Series(["a", pd.NA] * BOTH, dtype="string"),
        ["a", None] * BOTH,
        np.array(["a", np.nan] * BOTH, dtype=object),
    ],
    ids=["NaT", "NaT of pandas", "NA", "NA of text", "None", "NaN"],
)
def test_missing_labels(labels):
    with pytest.raises(ValueError, match=f"Input y contains missing labels: {BOTH} in total, the first in row 1"):
        BoostingClassifier().fit(X, labels)


def test_missing_numbers():
    with pytest.raises(ValueError, match=f"Input y contains missing values: {BOTH} in total, the first in row 1"):
        BoostingRegressor().fit(X, pd.Series([1, pd.NA] * BOTH, dtype=object))
    with pytest.raises(ValueError, match=r"y must be numeric: it has dtype datetime64\[s\]"):
        BoostingRegressor().fit(X, np.zeros(N, dtype="M8[s]"))


@pytest.mark.parametrize("estimator", [BoostingRegressor(), BoostingClassifier()])
def test_iterators_and_sets(estimator):
    with pytest.raises(TypeError, match=r"X is a generator, which can be read only once: make a list of it, list\(X\)"):
        estimator.fit((row for row in X), Y > 0)
    with pytest.raises(TypeError, match=r"y is a generator, which can be read only once: make a list of it, list\(y\)"):
        estimator.fit(X, (value > 0 for value in Y))
    for wrong in ({1, 2}, "table"):
        with pytest.raises(TypeError, match=f"X is a {type(wrong).__name__}, which has no rows in an order"):
            estimator.fit(wrong, Y > 0)


def test_lone_surrogates():
    frame = pd.DataFrame({"a": Y})
    frame.columns = pd.Index(["a\ud800"], dtype=object)
    with pytest.raises(ValueError, match=r"a column name, 'a\\ud800', is not valid Unicode: position 1 is a lone surrogate; rename it"):
        BoostingRegressor().fit(frame, Y)
    levels = pd.Categorical.from_codes([0, 1] * BOTH, categories=pd.Index(["x\ud800", "y"], dtype=object))
    with pytest.raises(ValueError, match=r"Column 'c': a level, 'x\\ud800', is not valid Unicode"):
        BoostingRegressor().fit(pd.DataFrame({"c": levels}), Y)
    assert BoostingRegressor(max_iter=1).fit(pd.DataFrame({"größe 😀": Y}), Y).feature_names_in_[0] == "größe 😀"


def test_targets_too_small_to_divide_by():
    with pytest.raises(ValueError, match=r"loss='mape' requires non-zero y, \|y\| >= 1e-100, .*; got y=9.99989e-321 in row 4"):
        BoostingRegressor(loss="mape").fit(X, np.where(np.arange(N) == 4, 1e-320, 1.0))


@pytest.mark.parametrize("loss", [HalfSquaredError(), HalfBinomialLoss(), mean_squared_error, lambda y, raw: None])
def test_functions_that_are_no_losses(loss):
    with pytest.raises(TypeError, match=r"must be a function \(y, raw\) -> \(gradient, hessian\); it returned"):
        BoostingRegressor(loss=loss).fit(X, Y)


class TestLevelsThatReadAlike:
    def frame(self, *levels):
        categories = pd.Index(list(levels), dtype=object, tupleize_cols=False)
        return pd.DataFrame({"c": pd.Categorical.from_codes([0, 1] * BOTH, categories=categories)})

    @pytest.mark.parametrize("level", [(1, 2), pd.Timestamp("2020-01-01"), frozenset([1])])
    def test_are_refused(self, level):
        with pytest.raises(ValueError, match=r"Column 'c': the levels .* would both be read as '.*': convert them to text or numbers"):
            BoostingRegressor().fit(self.frame(level, str(level)), Y)

    def test_decimals_are_numbers(self):
        fitted = BoostingRegressor(max_iter=1).fit(self.frame(Decimal(1), "1"), Y)
        assert fitted.model_.schema.kinds[0].levels == (1, "1")

    def test_other_types_have_levels_of_text(self):
        fitted = BoostingRegressor(max_iter=1).fit(self.frame((1, 2), (3, 4)), Y)
        assert fitted.model_.schema.kinds[0].levels == ("(1, 2)", "(3, 4)")


@pytest.mark.parametrize(("unit", "size"), [("s", 2**60), ("D", 2**50), ("h", 2**58), ("m", 2**60)])
@pytest.mark.parametrize("parameters", [{}, {"datetime_features": ["year", "hour"]}])
def test_moments_beyond_microseconds_stay_apart(unit, size, parameters):
    moments = np.array([size, -size, 0] * (N // 3)).astype(f"M8[{unit}]")
    target = np.tile([0.0, 1.0, 5.0], N // 3)
    fitted = BoostingRegressor(max_iter=3, min_samples_leaf=2, **parameters).fit(moments[:, None], target)
    assert len(set(fitted.predict(moments[:3, None]))) == 3
    assert " s to " in str(fitted.describe_features(moments[:, None]))


def test_moments_of_another_byte_order():
    moments = np.arange(N).astype("M8[D]")
    fitted = BoostingRegressor(max_iter=2, min_samples_leaf=2).fit(moments[:, None], Y)
    swapped = fitted.predict(moments.astype(">M8[D]")[:, None])
    np.testing.assert_array_equal(swapped, fitted.predict(moments[:, None]))

"""Whatever `save` writes, `load` reads: names, levels and parameters of any kind."""

import warnings

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sapwood
from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.loading import read_file
from sapwood.uncertainty import ConformalClassifier, ConformalRegressor

N_ROWS = 40
TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
LEVELS = st.one_of(
    st.lists(TEXT, min_size=1, max_size=6, unique=True),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6, unique=True),
    st.just([True, False]),
)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "+09:00", "-03:30", None])


@st.composite
def columns(draw):
    """A column of any kind, with missing values in some."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["number", "huge", "bool", "category", "datetime", "duration"]))
    if kind in ("number", "huge"):
        values = rng.normal(size=N_ROWS) * (1e300 if kind == "huge" else 1.0)
        values[rng.random(N_ROWS) < 0.2] = draw(st.sampled_from([np.nan, 0.0, np.inf, -np.inf, 5e-324]))
        return values
    if kind == "bool":
        return rng.random(N_ROWS) < 0.5
    if kind == "category":
        levels = draw(LEVELS)
        return pd.Categorical([levels[i] for i in rng.integers(0, len(levels), N_ROWS)], ordered=draw(st.booleans()))
    moments = pd.to_datetime(rng.integers(0, 2 * 10**18, N_ROWS))
    return moments - moments.min() if kind == "duration" else moments.tz_localize("UTC").tz_convert(draw(ZONES))


@st.composite
def tables(draw):
    names = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    return pd.DataFrame({name: draw(columns()) for name in names})


PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        "learning_rate": st.floats(0.01, 1.0),
        "max_leaf_nodes": st.integers(2, 8),
        "l2_regularization": st.floats(0, 1e6),
        "random_state": st.integers(0, 2**32 - 1),
        "grow_policy": st.sampled_from(["leafwise", "depthwise", "symmetric"]),
        "boosting": st.sampled_from(["plain", "dart", "forest"]),
        "early_stopping": st.booleans(),
        "subsample": st.floats(0.5, 1.0),
        "datetime_features": st.sampled_from([None, "auto", ["month", "hour"]]),
        "tol": st.floats(0, 1e-3),
    },
)


def fit(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return estimator.fit(X, y)
        except ValueError:  # some of these cannot be combined, or a column has no use
            return None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(X=tables(), parameters=PARAMETERS, task=st.sampled_from(["numbers", "labels", "texts", "outputs"]), labels=LEVELS)
def test_estimators(tmp_path_factory, X, parameters, task, labels):
    rng = np.random.default_rng(0)
    y = {
        "numbers": rng.normal(size=N_ROWS),
        "labels": rng.integers(0, 3, N_ROWS),
        "texts": np.array([labels[i] for i in np.arange(N_ROWS) % len(labels)]),
        "outputs": rng.normal(size=(N_ROWS, 2)),
    }[task]
    cls = BoostingRegressor if task in ("numbers", "outputs") else BoostingClassifier
    model = fit(cls(max_iter=2, min_samples_leaf=2, n_jobs=1, **parameters), X, y)
    if model is None:
        return
    path = tmp_path_factory.mktemp("saved") / "model"
    model.save(path)
    again = sapwood.load(path)
    assert again.to_bytes() == model.to_bytes()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params() | {"n_jobs": again.n_jobs}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(X=tables(), labels=LEVELS, classify=st.booleans(), method=st.sampled_from(["split", "cv+"]))
def test_wrappers(X, labels, classify, method):
    y = np.array([labels[i] for i in np.arange(N_ROWS) % len(labels)]) if classify else np.arange(float(N_ROWS))
    estimator = (BoostingClassifier if classify else BoostingRegressor)(max_iter=2, min_samples_leaf=2, n_jobs=1)
    wrapper = fit((ConformalClassifier if classify else ConformalRegressor)(estimator, method=method, cv=3), X, y)
    if wrapper is None:
        return
    again = read_file(wrapper.to_bytes())
    assert again.to_bytes() == wrapper.to_bytes()
    np.testing.assert_array_equal(again.predict(X), wrapper.predict(X))

"""Targets, weights and other values of rows that are columns of X."""

import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GroupKFold

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor

N = 300
rng = np.random.default_rng(0)
FEATURES = {
    "a": rng.normal(size=N).round(2),
    "b": rng.normal(size=N),
    "c": rng.choice(["x", "y", "z"], N).tolist(),
}
VALUES = {
    "target": FEATURES["a"] * 2 + rng.normal(size=N),
    "label": rng.choice(["no", "yes"], N).tolist(),
    "weight": rng.integers(0, 4, N).astype(float),
    "start": rng.normal(size=N),
    "query": np.sort(rng.integers(0, 12, N)),
    "relevance": rng.integers(0, 3, N),
    "block": rng.integers(0, 5, N),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "dicts": lambda columns: pd.DataFrame(columns).to_dict("records"),
}


def small(estimator, **parameters):
    return estimator(**({"max_iter": 4, "min_samples_leaf": 5} | parameters))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    ("estimator", "arguments"),
    [
        (small(BoostingRegressor), {"y": "target"}),
        (small(BoostingRegressor, loss="poisson"), {"y": "weight", "offset": "start"}),
        (small(BoostingRegressor), {"y": "target", "sample_weight": "weight", "offset": "start"}),
        (small(BoostingRegressor), {"y": ["target", "start"], "sample_weight": "weight"}),
        (small(BoostingClassifier), {"y": "label", "sample_weight": "weight"}),
        (small(BoostingClassifier, validation_split=GroupKFold(3)), {"y": "label", "groups": "block"}),
        (small(BoostingRanker), {"y": "relevance", "qid": "query"}),
    ],
    ids=["target", "offset", "weight", "outputs", "labels", "groups", "queries"],
)
def test_names_are_the_same_as_values(kind, estimator, arguments):
    named = [name for value in arguments.values() for name in ([value] if isinstance(value, str) else value)]
    used = {name: VALUES[name] for name in named}
    table, alone = FRAMES[kind](FEATURES | used), FRAMES[kind](FEATURES)

    def values(value):
        return np.asarray(VALUES[value]) if isinstance(value, str) else np.column_stack([VALUES[name] for name in value])

    expected = estimator.fit(alone, **{argument: values(value) for argument, value in arguments.items()}).model_.to_bytes()
    assert estimator.fit(table, **arguments).model_.to_bytes() == expected
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]


def test_evaluation_sets_have_names_of_their_own():
    frame, held_out = pd.DataFrame(FEATURES | VALUES).iloc[:200], pd.DataFrame(FEATURES | VALUES).iloc[200:]
    columns = [*FEATURES, "target", "weight"]
    model = small(BoostingRegressor, early_stopping=True)
    one = model.fit(
        frame[columns],
        "target",
        "weight",
        X_val=held_out[columns],
        y_val="target",
        sample_weight_val="weight",
        eval_sets={"more": {"X": held_out[[*FEATURES, "target"]], "y": "target"}},
    ).to_bytes()
    X, X_val = frame[list(FEATURES)], held_out[list(FEATURES)]
    other = model.fit(
        X,
        frame["target"],
        frame["weight"],
        X_val=X_val,
        y_val=held_out["target"],
        sample_weight_val=held_out["weight"],
        eval_sets={"more": (X_val, held_out["target"])},
    ).to_bytes()
    assert one == other


def test_a_list_of_labels_is_not_a_list_of_names():
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    assert BoostingClassifier().fit(frame, ["a", "b"]).classes_.tolist() == ["a", "b"]


def test_partial_fit_and_refit_take_names():
    frame = pd.DataFrame(FEATURES | {"target": VALUES["target"]})
    X, y = frame[list(FEATURES)], frame["target"]
    named = small(BoostingRegressor).partial_fit(frame, "target").partial_fit(frame, "target").refit(frame, "target")
    assert named.to_bytes() == small(BoostingRegressor).partial_fit(X, y).partial_fit(X, y).refit(X, y).to_bytes()


@pytest.mark.parametrize(
    ("X", "arguments", "message"),
    [
        (pd.DataFrame(FEATURES), {"y": "price"}, "y='price' is not a column of X, whose columns are 'a', 'b', 'c'"),
        (pd.DataFrame(FEATURES), {"y": VALUES["target"], "sample_weight": "w"}, "sample_weight='w' is not a column of X"),
        (np.zeros((4, 2)), {"y": "price"}, "y='price' is the name of a column, but X has no column names"),
        (
            pd.DataFrame(FEATURES),
            {"y": "a", "X_val": pd.DataFrame(FEATURES), "y_val": "price"},
            "y_val='price' is not a column of X",
        ),
        (
            pd.DataFrame(FEATURES),
            {"y": "a", "eval_sets": {"more": (pd.DataFrame(FEATURES), "price")}},
            "y of eval_sets['more']='price' is not a column of X",
        ),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_columns(X, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        small(BoostingRegressor).fit(X, **arguments)


def test_a_relation_of_duckdb():
    frame = pd.DataFrame(FEATURES | {"target": VALUES["target"]})
    relation = duckdb.connect().from_df(frame)
    expected = small(BoostingRegressor).fit(frame[list(FEATURES)], frame["target"]).model_.to_bytes()
    assert small(BoostingRegressor).fit(relation, "target").model_.to_bytes() == expected

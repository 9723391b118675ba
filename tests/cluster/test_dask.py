"""Fits on a real Dask cluster: byte for byte those of one process."""

import os
import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import sapwood
from sapwood import BoostingRegressor
from sapwood.dask import DaskBoostingClassifier, DaskBoostingRanker, DaskBoostingRegressor
from sapwood.dask.engine import DaskEngine
from tests.cluster.cases import CASES, FRAME, NOISY, SMALL, X, cut, expected

pytestmark = pytest.mark.xdist_group("dask")
CLASSES = {"BoostingClassifier": DaskBoostingClassifier, "BoostingRegressor": DaskBoostingRegressor, "BoostingRanker": DaskBoostingRanker}


@pytest.fixture
def workers(client, monkeypatch):
    """Limit a fit to some of the workers of the cluster."""

    def limit(n):
        client.wait_for_workers(n)
        everyone = DaskEngine.workers
        monkeypatch.setattr(DaskEngine, "workers", lambda engine: sorted(everyone(engine))[:n])

    return limit


def delayed(values, split):
    return [dask.delayed(piece) for piece in cut(values, split)]


def on_dask(case, client, split):
    estimator = CLASSES[type(case.estimator).__name__](**case.estimator.get_params(), client=client)
    given = {name: delayed(values, split) for name, values in case.rows.items()}
    if case.validation is not None:
        given |= {name: delayed(values, split) for name, values in zip(("X_val", "y_val"), case.validation, strict=True)}
    if case.eval_sets:
        given["eval_sets"] = {name: tuple(delayed(values, "even") for values in pair) for name, pair in case.eval_sets.items()}
    return estimator.fit(delayed(case.X, split), delayed(case.y, split), **given, **case.options)


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("split", ["even", "uneven", "one"])
def test_any_number_of_workers_and_any_partitions(n, split, client, workers):
    workers(n)
    case = CASES["categories"]
    fitted = on_dask(case, client, split)
    assert fitted.to_bytes() == expected(case)
    assert fitted.communication_["workers"] == n
    assert fitted.communication_["restarts"] == 0
    assert (fitted.communication_["bytes_per_tree"] > 0) == (n > 1)


@pytest.mark.parametrize("name", CASES)
def test_all_kinds_of_fits(name, client, workers):
    workers(3)
    assert on_dask(CASES[name], client, "uneven").to_bytes() == expected(CASES[name])


def test_arrays(client):
    """Dask arrays, cut differently, also by columns; predictions are lazy arrays."""
    lazy, y = da.from_array(X, chunks=(700, 4)), da.from_array(NOISY, chunks=300)
    fitted = DaskBoostingRegressor(client=client, **SMALL).fit(lazy, y)
    local = BoostingRegressor(**SMALL).fit(X, NOISY)
    assert fitted.to_bytes() == local.to_bytes()
    predicted = fitted.predict(lazy)
    assert isinstance(predicted, da.Array)
    assert predicted.shape == (len(X),)
    np.testing.assert_array_equal(predicted.compute(), local.predict(X))
    np.testing.assert_array_equal(fitted.predict(X), local.predict(X))
    assert fitted.score(lazy, y) == local.score(X, NOISY)
    shifted = fitted.predict(lazy, offset=da.from_array(NOISY, chunks=700))
    np.testing.assert_array_equal(shifted.compute(), local.predict(X, offset=NOISY))


def test_sparse_arrays(client):
    case = CASES["sparse"]
    blocks = [da.from_delayed(dask.delayed(piece), piece.shape, meta=sparse.csr_array((0, 0))) for piece in cut(case.X, "even")]
    y = da.from_array(case.y, chunks=len(case.y) // 4)
    assert DaskBoostingRegressor(client=client, **SMALL).fit(da.concatenate(blocks), y).to_bytes() == expected(case)


def test_data_frames(client):
    """Columns by name, persisted partitions, probabilities."""
    frame = FRAME.assign(target=CASES["classes"].y)
    lazy = dd.from_pandas(frame, npartitions=5, sort=False).persist()
    fitted = DaskBoostingClassifier(client=client, datetime_features="auto", **SMALL).fit(lazy, "target")
    assert fitted.to_bytes() == expected(CASES["categories"])
    local = fitted.to_local()
    np.testing.assert_array_equal(fitted.predict_proba(lazy).compute(), local.predict_proba(FRAME))
    np.testing.assert_array_equal(fitted.decision_function(lazy).compute(), local.decision_function(FRAME))
    series = DaskBoostingClassifier(client=client, datetime_features="auto", **SMALL).fit(lazy[list(FRAME.columns)], lazy["target"])
    assert series.to_bytes() == fitted.to_bytes()


def test_files(client, tmp_path):
    frame, names = FRAME.assign(target=NOISY, weight=1.0), []
    for i, piece in enumerate(cut(frame, "uneven")):
        piece.to_parquet(tmp_path / f"{i}.parquet")
        names.append(str(tmp_path / f"{i}.parquet"))
    fitted = DaskBoostingRegressor(client=client, **SMALL).fit(names, "target", sample_weight="weight")
    assert fitted.to_bytes() == BoostingRegressor(**SMALL).fit(FRAME, NOISY, sample_weight=np.ones(len(FRAME))).to_bytes()
    np.testing.assert_array_equal(fitted.predict(names).compute(), fitted.predict(FRAME))


def test_continued_training(client):
    case = CASES["regression"]
    first = on_dask(case, client, "even")
    more = first.set_params(max_iter=3).partial_fit(delayed(case.X, "uneven"), delayed(case.y, "uneven"))
    local = clone(case.estimator).fit(case.X, case.y)
    assert more.to_bytes() == local.set_params(max_iter=3).partial_fit(case.X, case.y).to_bytes()
    refitted = more.refit(delayed(case.X, "even"), delayed(case.y * 2, "even"))
    assert refitted.to_bytes() == local.refit(case.X, case.y * 2).to_bytes()


def test_the_default_client_and_scikit_learn(client, tmp_path):
    """`clone`, `get_params`, pickle and `save` leave the client out."""
    estimator = DaskBoostingRegressor(**SMALL)
    assert "client" not in estimator.get_params()
    assert clone(DaskBoostingRegressor(client=client, max_depth=3)).max_depth == 3
    fitted = estimator.fit(da.from_array(X, chunks=(500, 6)), da.from_array(NOISY, chunks=500))
    assert pickle.loads(pickle.dumps(fitted.set_params(client=client))).client is None
    fitted.save(tmp_path / "model.sapwood")
    assert type(sapwood.load(tmp_path / "model.sapwood")) is BoostingRegressor
    with pytest.raises(TypeError, match="DaskBoostingRegressor has no parameter 'n_estimators'"):
        DaskBoostingRegressor(n_estimators=3)


class Count(sapwood.callbacks.Callback):
    """Counts rounds, and stops after three."""

    def __init__(self):
        self.n_rounds, self.process = 0, os.getpid()

    def after_round(self, state):
        self.n_rounds, self.process = self.n_rounds + 1, os.getpid()
        return self.n_rounds == 3


def test_callbacks_run_in_workers_and_come_back(client):
    count = Count()
    fitted = DaskBoostingRegressor(client=client, max_iter=9).fit(delayed(X, "even"), delayed(NOISY, "even"), callbacks=[count])
    assert (fitted.n_iter_, count.n_rounds) == (3, 3)
    assert count.process != os.getpid()


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"tree_method": "exact"}, {}, "tree_method='exact' cannot be combined with several partitions"),
        ({"max_bins": 1000}, {}, "max_bins=1000 cannot be combined"),
        ({"validation_split": 3}, {}, "validation_split=3 cannot be combined"),
        ({"init": BoostingRegressor()}, {}, "cannot be combined with several partitions of the rows: fit it first"),
        ({"boosting": "ordered"}, {"checkpoint": "file"}, "checkpoint cannot be combined with boosting='ordered'"),
        ({"validation_folds": 3}, {"checkpoint": "file"}, "checkpoint cannot be combined with validation_folds"),
        (
            {"preset": "auto"},
            {"checkpoint": "file"},
            "checkpoint cannot be combined with preset='auto' on a cluster.*: set validation_folds=None and",
        ),
        (
            {"preset": "best"},
            {"checkpoint": "file"},
            "checkpoint cannot be combined with preset='best' on a cluster.*: set validation_folds=None and",
        ),
        ({}, {"X_val": []}, "y_val was not provided"),
        ({"learning_rate": -1}, {}, "'learning_rate' parameter"),
    ],
)
def test_refused_before_rows_are_loaded(parameters, arguments, message, client):
    def fail():
        raise AssertionError("the rows were loaded")

    never = [dask.delayed(fail)()]
    with pytest.raises(ValueError, match=message):
        DaskBoostingRegressor(client=client, **parameters).fit(never, never, **arguments)


def test_errors_name_the_argument(client):
    with pytest.raises(TypeError, match=r"X must be a Dask DataFrame, Series or Array, a list of .*; got ndarray"):
        DaskBoostingRegressor(client=client).fit(X, NOISY)
    with pytest.raises(ValueError, match="y has 1 partitions, X has 4"):
        DaskBoostingRegressor(client=client).fit(delayed(X, "even"), delayed(NOISY, "one"))
    with pytest.raises(ValueError, match=r"group does not work on a cluster.*use qid"):
        DaskBoostingRanker(client=client).fit(delayed(X, "even"), delayed(NOISY, "even"), group=[1])
    with pytest.raises(ValueError, match="requires strictly positive y"):
        DaskBoostingRegressor(client=client, loss="gamma").fit(delayed(X, "even"), delayed(NOISY, "even"))
    with pytest.raises(ValueError, match=r"y of train has \d+ rows in a partition where X has 500"):
        DaskBoostingRegressor(client=client).fit(delayed(X, "even"), [*delayed(NOISY, "even")[:3], dask.delayed(NOISY[:7])])
    with pytest.raises(ZeroDivisionError):
        DaskBoostingRegressor(client=client).fit([dask.delayed(lambda: 1 / 0)()], delayed(NOISY, "one"))


def test_polars_frames(client):
    import polars as pl

    pieces = [dask.delayed(pl.from_pandas)(piece) for piece in cut(pd.DataFrame(X, columns=list("abcdef")), "even")]
    fitted = DaskBoostingRegressor(client=client, **SMALL).fit(pieces, delayed(NOISY, "even"))
    assert fitted.to_bytes() == BoostingRegressor(**SMALL).fit(pl.DataFrame(X, schema=list("abcdef")), NOISY).to_bytes()

"""Generated data sets are reproducible, of the same content in every library of frames, and learnable."""

import numpy as np
import pytest

from sapwood import BoostingRanker, BoostingRegressor, datasets


@pytest.mark.parametrize("make", [datasets.make_claims, datasets.make_sales])
def test_frames_of_all_libraries_give_the_same_model(make):
    models = []
    for backend in ("pandas", "polars", "pyarrow"):
        X, y, *_ = make(500, backend=backend)
        assert type(X).__module__.startswith(backend)
        models.append(BoostingRegressor(max_iter=3).fit(X, y).model_.to_bytes())
    assert len(set(models)) == 1


def test_claims_have_a_frequency():
    X, n_claims, exposure = datasets.make_claims(4000)
    model = BoostingRegressor(loss="poisson", max_iter=40).fit(X[:3000], n_claims[:3000], offset=np.log(exposure[:3000]))
    frequency = model.predict(X[3000:])
    assert np.corrcoef(frequency, n_claims[3000:] / exposure[3000:])[0, 1] > 0.05
    assert 0.1 < n_claims.sum() / exposure.sum() < 0.4


def test_sales_have_missing_values_and_many_levels():
    X, sales = datasets.make_sales(2000)
    assert X["price"].isna().any()
    assert X["store"].nunique() == 200
    assert BoostingRegressor(categorical_encoding="target").fit(X[:1500], sales[:1500]).score(X[1500:], sales[1500:]) > 0.4


def test_queries_can_be_ranked():
    X, relevance, qid = datasets.make_queries(60)
    assert set(relevance) == {0, 1, 2, 3, 4}
    assert BoostingRanker(max_iter=10).fit(X, relevance, qid=qid).score(X, relevance, qid=qid) > 0.8


def test_survival_has_censored_rows():
    X, y = datasets.make_survival(1000, censored=0.3)
    assert 0.2 < 1 - y[:, 1].mean() < 0.4
    assert BoostingRegressor(loss="cox", max_iter=20).fit(X, y).score(X, y) > 0.65


def test_the_same_seed_gives_the_same_data():
    np.testing.assert_array_equal(datasets.make_queries(5, random_state=3).X, datasets.make_queries(5, random_state=3).X)
    assert not np.array_equal(datasets.make_survival(5, random_state=1)[1], datasets.make_survival(5, random_state=2)[1])


def test_bad_arguments():
    with pytest.raises(ValueError, match="backend='dask' is unknown; choose from pandas, polars, pyarrow"):
        datasets.make_claims(10, backend="dask")
    with pytest.raises(ValueError, match="n_features must be at least 3; got 2"):
        datasets.make_queries(10, 2)
    with pytest.raises(ValueError, match="censored must be at least 0 and below 1; got 1"):
        datasets.make_survival(10, censored=1)


def test_flights():
    X, delay = datasets.load_flights(1000, backend="polars")
    assert X.shape == (1000, 7)
    assert np.isfinite(delay).all()
    assert str(X["time"].min()) == "2013-01-01 05:15:00"
    assert X["time"].max().year == 2013

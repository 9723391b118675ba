"""Estimators for Dask: `DaskBoostingClassifier`, `DaskBoostingRegressor` and `DaskBoostingRanker`. Needs `pip install sapwood[dask]`.

>>> from dask.distributed import Client  # doctest: +SKIP
>>> from sapwood.dask import DaskBoostingRegressor  # doctest: +SKIP
>>> model = DaskBoostingRegressor(client=Client()).fit(X, y)  # doctest: +SKIP
"""

try:
    from sapwood.dask.estimators import DaskBoostingClassifier, DaskBoostingRanker, DaskBoostingRegressor
except ImportError as _error:
    if (_error.name or "").partition(".")[0] not in ("dask", "distributed"):
        raise
    raise ImportError(f"sapwood.dask needs Dask: pip install 'sapwood[dask]' ({_error})") from _error

__all__ = ["DaskBoostingClassifier", "DaskBoostingRanker", "DaskBoostingRegressor"]

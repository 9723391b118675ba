"""Estimators for Ray: `RayBoostingClassifier`, `RayBoostingRegressor` and `RayBoostingRanker`. Needs `pip install sapwood[ray]`.

>>> import ray  # doctest: +SKIP
>>> from sapwood.ray import RayBoostingRegressor  # doctest: +SKIP
>>> model = RayBoostingRegressor(n_workers=4).fit(ray.data.read_parquet("folder"), "target")  # doctest: +SKIP
"""

try:
    from sapwood.ray.estimators import RayBoostingClassifier, RayBoostingRanker, RayBoostingRegressor, TuneReport, tune_resources
except ImportError as _error:
    if (_error.name or "").partition(".")[0] != "ray":
        raise
    raise ImportError(f"sapwood.ray needs Ray: pip install 'sapwood[ray]' ({_error})") from _error

__all__ = ["RayBoostingClassifier", "RayBoostingRanker", "RayBoostingRegressor", "TuneReport", "tune_resources"]

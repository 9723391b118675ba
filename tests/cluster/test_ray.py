"""Fits on a real local Ray: byte for byte those of one process."""

import numpy as np
import pytest
import ray
import ray.data
from sklearn.base import clone

from sapwood import BoostingRegressor
from sapwood.cluster import driver
from sapwood.cluster.collective import PIECE
from sapwood.ray import RayBoostingClassifier, RayBoostingRanker, RayBoostingRegressor, TuneReport, tune_resources
from sapwood.ray.transport import CAPACITY
from tests.cluster.cases import CASES, FRAME, NOISY, SMALL, X, cut, expected
from tests.cluster.faulty import KillWorker

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("local_ray")]
CLASSES = {"BoostingClassifier": RayBoostingClassifier, "BoostingRegressor": RayBoostingRegressor, "BoostingRanker": RayBoostingRanker}


@pytest.fixture(scope="module")
def local_ray():
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(num_cpus=4, object_store_memory=100_000_000, **quiet)
    yield
    ray.shutdown()


def put(values, split):
    return [ray.put(piece) for piece in cut(values, split)]


def on_ray(case, n_workers, split, **more):
    estimator = CLASSES[type(case.estimator).__name__](**case.estimator.get_params(), n_workers=n_workers)
    given = {name: put(values, split) for name, values in case.rows.items()}
    if case.validation is not None:
        given |= {name: put(values, split) for name, values in zip(("X_val", "y_val"), case.validation, strict=True)}
    if case.eval_sets:
        given["eval_sets"] = {name: tuple(put(values, "even") for values in pair) for name, pair in case.eval_sets.items()}
    return estimator.fit(put(case.X, split), put(case.y, split), **given, **case.options, **more)


@pytest.mark.parametrize(
    ("n", "split"), [pytest.param(1, "even", marks=pytest.mark.slow), (2, "uneven"), pytest.param(4, "even", marks=pytest.mark.slow)]
)
def test_any_number_of_workers(n, split):
    fitted = on_ray(CASES["categories"], n, split)
    assert fitted.to_bytes() == expected(CASES["categories"])
    assert fitted.communication_["workers"] == n


@pytest.mark.slow  # workers of Ray take seconds to start; those of Dask run all kinds in `make test`
@pytest.mark.parametrize("name", CASES)
def test_all_kinds_of_fits(name):
    assert on_ray(CASES[name], 3, "uneven").to_bytes() == expected(CASES[name])


def test_messages_that_do_not_fit_into_shared_memory():
    """Histograms of several pieces, the first of which is longer than a channel's memory."""
    rng = np.random.default_rng(0)
    wide, y = rng.normal(size=(600, 400)), rng.normal(size=600)
    assert 400 * 255 * 16 > 8 * PIECE > CAPACITY
    fitted = RayBoostingRegressor(n_workers=2, **SMALL).fit(put(wide, "uneven"), put(y, "uneven"))
    assert fitted.to_bytes() == BoostingRegressor(**SMALL).fit(wide, y).to_bytes()


def test_datasets(tmp_path):
    """Columns by name, files, predictions as a lazy Dataset."""
    frame, names = FRAME[list("abcdef")].assign(target=NOISY), []
    for i, piece in enumerate(cut(frame, "even")):
        piece.to_parquet(tmp_path / f"{i}.parquet")
        names.append(str(tmp_path / f"{i}.parquet"))
    dataset = ray.data.from_pandas(cut(frame, "even"))
    whole = BoostingRegressor(**SMALL).fit(FRAME[list("abcdef")], NOISY)
    fitted = RayBoostingRegressor(n_workers=2, **SMALL).fit(dataset, "target")
    assert fitted.to_bytes() == whole.to_bytes()
    assert RayBoostingRegressor(n_workers=2, **SMALL).fit(names, "target").to_bytes() == whole.to_bytes()
    predicted = fitted.predict(dataset)
    assert isinstance(predicted, ray.data.Dataset)
    np.testing.assert_array_equal(np.sort(predicted.to_pandas()["predictions"]), np.sort(whole.predict(FRAME[list("abcdef")])))
    files = np.concatenate(ray.get(fitted.predict(names)))
    np.testing.assert_array_equal(files, whole.predict(FRAME[list("abcdef")]))
    assert fitted.score(dataset, "target") == whole.score(FRAME[list("abcdef")], NOISY)


def test_a_killed_worker(tmp_path):
    """Training goes on from the last finished round, with an actor that replaces the lost one."""
    parameters = {**SMALL, "max_iter": 8}
    kill = KillWorker(tmp_path / "killed", after=5)
    fitted = RayBoostingRegressor(n_workers=2, **parameters).fit(put(X, "even"), put(NOISY, "even"), callbacks=[kill])
    assert fitted.to_bytes() == BoostingRegressor(**parameters).fit(X, NOISY).to_bytes()
    assert fitted.communication_["restarts"] == 1
    assert fitted.communication_["trees"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(20))
def test_workers_killed_at_random(trial, tmp_path):
    rng = np.random.default_rng(trial)
    case = CASES[str(rng.choice(["categories", "vector leaves", "dart", "subsample"]))]
    kill = KillWorker(tmp_path / "killed", after=int(rng.integers(1, 4)), which=int(rng.integers(2)), delay=float(rng.uniform(0, 0.02)))
    fitted = on_ray(case, 2, "uneven", callbacks=[kill])
    assert fitted.to_bytes() == expected(case)
    assert fitted.communication_["restarts"] == 1


@pytest.mark.slow
def test_ray_tune(tmp_path):
    """Every round is reported by the process of the trial."""
    from ray import tune

    pieces = put(X, "even"), put(NOISY, "even")

    def trial(config):
        estimator = RayBoostingRegressor(n_workers=2, learning_rate=config["learning_rate"], **SMALL)
        estimator.fit(*pieces, eval_sets={"same": pieces}, eval_metric="rmse", callbacks=[TuneReport()])

    tuner = tune.Tuner(
        tune.with_resources(trial, tune_resources(2)),
        param_space={"learning_rate": tune.grid_search([0.1, 0.5])},
        run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
    )
    results = tuner.fit()
    assert not results.errors
    assert [len(result.metrics_dataframe) for result in results] == [4, 4]
    best = results.get_best_result("same-rmse", "min")
    local = BoostingRegressor(learning_rate=0.5, **SMALL).fit(X, NOISY, eval_sets={"same": (X, NOISY)}, eval_metric="rmse")
    assert best.metrics["same-rmse"] == local.evals_result_["same"]["rmse"][-1]


@pytest.mark.slow
def test_ray_train(tmp_path):
    """A worker of Ray Train may fit on the cluster."""
    from ray.train import RunConfig, ScalingConfig
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer  # that of the same version as RunConfig

    pieces = put(X, "even"), put(NOISY, "even")
    out = str(tmp_path / "model.sapwood")

    def loop():
        RayBoostingRegressor(n_workers=2, **SMALL).fit(*pieces).save(out)

    run = RunConfig(storage_path=str(tmp_path))
    DataParallelTrainer(loop, scaling_config=ScalingConfig(num_workers=1), run_config=run).fit()
    assert (tmp_path / "model.sapwood").read_bytes() == BoostingRegressor(**SMALL).fit(X, NOISY).to_bytes()


def test_errors(monkeypatch):
    with pytest.raises(TypeError, match=r"X must be a ray.data.Dataset, a list of .*; got ndarray"):
        RayBoostingRegressor().fit(X, NOISY)
    with pytest.raises(ValueError, match="n_workers=99 and cpus_per_worker=1 need 99 CPUs"):
        RayBoostingRegressor(n_workers=99).fit(put(X, "even"), put(NOISY, "even"))
    with pytest.raises(ValueError, match="n_workers must be at least 1; got 0"):
        RayBoostingRegressor(n_workers=0).fit(put(X, "even"), put(NOISY, "even"))
    with pytest.raises(ValueError, match=r"checkpoint cannot be combined with preset='auto' on a cluster.*: set validation_folds=None and"):
        RayBoostingRegressor(preset="auto").fit(put(X, "even"), put(NOISY, "even"), checkpoint="file")
    with pytest.raises(ValueError, match="tree_method='exact' cannot be combined"):
        RayBoostingRegressor(tree_method="exact").fit(put(X, "even"), put(NOISY, "even"))
    with pytest.raises(ValueError, match="requires strictly positive y"):
        RayBoostingRegressor(loss="gamma", n_workers=1).fit(put(X, "even"), put(NOISY, "even"))
    assert clone(RayBoostingRegressor(n_workers=3)).get_params()["n_workers"] == 3
    monkeypatch.setattr(driver, "NO_WORKER_SECONDS", 0.5)
    monkeypatch.setattr("sapwood.ray.engine.RayEngine.workers", Once())
    with pytest.raises(RuntimeError, match="no Ray worker is left"):
        RayBoostingRegressor(n_workers=1).fit(put(X, "even"), put(NOISY, "even"))


class Once:
    """Workers that are there when the actors have started, and lost afterwards."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return [0] if self.calls == 1 else []

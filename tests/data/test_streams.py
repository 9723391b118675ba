"""Streams: the same bytes as a fit of the same rows in memory."""

import os
import re
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest
from scipy import sparse

import sapwood
from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data.streams import base, open_stream
from sapwood.data.streams.sources import SpilledStream

N = 1500
rng = np.random.default_rng(0)


def make_frame():
    a, b = rng.normal(size=N).round(2), rng.normal(size=N).astype(np.float32)
    a[rng.random(N) < 0.05] = np.nan
    city = pd.Series(rng.choice(["Oslo", "Rome", "Kyiv", "Bonn"], N).tolist(), dtype="object")
    city[rng.random(N) < 0.1] = None
    city[:400] = None  # the first batches have no level
    code = [f"c{k}" for k in np.sort(rng.integers(0, 400, N))]  # later batches have other levels
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s")
    signal = np.nan_to_num(a) + b
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "count": rng.integers(0, 9, N),
            "flag": rng.random(N) < 0.5,
            "city": city,
            "code": code,
            "when": when.astype("datetime64[us]"),
            "target": signal + rng.normal(size=N),
            "label": np.where(signal + rng.normal(size=N) > 0, "yes", "no"),
            "class": np.digitize(signal, [-1, 0, 1]),
            "weight": rng.integers(0, 4, N).astype(float),
            "start": rng.normal(size=N),
            "query": np.sort(rng.integers(0, 60, N)),
        }
    )


FRAME = make_frame()
FEATURES = ["a", "b", "count", "flag", "city", "code", "when"]
NAMES = ["target", "label", "class", "weight", "start", "query"]


@pytest.fixture(scope="module", autouse=True)
def small_batches():
    """Batches of 256 rows, so that the table has several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "MIN_BATCH_ROWS", 256)
        patch.setattr(base, "MAX_BATCH_ROWS", 256)
        yield


class Restartable:
    """An iterable of frames that can be read again and again."""

    def __init__(self, frame, size=311):
        self.frame, self.size, self.n_passes = frame, size, 0

    def __iter__(self):
        self.n_passes += 1
        return (self.frame.iloc[start : start + self.size] for start in range(0, len(self.frame), self.size))


def parquet(frame, folder):
    for i, start in enumerate(range(0, len(frame), 500)):
        frame.iloc[start : start + 500].to_parquet(folder / f"part-{i}.parquet", row_group_size=200)
    return sapwood.scan(folder / "*.parquet")


def arrow_file(frame, folder):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.OSFile(str(folder / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=400)
    return sapwood.scan(folder)


def dataset(frame, folder):
    parquet(frame, folder)
    return pa.dataset.dataset(str(folder))


def relation(frame, folder):
    return duckdb.connect().from_df(frame)


STREAMS = {
    "parquet": parquet,
    "arrow": arrow_file,
    "dataset": dataset,
    "reader": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False).to_reader(max_chunksize=301),
    "polars": lambda frame, folder: pl.from_pandas(frame).lazy(),
    "duckdb": relation,
    "iterable": lambda frame, folder: Restartable(frame),
    "list": lambda frame, folder: list(Restartable(frame)),
    "generator": lambda frame, folder: iter(Restartable(frame)),
    "record batches": lambda frame, folder: pa.Table.from_pandas(frame, preserve_index=False).to_batches(max_chunksize=99),
}


def regressor(**parameters):
    return BoostingRegressor(**({"max_iter": 4, "min_samples_leaf": 10, "random_state": 3} | parameters))


def classifier(**parameters):
    return BoostingClassifier(**({"max_iter": 4, "min_samples_leaf": 10, "random_state": 3} | parameters))


def named(value):
    return [value] if isinstance(value, str) else list(value)


def in_memory(estimator, arguments, frame=FRAME, features=FEATURES):
    values = {key: frame[value].to_numpy() for key, value in arguments.items()}
    return estimator.fit(frame[features], **values).to_bytes()


def assert_the_same(estimator, stream, arguments, frame=FRAME, features=FEATURES):
    expected = in_memory(estimator, arguments, frame, features)
    assert estimator.fit(stream, **arguments).to_bytes() == expected


def columns_of(arguments, features=FEATURES):
    return features + list(dict.fromkeys(name for value in arguments.values() for name in named(value)))


@pytest.mark.parametrize("kind", STREAMS)
def test_every_stream_gives_the_model_of_the_table(kind, tmp_path):
    arguments = {"y": "target", "sample_weight": "weight"}
    stream = STREAMS[kind](FRAME[columns_of(arguments)], tmp_path)
    assert_the_same(regressor(datetime_features="auto"), stream, arguments)


@pytest.mark.parametrize(
    ("estimator", "arguments"),
    [
        (classifier(), {"y": "label"}),
        (classifier(early_stopping=True, max_iter=8), {"y": "label"}),
        (classifier(early_stopping=True, class_weight="balanced"), {"y": "class", "sample_weight": "weight"}),
        (classifier(multi_strategy="multi_output_tree"), {"y": "class"}),
        (classifier(validation_folds=3), {"y": "label"}),
        (classifier(refit_all=True), {"y": "label"}),
        (regressor(subsample=0.5), {"y": "target", "offset": "start"}),
        (regressor(sampling="goss", learning_rate=0.5), {"y": "target"}),
        (regressor(sampling="mvs", subsample=0.4), {"y": "target"}),
        (regressor(), {"y": ["target", "start"]}),
        (regressor(loss="quantile", quantile=[0.1, 0.9]), {"y": "target"}),
        (regressor(bin_sample_rows=300, max_bins=30), {"y": "target", "sample_weight": "weight"}),
        (regressor(bin_sample_rows=300, min_rows_in_bin=10), {"y": "target"}),
        (regressor(bin_sample_rows=None, min_rows_in_bin=10), {"y": "target"}),
        (regressor(boosting="dart", drop_rate=0.5), {"y": "target"}),
        (regressor(boosting="ordered"), {"y": "target"}),
        (regressor(grow_policy="symmetric", max_depth=4), {"y": "target"}),
        (regressor(leaf_model="linear"), {"y": "target"}),
        (regressor(missing=[3, "Rome"]), {"y": "target"}),
        (regressor(categorical_features=["count", "city", "code"]), {"y": "target"}),
        (regressor(categorical_encoding={"city": ["onehot", "count"], "code": "target"}, max_combination=2), {"y": "target"}),
        (regressor(monotonic_cst={"a": 1}, interaction_cst=[["a", "b"], ["count", "flag"]]), {"y": "target"}),
        (regressor(categorical_features=str), {"y": "target"}),
        (BoostingRanker(max_iter=4, subsample=0.6, early_stopping=True, random_state=0), {"y": "class", "qid": "query"}),
    ],
    ids=lambda value: re.sub(r"\s+", " ", str(value)) if not isinstance(value, dict) else "",
)
def test_parameters(estimator, arguments, tmp_path):
    assert_the_same(estimator, parquet(FRAME[columns_of(arguments)], tmp_path), arguments)


@pytest.mark.parametrize("make", [list, sparse.csr_array], ids=["arrays", "sparse"])
def test_tables_without_names(make):
    x = FRAME[["a", "b", "count"]].to_numpy(dtype=float)
    x[:, 2] *= x[:, 2] > 5
    blocks = [x[start : start + 200] for start in range(0, N, 200)]
    y = FRAME["target"].to_numpy()
    stream = blocks if make is list else [sparse.csr_array(np.nan_to_num(block)) for block in blocks]
    whole = x if make is list else np.nan_to_num(x)
    assert regressor().fit(stream, y).to_bytes() == regressor().fit(whole, y).to_bytes()


def test_evaluation_sets_are_streams_too(tmp_path):
    train, held = FRAME.iloc[:1000], FRAME.iloc[1000:].reset_index(drop=True)
    model = regressor(max_iter=6, early_stopping=True)
    columns = [*FEATURES, "target"]
    expected = model.fit(
        train[FEATURES], train["target"], X_val=held[FEATURES], y_val=held["target"], eval_sets={"more": (held[FEATURES], held["target"])}
    ).to_bytes()
    stream = parquet(held[columns], tmp_path)
    fitted = model.fit(Restartable(train[columns]), "target", X_val=stream, y_val="target", eval_sets={"more": (stream, "target")})
    assert fitted.to_bytes() == expected


def test_continued_training_and_init(tmp_path):
    columns = [*FEATURES, "target"]
    stream, X, y = parquet(FRAME[columns], tmp_path), FRAME[FEATURES], FRAME["target"]
    first = regressor().fit(X, y)
    assert regressor().fit(stream, "target", init_model=first).to_bytes() == regressor().fit(X, y, init_model=first).to_bytes()
    assert regressor().partial_fit(stream, "target").partial_fit(stream, "target").to_bytes() == (
        regressor().partial_fit(X, y).partial_fit(X, y).to_bytes()
    )
    assert regressor(init=first).fit(stream, "target").model_.to_bytes() == regressor(init=first).fit(X, y).model_.to_bytes()
    assert first.refit(stream, "target").to_bytes() == regressor().fit(X, y).refit(X, y).to_bytes()


def test_csv(tmp_path):
    columns = ["a", "b", "count", "city", "code", "target"]
    frame = FRAME[columns].copy()
    frame["b"] = frame["b"].astype(float)
    frame.iloc[:700].to_csv(tmp_path / "0.csv", index=False)
    frame.iloc[700:].to_csv(tmp_path / "1.csv", index=False)
    read = pa.concat_tables([pa.csv.read_csv(tmp_path / f"{i}.csv") for i in range(2)])
    expected = regressor().fit(read.drop_columns(["target"]), read["target"].to_numpy()).to_bytes()
    assert regressor().fit(sapwood.scan(tmp_path / "*.csv"), "target").to_bytes() == expected


def test_a_plain_fit_reads_its_features_twice():
    numbers = FRAME[["a", "b", "count", "target"]]
    frames = Restartable(numbers)
    regressor(bin_sample_rows=200).fit(frames, "target")
    assert frames.n_passes == 4  # names; targets; cut points; bins


# Prediction


@pytest.mark.parametrize("kind", STREAMS)
def test_predictions_come_in_batches(kind, tmp_path):
    model = classifier().fit(FRAME[FEATURES], FRAME["label"])
    expected = model.predict_proba(FRAME[FEATURES])
    batches = list(model.predict_proba(STREAMS[kind](FRAME, tmp_path)))
    assert len(batches) > 1
    np.testing.assert_array_equal(np.concatenate(batches), expected)


def test_predictions_are_written(tmp_path):
    stream, X = parquet(FRAME, tmp_path), FRAME[FEATURES]
    model = classifier().fit(X, FRAME["label"])
    assert model.predict_proba(stream, path=tmp_path / "out.pq") is None
    written = pd.read_parquet(tmp_path / "out.pq")
    assert written.columns.tolist() == ["probability_no", "probability_yes"]
    np.testing.assert_array_equal(written.to_numpy(), model.predict_proba(X))
    model.predict(stream, path=tmp_path / "out.pq")
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "out.pq")["prediction"], model.predict(X))
    several = regressor().fit(X, FRAME[["target", "start"]])
    several.predict(X, path=str(tmp_path / "several.pq"))
    np.testing.assert_array_equal(pd.read_parquet(tmp_path / "several.pq"), several.predict(X))
    ranker = BoostingRanker(max_iter=3).fit(X, FRAME["class"], qid=FRAME["query"])
    np.testing.assert_array_equal(np.concatenate(list(ranker.predict(stream))), ranker.predict(X))
    assert ranker.score(stream, "class", qid="query") == ranker.score(X, FRAME["class"], qid=FRAME["query"])


def test_offsets_of_predictions(tmp_path):
    stream, X, start = parquet(FRAME, tmp_path), FRAME[FEATURES], FRAME["start"]
    model = regressor().fit(X, FRAME["target"], offset=start)
    expected = model.predict(X, offset=start)
    for offset in (start.to_numpy(), "start"):
        np.testing.assert_array_equal(np.concatenate(list(model.predict(stream, offset=offset))), expected)
    assert model.score(stream, "target", "weight", offset="start") == model.score(X, FRAME["target"], FRAME["weight"], offset=start)


def test_a_failed_prediction_leaves_no_file(tmp_path):
    model = regressor().fit(FRAME[["a"]], FRAME["target"])
    with pytest.raises(OSError, match="cannot write the predictions"):
        model.predict(FRAME[["a"]], path=tmp_path / "no folder" / "out.parquet")

    def broken():
        yield FRAME[["a"]].iloc[:100]
        raise KeyboardInterrupt

    class Broken:
        def __iter__(self):
            return broken()

    with pytest.raises(KeyboardInterrupt):
        model.predict(Broken(), path=tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


# Errors


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tree_method": "exact"}, "tree_method='exact' cannot be combined with a stream as X"),
        ({"tree_method": "approx"}, "tree_method='approx' cannot be combined with a stream as X"),
        ({"max_bins": 300}, "max_bins=300 cannot be combined with a stream as X"),
        ({"init": BoostingRegressor()}, "cannot be combined with a stream as X: it must be fitted"),
    ],
)
@pytest.mark.parametrize("make", [Restartable, lambda frame: iter(Restartable(frame))], ids=["iterable", "generator"])
def test_what_needs_all_rows_is_refused_before_they_are_read(parameters, message, make):
    stream = make(FRAME[["a", "target"]])
    with pytest.raises(ValueError, match=re.escape(message)):
        regressor(**parameters).fit(stream, "target")
    assert getattr(stream, "n_passes", 1) == 1  # for its names
    if not isinstance(stream, Restartable):
        assert len(next(stream)) == 311


def test_a_stream_that_changes_is_noticed():
    class Growing:
        n_rows = 100

        def __iter__(self):
            self.n_rows += 10
            return iter([FRAME[["a", "target"]].iloc[: self.n_rows]])

    class Shuffled:
        seed = 0

        def __iter__(self):
            self.seed += 1
            return iter([FRAME[["a"]].sample(frac=1, random_state=self.seed)])

    with pytest.raises(ValueError, match=r"X had .* rows when it was first read, now it has more: a stream must give the same rows"):
        regressor().fit(Growing(), "target")
    with pytest.raises(ValueError, match="Column 'a' of X has other values than when it was first read: a stream must give the same rows"):
        regressor(bin_sample_rows=200).fit(Shuffled(), FRAME["target"])


def test_kinds_that_change_are_named():
    frames = [pd.DataFrame({"a": ["x", "y"] * 20, "y": range(40)}), pd.DataFrame({"a": [1.0, 2.0] * 20, "y": range(40)})]
    with pytest.raises(ValueError, match=r"Column 'a' has kind category of 2 levels .* in one batch of the stream and number in another"):
        regressor().fit(frames, "y")
    with pytest.raises(ValueError, match="all tables of a stream must have the columns of the first one"):
        regressor().fit([FRAME[["a", "target"]], FRAME[["b", "target"]]], "target")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        sapwood.scan(tmp_path / "*.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        sapwood.scan(tmp_path)
    with pytest.raises(FileNotFoundError, match="empty list"):
        sapwood.scan([])
    (tmp_path / "a.txt").write_text("x\n1\n")
    with pytest.raises(ValueError, match=r"the format of .* is not known by its name"):
        sapwood.scan(tmp_path / "a.txt")
    assert sapwood.scan(tmp_path / "a.txt", format="csv").names == ("x",)
    with pytest.raises(ValueError, match="format='xls' is unknown"):
        sapwood.scan(tmp_path / "a.txt", format="xls")
    FRAME[["a"]].to_parquet(tmp_path / "0.parquet")
    FRAME[["b"]].to_parquet(tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="must have the same columns; only one has 'a', 'b'"):
        regressor().fit(sapwood.scan(tmp_path / "*.parquet"), FRAME["target"])


def test_a_full_disk_is_an_error_that_names_the_folder_and_leaves_nothing(tmp_path):
    code = f"""
import resource, signal
import numpy as np, pyarrow as pa
from sapwood.data.streams.sources import SpilledStream
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    SpilledStream(iter([pa.RecordBatch.from_pydict({{"a": np.zeros(1 << 20)}})]), {str(tmp_path)!r})
except OSError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "cannot store the rows of X" in run.stdout
    assert str(tmp_path) in run.stdout
    assert not list(tmp_path.iterdir())


def test_temporary_files_are_removed(tmp_path):
    stream = open_stream(iter(Restartable(FRAME)), str(tmp_path))
    assert isinstance(stream, SpilledStream)
    assert len(os.listdir(tmp_path)) == 1
    del stream
    assert not os.listdir(tmp_path)

    def broken():
        yield FRAME
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_stream(broken(), str(tmp_path))
    assert not os.listdir(tmp_path)


def test_pyarrow_is_not_imported():
    """Without pandas, which scikit-learn imports, and which imports pyarrow."""
    names = "('pyarrow', 'polars', 'duckdb', 'dask', 'ray')"
    code = f"import sys; sys.modules['pandas'] = None; import sapwood; print([name for name in {names} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"

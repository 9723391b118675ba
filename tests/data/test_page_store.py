"""Pages in files: the same bytes as in memory, stored pages that are used again, and faults."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor
from sapwood.data import page_store
from sapwood.data.page_store import PageError, PageStorage, StoredPages
from sapwood.estimators.memory_plan import parse_limit

N = 3000
rng = np.random.default_rng(0)


def make_frame():
    a, b = rng.normal(size=N).round(2), rng.normal(size=N)
    a[rng.random(N) < 0.05] = np.nan
    signal = np.nan_to_num(a) + b
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "count": rng.integers(0, 9, N),
            "city": rng.choice(["Oslo", "Rome", "Kyiv", "Bonn"], N).tolist(),
            "code": [f"c{k}" for k in rng.integers(0, 400, N)],
            "target": signal + rng.normal(size=N),
            "class": np.digitize(signal, [-1, 0, 1]),
            "weight": rng.integers(0, 4, N).astype(float),
            "query": np.sort(rng.integers(0, 60, N)),
        }
    )


FRAME = make_frame()
FEATURES = ["a", "b", "count", "city", "code"]
SMALL = {"max_iter": 4, "min_samples_leaf": 10, "random_state": 3}
ROW_BYTES = 8  # of five features


def regressor(**parameters):
    return BoostingRegressor(**(SMALL | parameters))


def classifier(**parameters):
    return BoostingClassifier(**(SMALL | parameters))


FITS = {
    "plain": (regressor(), "target", {}),
    "weights": (regressor(leaf_batch=3), "target", {"sample_weight": "weight"}),
    "early stopping": (regressor(early_stopping=True, max_iter=8), "target", {}),
    "uniform": (regressor(subsample=0.5, leaf_batch=5), "target", {}),
    "goss": (regressor(sampling="goss", learning_rate=0.5), "target", {}),
    "mvs": (regressor(sampling="mvs", subsample=0.4), "target", {}),
    "depthwise": (regressor(grow_policy="depthwise", max_depth=4), "target", {}),
    "symmetric": (regressor(grow_policy="symmetric", max_depth=4), "target", {}),
    "forced": (regressor(forced_splits={"feature": "b", "threshold": 0.3}), "target", {}),
    "monotonic": (regressor(monotonic_cst={"b": 1}, max_features=0.5), "target", {}),
    "linear leaves": (regressor(leaf_model="linear"), "target", {}),
    "dart": (regressor(boosting="dart", drop_rate=0.5), "target", {}),
    "ordered": (regressor(boosting="ordered"), "target", {}),
    "classes": (classifier(early_stopping=True), "class", {"sample_weight": "weight"}),
    "shared trees": (classifier(multi_strategy="multi_output_tree"), "class", {}),
    "folds": (classifier(validation_folds=2), "class", {}),
    "refit": (classifier(refit_all=True), "class", {}),
    "ranking": (BoostingRanker(**SMALL, subsample=0.6, early_stopping=True), "class", {"qid": "query"}),
}


def fit(estimator, y, more, X=None, **parameters):
    columns = [*FEATURES, y, *more.values()]
    return estimator.set_params(**parameters).fit(FRAME[columns] if X is None else X(FRAME[columns]), y, **more).to_bytes()


def with_pages(monkeypatch, n_pages, n_rows=N):
    monkeypatch.setattr(page_store, "PAGE_BYTES", -(-n_rows // n_pages) * ROW_BYTES)


@pytest.fixture(scope="module")
def expected():
    return {name: fit(*given) for name, given in FITS.items()}


def keep_in_memory(monkeypatch, resident):
    """Bytes of pages that stay in memory: with None, all, as with pages_dir alone."""
    monkeypatch.setattr(
        "sapwood.estimators.memory_plan.PageStorage",
        lambda folders, compression: PageStorage(folders, resident, compression=compression),
    )


@pytest.mark.parametrize("resident", [0, None])
@pytest.mark.parametrize("name", FITS)
def test_pages_in_files_leave_no_trace(name, resident, expected, tmp_path, monkeypatch):
    with_pages(monkeypatch, 3)
    keep_in_memory(monkeypatch, resident)
    none = {"pages_dir": None, "pages_compression": None}
    try:
        assert fit(*FITS[name], pages_dir=str(tmp_path)) == expected[name]
    finally:
        FITS[name][0].set_params(**none)


@pytest.mark.parametrize("n_pages", [1, 3, 7])
@pytest.mark.parametrize("compression", [None, "zstd"])
@pytest.mark.parametrize("resident", [0, N * ROW_BYTES // 2, None])
def test_any_number_of_pages_in_memory_and_in_files(n_pages, compression, resident, expected, tmp_path, monkeypatch):
    with_pages(monkeypatch, n_pages)
    keep_in_memory(monkeypatch, resident)
    folders = [str(tmp_path / "one disk"), str(tmp_path / "another")]
    made = fit(regressor(), "target", {}, pages_dir=folders, pages_compression=compression, n_jobs=2)
    assert made == expected["plain"]
    assert sum(name.startswith("page-") for folder in folders for _, _, names in os.walk(folder) for name in names) == n_pages


def test_streams_and_arrays_in_files(expected, tmp_path, monkeypatch):
    with_pages(monkeypatch, 4)
    frames = [FRAME.iloc[start : start + 501] for start in range(0, N, 501)]
    stream = fit(regressor(), "target", {}, X=lambda frame: [own[frame.columns] for own in frames], pages_dir=tmp_path)
    assert stream == expected["plain"]
    x, y = FRAME[["a", "b", "count"]].to_numpy(), FRAME["target"]
    assert regressor(pages_dir=tmp_path).fit(x, y).to_bytes() == regressor().fit(x, y).to_bytes()
    rare = sparse.csr_array(np.where(x > 1, x, 0))
    assert regressor(pages_dir=tmp_path).fit(rare, y).to_bytes() == regressor().fit(rare, y).to_bytes()


def onehot(n_levels, n_rows=N, clash=False):
    """Rows with one 1 in each block of columns, which exclude each other; with `clash`, two columns of a block in one row."""
    own = np.random.default_rng(1)
    blocks = [np.eye(n)[own.integers(0, n, n_rows)] for n in n_levels]
    if clash:
        blocks[0][n_rows // 2 + 1, :2] = 1
    return np.hstack([*blocks, own.normal(size=(n_rows, 2))])


@pytest.mark.parametrize("kind", ["dense", "sparse", "missing"])
@pytest.mark.parametrize("clash", [False, True])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_bundles_and_sparse_rows_in_files(kind, clash, early_stopping, tmp_path, monkeypatch):
    """Features that exclude each other share a column of the files, too. Bundles are chosen from a sample; rows may clash."""
    monkeypatch.setattr("sapwood.data.bundling.EXCLUSION_ROWS", 64)
    monkeypatch.setattr("sapwood.data.sparse.SAMPLE_ROWS", 64)
    x, y = onehot([3, 20, 40], clash=clash), FRAME["target"]
    y = y + x[:, 1] - 2 * x[:, 10] + x[:, 30]
    if kind != "dense":
        x[5, 3] = np.nan
        x = sparse.csr_array(x)
    monkeypatch.setattr(page_store, "PAGE_BYTES", 40_000)
    keep_in_memory(monkeypatch, 0)
    settings = {"early_stopping": early_stopping, "sparse_absent": "missing" if kind == "missing" else "zero"}
    in_memory = regressor(**settings).fit(x, y).to_bytes()
    assert regressor(**settings, pages_dir=tmp_path).fit(x, y).to_bytes() == in_memory
    layouts = [StoredPages.open((str(tmp_path),), path.name.removeprefix("sapwood-")).layout for path in tmp_path.glob("sapwood-*")]
    assert len(layouts) == 1 + early_stopping
    assert all(layout.columns.n_columns < 30 and not layout.columns.any_lists for layout in layouts)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_wide_sparse_rows_with_a_memory_limit(monkeypatch):
    """In memory, features are in row lists; in files, they have columns."""
    own = np.random.default_rng(2)
    x = sparse.random_array((N, 300), density=0.02, rng=own, format="csr")
    y = np.asarray(x[:, :5].sum(axis=1)).ravel() + own.normal(size=N) / 9
    in_memory = regressor().fit(x, y).to_bytes()
    stored = []
    monkeypatch.setattr(page_store.PageWriter, "_write", _counting(page_store.PageWriter._write, stored))
    assert regressor(memory_limit="500MB").fit(x, y).to_bytes() == in_memory
    assert not stored
    monkeypatch.setattr("sapwood.estimators.fitting.plan_storage", lambda p, data: PageStorage((), 0, 100_000))
    assert regressor(memory_limit="500MB").fit(x, y).to_bytes() == in_memory
    assert stored


def test_stored_pages_are_used_again(expected, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(page_store.PageWriter, "_write", _counting(page_store.PageWriter._write, written))
    assert fit(regressor(), "target", {}, pages_dir=tmp_path) == expected["plain"]
    assert len(written) == 1
    assert fit(regressor(), "target", {}, pages_dir=tmp_path) == expected["plain"]
    fit(regressor(), "target", {}, pages_dir=tmp_path, max_leaf_nodes=5, learning_rate=0.3)
    assert len(written) == 1
    fit(regressor(), "target", {}, pages_dir=tmp_path, max_bins=20)  # other bins
    fit(regressor(), "target", {"sample_weight": "weight"}, pages_dir=tmp_path)  # rows of weight 0 are left out
    assert len(written) == 3


def _counting(function, calls):
    def counted(self, pages):
        calls.append(1)
        return function(self, pages)

    return counted


# Faults


def stored(tmp_path):
    (folder,) = [path for path in tmp_path.iterdir() if path.name.startswith("sapwood-")]
    return folder


def assert_lost(tmp_path, message, name="page-"):
    with pytest.raises(OSError, match=message) as raised:
        fit(regressor(), "target", {}, pages_dir=tmp_path)
    assert name in str(raised.value)


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_damaged_page_is_named(compression, tmp_path, monkeypatch):
    with_pages(monkeypatch, 3)
    fit(regressor(), "target", {}, pages_dir=tmp_path, pages_compression=compression)
    page = stored(tmp_path) / "page-000001.bin"
    whole = page.read_bytes()
    page.write_bytes(whole[:-5])
    assert_lost(tmp_path, "a page is truncated: ", "page-000001.bin")
    page.write_bytes(whole[:50] + bytes([whole[50] ^ 1]) + whole[51:])
    assert_lost(tmp_path, "a page is damaged: ", "page-000001.bin")
    page.unlink()
    assert_lost(tmp_path, "cannot read a page: No such file", "page-000001.bin")
    page.write_bytes(whole)
    fit(regressor(), "target", {}, pages_dir=tmp_path)


@pytest.mark.parametrize("fault", ["truncated", "deleted"])
def test_a_page_that_is_lost_during_training(fault, tmp_path, monkeypatch):
    from sapwood.callbacks import Callback

    with_pages(monkeypatch, 3)
    monkeypatch.setattr("sapwood.estimators.memory_plan.PageStorage", lambda folders, compression: PageStorage(folders, 0))

    class Lose(Callback):
        def after_round(self, state):
            page = stored(tmp_path) / "page-000002.bin"
            if fault == "deleted":
                page.unlink()
            else:
                os.truncate(page, 10)
            return False

    model = regressor(pages_dir=tmp_path)
    with pytest.raises(PageError, match=r"page-000002\.bin"):
        model.fit(FRAME[[*FEATURES, "target"]], "target", callbacks=[Lose()])
    assert not hasattr(model, "model_")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"pages": [{"folder": 0, "file": "../../etc/passwd", "first_row": 0, "n_rows": 1, "n_bytes": 1, "checksum": 0}]},
        {"pages": [{"folder": 9, "file": "page-000000.bin", "first_row": 0, "n_rows": 1, "n_bytes": 1, "checksum": 0}]},
        {"pages": [{"folder": 0, "file": "page-000000.bin", "first_row": 0, "n_rows": -1, "n_bytes": 1, "checksum": 0}]},
        {"pages": 3},
    ],
)
def test_a_damaged_manifest_is_refused(change, tmp_path):
    fit(regressor(), "target", {}, pages_dir=tmp_path)
    manifest = stored(tmp_path) / page_store.MANIFEST
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | change))
    assert_lost(tmp_path, "the stored pages are damaged", stored(tmp_path).name)
    with pytest.raises(PageError, match="damaged"):
        StoredPages.open((str(tmp_path),), stored(tmp_path).name.removeprefix("sapwood-"))


def test_an_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(self, pages):
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr(page_store.PageWriter, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(regressor(), "target", {}, pages_dir=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_an_error_that_names_the_folder_and_leaves_nothing(tmp_path):
    code = f"""
import resource, signal, numpy as np
from sapwood import BoostingRegressor
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
x = np.random.default_rng(0).random((100_000, 8))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))
try:
    BoostingRegressor(max_iter=2, pages_dir={str(tmp_path)!r}).fit(x, x[:, 0])
except OSError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert "cannot store pages" in run.stdout
    assert str(tmp_path) in run.stdout
    assert not list(tmp_path.iterdir())


# Memory limits


@pytest.mark.parametrize(
    ("limit", "n_bytes"), [("2GB", 2 * 10**9), ("500 MiB", 500 << 20), ("1.5kb", 1500), (12345, 12345), ("77", 77), ("3TiB", 3 << 40)]
)
def test_limits(limit, n_bytes):
    assert parse_limit(limit) == n_bytes
    assert parse_limit(0.5) > 1 << 20


@pytest.mark.parametrize("limit", ["lots", "2XB", "-1GB", ""])
def test_limits_that_cannot_be_read(limit):
    with pytest.raises(ValueError, match=r"memory_limit must be bytes, a fraction, or text such as '2GB'"):
        regressor(memory_limit=limit).fit(FRAME[["a"]], FRAME["target"])


def test_a_limit_that_is_too_small_is_refused_before_the_rows_are_read():
    class Rows:
        def __iter__(self):
            raise AssertionError("read")

    from sapwood.data.streams import Stream

    class Counted(Stream):
        names, n_columns = ("a", "y"), 2

        def batches(self, names):
            raise AssertionError("read")

        def count(self):
            return 10**9

    with pytest.raises(
        ValueError, match=r"memory_limit='1GB' is too small for this fit, which needs about [\d,]+ MB: \d+ bytes for each of"
    ):
        regressor(memory_limit="1GB").fit(Counted(), "y")


def test_the_smallest_limit_that_the_error_names_is_enough(expected):
    with pytest.raises(ValueError, match="too small") as raised:
        fit(regressor(), "target", {}, memory_limit="1MB")
    least = re.search(r"give at least memory_limit='(\w+)'", str(raised.value))[1]
    assert fit(regressor(), "target", {}, memory_limit=least) == expected["plain"]
    assert fit(regressor(), "target", {}, memory_limit=0.5) == expected["plain"]


PEAK = """
import sys
import numpy as np
import resource
from sapwood import BoostingRegressor

n_rows, n_features, limit = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
block = (1 << 20) // n_features


class Rows:
    def __iter__(self):
        for start in range(0, n_rows, block):
            yield np.random.default_rng(start).random((min(block, n_rows - start), n_features), dtype=np.float32)


def status(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))


y = np.concatenate([rows[:, 0] + rows[:, 1] * rows[:, 2] for rows in Rows()])
BoostingRegressor(max_iter=2).fit(np.random.default_rng(0).random((100, 3)), y[:100])
start = status("VmRSS")
if limit != "None":
    data = status("VmData")
    resource.setrlimit(resource.RLIMIT_DATA, (data + 400_000_000, data + 400_000_000))
settings = {"max_iter": 2, "leaf_batch": 4, "bin_sample_rows": 20_000, "early_stopping": False, "n_jobs": 2}
model = BoostingRegressor(**settings, memory_limit=None if limit == "None" else limit).fit(Rows(), y)
import hashlib
print(status("VmHWM") - start, hashlib.sha256(model.to_bytes()).hexdigest())
"""


def peak(n_rows, n_features, limit):
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(n_rows), str(n_features), str(limit)], capture_output=True, text=True, timeout=600, check=True
    )
    used, digest = run.stdout.split()
    return int(used), digest


def test_peak_memory_stays_below_the_limit_with_data_of_five_times_the_limit():
    n_rows, n_features, limit = 230_000, 400, 147_000_000
    assert n_rows * n_features * 8 >= 5 * limit
    used, _ = peak(n_rows, n_features, limit)
    assert used < limit

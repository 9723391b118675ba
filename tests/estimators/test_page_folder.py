"""Pages in a folder as X of later fits: the bytes of a fit on the rows themselves, or an error that names the difference."""

import os
import re

import numpy as np
import pytest
from scipy import sparse

import sapwood
from sapwood import BoostingClassifier, BoostingRanker, BoostingRegressor, Pages
from sapwood.data import page_store
from sapwood.data.page_store import PageError
from tests.data.test_page_store import FEATURES, FITS, FRAME, SMALL, N, classifier, regressor

NUMBERS = FRAME[["a", "b", "count"]].to_numpy()
TARGET = FRAME["target"].to_numpy()


@pytest.fixture(autouse=True)
def several_pages(monkeypatch):
    monkeypatch.setattr(page_store, "PAGE_BYTES", -(-N // 3) * 8)


@pytest.fixture
def unread(monkeypatch):
    """Fail if a row is binned."""

    def never():
        def fail(*_):
            raise AssertionError("rows were binned")

        monkeypatch.setattr("sapwood.data.pages._build_plain", fail)
        monkeypatch.setattr("sapwood.data.binning.Binning.fit", fail)

    return never


@pytest.mark.parametrize("name", FITS)
def test_the_bytes_of_a_fit_on_the_rows(name, tmp_path, unread):
    estimator, y, more = FITS[name]
    X = FRAME[[*FEATURES, y, *more.values()]]
    type(estimator)(**estimator.get_params() | {"pages_dir": tmp_path}).fit(X, y, **more)
    changed = estimator.get_params() | {"learning_rate": 0.3, "pages_dir": None}
    expected = type(estimator)(**changed).fit(X, y, **more).to_bytes()
    pages = Pages.open(tmp_path)
    assert pages.shape == (N, len(FEATURES))
    assert len(pages) == N
    unread()
    assert type(estimator)(**changed).fit(pages, **pages.arguments).to_bytes() == expected


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_folders_compression_and_memory_limit(compression, tmp_path, unread):
    folders = [tmp_path / "one disk", tmp_path / "another"]
    expected = regressor(pages_dir=folders, pages_compression=compression).fit(NUMBERS, TARGET).to_bytes()
    unread()
    pages = Pages.open(folders)
    assert regressor().fit(pages, pages.y).to_bytes() == expected
    assert regressor(memory_limit="90MB", n_jobs=2).fit(pages, TARGET).to_bytes() == expected
    with pytest.raises(ValueError, match="memory_limit='1MB' is too small"):
        regressor(memory_limit="1MB").fit(pages, pages.y)
    with pytest.raises(PageError, match="damaged"):  # the second folder is not given
        regressor().fit(Pages.open(folders[:1]), TARGET)


def test_streams_and_sparse_rows(tmp_path, unread):
    frames = [FRAME[[*FEATURES, "target"]].iloc[start : start + 700] for start in range(0, N, 700)]
    expected = regressor(pages_dir=tmp_path / "stream").fit(frames, "target").to_bytes()
    rare = sparse.csr_array(np.where(NUMBERS > 1, NUMBERS, 0))
    missing = {"sparse_absent": "missing"}
    of_sparse = regressor(pages_dir=tmp_path / "sparse", **missing).fit(rare, TARGET).to_bytes()
    unread()
    stream = Pages.open(tmp_path / "stream")
    assert regressor().fit(stream, stream.y).to_bytes() == expected
    assert regressor(**missing).fit(Pages.open(tmp_path / "sparse"), TARGET).to_bytes() == of_sparse


def test_arguments_are_stored(tmp_path):
    labels = np.where(FRAME["class"] > 1, "yes", "no").astype(object)
    offset = np.linspace(-1, 1, N)
    weight = FRAME["weight"].to_numpy() + 1
    fitted = BoostingClassifier(**SMALL, pages_dir=tmp_path).fit(NUMBERS, labels, sample_weight=weight, offset=offset)
    pages = Pages.open(tmp_path)
    assert set(pages.arguments) == {"y", "sample_weight", "offset"}
    assert pages.y.tolist() == labels.tolist()
    assert BoostingClassifier(**SMALL).fit(pages, **pages.arguments).to_bytes() == fitted.to_bytes()
    again = BoostingClassifier(**SMALL, loss="focal").fit(pages, labels, sample_weight=weight)
    assert again.to_bytes() == BoostingClassifier(**SMALL, loss="focal").fit(NUMBERS, labels, sample_weight=weight).to_bytes()


def test_other_targets_and_evaluation_sets(tmp_path):
    """The columns are numbers: bins do not depend on targets."""
    regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    pages, other = Pages.open(tmp_path), TARGET**2
    assert regressor().fit(pages, other).to_bytes() == regressor().fit(NUMBERS, other).to_bytes()
    validation = {"X_val": NUMBERS[:500], "y_val": other[:500]}
    assert regressor().fit(pages, other, **validation).to_bytes() == regressor().fit(NUMBERS, other, **validation).to_bytes()


def test_several_settings_in_one_folder(tmp_path, unread):
    expected = {}
    for max_bins in (20, 255):
        expected[max_bins] = regressor(max_bins=max_bins, pages_dir=tmp_path).fit(NUMBERS, TARGET).to_bytes()
    unread()
    pages = Pages.open(tmp_path)
    for max_bins, of_rows in expected.items():
        assert regressor(max_bins=max_bins).fit(pages, TARGET).to_bytes() == of_rows


def test_continued_training(tmp_path):
    first = regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    pages = Pages.open(tmp_path)
    expected = regressor().fit(NUMBERS, TARGET).partial_fit(NUMBERS, TARGET).to_bytes()
    assert regressor().fit(NUMBERS, TARGET).partial_fit(pages, TARGET).to_bytes() == expected
    other = regressor().fit(NUMBERS * 2, TARGET)
    with pytest.raises(ValueError, match="continues a model with other bins than the stored pages"):
        other.partial_fit(pages, TARGET)
    assert first.set_params(pages_dir=None).refit(pages, TARGET * 2).n_iter_ == SMALL["max_iter"]


# Differences


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"max_bins": 30}, {}, "max_bins was 255, now it is 30"),
        ({"random_state": 4}, {}, "random_state was"),
        ({"bin_sample_rows": 100}, {}, "bin_sample_rows was"),
        ({"min_rows_in_bin": 50}, {}, "min_rows_in_bin was"),
        ({"early_stopping": True}, {}, r"the selection of training rows \(by early stopping, weights or targets\) was 'all'|was all"),
        ({"missing": -1.0}, {}, "missing was"),
        ({"forced_splits": {"feature": 1, "threshold": 0.25}}, {}, "forced_splits was None"),
        ({}, {"sample_weight": np.arange(N) + 1.0}, "sample_weight or class_weight was none"),
    ],
)
def test_a_difference_is_named(parameters, arguments, message, tmp_path):
    regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    with pytest.raises(ValueError, match=message):
        regressor(**parameters).fit(Pages.open(tmp_path), TARGET, **arguments)


def test_targets_that_categories_are_encoded_by(tmp_path):
    X = FRAME[FEATURES]
    classifier(pages_dir=tmp_path).fit(X, FRAME["class"])
    pages = Pages.open(tmp_path)
    assert classifier().fit(pages, FRAME["class"]).to_bytes() == classifier().fit(X, FRAME["class"]).to_bytes()
    with pytest.raises(ValueError, match="do not belong to this fit: y was"):
        classifier().fit(pages, np.roll(FRAME["class"], 1))
    with pytest.raises(ValueError, match="the encoding of categories was"):
        classifier(categorical_encoding="count").fit(pages, FRAME["class"])
    with pytest.raises(ValueError, match="stored with other categorical_features"):
        classifier(categorical_features=["city", "code", "count"]).fit(pages, FRAME["class"])


def test_refused(tmp_path):
    fitted = regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    pages = Pages.open(tmp_path)
    with pytest.raises(ValueError, match="pages_dir cannot be combined with stored pages as X"):
        regressor(pages_dir=tmp_path).fit(pages, TARGET)
    with pytest.raises(ValueError, match=r"init cannot be combined with stored pages as X.*give an offset"):
        regressor(init=fitted).fit(pages, TARGET)
    with pytest.raises(ValueError, match="X_val must be a table"):
        regressor().fit(NUMBERS, TARGET, X_val=pages, y_val=TARGET)
    with pytest.raises(ValueError, match=r"X of eval_sets\['other'\] must be a table"):
        regressor().fit(NUMBERS, TARGET, eval_sets={"other": (pages, TARGET)})
    for what in (fitted.predict, fitted.explain):
        with pytest.raises(ValueError, match="bins, not the values"):
            what(pages)
    for tree_method in ("exact", "approx"):
        with pytest.raises(ValueError, match="bins, not the values"):
            regressor(tree_method=tree_method).fit(pages, TARGET)
    with pytest.raises(ValueError, match=r"y has 5|inconsistent|rows"):
        regressor().fit(pages, TARGET[:5])
    with pytest.raises(ValueError, match="the name of a column, but X has no column names"):
        regressor().fit(pages, "target")


# Folders


def test_no_folder_and_foreign_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot open stored pages") as raised:
        Pages.open(tmp_path / "none")
    assert str(tmp_path / "none") in str(raised.value)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "data-1.npz").write_bytes(b"mine")
    with pytest.raises(FileNotFoundError, match="there are no stored pages: fit with pages_dir first"):
        Pages.open(tmp_path)
    with pytest.raises(NotADirectoryError):
        Pages.open(tmp_path / "notes.txt")
    with pytest.raises(ValueError, match="empty list"):
        Pages.open([])


def test_several_tables(tmp_path):
    regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    (first,) = tmp_path.glob("data-*.npz")
    regressor(pages_dir=tmp_path).fit(NUMBERS + 1, TARGET)
    with pytest.raises(ValueError, match=r"has pages of several tables: open the file of one of them.*data-\w+\.npz \(3,000 x 3\)"):
        Pages.open(tmp_path)
    assert regressor().fit(Pages.open(first), TARGET).to_bytes() == regressor().fit(NUMBERS, TARGET).to_bytes()


def record_of(tmp_path):
    regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    (path,) = tmp_path.glob("data-*.npz")
    return path


def test_a_damaged_record_is_named(tmp_path):
    path = record_of(tmp_path)
    whole = path.read_bytes()
    for n in (0, 1, 100, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:n])
        with pytest.raises(PageError, match="the stored pages are damaged") as raised:
            Pages.open(tmp_path)
        assert path.name in str(raised.value)
    for at in range(30, len(whole) - 30, len(whole) // 40):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            pages = Pages.open(tmp_path)
            assert pages.y.tolist() == TARGET.tolist()
        except PageError as error:
            assert path.name in str(error)


def test_pickles_are_not_read(tmp_path):
    path = record_of(tmp_path)
    np.savez(path, about=np.array([{"a": 1}], dtype=object))
    with pytest.raises(PageError, match="damaged"):
        Pages.open(tmp_path)


@pytest.mark.parametrize("fault", ["truncated", "deleted", "changed", "no pages", "no manifest"])
def test_pages_that_are_lost_are_named(fault, tmp_path):
    record_of(tmp_path)
    pages = Pages.open(tmp_path)
    (folder,) = tmp_path.glob("sapwood-*")
    page = folder / "page-000001.bin"
    whole = page.read_bytes()
    if fault == "truncated":
        os.truncate(page, len(whole) - 1)
    elif fault == "deleted":
        page.unlink()
    elif fault == "changed":
        page.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    else:
        for path in folder.iterdir() if fault == "no pages" else [folder / page_store.MANIFEST]:
            path.unlink()
    with pytest.raises(PageError, match=re.escape(str(tmp_path))) as raised:
        regressor().fit(pages, pages.y)
    assert ("page-000001.bin" in str(raised.value)) == (fault in ("truncated", "deleted", "changed"))
    assert regressor(pages_dir=tmp_path / "again").fit(NUMBERS, TARGET).n_iter_ == SMALL["max_iter"]


def test_a_full_disk_leaves_no_record(tmp_path, monkeypatch):
    def full(file, **arrays):
        file.write(b"begin")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sapwood.estimators.page_folder.np.savez", full)
    with pytest.raises(OSError, match=r"cannot store pages: No space left.*" + re.escape(str(tmp_path))):
        regressor(pages_dir=tmp_path).fit(NUMBERS, TARGET)
    assert not [path for path in tmp_path.iterdir() if "data-" in path.name]


def test_survival_and_structured_targets(tmp_path):
    time = np.where(np.arange(N) % 3, np.exp(TARGET / 4), -np.exp(TARGET / 4))
    fit = BoostingRegressor(loss="cox", **SMALL)
    expected = fit.fit(NUMBERS, time).to_bytes()
    BoostingRegressor(loss="cox", **SMALL, pages_dir=tmp_path).fit(NUMBERS, time)
    assert fit.fit(Pages.open(tmp_path), time).to_bytes() == expected


def test_ranking_by_groups(tmp_path):
    sizes = np.bincount(FRAME["query"])
    ranked = BoostingRanker(**SMALL)
    expected = ranked.fit(NUMBERS, FRAME["class"], group=sizes).to_bytes()
    BoostingRanker(**SMALL, pages_dir=tmp_path).fit(NUMBERS, FRAME["class"], group=sizes)
    pages = sapwood.Pages.open(tmp_path)
    assert ranked.fit(pages, **pages.arguments).to_bytes() == expected

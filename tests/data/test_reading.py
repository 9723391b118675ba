"""Reading of tables: frames are opened once, names are checked as in scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_selector

from sapwood import BoostingRegressor
from sapwood.data import reading
from sapwood.data.columns import Schema
from sapwood.data.reading import Source, read_table

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.integers(0, 5, 60), "c": RNG.choice(["x", "y"], 60)})
Y = FRAME["a"].to_numpy() + FRAME["b"].to_numpy()


class TestFramesAreOpenedOnce:
    @pytest.fixture
    def opened(self, monkeypatch):
        """Opened tables, in order."""
        seen, open_frame = [], reading.open_frame
        monkeypatch.setattr(reading, "open_frame", lambda X: seen.append(X) or open_frame(X))
        return seen

    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"monotonic_cst": {float: 1}, "max_bins": {np.integer: 16}},
            {"categorical_features": make_column_selector(dtype_include="object")},
        ],
        ids=["plain", "by dtype", "by callable"],
    )
    def test_in_fit_and_predict(self, opened, parameters):
        frame = FRAME.astype({"c": object})
        estimator = BoostingRegressor(max_iter=2, **parameters).fit(frame, Y)
        assert [one is frame for one in opened] == [True]
        other = frame.copy()
        estimator.predict(other)
        assert [one is other for one in opened] == [False, True]

    def test_with_other_models(self, opened):
        first = BoostingRegressor(max_iter=2).fit(FRAME, Y)
        del opened[:]
        second = BoostingRegressor(max_iter=2, init=first.model_).fit(FRAME, Y)
        BoostingRegressor(max_iter=2, init=first).fit(FRAME, Y)
        second.predict(FRAME)
        second.explain(FRAME)
        assert len(opened) == 4

    def test_a_source_is_its_own_source(self):
        source = Source(FRAME)
        assert Source.of(source) is source
        assert source.frame is source.frame


class TestNames:
    named, nameless = Schema(2, ("a", "b")), Schema(2)
    frame, array = FRAME[["a", "b"]], FRAME[["a", "b"]].to_numpy()

    def test_an_estimator_warns_if_only_one_has_names(self):
        with pytest.warns(UserWarning, match="X does not have valid feature names, but Name was fitted with feature names"):
            read_table(self.array, self.named, "Name")
        with pytest.warns(UserWarning, match="X has feature names, but Name was fitted without feature names"):
            read_table(self.frame, self.nameless, "Name")

    @pytest.mark.parametrize("reader", ["Name", None])
    def test_no_warning_otherwise(self, reader):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_table(self.frame, self.named, reader)
            read_table(self.array, self.nameless, reader)
            if reader is None:
                read_table(self.array, self.named)
                read_table(self.frame, self.nameless)

    def test_names_have_priority_over_positions(self):
        table = read_table(self.frame[["b", "a"]], self.named, "Name")
        np.testing.assert_array_equal(table.dense(slice(0, table.n_rows)), self.array)

    @pytest.mark.parametrize("reader", ["Name", None])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, np.ndarray.tolist], ids=["array", "sparse", "list"])
    def test_another_number_of_columns(self, make, reader):
        with pytest.raises(ValueError, match=f"X has 1 features, but {reader or 'Model'} is expecting 2 features as input"):
            read_table(make(self.array[:, :1]), self.nameless, reader)

    def test_no_rows(self):
        for x in (self.array[:0], self.frame.iloc[:0]):
            with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
                read_table(x, self.nameless)

import pytest

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.model.export import EXPORTERS, ExportError
from tests.model.export import kinds


def test_a_format_that_is_none():
    with pytest.raises(ValueError, match=r"format='pmml' is unknown; choose from c"):
        kinds.fitted("squares").export("pmml")


@pytest.mark.parametrize("format", EXPORTERS)
class TestWhatTreesDoNotKnow:
    def test_init(self, format):
        x = kinds.numbers()
        y = kinds.target(x)
        model = BoostingRegressor(max_iter=2, init=BoostingRegressor(max_iter=1)).fit(x, y)
        with pytest.raises(ExportError, match=r"init=.* cannot be exported"):
            model.export(format)

    def test_one_class(self, format):
        model = BoostingClassifier(max_iter=2).fit(kinds.numbers(), ["only"] * kinds.N_ROWS)
        with pytest.raises(ExportError, match="y had only 'only'"):
            model.export(format)


@pytest.mark.parametrize("format", [name for name, exporter in EXPORTERS.items() if not exporter.supports_absent])
def test_own_missing_values(format):
    with pytest.raises(ExportError, match=rf"format='{format}' does not support missing=\[-3.0, 0.0, 99.0\]: use 'c' or 'onnx'"):
        kinds.fitted("own missing values").export(format)


@pytest.mark.parametrize("format", [name for name, exporter in EXPORTERS.items() if not exporter.supports_calendar])
def test_calendar_parts(format):
    with pytest.raises(ExportError, match=rf"format='{format}' does not support calendar parts of datetimes \(of when\): use 'c'"):
        kinds.fitted("calendar").export(format)


@pytest.mark.parametrize("format", [name for name, exporter in EXPORTERS.items() if not exporter.supports_crosses])
def test_cross_features(format):
    with pytest.raises(
        ExportError, match=rf"format='{format}' does not support cross features \(column_1 \* column_2\): use 'c' or 'onnx', or"
    ):
        kinds.fitted("cross features").export(format)


@pytest.mark.parametrize("format", ["c", "onnx"])
def test_clocks_that_change(format):
    x = kinds.moments(zone="Europe/Berlin")
    model = BoostingRegressor(max_iter=2, datetime_features=["hour"]).fit(x, x["when"].dt.hour.fillna(0))
    with pytest.raises(ExportError, match="calendar parts of 'when' in the time zone Europe/Berlin: convert the column to UTC"):
        model.export(format)

import matplotlib as mpl
import pytest

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")

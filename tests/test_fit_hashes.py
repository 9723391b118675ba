"""Every fit of `tests/fit_hashes.py` gives the bytes that were recorded: those of the model, of the saved estimator and of predictions.

They were recorded on two threads and are compared on one, which is faster beside other test processes. Where a change is meant to change
them, record them again: `python tests/fit_hashes.py --write`.
"""

import pytest

from tests.cpus import one_cpu
from tests.fit_hashes import FITS, difference, recorded

RECORDED = recorded()


@pytest.fixture(scope="module", autouse=True)
def _one_cpu():
    with one_cpu():
        yield


def test_every_fit_is_recorded():
    assert set(RECORDED) == set(FITS)


@pytest.mark.parametrize("name", FITS)
def test_a_fit_has_the_recorded_bytes(name):
    assert difference(FITS[name].hashes(), RECORDED.get(name)) is None

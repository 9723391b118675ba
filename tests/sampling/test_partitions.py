"""Samplers draw the same rows for any number of partitions."""

import numpy as np
import pytest

from sapwood.data.queries import Queries
from sapwood.data.row_range import RowRange
from sapwood.runtime.execution import SERIAL
from sapwood.sampling.rows import THRESHOLD_ROWS, BayesianBootstrap, MinimalVariance, OneSide, RowSampler, Stratified, Uniform, WholeQueries
from sapwood.trees.gradients import FixedGradients
from tests.partitions import run, slices
from tests.sampling.test_rows import make

SAMPLERS = [
    RowSampler(),
    Uniform(0.3),
    OneSide(0.2, 0.1),
    OneSide(0.2, 0.1, first_rounds=2),
    MinimalVariance(0.3),
    BayesianBootstrap(0.7),
    Stratified(0.3),
    WholeQueries(0.3),
]
partitions = pytest.mark.parametrize("n", [2, 3, 5])


def data_set(n_rows, by_class=False):
    rng = np.random.default_rng(1)
    classes = rng.choice(4, n_rows, p=[0.6, 0.3, 0.0985, 0.0015]).astype(float)
    sizes = np.bincount(np.sort(rng.integers(0, max(1, n_rows // 5), n_rows)))
    return make(n_rows), np.sort(classes) if by_class else classes, sizes[sizes > 0]


def draw(sampler, gradients, y, sizes, key, execution, round_=1):
    """The rows drawn, None for all, and the gradients afterwards."""
    queries = Queries.from_group(sizes, len(y))
    bound = sampler.bind(queries, y, RowRange.of(len(y), execution), execution)
    return bound.draw(gradients, key, execution, round_), gradients


def check(sampler, n_rows, n, key, by_class=False):
    gradients, y, sizes = data_set(n_rows, by_class)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    of_part = slices(len(sizes), n)
    parts = [slice(ends[own.start], ends[own.stop]) for own in of_part]

    def work(execution):
        own, queries = parts[execution.collective.rank], of_part[execution.collective.rank]
        here = FixedGradients(gradients.data.reshape(n_rows, 8)[own].ravel().copy(), n_rows, gradients.scale, gradients.sums)
        return draw(sampler, here, y[own], sizes[queries], key, execution)

    found = run(n, work)
    rows, after = draw(sampler, make(n_rows), y, sizes, key, SERIAL)
    np.testing.assert_array_equal(np.concatenate([part.data for _, part in found]), after.data)
    assert [part.sums for _, part in found] == [after.sums] * n
    assert [part.histogram_format() for _, part in found] == [after.histogram_format()] * n
    if rows is None:
        assert all(drawn is None for drawn, _ in found)
        return None
    np.testing.assert_array_equal(np.concatenate([drawn + own.start for (drawn, _), own in zip(found, parts, strict=True)]), rows)
    assert {drawn.dtype for drawn, _ in found} == {rows.dtype}
    return rows


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@partitions
@pytest.mark.parametrize("by_class", [False, True], ids=["mixed", "sorted"])
def test_the_same_rows(sampler, n, by_class):
    for key in (1, 2):
        check(sampler, 3_001, n, key, by_class)


@pytest.mark.parametrize("sampler", [sampler for sampler in SAMPLERS if isinstance(sampler, (OneSide, MinimalVariance))], ids=str)
@partitions
def test_thresholds_come_from_some_rows_of_all_partitions(sampler, n):
    check(sampler, THRESHOLD_ROWS + 4_321, n, 7)


@pytest.mark.parametrize("sampler", [Uniform(1e-9), WholeQueries(1e-9)], ids=str)
@partitions
def test_the_first_row_is_drawn_if_no_partition_draws_any(sampler, n):
    rows = check(sampler, 301, n, 3)
    assert rows[0] == 0
    assert len(rows) < 20


@pytest.mark.parametrize("fraction", [1e-6, 0.5, 1.0])
@partitions
def test_fractions_of_classes(fraction, n):
    _, y, _ = data_set(3_001)
    rows = check(Stratified(fraction), 3_001, n, 5)
    np.testing.assert_array_equal(
        np.bincount(y[rows].astype(int)), [max(1, round(fraction * count)) for count in np.bincount(y.astype(int))]
    )

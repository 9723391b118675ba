"""Encoders give the same results for any number of partitions."""

import numpy as np
import pytest

from sapwood.data.row_range import RowRange
from sapwood.data.tables import ArrayTable
from sapwood.encoding import ENCODERS, Count, CrossFittedTarget, OneHot, Partition, Target
from sapwood.encoding.base import CategoryKeys, EncodingTargets
from sapwood.encoding.encoding import ColumnEncoders
from sapwood.encoding.lookup import combine
from sapwood.runtime.execution import SERIAL
from tests.partitions import run, slices

N, N_LEVELS = 907, 40
partitions = pytest.mark.parametrize("n", [2, 3, 5])
TARGET_KINDS = [Target(), Target(2.5, 3), CrossFittedTarget(), CrossFittedTarget(3)]
ENCODER_KINDS = [Count(), OneHot(), OneHot(7), Partition(), Partition(9), *TARGET_KINDS]


def codes_of(by_level, rng):
    codes = np.minimum(rng.geometric(0.08, N) - 2, N_LEVELS - 1)  # -1 is missing; most levels are rare
    return np.sort(codes) if by_level else codes


def targets_of(kind, rng):
    """(n_targets, n_rows) float64."""
    numbers = rng.normal(size=(2, N)) * [[1.0], [1e6]]
    if kind == "gaps":
        numbers[0, -3:] = np.nan
        numbers[1, :10] = np.inf
    return {"counts": rng.poisson(3.0, (1, N)).astype(float), "one fraction": np.append(np.zeros(N - 1), 0.5)[None]}.get(kind, numbers)


def same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.lookup.columns == other.lookup.columns
        np.testing.assert_array_equal(one.lookup.keys, other.lookup.keys)
        np.testing.assert_array_equal(one.lookup.values, other.lookup.values)
        np.testing.assert_array_equal(one.lookup.other, other.lookup.other)


@pytest.mark.parametrize("encoder", ENCODER_KINDS, ids=lambda encoder: f"{encoder.name}-{vars(encoder)}")
@pytest.mark.parametrize("kind", ["counts", "numbers", "gaps", "one fraction"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_level", [False, True], ids=["mixed", "sorted"])
@partitions
def test_the_same_features(encoder, kind, weighted, by_level, n):
    assert {type(one) for one in ENCODER_KINDS} == set(ENCODERS.values())
    rng = np.random.default_rng(0)
    codes, targets = codes_of(by_level, rng), targets_of(kind, rng)
    weight = rng.uniform(0, 2, N) if weighted else None

    def fit(own, execution):
        column = CategoryKeys((0,), (N_LEVELS,), combine([codes[own]], [N_LEVELS]))
        first_id = RowRange.of(len(column.keys), execution).first
        here = EncodingTargets(targets[:, own], None if weight is None else weight[own], seed=3, execution=execution, first_id=first_id)
        return encoder.fit(column, here), here.means, here.units

    expected, means, units = fit(slice(None), SERIAL)
    found = run(n, lambda execution: fit(slices(N, n)[execution.collective.rank], execution))
    for encoded, own_means, own_units in found:
        same(encoded, expected)
        assert (own_means, own_units) == (means, units)
    for feature, one in enumerate(expected):
        parts = [encoded[feature].training for encoded, _, _ in found]
        if one.training is None:
            assert all(part is None for part in parts)
        else:
            np.testing.assert_array_equal(np.concatenate(parts), one.training)


@pytest.mark.parametrize("chosen", ["all", "some", "some in one partition"])
@partitions
def test_a_plan_of_several_columns(chosen, n):
    """Row ids are those of the whole table, also if only some rows are training rows."""
    rng = np.random.default_rng(1)
    table = np.column_stack([codes_of(False, rng), codes_of(True, rng)]).astype(float)
    y = rng.normal(size=N)
    rows = np.arange(N) if chosen == "all" else np.flatnonzero(rng.random(N) < 0.7)
    if chosen == "some in one partition":
        rows = np.union1d(rows, np.arange(slices(N, n)[-1].start))
    plan = ColumnEncoders({0: [Target(), Partition()], 1: [Count(), CrossFittedTarget(), OneHot(6)]}, [((0, 1), Target(1.0, 2))])
    n_levels = {0: N_LEVELS, 1: N_LEVELS}

    def fit(own, execution):
        first = range(N)[own].start
        here = rows[(rows >= first) & (rows < range(N)[own].stop)] - first
        here = None if len(here) == len(y[own]) else here
        targets = EncodingTargets((y[own] if here is None else y[own][here])[None], None, here, 5, execution, first)
        return plan.fit(ArrayTable(table[own]), n_levels, targets, here)

    expected = fit(slice(None), SERIAL)
    found = run(n, lambda execution: fit(slices(N, n)[execution.collective.rank], execution))
    for fitted in found:
        for name, array in expected.encoding.arrays().items():
            np.testing.assert_array_equal(fitted.encoding.arrays()[name], array)
        assert fitted.encoding.to_json() == expected.encoding.to_json()
    for feature, values in expected.training.items():
        np.testing.assert_array_equal(np.concatenate([fitted.training[feature] for fitted in found]), values)
    for feature in range(expected.encoding.n_features):
        parts = [fitted.features.read(slice(None), feature, feature + 1) for fitted in found]
        np.testing.assert_array_equal(np.concatenate(parts), expected.features.read(slice(None), feature, feature + 1))

"""All compiled modules give the same bits: their floats too, where twins can only ask for about the same."""

import numpy as np
import pytest

from tests.kernels.binned import WIDE, Binned, Gradients
from tests.kernels.conftest import MODULES
from tests.reference.gradients import FORMULAS, KINDS


def assert_same_bits(compute):
    first, *others = [compute(module) for module in MODULES]
    assert np.isfinite(first).all()
    for other in others:
        np.testing.assert_array_equal(first, other)


def spread(seed, n=5003):
    """Numbers of all magnitudes that a raw prediction may have."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 10.0 ** rng.uniform(-8, 2.5, n)


@pytest.mark.parametrize("name", KINDS)
def test_losses(name):
    kind, parameter = KINDS[name], FORMULAS[name].parameter
    raw = spread(0)
    y, weight = np.abs(spread(1)), np.random.default_rng(2).random(len(raw))
    if name in ("log_loss", "focal"):
        y = (y > 0.01).astype(float)
    if name == "gamma":
        raw = np.clip(raw, -600, None)

    def compute(kernels):
        values, records = np.empty(len(raw)), np.zeros(2 * len(raw), dtype=np.int32)
        loss, rows = kernels.Loss(kind, parameter), kernels.LossRows(y, raw, weight)
        kernels.loss_values(loss, rows, values, 1)
        extent = kernels.loss_extent(loss, rows, 1)
        target = kernels.GradientTarget(*(2.0**29 / np.maximum(extent, 1e-9)), records.view(np.uint8))
        kernels.loss_fixed_gradients(loss, rows, target, 1)
        return np.concatenate([values, extent, records])

    assert_same_bits(compute)


@pytest.mark.parametrize("link", ["log", "logit", "softmax"])
def test_links(link):
    def compute(kernels):
        raw = spread(3, 6000).reshape(-1, 4)
        kernels.apply_link(link, raw, 1)
        return raw.ravel()

    assert_same_bits(compute)


def test_softmax():
    y, raw = np.arange(2001.0) % 5, spread(4, 5 * 2001).reshape(5, -1)

    def compute(kernels):
        values, records = np.empty(2001), np.zeros((5, 2 * 2001), dtype=np.int32)
        rows = kernels.LossRows(y, raw, None)
        kernels.softmax_values(rows, values, 1)
        kernels.softmax_fixed_gradients(rows, kernels.GradientTarget(2.0**29, 2.0**30, records.view(np.uint8)), 0, len(y), 1)
        return np.concatenate([values, records.ravel()])

    assert_same_bits(compute)


@pytest.mark.parametrize("n_rows", [100, 3000])
def test_gains(n_rows):
    rng = np.random.default_rng(5)
    table, gradients = Binned.random(rng, n_rows, 8), Gradients.random(rng, n_rows, WIDE)

    def compute(kernels):
        grower = table.grower(kernels)
        gains = [gradients.start(grower, l2=0.3, hessian_unit=2.0**-20)]
        for node in range(5):
            if gains[node] > 0:
                gains += grower.advance([node], True, None)[1]
        return np.array(gains)

    assert_same_bits(compute)


def test_ranking():
    sizes = np.random.default_rng(7).integers(1, 300, 60)
    n, begin, unit = sizes.sum(), np.concatenate([[0], np.cumsum(sizes)]), np.ones(60)
    raw, gain = np.clip(spread(7, n), -300, 300), np.random.default_rng(8).integers(0, 4, n).astype(float)

    def compute(kernels):
        values, rows = np.empty((5, 60)), np.empty((10, n))
        for measure in range(4):
            of = gain if measure in (0, 3) else (gain > 0).astype(float)
            queries = kernels.RankedRows(of, raw, None, begin, unit)
            rule = kernels.PairRule(measure, 20, normalize=measure < 3)
            kernels.pair_gradients(queries, rule, rows[2 * measure], rows[2 * measure + 1], 1)
            if measure < 3:
                kernels.rank_values(queries, measure, 10, values[measure], 1)
        listwise = kernels.RankedRows(gain + 0.5, raw, None, begin, unit)
        kernels.listwise_gradients(listwise, rows[8], rows[9], 1)
        kernels.pair_values(kernels.RankedRows(gain, raw, None, begin, unit), 1.0, values[3], 1)
        kernels.listwise_values(listwise, values[4], 1)
        return np.concatenate([values.ravel(), rows.ravel()])

    assert_same_bits(compute)


def test_sums_and_cuts():
    x = spread(6)

    def compute(kernels):
        cuts = kernels.find_cuts(x[:, None], None, np.abs(x), 40, 1)[0]
        return np.append(cuts, kernels.exact_sum(x))

    assert_same_bits(compute)


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "tanh", "log_expit", "log_ndtr"])
def test_functions(name):
    def compute(kernels):
        x = np.abs(spread(9)) if name in ("log", "log1p") else spread(9)
        kernels.apply_function(name, x)
        return x

    assert_same_bits(compute)

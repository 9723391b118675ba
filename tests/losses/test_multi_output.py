import numpy as np
import pytest

from sapwood.losses import REGRESSION, LeafRows
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.runtime.execution import SERIAL


def several(name, n_outputs=3):
    return MultiOutputLoss([REGRESSION[name]() for _ in range(n_outputs)])


def targets(missing=0.0, n_rows=300, n_outputs=3):
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=(n_rows, n_outputs)) + 0.1
    y[rng.random(y.shape) < missing] = np.nan
    return y, rng.normal(size=(n_outputs, n_rows)), rng.integers(1, 4, n_rows).astype(float)


def alone(y, raw, weight, k):
    """Targets, raw predictions and weights of the rows with a target for an output."""
    there = ~np.isnan(y[:, k])
    return there, (y[there, k], raw[k : k + 1, there], None if weight is None else weight[there])


@pytest.mark.parametrize("name", [name for name, loss in REGRESSION.items() if not loss.survival])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
class TestAgainstOneLossForEach:
    """Rows with a missing target are ignored."""

    def test_base_score_and_mean(self, name, weighted, missing):
        y, raw, weight = targets(missing)
        weight = weight if weighted else None
        loss, one = several(name), REGRESSION[name]()
        parts = [alone(y, raw, weight, k)[1] for k in range(3)]
        np.testing.assert_array_equal(loss.base_score(y, weight), np.concatenate([one.base_score(t, w) for t, _, w in parts]))
        assert loss.mean(y, raw, weight, SERIAL) == pytest.approx(np.mean([one.mean(*part, SERIAL) for part in parts]), rel=1e-12)

    def test_fixed_gradients(self, name, weighted, missing):
        y, raw, weight = targets(missing)
        weight = weight if weighted else None
        for k, gradients in enumerate(several(name).fixed_gradients(y, raw, weight, SERIAL)):
            there, part = alone(y, raw, weight, k)
            (single,) = REGRESSION[name]().fixed_gradients(*part, SERIAL)
            assert gradients.sums[1] / gradients.scale.gradient == pytest.approx(single.sums[1] / single.scale.gradient, rel=1e-6, abs=1e-6)
            expected = len(part[0]) if single.scale.constant_hessian else single.sums[2] / single.scale.hessian
            assert gradients.scale.constant_hessian or gradients.sums[2] / gradients.scale.hessian == pytest.approx(expected, rel=1e-6)
            if missing:
                assert gradients.rows.tolist() == np.flatnonzero(there).tolist()
            else:
                assert gradients.rows is None


@pytest.mark.parametrize("name", [name for name, loss in REGRESSION.items() if loss.renews_leaves])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_leaf_values(name, weighted, missing):
    loss, one = several(name), REGRESSION[name]()
    y, raw, weight = targets(missing)
    y[:20, 1] = np.nan  # a leaf without a target
    weight = weight if weighted else None
    leaf = np.repeat(np.arange(15, dtype=np.uint32), 20)
    values = np.column_stack([loss.leaf_values(LeafRows(y, raw, weight, leaf, 15, k)) for k in range(3)])
    for k in range(3):
        there, (t, r, w) = alone(y, raw, weight, k)
        np.testing.assert_array_equal(values[:, k], one.leaf_values(LeafRows(t, r, w, leaf[there], 15)))
    assert values[0, 1] == 0


def test_targets_are_checked_by_column():
    y = np.ones((5, 2))
    several("gamma", 2).check_targets(y)
    y[3, 1] = 0.0
    with pytest.raises(ValueError, match=r"strictly positive y.*column 1"):
        several("gamma", 2).check_targets(y)
    with pytest.raises(ValueError, match="no target in column 1"):
        several("gamma", 2).check_targets(np.array([[1.0, np.nan], [2.0, np.nan]]))

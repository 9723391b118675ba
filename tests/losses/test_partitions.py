"""Losses give the same results for any number of partitions."""

from dataclasses import replace

import numpy as np
import pytest

from sapwood.data.queries import Queries
from sapwood.losses import LOSSES, RANKING, REGRESSION, FunctionLoss, LeafRows, Loss
from sapwood.losses.logistic import LogLoss
from sapwood.losses.multi_output import MultiOutputLoss
from sapwood.losses.multi_quantile import MultiQuantileLoss
from sapwood.losses.multilabel import MultiLabelLoss
from sapwood.losses.multinomial import MultinomialLogLoss
from sapwood.losses.soft_labels import SoftLabelLogLoss
from sapwood.runtime.execution import SERIAL
from sapwood.trees.gradients import NARROW, WIDE
from tests.losses.test_custom import Counts, Medians, Squared
from tests.losses.test_losses import make, targets
from tests.partitions import run, slices

N, N_LEAVES = 1_403, 7
partitions = pytest.mark.parametrize("n", [2, 3, 5])
weighted = pytest.mark.parametrize("weighted", [False, True])
sorted_rows = pytest.mark.parametrize("by_target", [False, True], ids=["mixed", "sorted"])  # sorted: partitions of a single class


def look(loss, y, raw, weight, offset, leaf, execution, queries=None):
    """Results that are the same in all partitions, and arrays whose last axis is rows."""
    start = loss.base_score_with_offset(y, weight, None, execution), loss.base_score_with_offset(y, weight, offset, execution)
    same = [loss.base_score(y, weight, execution), *start]
    bound = loss.bind(queries, execution)
    bound.before_round(17)
    if bound.has_loss_values:
        same.append(bound.mean(y, raw, weight, execution))
    of_rows = [loss.encoding_targets(y, execution), *bound.weighted_gradients(y, raw, weight, execution)]
    for gradients in bound.fixed_gradients(y, raw, weight, execution, headroom=3.0):
        assert gradients.n_rows == len(y)
        same.append((gradients.scale, gradients.sums, gradients.n_total, gradients.histogram_format()))
        here = np.zeros(len(y), dtype=bool)
        here[slice(None) if gradients.rows is None else gradients.rows] = True
        of_rows += [gradients.data.reshape(len(y), gradients.scale.bytes_per_row).T.copy(), here]
    if loss.renews_leaves:
        rows = LeafRows(y, raw, weight, leaf, N_LEAVES, execution=execution)
        same += [bound.best_leaf_values(replace(rows, output=output)) for output in range(loss.n_outputs)]
    return same, of_rows


def plain(numbers):
    return [one.tolist() if isinstance(one, np.ndarray) else one for one in numbers]


def check(loss_of, y, weighted, n, parts=None, sizes=None):
    rng = np.random.default_rng(5)
    loss, n_rows = loss_of(), len(y)
    raw, offset = rng.normal(size=(2, loss.n_outputs, n_rows))
    weight = rng.uniform(0.1, 3.0, n_rows) if weighted else None
    leaf = rng.integers(0, N_LEAVES - 1, n_rows).astype(np.uint32)  # the last one has no rows
    parts = parts or slices(n_rows, n)

    def queries(ids):
        return None if sizes is None else Queries.from_group(sizes[ids], int(sizes[ids].sum()))

    of_part = [slice(None)] * n if sizes is None else slices(len(sizes), n)
    expected, of_all = look(loss, y, raw, weight, offset, leaf, SERIAL, queries(slice(None)))

    def work(execution):
        own = parts[execution.collective.rank]
        here = None if weight is None else weight[own]
        given = y[own], np.ascontiguousarray(raw[:, own]), here, np.ascontiguousarray(offset[:, own]), leaf[own]
        return look(loss_of(), *given, execution, queries(of_part[execution.collective.rank]))

    found = run(n, work)
    for same, _ in found:
        assert plain(same) == plain(expected)
    for wanted, *arrays in zip(of_all, *(of_rows for _, of_rows in found), strict=True):
        together = np.concatenate(arrays, axis=-1)
        assert together.dtype == wanted.dtype
        np.testing.assert_array_equal(together, wanted)


def in_order(y, by_target):
    """The targets, or the same sorted."""
    return y[np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable")] if by_target else y


@pytest.mark.parametrize("name", [name for name in LOSSES if name not in RANKING])
@partitions
@weighted
@sorted_rows
def test_every_loss(name, n, weighted, by_target):
    y = in_order(targets(name, np.random.default_rng(1), N), by_target)
    check(lambda: make(name), y, weighted, n)


@pytest.mark.parametrize("name", [name for name, loss in REGRESSION.items() if not loss.survival])
@pytest.mark.parametrize("missing", ["none", "some", "in one partition", "all but in one"])
@partitions
@weighted
def test_several_outputs(name, missing, n, weighted):
    rng = np.random.default_rng(2)
    y = rng.gamma(2.0, size=(N, 3)) + 0.1
    y = np.minimum(y, 1.0) if name == "log_loss" else y
    last = slices(N, n)[-1]
    if missing == "some":
        y[rng.random(y.shape) < 0.4] = np.nan
    if missing == "in one partition":
        y[last, 1] = np.nan
        y[last.start + 3, 0] = np.nan
    if missing == "all but in one":
        y[: last.start, 2] = np.nan
    check(lambda: MultiOutputLoss([REGRESSION[name]() for _ in range(3)]), y, weighted, n)


class Both(Loss):
    """Loss of two outputs in NumPy, whose leaf values depend on both."""

    exact_hessian, renews_leaves = False, True

    def __init__(self):
        super().__init__(2)

    def loss(self, y, raw):
        return ((raw - y[:, None]) ** 2).sum(axis=1) / 2

    def gradients(self, y, raw):
        return raw - y[:, None], np.ones_like(raw)

    def leaf_values(self, rows):
        rest = np.sort(rows.y - rows.raw[rows.output] + rows.raw[0])
        return np.full(rows.n_leaves, rest[len(rest) // 3])


MORE = {
    "labels": (lambda: MultiLabelLoss([LogLoss() for _ in range(3)]), lambda rng: rng.integers(0, 2, (N, 3)).astype(float)),
    "quantiles": (lambda: MultiQuantileLoss([0.1, 0.5, 0.8]), lambda rng: rng.normal(size=N)),
    "many classes": (lambda: MultinomialLogLoss(20), lambda rng: rng.integers(0, 20, N).astype(float)),
    "many soft labels": (lambda: SoftLabelLogLoss(12), lambda rng: rng.dirichlet(np.ones(12), N)),
    "constant hessian in NumPy": (Squared, lambda rng: rng.normal(size=N)),
    "medians in NumPy": (Medians, lambda rng: rng.normal(size=N)),
    "two outputs in NumPy": (Both, lambda rng: rng.normal(size=N)),
    "hessian in NumPy": (Counts, lambda rng: rng.poisson(2.0, size=N).astype(float)),
    "function": (lambda: FunctionLoss(lambda y, raw: (raw - y, np.ones_like(raw))), lambda rng: rng.normal(size=N)),
}


@pytest.mark.parametrize("kind", MORE)
@partitions
@weighted
@sorted_rows
def test_more_losses(kind, n, weighted, by_target):
    loss_of, draw = MORE[kind]
    check(loss_of, in_order(draw(np.random.default_rng(3)), by_target), weighted, n)


RANKED = [("lambdamart", {}), ("lambdamart", {"metric": "map"}), ("lambdamart", {"metric": "mrr"}), ("pairwise", {}), ("xendcg", {})]


@pytest.mark.parametrize(("name", "settings"), RANKED)
@partitions
@weighted
def test_ranking(name, settings, n, weighted):
    assert {name for name, _ in RANKED} == set(RANKING)
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 12, 200)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = [slice(ends[own.start], ends[own.stop]) for own in slices(len(sizes), n)]
    y = rng.integers(0, 4, ends[-1]).astype(float)
    check(lambda: RANKING[name](**settings), y, weighted, n, parts, sizes)


@partitions
def test_the_histogram_format_is_that_of_all_rows(n):
    """A single partition has too few rows for the narrow format."""
    rng = np.random.default_rng(6)
    y, raw = rng.integers(0, 2, 40_000).astype(float), rng.normal(size=(1, 40_000))

    def form(execution, own):
        (gradients,) = LogLoss().fixed_gradients(y[own], np.ascontiguousarray(raw[:, own]), None, execution)
        return gradients.histogram_format()

    found = run(n, lambda execution: form(execution, slices(40_000, n)[execution.collective.rank]))
    assert found == [form(SERIAL, slice(None))] * n
    assert found[0].mode == NARROW
    assert form(SERIAL, slice(0, 20_000)).mode == WIDE


class TestErrors:
    """All partitions raise the same error, so that none waits for the others."""

    def raised(self, n, function):
        def work(execution):
            with pytest.raises((ValueError, FloatingPointError)) as raised:
                function(execution)
            return type(raised.value), str(raised.value)

        found = run(n, work)
        assert found == [found[0]] * n
        return found[0]

    def at(self, execution, n_rows):
        return slices(n_rows, execution.collective.size)[execution.collective.rank]

    @partitions
    def test_negative_hessians(self, n):
        class Wrong(Loss):
            def gradients(self, y, raw):
                return y, y

        y = np.arange(N, dtype=float)
        y[N - 5] = -2.5
        y[N - 2] = -2.5
        compute = lambda y, execution: list(Wrong().fixed_gradients(y, np.zeros((1, len(y))), None, execution))  # noqa: E731
        kind, message = self.raised(n, lambda execution: compute(y[self.at(execution, N)], execution))
        assert kind is ValueError
        assert f"returned a negative hessian, -2.5 in row {N - 5}:" in message
        with pytest.raises(ValueError) as alone:
            compute(y, SERIAL)
        assert str(alone.value) == message

    @pytest.mark.parametrize("name", ["squared_error", "poisson", "aft"])
    @partitions
    def test_gradients_that_are_not_finite(self, name, n):
        y = targets(name, np.random.default_rng(0), N)
        weight = np.ones(N)
        weight[-1] = np.inf

        def work(execution):
            own = self.at(execution, N)
            list(make(name).fixed_gradients(y[own], np.full((1, len(y[own])), 0.1), weight[own], execution))

        assert self.raised(n, work)[0] is FloatingPointError

    @pytest.mark.parametrize("name", RANKING)
    def test_ranking(self, name):
        y, weight = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, np.inf, 1.0])

        def work(execution):
            own = [slice(0, 2), slice(2, 4)][execution.collective.rank]
            loss = RANKING[name]().bind(Queries.from_group([2], 2), execution)
            loss.before_round(1)
            list(loss.fixed_gradients(y[own], np.array([[0.1, 0.2]]), weight[own], execution))

        assert self.raised(2, work)[0] is FloatingPointError

    @pytest.mark.parametrize(
        ("name", "bad", "match"),
        [
            ("poisson", -1.0, "loss='poisson' requires non-negative y"),
            ("tweedie", -1.0, "loss='tweedie' requires non-negative y"),
            ("gamma", 0.0, "loss='gamma' requires strictly positive y"),
            ("mape", 0.0, "requires non-zero y"),
            ("log_loss", 2.0, "requires y in"),
        ],
    )
    @partitions
    def test_targets(self, name, bad, match, n):
        y = np.ones(N)
        check = lambda y, execution: LOSSES[name]().check_all_targets(y[self.at(execution, len(y))], execution)  # noqa: E731
        run(n, lambda execution: check(y, execution))
        y[N - 3] = bad
        assert match in self.raised(n, lambda execution: check(y, execution))[1]

    @pytest.mark.parametrize(("name", "none", "some"), [("poisson", 0.0, 1.0), ("tweedie", 0.0, 1.0), ("cox", -1.0, 1.0)])
    @partitions
    def test_one_valid_row_in_any_partition_is_enough(self, name, none, some, n):
        y = np.full(N, none)
        check = lambda execution: LOSSES[name]().check_all_targets(y[self.at(execution, N)], execution)  # noqa: E731
        assert name in self.raised(n, check)[1]
        y[-1] = some
        run(n, check)

    @partitions
    def test_columns_without_targets(self, n):
        y = np.ones((N, 2))
        y[:, 1] = np.nan
        check = lambda execution: several.check_all_targets(y[self.at(execution, N)], execution)  # noqa: E731
        several = MultiOutputLoss([LOSSES["poisson"](), LOSSES["poisson"]()])
        assert "no target in column 1" in self.raised(n, check)[1]
        y[-1, 1] = 0.0
        assert "(row among those with a target in column 1)" in self.raised(n, check)[1]
        y[-2, 1] = 1.0
        run(n, check)

"""Collectives over messages between threads: the same results as those of `ThreadCollective`."""

import threading

import numpy as np
import pytest

from sapwood.cluster import collective
from sapwood.cluster.collective import MessageCollective
from sapwood.cluster.mailbox import LocalTransport, Mailbox, WorkerLost

sizes = pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 11])


def run(n, function):
    mailboxes = [Mailbox() for _ in range(n)]
    collectives = [MessageCollective(LocalTransport(rank, mailboxes)) for rank in range(n)]
    results = [None] * n

    def work(rank):
        try:
            results[rank] = function(collectives[rank])
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=work, args=[rank], daemon=True) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results, collectives


@sizes
@pytest.mark.parametrize("length", [0, 1, 7, 5_000])
@pytest.mark.parametrize("halving", [False, True])
def test_sum_and_max(n, length, halving, monkeypatch):
    monkeypatch.setattr(collective, "BYTES_PER_SECOND", 1e-9 if halving else 1e99)
    monkeypatch.setattr(collective, "PIECE", 1_000)
    values = np.random.default_rng(0).integers(-(2**62), 2**62, (n, length))
    results, _ = run(n, lambda one: (one.sum(values[one.rank]), one.max(values[one.rank]), one.max(values[one.rank] / 7)))
    for total, most, real in results:
        np.testing.assert_array_equal(total, values.sum(axis=0))
        np.testing.assert_array_equal(most, values.max(axis=0))
        np.testing.assert_array_equal(real, (values / 7).max(axis=0))


def test_maximum_of_nan():
    results, _ = run(3, lambda one: one.max(np.array([np.nan if one.rank == 1 else 1.0])))
    assert all(np.isnan(result).all() for result in results)


@sizes
def test_gather(n):
    def gather(one):
        rows = np.full((one.rank % 3, 2), one.rank)
        return one.gather(rows), one.gather_objects({"rank": one.rank})

    results, _ = run(n, gather)
    for rows, objects in results:
        np.testing.assert_array_equal(rows, np.concatenate([np.full((rank % 3, 2), rank) for rank in range(n)]))
        assert objects == [{"rank": rank} for rank in range(n)]


def test_an_empty_array_is_not_sent():
    results, collectives = run(3, lambda one: one.sum(np.zeros((0, 4), dtype=np.int64)))
    assert [result.shape for result in results] == [(0, 4)] * 3
    assert [(one.traffic.rounds, one.traffic.messages) for one in collectives] == [(0, 0)] * 3


def test_the_argument_is_not_changed():
    values = np.arange(10)
    run(2, lambda one: one.sum(values))
    np.testing.assert_array_equal(values, np.arange(10))


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_rounds_and_bytes_are_counted(n, monkeypatch):
    """Doubling sends the array log2(n) times, halving less than twice."""
    values, steps = np.random.default_rng(0).integers(2**40, 2**62, 4_096), n.bit_length() - 1
    monkeypatch.setattr(collective, "BYTES_PER_SECOND", 1e99)
    _, doubled = run(n, lambda one: one.sum(values))
    assert [one.traffic.rounds for one in doubled] == [1] * n
    assert [one.traffic.bytes for one in doubled] == [steps * (values.nbytes + 1)] * n
    monkeypatch.setattr(collective, "BYTES_PER_SECOND", 1e-9)
    _, halved = run(n, lambda one: one.sum(values))
    if n > 2:  # two workers exchange all of it in one step
        assert [one.traffic.plain_bytes for one in halved] == [2 * values.nbytes * (n - 1) // n] * n
        assert [one.traffic.messages for one in halved] == [2 * steps] * n


def test_a_failed_mailbox_wakes_the_waiting_worker():
    def fail(one):
        if one.rank == 1:
            one.transport._mailboxes[0].fail("worker 1 was lost")
            return None
        return one.sum(np.arange(3))

    results, _ = run(2, fail)
    assert isinstance(results[0], WorkerLost)
    assert "worker 1 was lost" in str(results[0])

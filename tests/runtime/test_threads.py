import os

import pytest

from sapwood.runtime import threads


@pytest.fixture
def system(monkeypatch):
    """Setter of the quota of 6 CPUs, at a time in seconds."""
    clock = [0.0]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(6)))
    monkeypatch.setattr(threads.time, "monotonic", lambda: clock[0])
    threads._cpus_of_quotas.cache_clear()

    def set_quota(quota, second=0.0):
        monkeypatch.setattr(threads, "cgroup_cpus", lambda: quota)
        clock[0] = second

    yield set_quota
    threads._cpus_of_quotas.cache_clear()


@pytest.mark.parametrize(("quota", "n_cpus"), [(None, 6), (1, 1), (4, 4), (10, 6)])
def test_affinity_and_quota_limit_the_cpus(system, quota, n_cpus):
    system(quota)
    assert threads.available_cpus() == n_cpus


def test_a_quota_is_read_again_after_a_second(system):
    system(4)
    assert threads.available_cpus() == 4
    system(2, 0.9)
    assert threads.available_cpus() == 4
    system(2, 1.1)
    assert threads.available_cpus() == 2


@pytest.mark.parametrize(("n_jobs", "n_threads"), [(1, 1), (3, 3), (9, 4), (-1, 4), (-2, 3), (-9, 1), (None, 4)])
def test_n_jobs(system, monkeypatch, n_jobs, n_threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    system(4)
    assert threads.resolve_threads(n_jobs) == n_threads


@pytest.mark.parametrize(("value", "n_threads"), [("2", 2), ("3,1", 3), ("9", 4), ("0", 4), ("many", 4)])
def test_omp_num_threads_limits_the_default_only(system, monkeypatch, value, n_threads):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    system(4)
    assert threads.resolve_threads(None) == n_threads
    assert threads.resolve_threads(-1) == 4


def test_n_jobs_0_is_refused(system):
    system(4)
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        threads.resolve_threads(0)

"""Attributes that are computed once, without a lock."""

import threading

from sapwood.runtime.caching import cached_property


class Waiting:
    def __init__(self, before=None):
        self.before, self.entered, self.n_computed = before, threading.Event(), 0

    @cached_property
    def value(self):
        """A value."""
        self.entered.set()
        if self.before is not None:
            self.before.wait(10)
        self.n_computed += 1
        return [self.n_computed]


def test_computed_once():
    one = Waiting()
    assert one.value is one.value and one.n_computed == 1
    assert Waiting.value.__doc__ == "A value."


def test_objects_do_not_wait_for_each_other():
    """A lock of the class, as that of functools in Python 3.11, would stay locked in a process that is forked meanwhile."""
    release = threading.Event()
    slow, fast = Waiting(release), Waiting()
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert slow.entered.wait(10)
    other = threading.Thread(target=lambda: fast.value)
    other.start()
    other.join(5)
    alive = other.is_alive()
    release.set()
    thread.join(10), other.join(10)
    assert not alive


def test_two_threads_get_the_same_object():
    release, found = threading.Event(), []
    shared = Waiting(release)
    threads = [threading.Thread(target=lambda: found.append(shared.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(10)
    assert found[0] is found[1] is shared.value

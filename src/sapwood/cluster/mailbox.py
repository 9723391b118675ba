"""Messages between the workers of a fit."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

PATIENCE = 5.0  # seconds without a message, after which a worker asks whether the sender is alive

Tag = tuple[int, int, int]  # number of the collective operation, of its step, and of the piece of the message


class WorkerLost(RuntimeError):
    """Raised in a worker if another worker of the fit is gone, or if the driver ended the attempt."""


class Mailbox:
    """Messages that arrived for one worker, by sender and tag. Threads of the engine put them in; the thread of the fit takes them out."""

    def __init__(self) -> None:
        self._arrived: dict[tuple[int, Tag], bytes] = {}
        self._changed = threading.Condition()
        self._failure: str | None = None

    def put(self, source: int, tag: Tag, message: bytes) -> None:
        with self._changed:
            self._arrived[source, tag] = message
            self._changed.notify_all()

    def fail(self, reason: str) -> None:
        """End the attempt: `take` raises WorkerLost from now on."""
        with self._changed:
            self._failure = self._failure or reason
            self._changed.notify_all()

    def check(self) -> None:
        """Raise WorkerLost if the attempt was ended."""
        if self._failure is not None:
            raise WorkerLost(self._failure)

    def take(self, source: int, tag: Tag, check: Callable[[], None]) -> bytes:
        """Wait for a message and return it. `check` is called while it does not arrive, and raises an error if it never will."""
        while True:
            with self._changed:
                self.check()
                if (source, tag) in self._arrived or self._changed.wait_for(lambda: self._ready(source, tag), PATIENCE):
                    self.check()
                    return self._arrived.pop((source, tag))
            check()

    def _ready(self, source: int, tag: Tag) -> bool:
        return self._failure is not None or (source, tag) in self._arrived


class Transport(ABC):
    """Sends messages to the other workers of a fit over the connections of the engine.

    Attributes
    ----------
    rank, size : number of this worker, and number of workers
    mailbox : messages of other workers
    """

    rank: int
    size: int
    mailbox: Mailbox

    def __init__(self, rank: int, size: int, mailbox: Mailbox) -> None:
        self.rank, self.size, self.mailbox = rank, size, mailbox

    @abstractmethod
    def send(self, to: int, tag: Tag, message: bytes) -> None:
        """Send a message without waiting. If it cannot be delivered, the mailbox of this worker fails."""

    @abstractmethod
    def check(self, source: int) -> None:
        """Raise WorkerLost if a worker is gone or does not take part in this attempt any more."""

    def receive(self, source: int, tag: Tag) -> bytes:
        """Wait for a message of another worker."""
        return self.mailbox.take(source, tag, partial(self.check, source))

    def close(self) -> None:  # noqa: B027
        """Close the connections of this fit."""


class LocalTransport(Transport):
    """Messages between threads of this process."""

    def __init__(self, rank: int, mailboxes: list[Mailbox]) -> None:
        super().__init__(rank, len(mailboxes), mailboxes[rank])
        self._mailboxes = mailboxes

    def send(self, to: int, tag: Tag, message: bytes) -> None:
        self._mailboxes[to].put(self.rank, tag, message)

    def check(self, source: int) -> None:
        """Threads of a process do not get lost."""

"""Messages between the actors of a fit, with the transport and the security of the Ray cluster.

Actors on the same machine exchange messages in Ray's shared memory, which takes much less time than a call of an actor. All other messages
are calls. `python -m benchmarks.cluster` measures both engines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayChannelError, RayChannelTimeoutError, RayError

from sapwood.cluster.mailbox import PATIENCE, Mailbox, Tag, Transport, WorkerLost

try:
    from ray.experimental.channel.shared_memory_channel import Channel, SharedMemoryType
except ImportError:  # the interface is not stable yet, and may move: messages are calls then
    Channel = SharedMemoryType = None  # type: ignore[assignment, misc]

ANSWER_SECONDS = 10.0
INLINE = 90_000  # bytes that Ray sends with a call; larger arguments go through its object store, which takes longer
MAX_INLINE = 500_000  # messages up to this length are cut into several arguments
CAPACITY = 1 << 19  # bytes of a message in shared memory; longer ones are calls
SLACK = 4096  # bytes that Ray adds to a message
CHANNEL: Tag = (0, 0, 0)  # tag of the message with a channel; collective operations are numbered from 1 on
BY_CALL = b""  # in shared memory: the message comes as a call
SPIN_SECONDS, SLEEP_SECONDS = 0.004, 0.0005  # a worker polls at first; then it sleeps between two reads


class RayTransport(Transport):
    """Messages of one actor to the others.

    A channel in shared memory holds one message for one reader. Of each step of a collective operation, the first piece goes through it:
    the writer waits until the reader has taken the piece of an earlier step, so no two workers wait for each other. Further pieces are
    calls.

    Parameters
    ----------
    key, rank, mailbox : attempt, number of this worker, and messages that came as calls
    actors, nodes : workers, and the machines that they run on
    """

    def __init__(self, key: str, rank: int, actors: Sequence[Any], nodes: Sequence[str], mailbox: Mailbox) -> None:
        super().__init__(rank, len(actors), mailbox)
        self._key, self._actors, self._nodes = key, actors, nodes
        self._writes: dict[int, Any] = {}  # worker -> channel to it; None if there is none
        self._reads: dict[int, Any] = {}  # worker -> channel from it

    def send(self, to: int, tag: Tag, message: bytes) -> None:
        channel = self._channel_to(to) if self._shares_memory(to, tag) else None
        if channel is None:
            self._call(to, tag, message)
        elif len(message) <= CAPACITY:
            self._wait(to, lambda seconds: channel.write(message, seconds))
        else:
            self._call(to, tag, message)
            self._wait(to, lambda seconds: channel.write(BY_CALL, seconds))

    def receive(self, source: int, tag: Tag) -> bytes:
        if not self._shares_memory(source, tag):
            return super().receive(source, tag)
        if source not in self._reads:
            self._reads[source] = super().receive(source, CHANNEL)
        channel = self._reads[source]
        message = BY_CALL if channel is None else self._wait(source, channel.read)
        return message if message != BY_CALL else super().receive(source, tag)

    def check(self, source: int) -> None:
        question = self._actors[source].alive.options(concurrency_group="questions").remote(self._key, source)
        try:
            alive = ray.get(question, timeout=ANSWER_SECONDS)
        except GetTimeoutError:
            return  # slow, but there
        except RayActorError as error:
            raise WorkerLost(f"worker {source} was lost: {error}") from None
        if not alive:
            raise WorkerLost(f"worker {source} left the fit")

    def _shares_memory(self, other: int, tag: Tag) -> bool:
        return Channel is not None and tag[2] == 0 and self._nodes[other] == self._nodes[self.rank]

    def _channel_to(self, to: int) -> Any:
        """Return the channel to a worker. The first time, it is made and sent."""
        if to not in self._writes:
            try:
                own, reader = self._actors[self.rank], (self._actors[to], self._nodes[to])
                self._writes[to] = Channel(own, [reader], SharedMemoryType(buffer_size_bytes=CAPACITY + SLACK))
            except RayError:  # the object store is full: messages to this worker are calls
                self._writes[to] = None
            self._call(to, CHANNEL, self._writes[to])
        return self._writes[to]

    def _call(self, to: int, tag: Tag, message: Any) -> None:
        parts = [message]
        if isinstance(message, bytes) and INLINE < len(message) <= MAX_INLINE:
            parts = [message[first : first + INLINE] for first in range(0, len(message), INLINE)]
        put = self._actors[to].put.options(concurrency_group="mail", num_returns=0, enable_task_events=False)
        put.remote(self._key, self.rank, to, tag, *parts)

    def _wait(self, other: int, action: Callable[[float], Any]) -> Any:
        """Read or write as soon as the channel allows it. Raise WorkerLost if it never will."""
        seconds, asked = SPIN_SECONDS, time.monotonic()
        while True:
            try:
                return action(seconds)
            except RayChannelTimeoutError:
                self.mailbox.check()
            except RayChannelError as error:
                raise WorkerLost(f"the channel to worker {other} broke: {error}") from None
            if time.monotonic() - asked > PATIENCE:
                self.check(other)
                asked = time.monotonic()
            time.sleep(SLEEP_SECONDS)
            seconds = 0.0

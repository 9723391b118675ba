"""Collective operations over point-to-point messages.

Sums and maxima are reduced in binary trees: every worker is the root of one, so that all have the result after log2(n) steps (recursive
doubling). Long arrays are halved in each step instead (recursive halving, then doubling): twice the steps, but each worker sends less than
twice the array, whatever the number of workers.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from sapwood.cluster.mailbox import Transport
from sapwood.cluster.messages import decode, encode
from sapwood.cluster.traffic import Traffic
from sapwood.runtime.collective import Collective

T = TypeVar("T")
FIRST_STEP, LAST_STEP = -1, -2  # steps of a number of workers that is not a power of two
PIECE = 1 << 17  # entries of a message: a piece is added while the next ones travel
STEP_SECONDS, BYTES_PER_SECOND = 1e-3, 2e8  # assumed cost of a message, for the choice between the two ways to reduce


class MessageCollective(Collective):
    """Collective of the workers that a transport connects."""

    rank: int
    size: int
    transport: Transport
    traffic: Traffic

    def __init__(self, transport: Transport) -> None:
        self.rank, self.size, self.transport = transport.rank, transport.size, transport
        self.traffic = Traffic()
        power = 1 << (self.size.bit_length() - 1)
        self._extra = self.size - power  # the odd ranks below 2 * extra hand their values to the rank before them
        self._power = power
        self._index = self.rank // 2 if self.rank < 2 * self._extra else self.rank - self._extra

    def sum(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(values, np.add)

    def max(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(values, np.maximum)

    def gather(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate(self.gather_objects(np.ascontiguousarray(values)))

    def gather_objects(self, value: T) -> list[T]:
        self._begin()
        own = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        held, distance = [own], 1  # of the ranks from this one on
        while distance < self.size:
            give = held[: min(distance, self.size - distance)]
            self._send((self.rank - distance) % self.size, distance, 0, pickle.dumps(give), sum(map(len, give)))
            held += pickle.loads(self._receive((self.rank + distance) % self.size, distance, 0))
            distance *= 2
        others = [pickle.loads(one) for one in held[1:]]
        in_order = [value, *others]
        first = self.size - self.rank  # rank 0 follows the last rank
        return in_order[first:] + in_order[:first]

    def _reduce(self, values: np.ndarray, add: Callable[..., Any]) -> np.ndarray:
        total = np.array(values, order="C")
        if total.size == 0:  # such as the histograms of leaves that cannot be split: all workers know that there is nothing to add
            return total
        self._begin()
        flat = total.reshape(-1)
        if self.rank < 2 * self._extra and self.rank % 2:
            self._give(self.rank - 1, FIRST_STEP, flat)
            self._take(self.rank - 1, LAST_STEP, flat)
            return total
        if self.rank < 2 * self._extra:
            self._add(self.rank + 1, FIRST_STEP, flat, add)
        (self._halve if self._halving_pays(flat.nbytes) else self._double)(flat, add)
        if self.rank < 2 * self._extra:
            self._give(self.rank + 1, LAST_STEP, flat)
        return total

    def _double(self, flat: np.ndarray, add: Callable[..., Any]) -> None:
        """Exchange the whole array with one partner after the other."""
        for step, partner in enumerate(self._partners()):
            self._give(partner, step, flat)
            self._add(partner, step, flat, add)

    def _halve(self, flat: np.ndarray, add: Callable[..., Any]) -> None:
        """Sum one part of the array, half as long after each step; then collect the parts of the others."""
        own, levels = slice(0, len(flat)), []
        for step, partner in enumerate(self._partners()):
            middle = (own.start + own.stop) // 2
            halves = slice(own.start, middle), slice(middle, own.stop)
            own, other = halves if self.rank < partner else halves[::-1]
            self._give(partner, step, flat[other])
            self._add(partner, step, flat[own], add)
            levels.append((partner, own, other))
        for step, (partner, kept, other) in enumerate(reversed(levels), len(levels)):
            self._give(partner, step, flat[kept])
            self._take(partner, step, flat[other])

    def _halving_pays(self, n_bytes: int) -> bool:
        steps = self._power.bit_length() - 1
        saved = (steps - 2 * (1 - 1 / self._power)) * n_bytes / BYTES_PER_SECOND
        return saved > steps * STEP_SECONDS

    def _partners(self) -> Iterator[int]:
        mask = self._power >> 1
        while mask:
            index = self._index ^ mask
            yield 2 * index if index < self._extra else index + self._extra
            mask >>= 1

    # Messages

    def _begin(self) -> None:
        self.transport.mailbox.check()
        self.traffic.rounds += 1

    def _give(self, to: int, step: int, values: np.ndarray) -> None:
        for i, first in enumerate(range(0, max(1, len(values)), PIECE)):
            piece = values[first : first + PIECE]
            self._send(to, step, i, encode(piece), piece.nbytes)

    def _add(self, source: int, step: int, values: np.ndarray, add: Callable[..., Any]) -> None:
        for piece, other in self._pieces(source, step, values):
            add(piece, other, out=piece)

    def _take(self, source: int, step: int, values: np.ndarray) -> None:
        for piece, other in self._pieces(source, step, values):
            piece[:] = other

    def _pieces(self, source: int, step: int, values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for i, first in enumerate(range(0, max(1, len(values)), PIECE)):
            piece = values[first : first + PIECE]
            yield piece, decode(self._receive(source, step, i), values.dtype, len(piece))

    def _send(self, to: int, step: int, piece: int, message: bytes, plain_bytes: int) -> None:
        self.traffic.messages += 1
        self.traffic.bytes += len(message)
        self.traffic.plain_bytes += plain_bytes
        self.transport.send(to, (self.traffic.rounds, step, piece), message)

    def _receive(self, source: int, step: int, piece: int) -> bytes:
        began = time.perf_counter()
        message = self.transport.receive(source, (self.traffic.rounds, step, piece))
        self.traffic.seconds += time.perf_counter() - began
        return message

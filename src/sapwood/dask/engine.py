"""Dask as the engine of a fit: tasks on its workers, and messages over its own connections between workers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future as ThreadFuture
from contextlib import suppress
from typing import Any

from distributed import Client, Future, Worker, get_worker, wait
from distributed.comm import Comm, CommClosedError, connect
from distributed.worker import secede

from sapwood.cluster.arguments import ClusterArguments
from sapwood.cluster.driver import Engine
from sapwood.cluster.mailbox import Mailbox, Tag, Transport, WorkerLost
from sapwood.cluster.placement import order_workers, ranges
from sapwood.cluster.rows import ParquetFile, is_column_name
from sapwood.cluster.worker import ATTEMPTS, Finished, FitJob, Interrupted, run_fit

STREAM, ALIVE = "sapwood_stream", "sapwood_alive"  # operations that workers answer
ANSWER_SECONDS = 10.0


class DaskEngine(Engine):
    """Workers of a Dask cluster, known by their addresses."""

    noun = "Dask worker"

    def __init__(self, client: Client) -> None:
        if client.asynchronous:
            raise ValueError("client must be synchronous: fit waits for the workers")
        self.client = client
        self._futures: list[Any] = []  # pieces in the memory of workers

    def workers(self) -> list[str]:
        return list(self.client.nthreads())

    def place(self, sets: ClusterArguments, workers: Sequence[str]) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        order = order_workers(workers, self._holders(sets.sets["train"]["X"]))
        placed: list[tuple[str, dict[str, dict[str, Any]]]] = [(worker, {}) for worker in order]
        loading: list[Future] = []
        for name, arguments in sets.sets.items():
            of_rank = ranges(len(arguments["X"]), len(order))
            for (worker, own), part in zip(placed, of_rank, strict=True):
                own[name] = {}
                for argument, given in arguments.items():
                    own[name][argument] = given if is_column_name(given) else self._load(given[part], worker, loading)
        wait(loading)  # a fit starts when all rows are in memory: it would hold the threads that load them
        self._futures = loading
        return placed

    def _holders(self, pieces: Sequence[Any]) -> list[set[str]]:
        """Return the workers that have each piece in memory."""
        known = {piece.key: piece for piece in pieces if not isinstance(piece, ParquetFile)}
        futures: list[Any] = [Future(key, self.client) for key in known if key in self.client.futures]
        held = self.client.who_has(futures) if futures else {}
        return [set(held.get(getattr(piece, "key", None), ())) for piece in pieces]

    def _load(self, pieces: Sequence[Any], worker: str, loading: list[Future]) -> list[Any]:
        """Return pieces as futures, computed by a worker unless they are in memory elsewhere. Files are read by the fit itself."""
        lazy = [piece for piece in pieces if not isinstance(piece, Future | ParquetFile)]
        computed = iter(self.client.compute(lazy, workers=[worker], allow_other_workers=True) if lazy else [])
        futures = [piece if isinstance(piece, Future | ParquetFile) else next(computed) for piece in pieces]
        loading += [future for future in futures if isinstance(future, Future)]
        return futures

    def start(self, job: FitJob, placed: Sequence[tuple[str, dict[str, dict[str, Any]]]]) -> list[Future]:
        addresses = [worker for worker, _ in placed]
        try:
            self.client.run(_open, job.key, addresses, workers=addresses)
        except OSError as error:  # of a connection; also a worker that is not known any more
            raise WorkerLost(f"a {self.noun} does not answer: {error}") from error
        return [
            self.client.submit(
                _run,
                job,
                rank,
                addresses,
                sets,
                key=f"sapwood-{job.method}-{job.key}-{rank}",
                workers=[address],
                allow_other_workers=False,
                pure=False,
                retries=0,
            )
            for rank, (address, sets) in enumerate(placed)
        ]

    def wait(self, tasks: Sequence[Future], seconds: float) -> list[int]:
        with suppress(TimeoutError):
            wait(tasks, timeout=seconds, return_when="FIRST_COMPLETED")
        return [i for i, task in enumerate(tasks) if task.status != "pending"]

    def result(self, task: Future) -> Finished | Interrupted:
        if task.status in ("lost", "cancelled"):
            raise WorkerLost(f"the task {task.key} was {task.status}")
        return task.result()

    def ask(self, worker: str, method: str, *arguments: Any) -> Any:
        if worker not in self.workers():
            return None
        try:
            return self.client.run(_ask, method, arguments, workers=[worker])[worker]
        except (OSError, KeyError):  # it was lost meanwhile
            return None

    def release(self, tasks: Sequence[Future]) -> None:
        for task in tasks:
            task.release()


def _ask(method: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(ATTEMPTS, method)(*arguments)


def _open(key: str, addresses: Sequence[str], dask_worker: Worker) -> None:
    """Prepare a worker for an attempt. Runs in its event loop."""
    dask_worker.handlers.setdefault(STREAM, _read_stream)
    dask_worker.handlers.setdefault(ALIVE, _is_alive)
    for rank, address in enumerate(addresses):
        if address == dask_worker.address:
            ATTEMPTS.open(key, rank)


async def _read_stream(comm: Comm, key: str, source: int, to: int) -> None:
    """Put the messages of another worker into the mailbox of this one. A stream that breaks ends the attempt."""
    comm.allow_offload = False  # the size of each message would be computed, to decide whether another thread unpacks it
    while True:
        mailbox = ATTEMPTS.mailbox(key, to)
        try:
            messages = await comm.read()
        except (CommClosedError, OSError):
            if mailbox is not None:
                mailbox.fail(f"the connection to worker {source} broke")
            return
        if mailbox is None or messages == "close":
            await comm.close()
            return
        tag, message = messages
        mailbox.put(source, tuple(tag), message)


async def _is_alive(key: str, rank: int) -> bool:
    return ATTEMPTS.mailbox(key, rank) is not None


def _run(job: FitJob, rank: int, addresses: Sequence[str], sets: dict[str, dict[str, Any]]) -> Finished | Interrupted:
    """Fit in a worker. Leaves the thread pool, so that two fits on the same workers do not wait for each other."""
    worker = get_worker()
    mailbox = ATTEMPTS.mailbox(job.key, rank)
    if mailbox is None:
        return Interrupted("the attempt ended before it began", 0)
    secede()
    return run_fit(job, DaskTransport(job.key, rank, addresses, mailbox, worker), sets, worker.state.nthreads)


class DaskTransport(Transport):
    """Messages over connections between Dask workers, with the protocol and the security of the cluster."""

    def __init__(self, key: str, rank: int, addresses: Sequence[str], mailbox: Mailbox, worker: Worker) -> None:
        super().__init__(rank, len(addresses), mailbox)
        self._key, self._addresses, self._worker = key, addresses, worker
        loop: Any = worker.loop
        self._loop: asyncio.AbstractEventLoop = loop.asyncio_loop
        self._queues: dict[int, asyncio.Queue[Any]] = {}

    def send(self, to: int, tag: Tag, message: bytes) -> None:
        self._loop.call_soon_threadsafe(self._queue, to, (tag, message))

    def _queue(self, to: int, item: Any) -> None:
        if to not in self._queues:
            self._queues[to] = asyncio.Queue()
            self._worker._ongoing_background_tasks.call_soon(self._write, to, self._queues[to])
        self._queues[to].put_nowait(item)

    async def _write(self, to: int, queue: asyncio.Queue[Any]) -> None:
        try:
            comm = await connect(self._addresses[to], **self._worker.connection_args)
            comm.allow_offload = False
            await comm.write({"op": STREAM, "key": self._key, "source": self.rank, "to": to, "reply": False})
            while (item := await queue.get()) is not None:
                await comm.write(item)
            await comm.write("close")
            await comm.close()
        except (OSError, CommClosedError) as error:
            self.mailbox.fail(f"worker {to} ({self._addresses[to]}) was lost: {error}")

    def check(self, source: int) -> None:
        try:
            answer: ThreadFuture[bool] = asyncio.run_coroutine_threadsafe(self._ask(source), self._loop)
            alive = answer.result(ANSWER_SECONDS)
        except TimeoutError:
            return  # slow, but connected
        except (OSError, CommClosedError) as error:
            raise WorkerLost(f"worker {source} ({self._addresses[source]}) was lost: {error}") from None
        if not alive:
            raise WorkerLost(f"worker {source} ({self._addresses[source]}) left the fit")

    async def _ask(self, source: int) -> bool:
        return await getattr(self._worker.rpc(self._addresses[source]), ALIVE)(key=self._key, rank=source)

    def close(self) -> None:
        for queue in list(self._queues.values()):
            self._loop.call_soon_threadsafe(queue.put_nowait, None)

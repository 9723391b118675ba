"""A fit on a Dask cluster with a checkpoint: `python -m tests.cluster.driven SCHEDULER CHECKPOINT OUT`."""

import sys
from pathlib import Path

import dask
from distributed import Client

from sapwood import Checkpoint
from sapwood.dask import DaskBoostingRegressor
from tests.cluster.cases import NOISY, SMALL, X, cut
from tests.cluster.faulty import SlowWorker

PARAMETERS = {**SMALL, "max_iter": 40}


def main(scheduler: str, checkpoint: str, out: str) -> None:
    with Client(scheduler) as client:
        rows = ([dask.delayed(piece) for piece in cut(values, "even")] for values in (X, NOISY))
        file = Checkpoint(checkpoint, every=1)
        fitted = DaskBoostingRegressor(client=client, **PARAMETERS).fit(*rows, checkpoint=file, callbacks=[SlowWorker(0.1)])
        Path(out).write_bytes(fitted.to_bytes())


if __name__ == "__main__":
    main(*sys.argv[1:])

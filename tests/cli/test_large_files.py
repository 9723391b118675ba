"""A CSV of 1 GB: training reads it, and prediction needs little memory, because it reads batches."""

import os
import subprocess
import time

import pandas as pd
import pytest

from tests.cli.conftest import table
from tests.cli.processes import COMMAND, ENVIRONMENT

BYTES = int(float(os.environ.get("SAPWOOD_CSV_BYTES", "1e9")))


def measured(*arguments, cwd, stdout=subprocess.DEVNULL):
    """Run a command; return the seconds and the peak memory in bytes."""
    began = time.perf_counter()
    process = subprocess.Popen([*COMMAND, *arguments], cwd=cwd, env=ENVIRONMENT, stdout=stdout, stderr=subprocess.PIPE, text=True)
    messages = process.stderr.read()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, messages
    return {"seconds": round(time.perf_counter() - began, 1), "peak GB": round(usage.ru_maxrss * 1024 / 1e9, 2)}


@pytest.mark.slow
def test_large_csv(tmp_path):
    block = pd.concat([table(seed) for seed in range(250)]).to_csv(index=False).partition("\n")
    n_blocks = BYTES // len(block[2]) + 1
    with open(tmp_path / "d.csv", "w") as file:
        file.write(f"{block[0]}\n")
        for _ in range(n_blocks):
            file.write(block[2])
    n_rows = n_blocks * 250 * len(table())
    train = measured("train", "d.csv", "--target", "y", "--max-iter", "10", "--output", "m.sapwood", cwd=tmp_path)
    with open(tmp_path / "p.csv", "wb") as file:
        predict = measured("predict", "m.sapwood", "d.csv", cwd=tmp_path, stdout=file)
    with open(tmp_path / "p.csv", "rb") as file:
        n_lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 24), b""))
    print({"rows": n_rows, "bytes": os.path.getsize(tmp_path / "d.csv"), "train": train, "predict": predict})
    assert n_lines == n_rows + 1
    assert predict["peak GB"] < 1
    for name in ("d.csv", "p.csv"):
        os.unlink(tmp_path / name)

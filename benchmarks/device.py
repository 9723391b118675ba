"""Fits on an OpenCL device, against our CPU, LightGBM on the same device (`device_type="gpu"`), and XGBoost on CUDA where it is built in.

    python -m benchmarks.device                                      the first device, 100,000 rows, 10 rounds
    python -m benchmarks.device --rows 1000000 --rounds 100          the size of docs/device.md
    python -m benchmarks.device --device opencl:1.0 --no-lightgbm

Before each timed fit, the same fit of one round is run, so that no time contains the compilation of kernels. CPU seconds are those of this
process, which are comparable on a busy machine if the device is a CPU; on a GPU, compare wall-clock seconds. Models of Sapwood must have
the same bytes on the device and on the CPU; the script fails otherwise.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sapwood
from benchmarks.machine import describe_machine
from sapwood import BoostingClassifier

LEAVES, BINS, LEARNING_RATE = 31, 255, 0.1


def table(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return reproducible rows and targets of two classes."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + np.sin(3 * x[:, 3]) + rng.standard_normal(n_rows, dtype=np.float32)
    return x, (signal > 0).astype(np.int32)


def timed(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of a call, its CPU seconds and its wall-clock seconds."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    result = function()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def report(name: str, cpu: float, wall: float, more: str = "") -> None:
    print(f"{name:<40} {cpu:9.2f} CPU s {wall:9.2f} s   {more}".rstrip(), flush=True)


def sapwood_fit(a: argparse.Namespace, x: np.ndarray, y: np.ndarray, device: str, rounds: int) -> BoostingClassifier:
    model = BoostingClassifier(
        learning_rate=LEARNING_RATE, max_iter=rounds, max_leaf_nodes=LEAVES, early_stopping=False, n_jobs=a.threads, device=device
    )
    return model.fit(x, y)


def lightgbm_fit(a: argparse.Namespace, x: np.ndarray, y: np.ndarray, device: str, rounds: int) -> Any:
    import lightgbm

    settings = {"objective": "binary", "num_leaves": LEAVES, "max_bin": BINS, "learning_rate": LEARNING_RATE, "num_threads": a.threads}
    settings |= {"verbose": -1, "device_type": "cpu"}
    if device != "cpu":
        platform, number = device.removeprefix("opencl:").split(".")
        settings |= {"device_type": "gpu", "gpu_platform_id": int(platform), "gpu_device_id": int(number)}
    return lightgbm.train(settings, lightgbm.Dataset(x, y), rounds)


def xgboost_fit(a: argparse.Namespace, x: np.ndarray, y: np.ndarray, device: str, rounds: int) -> Any:
    import xgboost

    settings = {"objective": "binary:logistic", "max_leaves": LEAVES, "max_depth": 0, "grow_policy": "lossguide", "tree_method": "hist"}
    settings |= {"max_bin": BINS + 1, "eta": LEARNING_RATE, "nthread": a.threads, "device": device}
    return xgboost.train(settings, xgboost.QuantileDMatrix(x, y, max_bin=BINS + 1), rounds)


def xgboost_has_cuda() -> bool:
    try:
        import xgboost
    except ImportError:
        return False
    return bool(xgboost.build_info().get("USE_CUDA"))


def show_pocl_to_lightgbm() -> None:
    """LightGBM has an OpenCL loader of its own, which does not know the PoCL of pyopencl's wheel: name its library."""
    import pyopencl

    pyopencl.get_platforms()
    libraries = sorted((Path(pyopencl.__file__).parent / ".libs").glob("libpocl*.so*"))
    if libraries and not os.path.isdir("/etc/OpenCL/vendors"):
        os.environ.setdefault("OCL_ICD_FILENAMES", str(libraries[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    parser.add_argument("--device", default=None, help="an id of sapwood.devices(); the first GPU, or else the first device, if not given")
    parser.add_argument("--lightgbm", action=argparse.BooleanOptionalAction, default=True)
    a = parser.parse_args()
    found = sapwood.devices()
    chosen = next((d for d in found if d.id == a.device), None) if a.device else min(found, key=lambda d: d.kind == "cpu", default=None)
    if chosen is None:
        sys.exit(f"no such device; there are: {', '.join(map(str, found)) or 'none'}")
    print(
        f"{describe_machine()}\ndevice {chosen}, {chosen.platform}\n{a.rows:,} rows x {a.features}, {a.rounds} trees of {LEAVES} leaves\n"
    )
    x, y = table(a.rows, a.features)
    fits: list[tuple[str, Callable[..., Any], str]] = [("Sapwood, CPU", sapwood_fit, "cpu"), ("Sapwood, device", sapwood_fit, chosen.id)]
    if a.lightgbm:
        show_pocl_to_lightgbm()
        fits += [("LightGBM, CPU", lightgbm_fit, "cpu"), ("LightGBM, device_type='gpu'", lightgbm_fit, chosen.id)]
    if xgboost_has_cuda():
        fits.append(("XGBoost, CUDA", xgboost_fit, "cuda"))
    seconds, models = {}, {}
    for name, fit, device in fits:
        fit(a, x, y, device, 1)
        model, cpu, wall = timed(lambda fit=fit, device=device: fit(a, x, y, device, a.rounds))
        seconds[name] = cpu, wall
        moved = getattr(model, "device_transfers_", None)
        report(name, cpu, wall, "" if moved is None else f"{moved.bytes_per_row_and_tree:.1f} bytes moved for each row and tree")
        if fit is sapwood_fit:
            models[name] = model.to_bytes()
    ratios = {name: [theirs / ours for theirs, ours in zip(seconds[name], seconds["Sapwood, device"], strict=True)] for name in seconds}
    print("\ntime / time of Sapwood on the device (CPU s, s): " + "; ".join(f"{name} {r[0]:.2f}, {r[1]:.2f}" for name, r in ratios.items()))
    if len(set(models.values())) != 1:
        sys.exit("models differ between the CPU and the device")
    print("models of Sapwood: the same bytes")


if __name__ == "__main__":
    main()

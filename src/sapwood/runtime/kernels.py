"""Compiled kernels: the AVX2 module if the CPU supports it, else the baseline module. Both give the same results.

The environment variable SAPWOOD_KERNELS selects one: `baseline` or `avx2`.
"""

from __future__ import annotations

import os
from typing import Any

from sapwood.runtime import _kernels_baseline


def _choose() -> Any:
    wanted = os.environ.get("SAPWOOD_KERNELS", "")
    if wanted not in ("", "avx2", "baseline"):
        raise ImportError(f"SAPWOOD_KERNELS={wanted!r} is unknown; choose from avx2, baseline")
    if wanted == "avx2" and not _kernels_baseline.supports_avx2():
        raise ImportError("SAPWOOD_KERNELS='avx2', but this CPU does not support AVX2; use 'baseline'")
    if wanted == "baseline" or not _kernels_baseline.supports_avx2():
        return _kernels_baseline
    from sapwood.runtime import _kernels_avx2

    return _kernels_avx2


_module = _choose()
name = "avx2" if _module is not _kernels_baseline else "baseline"

globals().update({key: value for key, value in vars(_module).items() if not key.startswith("_")})

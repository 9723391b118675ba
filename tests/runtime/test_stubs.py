"""The stubs of the compiled modules are up to date."""

import subprocess
import sys
from pathlib import Path

from sapwood.runtime import _kernels_baseline, kernels

ROOT = Path(__file__).parents[2]


def test_stubs_are_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "tools/generate_stubs.py", "--check"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


def test_every_type_is_known():
    text = (ROOT / "src/sapwood/runtime/kernels.pyi").read_text()
    for word in ("Any", "object", "__getattr__", "arg0", "-> list:", "-> tuple:"):
        assert word not in text


def test_every_binding_is_documented():
    for name, value in vars(_kernels_baseline).items():
        if name.startswith("_") or isinstance(value, int):
            continue
        members = vars(value).items() if isinstance(value, type) else ()
        bound = [(name, value), *((f"{name}.{key}", one) for key, one in members if not key.startswith("_") and callable(one))]
        for where, one in bound:
            doc = one.__doc__ or ""
            # A function's doc begins with its signatures.
            assert doc if isinstance(one, type) else "\n\n" in doc, where


def test_the_chosen_module_has_the_same_names_and_signatures():
    for name, value in vars(_kernels_baseline).items():
        if not name.startswith("_"):
            other = getattr(kernels, name)
            assert value.__doc__.replace(_kernels_baseline.__name__, "") == other.__doc__.replace(kernels._module.__name__, ""), name

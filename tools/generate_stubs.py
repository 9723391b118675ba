"""Write `src/sapwood/runtime/kernels.pyi` from the bindings of the built module.

python tools/generate_stubs.py            write the file
python tools/generate_stubs.py --check    fail if the file is not up to date
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from sapwood.runtime import _kernels_baseline

TARGET = Path(__file__).parent.parent / "src/sapwood/runtime/kernels.pyi"
NUMBERS = "NDArray[numpy.bool_ | numpy.integer | numpy.floating]"  # of any of these kinds: the bindings leave it open
HEAD = "# Written by tools/generate_stubs.py: `make stubs`.\n"


def generate() -> str:
    """The text of the file."""
    stubs = StubGen(_kernels_baseline)
    stubs.put(_kernels_baseline)
    text = re.sub(r"^(\w+: int) = -?\d+$", r"\1", stubs.get(), flags=re.MULTILINE)
    text = text.replace("Annotated[NDArray,", f"Annotated[{NUMBERS},")
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    text = HEAD + text + '\nname: str\n"""The module that was chosen: avx2 or baseline."""\n'
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=TARGET.parents[3]).stdout


def main() -> None:
    text = generate()
    if "--check" not in sys.argv:
        TARGET.write_text(text)
    elif TARGET.read_text() != text:
        sys.exit(f"{TARGET.name} is not what the built module gives: run `make stubs`")


if __name__ == "__main__":
    main()

"""Try a wheel in a fresh environment: `python tools/try_wheel.py dist/sapwood-*.whl`, or `make wheel`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

FILES = ["py.typed", "runtime/kernels.pyi", "report/assets/report.js", "report/assets/report.css", "report/assets/LICENSES.txt"]
USE = """
import pathlib, sys
import numpy as np
import sapwood
assert pathlib.Path(sapwood.__file__).is_relative_to(sys.prefix), sapwood.__file__
X = np.random.default_rng(0).random((200, 3))
model = sapwood.BoostingRegressor(max_iter=5).fit(X, X[:, 0])
model.report(X, X[:, 0], "report.html")
model.save("model.sapwood")
assert np.array_equal(sapwood.load("model.sapwood").predict(X), model.predict(X))
print("sapwood", sapwood.__version__, "with", sapwood.runtime.kernels.name, "kernels: fit, report, save and load work")
"""


def main() -> None:
    wheel = Path(sys.argv[1]).resolve()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    if missing := [name for name in FILES if f"sapwood/{name}" not in names]:
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}")
    if other := sorted(name for name in names if not name.startswith(("sapwood/", "sapwood-"))):
        sys.exit(f"{wheel.name} has files that are not of the package: {', '.join(other[:5])}")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(f"{folder}/venv", with_pip=True)
        binaries = Path(folder) / "venv" / "bin"
        subprocess.run([binaries / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cli]"], check=True)
        subprocess.run([binaries / "python", "-I", "-c", USE], check=True, cwd=folder)
        subprocess.run([binaries / "sapwood", "--help"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        subprocess.run([binaries / "sapwood", "inspect", "model.sapwood"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    print(f"{wheel.name}: the command line works")


if __name__ == "__main__":
    main()

"""What `import sapwood` takes with it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import sapwood


def test_ensembles_are_not_imported():
    """They take a while, and few need them."""
    code = "import sapwood, sys; sapwood.BoostingRegressor().fit([[0], [1]], [0, 1]); print('sklearn.ensemble' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "False"


def test_engines_of_clusters_are_not_imported():
    code = (
        "import sapwood, sys; sapwood.BoostingRegressor().fit([[0], [1]], [0, 1]); print({'dask', 'distributed', 'ray'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "set()"


def test_opencl_is_not_imported():
    code = "import sapwood, sys; sapwood.BoostingRegressor().fit([[0], [1]], [0, 1]); print('pyopencl' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "False"


def test_every_public_name_is_there():
    for name in sapwood.__all__:
        assert getattr(sapwood, name) is not None
    with pytest.raises(AttributeError, match="'nonsense'"):
        sapwood.nonsense  # noqa: B018


def test_private_modules_of_scikit_learn_are_imported_in_one_place():
    """scikit-learn has no public module for constraints of parameters; for all else there is a public way."""
    package = Path(sapwood.__file__).parent
    private = re.compile(r"from sklearn(\.\w+)*(\._\w+)(\.\w+)* import|from sklearn[\w.]* import .*\b_\w+|import sklearn[\w.]*\._")
    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))}
    assert found == {"params/constraints.py"}

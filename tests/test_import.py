"""What `import sapwood` takes with it."""

import subprocess
import sys

import pytest

import sapwood


def test_ensembles_are_not_imported():
    """They take a while, and few need them."""
    code = "import sapwood, sys; sapwood.BoostingRegressor().fit([[0], [1]], [0, 1]); print('sklearn.ensemble' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "False"


def test_every_public_name_is_there():
    for name in sapwood.__all__:
        assert getattr(sapwood, name) is not None
    with pytest.raises(AttributeError, match="'nonsense'"):
        sapwood.nonsense  # noqa: B018

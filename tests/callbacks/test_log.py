"""Log."""

import pytest

from sapwood.callbacks import Log
from tests.callbacks.example import NEW, NEW_Y, X, Y, regressor


def test_log():
    lines = []
    regressor().fit(X[:400], Y[:400], eval_sets={"new": (NEW, NEW_Y)}, eval_metric="mae", callbacks=[Log(4, lines.append)])
    assert len(lines) == 5
    assert lines[0] == "Fitting 1 tree(s) per round on 400 rows x 4 features"
    assert lines[1].startswith("[4/12] ")
    assert "new mae 0." in lines[1]


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"every must be >= 1; got 0"):
        Log(0)

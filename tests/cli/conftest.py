import numpy as np
import pandas as pd
import pytest

from tests.cli.processes import sapwood

N = 400


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a table of two classes, as CSV, and a model that was trained on it."""
    path = tmp_path_factory.mktemp("cli")
    table().to_csv(path / "d.csv", index=False)
    run = sapwood("train", "d.csv", "--target", "y", "--output", "m.sapwood", "--max-iter", "20", "--json", cwd=path)
    assert run.returncode == 0, run.stderr
    (path / "train.json").write_text(run.stdout)
    (path / "train.txt").write_text(run.stderr)
    return path


def table(seed=0):
    """Numbers with gaps, text, dates and bools; the target depends on the first two."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=N)
    colour = rng.choice(["red", "green", "blue"], N)
    y = np.where(size + (colour == "red") + 0.3 * rng.normal(size=N) > 0.4, "yes", "no")
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, N), unit="D")
    frame = pd.DataFrame({"size": size, "colour": colour, "day": days.strftime("%Y-%m-%d"), "old": rng.random(N) > 0.5, "y": y})
    frame.loc[::7, "size"] = np.nan
    return frame

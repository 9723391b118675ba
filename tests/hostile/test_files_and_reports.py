"""Files of strangers, and what is shown of them (60 - 66)."""

import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sapwood import BoostingClassifier, BoostingRegressor, ModelFormatError, load
from tests.hostile import holds, slow

ROOT = Path(__file__).parents[2]


@slow
@holds(60)
def test_ten_thousand_mutations():
    run = subprocess.run([sys.executable, "-m", "fuzz", "--n", "10000"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@holds(62)
@pytest.mark.parametrize("claim", [10**12, 2**47, 2**63])
def test_claims_of_a_header(tmp_path, claim):
    place = {"dtype": "F64", "shape": [claim // 8], "data_offsets": [0, claim]}
    header = json.dumps({"__metadata__": {"sapwood": "{}"}, "value": place}).encode()
    (tmp_path / "file").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 64)
    (tmp_path / "long").write_bytes(struct.pack("<Q", claim) + header)
    for name in ("file", "long"):
        with pytest.raises(ModelFormatError):
            load(tmp_path / name)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("/tmp/sapwood-was-here",)


@holds(63)
def test_what_is_no_model(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "noise").write_bytes(np.random.default_rng(0).bytes(10_000))
    (tmp_path / "pickle").write_bytes(pickle.dumps(Evil()))
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("zeros", bytes(10_000_000))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "noise")
    for name in ("empty", "noise", "pickle", "bomb", "pipe", "link"):
        with pytest.raises(ModelFormatError, match=name):
            load(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    assert not os.path.exists("/tmp/sapwood-was-here")


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@holds(66)
def test_reports_with_hostile_names():
    name = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    x = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame(x, columns=[name, "b"])
    model = BoostingClassifier(max_iter=2).fit(frame, np.where(x[:, 0] > 0, name, "no"))
    plain = BoostingRegressor(max_iter=2).fit(x, x[:, 0])
    for text, usual in ((model._repr_html_(), plain._repr_html_()),):
        tags, of_usual = Tags(), Tags()
        tags.feed(text), of_usual.feed(usual)
        own = [tag for tag, _ in tags.found]
        assert "img" not in own and own.count("script") <= [tag for tag, _ in of_usual.found].count("script")
        assert not any("onerror" in attrs for _, attrs in tags.found)

import numpy as np

from sapwood.report.forest import pack_forest
from sapwood.report.payload import pack, unpack
from sapwood.report.subject import Subject
from tests.report.kinds import regression


def test_large_models_are_packed_in_steps():
    model, X, *_ = regression()
    rows = Subject(model, X).values(np.arange(100))
    full = pack_forest(model.model_, rows)
    assert full.complete and full.exact and full.data["gain"] is not None
    size = len(pack(full.data))
    bare = pack_forest(model.model_, rows, size - 1)
    assert bare.complete and bare.exact and bare.data["gain"] is None
    rounded = pack_forest(model.model_, rows, len(pack(bare.data)) - 1)
    assert rounded.complete and not rounded.exact and rounded.data["values"]["type"] == "float32"
    part = pack_forest(model.model_, rows, len(pack(rounded.data)) // 2)
    assert not part.complete


def test_pack_is_the_same_each_time():
    data = {"name": "</script>", "numbers": [1.5, None]}
    assert pack(data) == pack(data) and unpack(pack(data)) == data and "<" not in pack(data)

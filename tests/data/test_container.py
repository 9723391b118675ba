"""Containers of arrays and text: each check of the reader refuses what only it sees, with its own message."""

import json

import numpy as np
import pytest

from sapwood.data import container
from sapwood.data.container import LENGTH, MAX_HEADER, MAX_SIZE, ModelFormatError, header_length, pack, read_json, unpack

ARRAYS = {"wide": np.arange(6.0).reshape(2, 3), "narrow": np.arange(3, dtype=np.uint8)}


def made(change=lambda header: header, pad=8, more=b""):
    """A container with a changed header."""
    data = bytes(pack(ARRAYS, {"about": "text"}))
    length = header_length(data[:16], len(data))
    header = json.loads(data[LENGTH : LENGTH + length])
    header = change(header) or header
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % pad)
    return np.frombuffer(bytearray(len(head).to_bytes(LENGTH, "little") + head + data[LENGTH + length :] + more), dtype=np.uint8)


def put(name, key, value):
    def change(header):
        header[name][key] = value

    return change


def test_arrays_and_text_come_back():
    arrays, text = unpack(made())
    assert text == {"about": "text"}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)


OFFSETS = "the array 'wide' has wrong offsets, or is cut short"
CHANGES = {
    "no description": (lambda header: {name: own for name, own in header.items() if name in ARRAYS}, "its header has no description"),
    "a number as description": (lambda header: header | {"__metadata__": {"about": 1}}, "its header has no description"),
    "a list": (lambda header: header | {"wide": []}, "the array 'wide' has an unknown type"),
    "another type": (put("wide", "dtype", "F16"), "the array 'wide' has an unknown type"),
    "no type": (put("wide", "dtype", 8), "the array 'wide' has an unknown type"),
    "no shape": (put("wide", "shape", None), "the array 'wide' has an invalid shape"),
    "three axes": (put("wide", "shape", [1, 2, 3]), "the array 'wide' has an invalid shape"),
    "no axis": (put("wide", "shape", []), "the array 'wide' has an invalid shape"),
    "a negative shape": (put("wide", "shape", [-2, -3]), "the array 'wide' has an invalid shape"),
    "a fraction": (put("wide", "shape", [6.0]), "the array 'wide' has an invalid shape"),
    "a bool": (put("wide", "shape", [True, 6]), "the array 'wide' has an invalid shape"),
    "a huge shape": (put("wide", "shape", [0, MAX_SIZE]), "the array 'wide' has an invalid shape"),
    "one offset": (put("wide", "data_offsets", [0]), "the array 'wide' has invalid offsets"),
    "a negative offset": (put("wide", "data_offsets", [-48, 0]), "the array 'wide' has invalid offsets"),
    "a huge offset": (put("wide", "data_offsets", [MAX_SIZE, MAX_SIZE + 48]), "the array 'wide' has invalid offsets"),
    "a gap": (put("wide", "data_offsets", [1, 49]), OFFSETS),
    "an end too early": (put("wide", "data_offsets", [0, 40]), OFFSETS),
    "a larger shape": (put("wide", "shape", [2, 4]), OFFSETS),
    "an overlap": (put("narrow", "data_offsets", [40, 43]), "the array 'narrow' has wrong offsets"),
    "beyond the end": (
        lambda header: header | {"narrow": {"dtype": "U8", "shape": [4], "data_offsets": [48, 52]}},
        "the array 'narrow' has wrong offsets, or is cut short",
    ),
    "one array less": (lambda header: {name: own for name, own in header.items() if name != "narrow"}, "there are bytes after its arrays"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_headers(change, message):
    with pytest.raises(ModelFormatError, match=message):
        unpack(made(change))


def test_arrays_that_are_not_aligned():
    data = made(pad=1)
    for n_spaces in range(1, 8):
        if header_length(data[:16].tobytes(), len(data)) % 8:
            break
        data = made(lambda header, n=n_spaces: header | {"__metadata__": {"about": "x" * n}}, pad=1)
    with pytest.raises(ModelFormatError, match="the array 'wide' is not aligned"):
        unpack(data)


def test_bytes_after_the_arrays():
    with pytest.raises(ModelFormatError, match="there are bytes after its arrays"):
        unpack(made(more=b"0"))


def test_a_header_that_is_not_json():
    with pytest.raises(ModelFormatError, match="its description is not JSON"):
        unpack(np.frombuffer(bytearray((8).to_bytes(8, "little") + b"{1: 2}  "), dtype=np.uint8))


@pytest.mark.parametrize(
    ("start", "size", "message"),
    [
        (b"", 0, "it is empty"),
        (b"12345678", 9, "it is too short"),
        (b"12345678{", 9, "it is too short"),
        ((2).to_bytes(8, "little") + b"[]", 10, "it has a different header"),
        (b"\x80" * 16, 100, "it looks like a pickle"),
        (b"PK\x03\x04" * 4, 100, "it is an archive or compressed"),
        ((MAX_HEADER + 1).to_bytes(8, "little") + b"{", MAX_HEADER * 2, "it has a different header"),
        ((93).to_bytes(8, "little") + b"{", 100, "it is cut short, within its header of 93 bytes"),
    ],
)
def test_first_bytes(start, size, message):
    with pytest.raises(ModelFormatError, match=message):
        header_length(start, size)
    assert header_length((92).to_bytes(8, "little") + b"{", 100) == 92


def test_documents_that_would_take_too_much_memory():
    text = b"[" + b"{}," * 30_000 + b"{}]"
    with pytest.raises(ModelFormatError, match="too many parts for the size of the file"):
        read_json(text, 100)
    assert len(read_json(text, 10_000_000)) == 30_001
    inside = json.dumps("{" * 30_000).encode()  # text takes what it takes
    assert read_json(inside, 100) == "{" * 30_000


@pytest.mark.parametrize("text", [b"[1", b"NaN", b"[Infinity]", b"[" * 100_000])
def test_documents_that_are_not_json(text):
    with pytest.raises(ModelFormatError, match="its description is not JSON"):
        read_json(text, 1 << 30)


def test_headers_that_are_too_long_are_not_written(monkeypatch):
    monkeypatch.setattr(container, "MAX_HEADER", 100)
    with pytest.raises(ValueError, match=r"take \d+ bytes; a model file can have at most 100"):
        pack(ARRAYS, {"about": "x" * 100})

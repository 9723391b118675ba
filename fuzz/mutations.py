"""Ways to spoil a file. Each takes a good file and a random generator, and gives other bytes."""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz.seeds import put_together, take_apart
from sapwood.data.container import TYPES

Rng = np.random.Generator
INTEGERS = [-1, 0, 1, 2, 7, 254, 255, 256, 65_535, 2**31 - 1, -(2**31), 2**31, 2**32, 10**9, 2**48, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -5e-324, 1e308, -1e308, 0.5, 1e18, 2.0**53]
VALUES: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    5,
    2**31,
    2**63,
    10**30,
    0.5,
    1e308,
    -1e308,
    "",
    "0",
    "x",
    "é\x00",
    "9" * 40,
    [],
    {},
    [[]],
    [{}],
]
VALUES += [
    [0],
    ["a", "a"],
    {"number": "inf"},
    {"number": "x"},
    {"dict": [[[], 1]]},
    {"array": {"dtype": "<U99999999", "shape": [1], "values": [""]}},
]
VALUES += [
    {"array": {"dtype": "f8", "shape": [10**9], "values": []}},
    {"range": [0, 10**18, 1]},
    {"tuple": []},
    {"unsaved": "x"},
    "a" * 1000,
]
VALUES += [
    {"init": "stored"},
    {"init": "fitted"},
    {"init": "given", "what": "x"},
    {"unfitted": {"class": "BoostingRegressor", "parameters": {}}},
]


def pick(rng: Rng, values: list[Any]) -> Any:
    return values[rng.integers(len(values))]


# Bytes, as they are


def change_bytes(data: bytes, rng: Rng) -> bytes:
    out = bytearray(data)
    for at in rng.integers(0, len(out), rng.integers(1, 5)):
        out[at] = rng.integers(256)
    return bytes(out)


def change_header(data: bytes, rng: Rng) -> bytes:
    (length,) = struct.unpack("<Q", data[:8])
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        out[8 + rng.integers(length)] = rng.choice(list(b'0123456789-",:{}[]\\ aeFIU\x00\xff'))
    return bytes(out)


def cut_off(data: bytes, rng: Rng) -> bytes:
    return data[: rng.integers(len(data))]


def lengthen(data: bytes, rng: Rng) -> bytes:
    return data + rng.bytes(rng.integers(1, 100))


def move_block(data: bytes, rng: Rng) -> bytes:
    a, b = rng.integers(0, len(data), 2)
    size = int(rng.integers(1, 200))
    out = bytearray(data)
    out[a : a + size] = data[b : b + size]
    return bytes(out)


def claim_length(data: bytes, rng: Rng) -> bytes:
    return struct.pack("<Q", pick(rng, [0, 1, 7, 8, len(data), 10**8, 10**12, 2**63, 2**64 - 1])) + data[8:]


# The header, with numbers of its own


def claim_sizes(data: bytes, rng: Rng) -> bytes:
    """A terabyte, a billion trees."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    name = rng.choice([key for key in header if key != "__metadata__"])
    place, n = header[name], pick(rng, [10**9, 10**12, 2**47, 2**63, 2**64, -1, 0, 3])
    what = rng.integers(5)
    if what == 0:
        place["shape"][0] = n
    elif what == 1:
        place["data_offsets"][int(rng.integers(2))] = n
    elif what == 2:
        place["shape"], place["data_offsets"][1] = [n], place["data_offsets"][0] + 8 * n
    elif what == 3:
        place["dtype"] = str(rng.choice([*TYPES, "F32", "BF16", "I8", "BOOL", ""]))
    else:
        place["shape"] = pick(rng, [[], [1] * 40, [n, n], ["1"], [1.5], None])
    return with_header(header, data[8 + length :])


def change_places(data: bytes, rng: Rng) -> bytes:
    """Arrays that lie in each other, or are called by each other's names."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    names = [key for key in header if key != "__metadata__"]
    a, b = rng.choice(names, 2)
    if rng.random() < 0.5:
        header[a]["data_offsets"] = header[b]["data_offsets"]
    else:
        header[a], header[b] = header[b], header[a]
    return with_header(header, data[8 + length :])


def with_header(header: Any, body: bytes) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


# Parts, with a true checksum


def change_numbers(data: bytes, rng: Rng) -> bytes:
    arrays, document = take_apart(data)
    for _ in range(rng.integers(1, 4)):
        array = arrays[rng.choice([name for name, array in arrays.items() if array.size])].reshape(-1)
        at = rng.integers(array.size)
        with np.errstate(all="ignore"):
            if array.dtype.kind == "f":
                array[at] = rng.choice(FLOATS)
            elif rng.random() < 0.5:
                array[at] += np.array(rng.integers(-2, 3)).astype(array.dtype)
            else:
                array[at] = np.array([pick(rng, INTEGERS) & (2 ** (8 * array.itemsize) - 1)], "u8").astype(array.dtype)[0]
    return put_together(arrays, document)


def change_lengths(data: bytes, rng: Rng) -> bytes:
    arrays, document = take_apart(data)
    name = rng.choice(list(arrays))
    array = arrays[name]
    ways: list[Callable[[], np.ndarray]] = [
        lambda: array[:-1],
        lambda: array[:0],
        lambda: np.concatenate([array, array]),
        lambda: np.concatenate([array, array[-1:]]),
        lambda: array.reshape(-1, 1),
        lambda: array.reshape(1, -1),
        lambda: array.ravel().view(np.uint8),
        lambda: array[::-1].copy(),
        lambda: arrays[rng.choice(list(arrays))],
        lambda: np.zeros(int(rng.integers(100_000)), dtype=array.dtype),
    ]
    arrays[name] = np.ascontiguousarray(pick(rng, ways)())
    return put_together(arrays, document)


def bend_trees(data: bytes, rng: Rng) -> bytes:
    """Cycles, shared children, children before their parents, nodes of other trees."""
    arrays, document = take_apart(data)
    inner = np.flatnonzero(arrays["feature"] >= 0)
    leaves = np.flatnonzero(arrays["feature"] < 0)
    if not len(inner):
        return change_numbers(data, rng)
    node, other = rng.choice(inner, 2)
    side = str(rng.choice(["left", "right"]))
    tree = np.searchsorted(arrays["begin"], node, side="right") - 1
    own, size = node - arrays["begin"][tree], arrays["begin"][tree + 1] - arrays["begin"][tree]
    ways = [0, own, own - 1, arrays[side][other], arrays["right" if side == "left" else "left"][node], size, size - 1, -1, own + 1]
    what = rng.integers(4)
    if what < 2:
        arrays[side][node] = pick(rng, ways)
    elif what == 2:
        arrays["feature"][node], arrays["feature"][rng.choice(leaves)] = -1, arrays["feature"][node]
    else:
        arrays["left"][node], arrays["right"][node] = arrays["right"][node], arrays["left"][node]
    return put_together(arrays, document)


def move_beginnings(data: bytes, rng: Rng) -> bytes:
    arrays, document = take_apart(data)
    name = str(rng.choice(["begin", "cuts_begin", "lookup_begin"]))
    begin = arrays[name]
    what = rng.integers(3)
    if what == 0 and len(begin) > 3:
        begin[1], begin[2] = 2**63 - 1, -2  # differences that go round the clock
    elif what == 1:
        begin[rng.integers(len(begin))] = pick(rng, INTEGERS)
    else:
        begin[rng.integers(len(begin))] += rng.integers(-3, 4)
    return put_together(arrays, document)


def change_sets(data: bytes, rng: Rng) -> bytes:
    arrays, document = take_apart(data)
    arrays["sets"][...] = rng.integers(0, 2**32, arrays["sets"].shape, dtype=np.uint64).astype(np.uint32)
    arrays["kinds"][rng.integers(len(arrays["kinds"]))] = rng.choice([0, 1, 2, 3, 255])
    return put_together(arrays, document)


def change_document(data: bytes, rng: Rng) -> bytes:
    arrays, document = take_apart(data)
    for _ in range(rng.integers(1, 3)):
        _change_somewhere(document, rng)
    return put_together(arrays, document)


def _change_somewhere(document: Any, rng: Rng) -> None:
    """One value, somewhere in it, becomes another, goes, or comes twice."""
    at = document
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        if not isinstance(at[key], (dict, list)) or not at[key] or rng.random() < 0.15:
            break
        at = at[key]
    what = rng.integers(6)
    if what == 0:
        del at[key]
    elif what == 1 and isinstance(at, list):
        at.append(at[key])
    elif what == 2 and isinstance(at, dict):
        at[str(rng.choice(["__class__", "more", "0", "99", "-1"]))] = at[key]
    elif what == 3 and type(at[key]) is int:
        at[key] += int(rng.integers(-2, 3))
    else:
        at[key] = copy.deepcopy(pick(rng, VALUES))  # it may be changed, too


def change_text(data: bytes, rng: Rng) -> bytes:
    """The document as text."""
    arrays, document = take_apart(data)
    text = json.dumps(document)
    at = int(rng.integers(len(text)))
    new = [
        "[" * 5000,
        "{" * 50,
        '"',
        "\\",
        "NaN",
        "Infinity",
        "1e999",
        "9" * 5000,
        "\x00",
        "[]," * 3000,
        "",
    ]
    end = at + int(rng.integers(0, 30))
    return put_together(arrays, text[:at] + pick(rng, new) + text[end:])


def change_start(data: bytes, rng: Rng) -> bytes:
    """What an estimator starts from: another file, within the file."""
    arrays, document = take_apart(data)
    inner = arrays["init"].tobytes() if "init" in arrays and rng.random() < 0.7 else data
    way = pick(rng, ALL) if rng.random() < 0.8 else None
    arrays["init"] = np.frombuffer(way(inner, rng) if way not in (None, change_start) else inner, dtype=np.uint8)
    if "estimator" in document:
        document["estimator"]["init"] = {"init": "stored"}
    return put_together(arrays, document)


PLAIN = [change_bytes, change_header, cut_off, lengthen, move_block, claim_length, claim_sizes, change_places]
REPAIRED = [change_numbers, change_lengths, bend_trees, move_beginnings, change_sets, change_document, change_text, change_start]
ALL: list[Callable[[bytes, Rng], bytes]] = [*PLAIN, *REPAIRED]


def mutate(seeds: list[bytes], number: int) -> tuple[str, int, bytes]:
    """The mutation of a number, always the same one: what was done, to which seed, and the bytes. Three of four have a true checksum."""
    rng = np.random.default_rng([number, 0x5A9])
    family = REPAIRED if number % 4 else PLAIN
    way, seed = pick(rng, family), int(rng.integers(len(seeds)))
    return way.__name__, seed, way(seeds[seed], rng)

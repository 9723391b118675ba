"""Named arrays and some text as one block of bytes, in the form of safetensors.

Eight bytes hold the length of a header, which is JSON: the type, shape and place of each array, and text. The arrays follow it. The format
is that of safetensors, so its tools read our files; the reader is our own, so that nothing is copied, and nothing made that is many times
the size of the file, before what a file claims is known to be true.
"""

from __future__ import annotations

import json
import re
from math import prod
from typing import Any

import numpy as np

LENGTH = 8  # bytes that say how long the header is
MAX_HEADER = 100_000_000  # bytes, as everywhere in safetensors
TYPES = {"F64": "float64", "I64": "int64", "I32": "int32", "U32": "uint32", "U8": "uint8"}
PART_BYTES = {b",": 64, b"[": 64, b"{": 200}  # what Python needs for a part of a JSON document that begins so, besides text
SPARE_BYTES = 1 << 20
MOST = 1 << 48  # bytes, or numbers of an array
PART_OR_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[,[{]', re.DOTALL)  # text, ended or not


class ModelFormatError(ValueError):
    """The bytes are not a Sapwood model, or a damaged one."""


# What a value of an unexpected type or size raises where it is used. Readers turn all of them into a ModelFormatError.
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


def pack(arrays: dict[str, np.ndarray], text: dict[str, str]) -> bytearray:
    """Arrays of the types above, and text, by name. The widest numbers come first, so that all are aligned."""
    codes = {dtype: code for code, dtype in TYPES.items()}
    header: dict[str, Any] = {"__metadata__": text}
    ordered = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    at = 0
    for name in ordered:
        array = arrays[name]
        header[name] = {"dtype": codes[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % LENGTH)
    if len(head) > MAX_HEADER:
        raise ValueError(
            f"the names, levels and parameters of this model take {len(head):,} bytes; a model's file holds up to {MAX_HEADER:,} of them"
        )
    out = bytearray(LENGTH + len(head) + at)
    out[:LENGTH], out[LENGTH : LENGTH + len(head)] = len(head).to_bytes(LENGTH, "little"), head
    for name in ordered:
        begin, end = (LENGTH + len(head) + offset for offset in header[name]["data_offsets"])
        out[begin:end] = arrays[name].reshape(-1).view(np.uint8).data
    return out


def header_length(start: bytes, size: int) -> int:
    """From the first bytes of a file, and its size. All that can be wrong is known before the rest is read."""
    if size < LENGTH + 2 or len(start) < LENGTH + 1:
        raise ModelFormatError("not a Sapwood model: it is empty" if size == 0 else "not a Sapwood model: it is too short")
    length = int.from_bytes(start[:LENGTH], "little")
    if start[LENGTH : LENGTH + 1] != b"{" or length > MAX_HEADER:
        raise ModelFormatError(f"not a Sapwood model: {_guess(start)}")
    if length > size - LENGTH:
        raise ModelFormatError(f"damaged Sapwood model: it is cut short, within its header of {length:,} bytes")
    return length


def _guess(start: bytes) -> str:
    """Description of a file of another kind."""
    if start.startswith((b"\x80", b"c", b"(")):
        return "it looks like a pickle, which can run any code and is never loaded here"
    if start.startswith((b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")):
        return "it is an archive, or compressed: unpack it first"
    return "it does not begin like one"


def unpack(data: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read what `pack` wrote from (n_bytes,) uint8 at an aligned address: arrays that share its memory, and the text."""
    length = header_length(data[:16].tobytes(), len(data))
    header = read_json(data[LENGTH : LENGTH + length].tobytes(), len(data))
    if not isinstance(header, dict):
        raise ModelFormatError("not a Sapwood model: its header is no object")
    text = header.pop("__metadata__", None)
    if not isinstance(text, dict) or not all(isinstance(one, str) for one in text.values()):
        raise ModelFormatError("not a Sapwood model: its header has no description")
    body, end = data[LENGTH + length :], 0
    arrays = {}
    places = [(name, *_place(name, own)) for name, own in header.items()]
    for name, dtype, shape, begin, stop in sorted(places, key=lambda place: place[3:]):
        # Each begins where the one before ends, so no byte is read twice, and none is left over.
        if begin != end or stop != begin + prod(shape) * dtype.itemsize or stop > len(body):
            raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} is not where it should be, or cut short")
        if (LENGTH + length + begin) % dtype.itemsize:
            raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} is not aligned")
        arrays[name] = body[begin:stop].view(dtype).reshape(shape)
        end = stop
    if end != len(body):
        raise ModelFormatError("damaged Sapwood model: there are bytes after its arrays")
    return arrays, text


def _place(name: str, own: Any) -> tuple[np.dtype[Any], list[int], int, int]:
    """The type and shape of an array, and the range of its bytes."""
    dtype, shape, offsets = (own.get(key) for key in ("dtype", "shape", "data_offsets")) if isinstance(own, dict) else (None,) * 3
    if not isinstance(dtype, str) or dtype not in TYPES:
        raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has an unknown type")
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or not all(type(n) is int and 0 <= n < MOST for n in shape):
        raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has an impossible shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and 0 <= n < MOST for n in offsets):
        raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has no place")
    return np.dtype(TYPES[dtype]), shape, *offsets


def read_json(text: bytes | str, size: int) -> Any:
    """A JSON document in a file of so many bytes, unless it has more parts than are sensible: each costs Python many times its bytes."""
    plain = text.encode() if isinstance(text, str) else text
    if _cost(plain) > 8 * size + SPARE_BYTES:
        raise ModelFormatError("damaged Sapwood model: its description has more parts than a file of its size can have")
    try:
        return json.loads(plain, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"not a Sapwood model: its description is not JSON ({error})") from None


def _cost(text: bytes) -> int:
    """Approximate size of a document as Python objects, in bytes."""
    most = sum(text.count(sign) * cost for sign, cost in PART_BYTES.items())
    if most <= SPARE_BYTES:
        return most
    return sum(PART_BYTES.get(text[found.start() : found.start() + 1], 0) for found in PART_OR_TEXT.finditer(text))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")

"""Container of named arrays and text, in the safetensors format.

The first eight bytes are the length of a JSON header with the dtype, shape and offsets of each array, and text. The arrays follow. Files
can be read by safetensors. The reader here makes no copies, and checks the header of an untrusted file before allocating memory for it.
"""

from __future__ import annotations

import json
import re
from math import prod
from typing import Any

import numpy as np

LENGTH = 8  # bytes of the header length
MAX_HEADER = 100_000_000  # bytes; the limit of safetensors
TYPES = {"F64": "float64", "I64": "int64", "I32": "int32", "U32": "uint32", "U8": "uint8"}
PART_BYTES = {b",": 64, b"[": 64, b"{": 200}  # memory of the Python object after each of these characters, except text
SPARE_BYTES = 1 << 20
MAX_SIZE = 1 << 48  # bytes, or entries of an array
PART_OR_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[,[{]', re.DOTALL)  # text, terminated or not


class ModelFormatError(ValueError):
    """Raised for bytes that are not a Sapwood model, or a damaged one."""


# What a value of an unexpected type or size raises where it is used. Readers turn all of them into a ModelFormatError.
DAMAGE = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


def pack(arrays: dict[str, np.ndarray], text: dict[str, str]) -> bytearray:
    """Return the bytes of named arrays and texts. Arrays with the widest numbers are first, so that all are aligned."""
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
            f"the names, levels and parameters of this model take {len(head):,} bytes; a model file can have at most {MAX_HEADER:,}"
        )
    out = bytearray(LENGTH + len(head) + at)
    out[:LENGTH], out[LENGTH : LENGTH + len(head)] = len(head).to_bytes(LENGTH, "little"), head
    for name in ordered:
        begin, end = (LENGTH + len(head) + offset for offset in header[name]["data_offsets"])
        out[begin:end] = arrays[name].reshape(-1).view(np.uint8).data
    return out


def header_length(start: bytes, size: int) -> int:
    """Return the header length from the first bytes and the size of a file. Raises ModelFormatError before the rest is read."""
    if size < LENGTH + 2 or len(start) < LENGTH + 1:
        raise ModelFormatError("not a Sapwood model: it is empty" if size == 0 else "not a Sapwood model: it is too short")
    length = int.from_bytes(start[:LENGTH], "little")
    if start[LENGTH : LENGTH + 1] != b"{" or length > MAX_HEADER:
        raise ModelFormatError(f"not a Sapwood model: {_guess(start)}")
    if length > size - LENGTH:
        raise ModelFormatError(f"damaged Sapwood model: it is cut short, within its header of {length:,} bytes")
    return length


def _guess(start: bytes) -> str:
    """Return a description of a file of another type."""
    if start.startswith((b"\x80", b"c", b"(")):
        return "it looks like a pickle, which is not supported because it can run arbitrary code"
    if start.startswith((b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")):
        return "it is an archive or compressed: extract it first"
    return "it has a different header"


def unpack(data: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and texts of a container, (n_bytes,) uint8 at an aligned address. Arrays share its memory."""
    length = header_length(data[:16].tobytes(), len(data))
    header = read_json(data[LENGTH : LENGTH + length].tobytes(), len(data))  # an object: it begins with a brace
    text = header.pop("__metadata__", None)
    if not isinstance(text, dict) or not all(isinstance(one, str) for one in text.values()):
        raise ModelFormatError("not a Sapwood model: its header has no description")
    body, end = data[LENGTH + length :], 0
    arrays = {}
    places = [(name, *_place(name, own)) for name, own in header.items()]
    for name, dtype, shape, begin, stop in sorted(places, key=lambda place: place[3:]):
        # Each array begins where the previous one ends: no overlaps, no gaps.
        if begin != end or stop != begin + prod(shape) * dtype.itemsize or stop > len(body):
            raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has wrong offsets, or is cut short")
        if (LENGTH + length + begin) % dtype.itemsize:
            raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} is not aligned")
        arrays[name] = body[begin:stop].view(dtype).reshape(shape)
        end = stop
    if end != len(body):
        raise ModelFormatError("damaged Sapwood model: there are bytes after its arrays")
    return arrays, text


def _place(name: str, own: Any) -> tuple[np.dtype[Any], list[int], int, int]:
    """Return the dtype, shape and byte range of an array."""
    dtype, shape, offsets = (own.get(key) for key in ("dtype", "shape", "data_offsets")) if isinstance(own, dict) else (None,) * 3
    if not isinstance(dtype, str) or dtype not in TYPES:
        raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has an unknown type")
    if not isinstance(shape, list) or not 1 <= len(shape) <= 2 or not all(type(n) is int and 0 <= n < MAX_SIZE for n in shape):
        raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has an invalid shape")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and 0 <= n < MAX_SIZE for n in offsets):
        raise ModelFormatError(f"damaged Sapwood model: the array {name[:40]!r} has invalid offsets")
    return np.dtype(TYPES[dtype]), shape, *offsets


def read_json(text: bytes | str, size: int) -> Any:
    """Return a JSON document in a file of `size` bytes. Raises ModelFormatError if its objects would need too much memory."""
    plain = text.encode() if isinstance(text, str) else text
    if _cost(plain) > 8 * size + SPARE_BYTES:
        raise ModelFormatError("damaged Sapwood model: its description has too many parts for the size of the file")
    try:
        return json.loads(plain, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"not a Sapwood model: its description is not JSON ({error})") from None


def _cost(text: bytes) -> int:
    """Return the approximate memory of a document as Python objects, in bytes."""
    most = sum(text.count(sign) * cost for sign, cost in PART_BYTES.items())
    if most <= SPARE_BYTES:
        return most
    return sum(PART_BYTES.get(text[found.start() : found.start() + 1], 0) for found in PART_OR_TEXT.finditer(text))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")

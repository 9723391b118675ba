"""Arrays as messages: fewer bytes where zeros or small integers allow it."""

from __future__ import annotations

import numpy as np

MIN_ENTRIES = 512  # shorter arrays are sent as they are
WORTH = 0.75  # an encoding is used if it needs at most this fraction of the bytes
NARROW = tuple(np.dtype(name) for name in ("<i1", "<i2", "<i4"))
SPARSE = 16  # flag of the last byte: zeros are left out, and a bit for each entry says which those are


def encode(values: np.ndarray) -> bytes:
    """Return a one-dimensional array as bytes. `decode` needs its type and length.

    Integers that fit are sent in 1, 2 or 4 bytes; zeros are left out if there are many. The last byte of the message names the encoding.
    """
    if values.dtype.kind != "i" or values.dtype.itemsize != 8 or len(values) < MIN_ENTRIES:
        return values.tobytes() + b"\0"
    kept, code, bits = values, 0, b""
    n = int(np.count_nonzero(values))
    if n * 8 + len(values) / 8 <= WORTH * values.nbytes:
        present = values != 0
        kept, code, bits = values[present], SPARSE, np.packbits(present).tobytes()
    low, high = int(kept.min(initial=0)), int(kept.max(initial=0))
    for i, narrow in enumerate(NARROW):
        limits = np.iinfo(narrow)
        if limits.min <= low and high <= limits.max:
            kept, code = kept.astype(narrow), code + i + 1
            break
    return b"".join((kept.tobytes(), bits, bytes([code])))


def decode(message: bytes, dtype: np.dtype, length: int) -> np.ndarray:
    """Return the array of a message: read-only, and possibly of a narrower type of integer."""
    code = message[-1]
    kind = NARROW[(code & 15) - 1] if code & 15 else dtype
    if not code & SPARSE:
        return np.frombuffer(message, kind, length)
    n_bytes = -(-length // 8)
    present = np.unpackbits(np.frombuffer(message, np.uint8, n_bytes, len(message) - 1 - n_bytes), count=length).view(bool)
    values = np.zeros(length, dtype)
    values[present] = np.frombuffer(message, kind, (len(message) - 1 - n_bytes) // kind.itemsize)
    return values

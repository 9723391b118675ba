"""Arrays as messages: fewer bytes where zeros or small integers allow it."""

from __future__ import annotations

import numpy as np

MIN_ENTRIES = 512  # shorter arrays are sent as they are
WORTH = 0.75  # an encoding is used if it needs at most this fraction of the bytes
NARROW = tuple(np.dtype(name) for name in ("<i1", "<i2", "<i4"))
LIMITS = tuple((int(np.iinfo(narrow).min), int(np.iinfo(narrow).max)) for narrow in NARROW)
SAMPLED = 16  # one of so many entries is looked at to find out whether an encoding can pay
SPARSE = 16  # flag of the last byte: zeros are left out, and a bit for each entry says which those are


def encode(values: np.ndarray) -> bytes:
    """Return a one-dimensional array as bytes. `decode` needs its type and length.

    Integers that fit are sent in 1, 2 or 4 bytes; zeros are left out if there are many. The last byte of the message names the encoding.
    """
    if values.dtype.kind != "i" or values.dtype.itemsize != 8 or len(values) < MIN_ENTRIES or not _can_pay(values[::SAMPLED]):
        return b"".join((values.data if values.flags.c_contiguous else values.tobytes(), b"\0"))
    kept, code, bits = values, 0, b""
    n = int(np.count_nonzero(values))
    if n * 8 + len(values) / 8 <= WORTH * values.nbytes:
        present = values != 0
        kept, code, bits = values[present], SPARSE, np.packbits(present).tobytes()
    low, high = int(kept.min(initial=0)), int(kept.max(initial=0))
    for i, (lowest, highest) in enumerate(LIMITS):
        if lowest <= low and high <= highest:
            kept, code = kept.astype(NARROW[i]), code + i + 1
            break
    return b"".join((kept.tobytes(), bits, bytes([code])))


def _can_pay(sample: np.ndarray) -> bool:
    """Whether a sample has many zeros, or only integers of 4 bytes. An array without either is sent as it is."""
    if np.count_nonzero(sample) <= WORTH * len(sample):
        return True
    lowest, highest = LIMITS[-1]
    return bool(lowest <= sample.min() and sample.max() <= highest)


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

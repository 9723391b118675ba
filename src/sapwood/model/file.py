"""A model as bytes: safetensors for the arrays, one JSON document for the rest. Data only: loading runs no code from it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from sapwood.data.binning import NUMBER, ONE_VS_REST
from sapwood.data.columns import Schema
from sapwood.encoding.encoding import Encoding
from sapwood.losses.base import LINKS
from sapwood.losses.registry import is_name

SCHEMA = 1
MAX_CUTS = 254  # of a feature: its bins, and one for missing values, are bytes
MAX_SHARED = 1000  # trees of a round whose leaves hold a value for each output

# name: (dtype, which arrays share its length); a value is one number for each node, or one for each node and output
ARRAYS = {
    "base_score": ("float64", "outputs"),
    "cuts": ("float64", "cuts"),
    "cuts_begin": ("int64", "features"),
    "begin": ("int64", "trees"),
    "feature": ("int32", "nodes"),
    "threshold": ("float64", "nodes"),
    "bin": ("int32", "nodes"),
    "left": ("int32", "nodes"),
    "right": ("int32", "nodes"),
    "missing_left": ("uint8", "nodes"),
    "value": ("float64", "nodes"),
    "gain": ("float64", "nodes"),
    "count": ("int64", "nodes"),
    "sets": ("uint32", "sets"),
    "kinds": ("uint8", "kinds"),
    "lookup_begin": ("int64", "lookups and one"),
    "lookup_keys": ("int64", "keys"),
    "lookup_values": ("float64", "keys"),
    "lookup_other": ("float64", "lookups"),
}
WIDE = {"sets": 8}  # arrays of so many numbers an entry


class ModelFormatError(ValueError):
    """The bytes are not a Sapwood model, or a damaged one."""


def pack(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> bytes:
    """Arrays and a JSON document as one block of bytes."""
    none = {name: np.empty((0, WIDE[name]) if name in WIDE else 0) for name in ARRAYS}
    full = {name: np.ascontiguousarray(arrays.get(name, none[name]), dtype=dtype) for name, (dtype, _) in ARRAYS.items()}
    about = {"schema": SCHEMA, **about}
    return save(full, {"sapwood": _as_json({**about, "sha256": _digest(full, about)})})


def unpack(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `pack` packed, checked so that no kernel can be led astray."""
    try:
        arrays = load(data)
        length = int.from_bytes(data[:8], "little")
        about = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["sapwood"])
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFormatError(f"not a Sapwood model: {error}") from None
    _check(arrays, about)
    return arrays, about


def _as_json(about: dict[str, Any]) -> str:
    return json.dumps(about, sort_keys=True, separators=(",", ":"))


def _digest(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> str:
    """A hash of everything: what tells a damaged file that still makes sense."""
    digest = hashlib.sha256(_as_json(about).encode())
    for name in ARRAYS:
        digest.update(f"{name} {' '.join(map(str, arrays[name].shape))} ".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()


def _require(ok: bool, what: str) -> None:
    if not ok:
        raise ModelFormatError(f"damaged Sapwood model: {what}")


def _check(arrays: dict[str, np.ndarray], about: Any) -> None:
    _require(isinstance(about, dict), "its description is not an object")
    if about.get("schema") != SCHEMA:
        raise ModelFormatError(f"schema {about.get('schema')!r} is unknown to this version, which reads {SCHEMA}: upgrade Sapwood")
    _require(set(arrays) == set(ARRAYS), "it has other arrays")
    lengths: dict[str, int] = {}
    for name, (dtype, kind) in ARRAYS.items():
        array = arrays[name]
        wide = name == "value" and about.get("shared") != 0
        shape = (len(array), WIDE[name]) if name in WIDE and array.ndim > 0 else array.shape[:2] if wide else (array.size,)
        _require(array.dtype == dtype and array.ndim > 0 and array.shape == shape, f"{name} is not a list of {dtype}")
        _require(lengths.setdefault(kind, len(array)) == len(array), f"{name} has another length than its fellows")
    stated = {name: value for name, value in about.items() if name != "sha256"}
    _require(about.get("sha256") == _digest(arrays, stated), "its checksum is another")
    # A model predicts without its loss, so a name need not be registered where it is read; its link must be known.
    loss, link = about.get("loss"), about.get("link")
    _require(isinstance(loss, str) and is_name(loss) and link in LINKS, "its loss or link is unknown")
    _require(len(arrays["base_score"]) > 0 and bool(np.isfinite(arrays["base_score"]).all()), "base_score")
    for name, inner in (("cuts_begin", "cuts"), ("begin", "feature")):
        begin = arrays[name]
        _require(len(begin) > 0 and begin[0] == 0 and begin[-1] == len(arrays[inner]), f"{name} does not cover {inner}")
        _require(bool((np.diff(begin) >= 0).all()), f"{name} is not ascending")
    _check_cuts(arrays["cuts"], np.diff(arrays["cuts_begin"]))
    _require(len(arrays["kinds"]) == len(arrays["cuts_begin"]) - 1 and bool((arrays["kinds"] <= ONE_VS_REST).all()), "kinds")
    try:
        encoding = Encoding.from_data(about.get("encoding"), arrays, len(arrays["kinds"]))
        encoding.check(Schema.from_json(about.get("features"), encoding.n_columns))
    except ValueError as error:
        _require(False, f"its features: {error}")
    n_outputs, shared = len(arrays["base_score"]), about.get("shared")
    _require(type(shared) is int and 0 <= shared <= MAX_SHARED, "the number of shared trees is out of range")
    _require(arrays["value"].shape[1:] == ((n_outputs,) if shared else ()), "leaves hold another number of values")
    n_rounds, rest = divmod(len(arrays["begin"]) - 1, shared or n_outputs)
    _require(rest == 0, "a round is not whole")
    best = about.get("best_round")
    _require(best is None or (type(best) is int and 0 <= best <= n_rounds), "best_round is out of range")
    _check_nodes(arrays, len(arrays["cuts_begin"]) - 1)


def _check_cuts(cuts: np.ndarray, n_cuts: np.ndarray) -> None:
    _require(len(n_cuts) > 0, "it has no features")
    _require(bool((n_cuts <= MAX_CUTS).all()), "a feature has too many cuts")
    feature = np.repeat(np.arange(len(n_cuts)), n_cuts)
    ascending = (cuts[:-1] < cuts[1:]) | (feature[:-1] < feature[1:])
    _require(bool(ascending.all() and not np.isnan(cuts).any()), "cuts are not ascending")


def _check_nodes(arrays: dict[str, np.ndarray], n_features: int) -> None:
    begin, feature = arrays["begin"], arrays["feature"]
    sizes = np.diff(begin)
    _require(bool((sizes > 0).all()), "a tree has no nodes")
    own = np.arange(len(feature)) - np.repeat(begin[:-1], sizes)  # number within the tree
    size = np.repeat(sizes, sizes)
    inner = feature >= 0
    _require(bool((feature >= -1).all() and (feature < n_features).all()), "a feature is out of range")
    for name in ("left", "right"):
        child = arrays[name]
        _require(bool(((child > own) & (child < size))[inner].all()), f"a {name} child is out of range")
    offset = np.repeat(begin[:-1], sizes)
    children = np.concatenate([(arrays[name] + offset)[inner] for name in ("left", "right")])
    n_parents = np.bincount(children, minlength=len(feature))
    _require(bool((n_parents == (own > 0)).all()), "a node has no parent, or two")
    _require(not np.isnan(arrays["threshold"]).any(), "a threshold is not a number")
    _require(bool(np.isfinite(arrays["value"]).all()), "a leaf value is not finite")
    by_levels = inner & (arrays["kinds"][feature] != NUMBER)
    bins = arrays["bin"]
    _require(bool(((bins >= 0) & (bins <= 255))[~by_levels].all()), "a bin is out of range")
    _require(np.array_equal(bins[by_levels], np.arange(len(arrays["sets"]))), "a set of levels is missing, or one too many")

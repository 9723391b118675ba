"""A model as bytes: named arrays, and one JSON document for the rest. Data only: loading runs no code from it. See docs/format.md."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from sapwood.data import container
from sapwood.data.binning import NUMBER, ONE_VS_REST
from sapwood.data.columns import Schema
from sapwood.data.container import DAMAGE, ModelFormatError
from sapwood.encoding.encoding import Encoding
from sapwood.losses.base import LINKS
from sapwood.losses.registry import is_valid_name
from sapwood.runtime import kernels
from sapwood.trees.leaf_models import LEAF_MODELS, ConstantLeaves, LeafModel

SCHEMA = 1
MAX_LEVELS = 255  # of a category: its bins, and one for missing values, are bytes
MAX_SHARED = 1000  # trees of a round whose leaves hold a value for each output

# name: (dtype, which arrays share its length); those of the leaf model come besides: see `dtypes_of`
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
    "gain": ("float64", "nodes"),
    "count": ("int64", "nodes"),
    "sets": ("uint32", "sets"),
    "kinds": ("uint8", "kinds"),
    "lookup_begin": ("int64", "lookups and one"),
    "lookup_keys": ("int64", "keys"),
    "lookup_values": ("float64", "keys"),
    "lookup_other": ("float64", "lookups"),
}
NODES = [name for name, (_, kind) in ARRAYS.items() if kind == "nodes"]
WIDE = {"sets": 8}  # arrays of so many numbers an entry
MORE = {"init": "uint8"}  # what an estimator's file may hold besides: that of another one, which its predictions start from


def pack(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> bytes:
    """Arrays and a JSON document as one block of bytes."""
    dtypes = dtypes_of(leaf_model_of(about))
    none = {name: np.empty((0, WIDE[name]) if name in WIDE else 0) for name in dtypes}
    full = {name: np.ascontiguousarray(arrays.get(name, none[name]), dtype=dtype) for name, dtype in dtypes.items()}
    full |= {name: np.ascontiguousarray(arrays[name], dtype=dtype) for name, dtype in MORE.items() if name in arrays}
    return seal(full, about)


def dtypes_of(leaf_model: type[LeafModel]) -> dict[str, str]:
    """Return the types of all arrays of a model with such leaves, by name."""
    return {name: dtype for name, (dtype, _) in ARRAYS.items()} | dict(leaf_model.dtypes)


def describe_leaves(leaf_model: type[LeafModel]) -> dict[str, str]:
    """Return the entry of the JSON document that names the leaf model: none for constants."""
    return {} if leaf_model is ConstantLeaves else {"leaves": leaf_model.name}


def leaf_model_of(about: dict[str, Any]) -> type[LeafModel]:
    """Return the leaf model that a JSON document names."""
    name = about.get("leaves", ConstantLeaves.name)
    if not isinstance(name, str) or name not in LEAF_MODELS:
        raise ModelFormatError(f"its leaf model {str(name)[:40]!r} is unknown to this version, which reads {', '.join(LEAF_MODELS)}")
    return LEAF_MODELS[name]


def unpack(data: bytes | np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file that `pack` wrote, with all indices checked. The arrays of the model share the memory of an array of uint8."""
    arrays, about = unseal(data)
    check(arrays, about)
    return arrays, about


def seal(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> bytes:
    """Any arrays and a document, with a checksum."""
    text = json.dumps({"schema": SCHEMA, **about}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return bytes(container.pack(arrays, {"sapwood": text, "sha256": checksum(arrays, text)}))


def unseal(data: bytes | np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file that `seal` wrote: it is complete and of a known schema; its contents are not checked yet."""
    if not isinstance(data, np.ndarray):
        data = np.frombuffer(bytearray(data), dtype=np.uint8)  # aligned, and the model's own: trees may change
    arrays, text = container.unpack(data)
    document = text.get("sapwood")
    if document is None:
        raise ModelFormatError("not a Sapwood model: it is a file of safetensors that another program wrote")
    about = container.read_json(document, len(data))
    _require(isinstance(about, dict), "its description is not an object")
    schema = about.get("schema")
    if schema != SCHEMA:
        newer = type(schema) is int and schema > SCHEMA
        raise ModelFormatError(
            f"its schema {schema!r} is unknown to this version, which reads {SCHEMA}{': upgrade Sapwood' if newer else ''}"
        )
    _require(text.get("sha256") == checksum(arrays, document), "its checksum is another")
    return arrays, about


def checksum(arrays: dict[str, np.ndarray], document: str) -> str:
    """A hash of everything: what tells a damaged file that still makes sense."""
    digest = hashlib.sha256(document.encode())
    for name in sorted(arrays):
        array = arrays[name]
        own = kernels.hash_bytes(array.reshape(-1).view(np.uint8))
        digest.update(f"\n{name} {array.dtype.name} {' '.join(map(str, array.shape))} {own:016x}".encode())
    return digest.hexdigest()


def _require(ok: bool, what: str) -> None:
    if not ok:
        raise ModelFormatError(f"damaged Sapwood model: {what}")


def check(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Raise unless these are the parts of a model that no kernel stumbles over."""
    leaf_model = leaf_model_of(about)
    dtypes = dtypes_of(leaf_model)
    _require(set(arrays) - set(MORE) == set(dtypes), "it has other arrays")
    for name in set(arrays) & set(MORE):
        _require(arrays[name].dtype == MORE[name] and arrays[name].ndim == 1, f"{name} is not a list of {MORE[name]}")
    lengths: dict[str, int] = {}
    for name, (dtype, kind) in ARRAYS.items():
        array = arrays[name]
        shape = (len(array), WIDE[name]) if name in WIDE and array.ndim > 0 else (array.size,)
        _require(array.dtype == dtype and array.ndim > 0 and array.shape == shape, f"{name} is not a list of {dtype}")
        _require(lengths.setdefault(kind, len(array)) == len(array), f"{name} has another length than its fellows")
    for name, dtype in leaf_model.dtypes.items():
        _require(arrays[name].dtype == dtype, f"{name} does not hold {dtype}")
    # A model predicts without its loss, so a name need not be registered where it is read; its link must be known.
    loss, link = about.get("loss"), about.get("link")
    _require(isinstance(loss, str) and is_valid_name(loss) and link in LINKS, "its loss or link is unknown")
    _require(len(arrays["base_score"]) > 0 and bool(np.isfinite(arrays["base_score"]).all()), "base_score")
    for name, inner in (("cuts_begin", "cuts"), ("begin", "feature")):
        begin = arrays[name]
        _require(len(begin) > 0 and begin[0] == 0 and begin[-1] == len(arrays[inner]), f"{name} does not cover {inner}")
        _require(bool((begin[:-1] <= begin[1:]).all()), f"{name} is not ascending")
    _require(len(arrays["kinds"]) == len(arrays["cuts_begin"]) - 1 and bool((arrays["kinds"] <= ONE_VS_REST).all()), "kinds")
    _check_cuts(arrays["cuts"], np.diff(arrays["cuts_begin"]), arrays["kinds"])
    try:
        encoding = Encoding.from_data(about.get("encoding"), arrays, len(arrays["kinds"]))
        encoding.check(Schema.from_json(about.get("features"), encoding.n_columns))
    except DAMAGE as error:
        _require(False, f"its features: {error}")
    n_outputs, shared = len(arrays["base_score"]), about.get("shared")
    _require(type(shared) is int and 0 <= shared <= MAX_SHARED, "the number of shared trees is out of range")
    fault = leaf_model.find_fault(arrays, lengths["nodes"], n_outputs if shared else None)
    _require(fault is None, str(fault))
    n_rounds, rest = divmod(len(arrays["begin"]) - 1, shared or n_outputs)
    _require(rest == 0, "a round is not whole")
    best = about.get("best_round", -1)
    _require(best is None or (type(best) is int and 0 <= best <= n_rounds), "best_round is out of range")
    nodes = {name: arrays[name] for name in ("begin", *NODES, "kinds", "cuts_begin")}
    fault = kernels.find_fault(**nodes, n_sets=len(arrays["sets"]))
    _require(fault is None, str(fault))


def _check_cuts(cuts: np.ndarray, n_cuts: np.ndarray, kinds: np.ndarray) -> None:
    _require(len(n_cuts) > 0, "it has no features")
    _require(bool((n_cuts[kinds != NUMBER] < MAX_LEVELS).all()), "a category has too many cuts")
    feature = np.repeat(np.arange(len(n_cuts)), n_cuts)
    ascending = (cuts[:-1] < cuts[1:]) | (feature[:-1] < feature[1:])
    _require(bool(ascending.all() and not np.isnan(cuts).any()), "cuts are not ascending")

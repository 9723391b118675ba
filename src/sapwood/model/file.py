"""Model file: named arrays and a JSON header. It contains data only; loading executes no code. See docs/format.md."""

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
from sapwood.runtime.float_mode import in_default_float_mode
from sapwood.trees.leaf_models import LEAF_MODELS, ConstantLeaves, LeafModel

SCHEMA = 1
MAX_LEVELS = 255  # bins of a categorical feature; with the bin of missing values they fit in a byte
MAX_COVER = 1e300  # of a node: sums of two are finite
MAX_SHARED = 1000  # shared trees per round

# name: (dtype, name of the length); arrays with the same name have equal lengths. `dtypes_of` adds the arrays of the leaf model.
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
WIDE = {"sets": 8}  # number of columns of two-dimensional arrays
OPTIONAL = {"cover": "float64"}  # arrays with an entry per node: weight of the training rows, if it is not their number
MORE = {"init": "uint8"}  # optional arrays: the file of the `init` of an estimator


def pack(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> bytes:
    """Return the content of a model file."""
    dtypes = dtypes_of(leaf_model_of(header))
    empty = {name: np.empty((0, WIDE[name]) if name in WIDE else 0) for name in dtypes}
    full = {name: np.ascontiguousarray(arrays.get(name, empty[name]), dtype=dtype) for name, dtype in dtypes.items()}
    full |= {name: np.ascontiguousarray(arrays[name], dtype=dtype) for name, dtype in (OPTIONAL | MORE).items() if name in arrays}
    check(full, header)  # one validator for every model, wherever it comes from: what is written can be read
    return seal(full, header)


def dtypes_of(leaf_model: type[LeafModel]) -> dict[str, str]:
    """Return the dtypes of all arrays of a model with this leaf model, by name."""
    return {name: dtype for name, (dtype, _) in ARRAYS.items()} | dict(leaf_model.dtypes)


def describe_leaves(leaf_model: type[LeafModel]) -> dict[str, str]:
    """Return the entry of the header with the name of the leaf model; empty for constant leaves."""
    return {} if leaf_model is ConstantLeaves else {"leaves": leaf_model.name}


def leaf_model_of(header: dict[str, Any]) -> type[LeafModel]:
    """Return the leaf model that a header names."""
    name = header.get("leaves", ConstantLeaves.name)
    if not isinstance(name, str) or name not in LEAF_MODELS:
        raise ModelFormatError(f"the leaf model {str(name)[:40]!r} is unknown to this version, which reads {', '.join(LEAF_MODELS)}")
    return LEAF_MODELS[name]


def unpack(data: bytes | np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header of a model file, completely checked. The arrays are views of `data`, if it is an array."""
    arrays, header = unseal(data)
    check(arrays, header)
    return arrays, header


@in_default_float_mode
def seal(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> bytes:
    """Return the content of a file with any arrays and header, and a checksum."""
    text = json.dumps({"schema": SCHEMA, **header}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return bytes(container.pack(arrays, {"sapwood": text, "sha256": checksum(arrays, text)}))


@in_default_float_mode
def unseal(data: bytes | np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the header of a file that `seal` wrote. Checksum and schema are checked, the contents are not."""
    if not isinstance(data, np.ndarray):
        data = np.frombuffer(bytearray(data), dtype=np.uint8)  # an aligned copy: leaf values may be changed later
    arrays, text = container.unpack(data)
    document = text.get("sapwood")
    if document is None:
        raise ModelFormatError("not a Sapwood model: a safetensors file of another program")
    header = container.read_json(document, len(data))
    _require(isinstance(header, dict), "the header is not an object")
    schema = header.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        newer = type(schema) is int and schema > SCHEMA
        raise ModelFormatError(
            f"the schema {schema!r} is unknown to this version, which reads {SCHEMA}{': upgrade Sapwood' if newer else ''}"
        )
    _require(text.get("sha256") == checksum(arrays, document), "the checksum does not match")
    return arrays, header


def checksum(arrays: dict[str, np.ndarray], document: str) -> str:
    """Return the checksum of a file: a hash of the header and of the names, dtypes, shapes and contents of all arrays."""
    digest = hashlib.sha256(document.encode())
    for name in sorted(arrays):
        array = arrays[name]
        content = kernels.hash_bytes(array.reshape(-1).view(np.uint8))
        digest.update(f"\n{name} {array.dtype.name} {' '.join(map(str, array.shape))} {content:016x}".encode())
    return digest.hexdigest()


def _require(ok: bool, message: str) -> None:
    if not ok:
        raise ModelFormatError(f"damaged Sapwood model: {message}")


@in_default_float_mode
def check(arrays: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Raise a ModelFormatError unless kernels can safely use the arrays and header of a model."""
    leaf_model = leaf_model_of(header)
    dtypes = dtypes_of(leaf_model)
    _require(set(arrays) - set(MORE) - set(OPTIONAL) == set(dtypes), "arrays are missing or unknown")
    for name in set(arrays) & set(MORE):
        _require(arrays[name].dtype == MORE[name] and arrays[name].ndim == 1, f"{name} must be an array of {MORE[name]}")
    lengths: dict[str, int] = {}
    for name, (dtype, kind) in ARRAYS.items():
        array = arrays[name]
        shape = (len(array), WIDE[name]) if name in WIDE and array.ndim > 0 else (array.size,)
        _require(array.dtype == dtype and array.ndim > 0 and array.shape == shape, f"{name} must be an array of {dtype}")
        _require(lengths.setdefault(kind, len(array)) == len(array), f"{name} has the wrong length")
    for name in set(arrays) & set(OPTIONAL):
        array = arrays[name]
        _require(array.dtype == OPTIONAL[name] and array.shape == (lengths["nodes"],), f"{name} must be an array of {OPTIONAL[name]}")
        _require(bool(((array >= 0) & (array <= MAX_COVER)).all()), f"{name} is out of range")
    for name, dtype in leaf_model.dtypes.items():
        _require(arrays[name].dtype == dtype, f"{name} must be an array of {dtype}")
    # Prediction needs the link, but not the loss: the name of the loss need not be registered in this process.
    loss, link = header.get("loss"), header.get("link")
    _require(isinstance(loss, str) and is_valid_name(loss) and link in LINKS, "the loss or link is unknown")
    _require(len(arrays["base_score"]) > 0 and bool(np.isfinite(arrays["base_score"]).all()), "base_score must be finite")
    for name, inner in (("cuts_begin", "cuts"), ("begin", "feature")):
        begin = arrays[name]
        _require(len(begin) > 0 and begin[0] == 0 and begin[-1] == len(arrays[inner]), f"{name} does not cover {inner}")
        _require(bool((begin[:-1] <= begin[1:]).all()), f"{name} is not ascending")
    _require(len(arrays["kinds"]) == len(arrays["cuts_begin"]) - 1 and bool((arrays["kinds"] <= ONE_VS_REST).all()), "kinds is invalid")
    _check_cuts(arrays["cuts"], np.diff(arrays["cuts_begin"]), arrays["kinds"])
    try:
        encoding = Encoding.from_data(header.get("encoding"), arrays, len(arrays["kinds"]))
        encoding.check(Schema.from_json(header.get("features"), encoding.n_columns))
    except DAMAGE as error:
        _require(False, f"features: {error}")
    n_outputs, shared = len(arrays["base_score"]), header.get("shared")
    _require(type(shared) is int and 0 <= shared <= MAX_SHARED, "the number of shared trees is out of range")
    fault = leaf_model.find_fault(arrays, lengths["nodes"], n_outputs if shared else None)
    _require(fault is None, str(fault))
    n_rounds, rest = divmod(len(arrays["begin"]) - 1, shared or n_outputs)
    _require(rest == 0, "the last round is incomplete")
    best = header.get("best_round", -1)
    _require(best is None or (type(best) is int and 0 <= best <= n_rounds), "best_round is out of range")
    nodes = kernels.StoredNodes(**{name: arrays[name] for name in ("begin", *NODES)})
    fault = nodes.find_fault(arrays["kinds"], arrays["cuts_begin"], n_sets=len(arrays["sets"]))
    _require(fault is None, str(fault))


def _check_cuts(cuts: np.ndarray, n_cuts: np.ndarray, kinds: np.ndarray) -> None:
    _require(len(n_cuts) > 0, "there are no features")
    _require(bool((n_cuts[kinds != NUMBER] < MAX_LEVELS).all()), "a categorical feature has too many cuts")
    feature = np.repeat(np.arange(len(n_cuts)), n_cuts)
    ascending = (cuts[:-1] < cuts[1:]) | (feature[:-1] < feature[1:])
    _require(bool(ascending.all() and not np.isnan(cuts).any()), "cuts are not ascending")

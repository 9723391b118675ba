"""`sapwood convert`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from sapwood.cli.errors import CommandError
from sapwood.cli.files.paths import check_output
from sapwood.cli.output import Output

Target = Literal["sapwood", "json", "c", "onnx", "treelite", "lightgbm", "xgboost"]
EXTENSIONS: dict[str, Target] = {
    ".sapwood": "sapwood", ".c": "c", ".onnx": "onnx", ".tl": "treelite", ".treelite": "treelite", ".txt": "lightgbm", ".lgb": "lightgbm",
    ".json": "xgboost", ".xgb": "xgboost",
}  # fmt: skip


def convert(
    model: str,
    output: Path | None = None,
    /,
    *,
    to: Target | None = None,
    name: str | None = None,
    raw: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    out: Output = Output(),
) -> None:
    """Convert a model file from or to the format of another library.

    Reads model files of Sapwood, LightGBM (text) and XGBoost (JSON, and UBJSON if xgboost is installed). Writes Sapwood files, readable
    JSON, C99 source, ONNX, Treelite, LightGBM text and XGBoost JSON.

    Parameters
    ----------
    model
        Model file to read.
    output
        File to write. Default: stdout.
    to
        Format to write. Default: by the extension of the output; .json is XGBoost, and --to json is readable JSON.
    name
        Prefix of the functions of C source.
    raw
        Leave out the link function: predict raw scores.
    """
    target = to or _by_extension(output)
    if output is not None:
        check_output(output)
    data = _written(_read(model), target, _options(target, name, raw))
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    from sapwood.model import disk

    disk.write(output, data)
    out.say(f"{target}, {len(data):,} bytes, written to {output}")
    if out.json:
        out.result_json({"format": target, "bytes": len(data), "output": str(output)})


def _by_extension(output: Path | None) -> Target:
    if output is None:
        raise CommandError("name the file to write, or the format: --to sapwood, json, c, onnx, treelite, lightgbm or xgboost")
    if output.suffix not in EXTENSIONS:
        raise CommandError(f"{output}: the extension {output.suffix!r} is unknown; use one of {', '.join(EXTENSIONS)}, or pass --to")
    return EXTENSIONS[output.suffix]


def _options(target: Target, name: str | None, raw: bool) -> dict[str, Any]:
    """Return the options of an exporter."""
    if name is not None and target != "c":
        raise CommandError(f"--name is for C source, not for {target}")
    if raw and target in ("sapwood", "json", "c"):
        raise CommandError(f"--raw has no meaning for {target}")
    return ({"name": name} if name is not None else {}) | ({"raw": True} if raw else {})


def _read(path: str) -> Any:
    """Read a model of any library by the first bytes of its file."""
    from sapwood.cli.models import is_model, load_any

    if is_model(path):
        return load_any(path)
    with open(path, "rb") as file:
        begin = file.read(4)
    if begin != b"tree" and not begin.startswith(b"{"):
        raise CommandError(f"{path} is no model file of Sapwood, LightGBM (text) or XGBoost (JSON)")
    from sapwood.importing import import_model

    try:
        return import_model(path)
    except Exception as error:  # of several libraries, some with a stack trace
        raise CommandError(f"{path} cannot be imported: {str(error).splitlines()[0]}") from None


def _written(estimator: Any, target: Target, options: dict[str, Any]) -> bytes:
    """Return the content of a file in a format."""
    from sapwood.model import Model
    from sapwood.model.export import EXPORTERS
    from sapwood.model.export.forest import Forest

    model = estimator if isinstance(estimator, Model) else getattr(getattr(estimator, "estimator_", estimator), "model_", None)
    if target == "sapwood":
        return bytes(estimator.to_bytes())
    if model is None:
        raise CommandError(f"a {type(estimator).__name__} has several models; only --to sapwood is supported")
    if target == "json":
        return model.to_json(indent=2).encode() + b"\n"
    exported = estimator.export(target, **options)
    return EXPORTERS[target](Forest(model), None, **options).to_bytes(exported)

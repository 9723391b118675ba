"""Model files: reading, and the roles of columns that `sapwood train` stored in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sapwood.cli.errors import CommandError
from sapwood.cli.roles import Roles

MAGIC = b'{"'  # a model file begins with the length of its JSON header in 8 bytes, and the header


def is_model(path: str) -> bool:
    """Whether a file begins like a Sapwood model file."""
    try:
        with open(path, "rb") as file:
            return file.read(10)[8:] == MAGIC
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None


def load_any(path: str) -> Any:
    """Load a Sapwood estimator, an estimator of `sapwood.uncertainty`, or a model."""
    from sapwood.loading import load

    try:
        return load(path)
    except FileNotFoundError:
        raise CommandError(f"{path}: no such file") from None


def load_model(path: str) -> Any:
    """Load a Sapwood estimator."""
    from sapwood.model import Model

    model = load_any(path)
    if isinstance(model, Model):
        raise CommandError(f"{path} has a model without an estimator; save the estimator with its method save")
    return model


def with_stored_roles(model: Any, roles: Roles) -> Roles:
    """Return the roles of columns: those given, and those that the model was trained with."""
    stored = {name: str(value) for name, value in getattr(model, "provenance_", {}).items()}
    chosen: dict[str, Any] = {}
    for name in ("target", "event", "weight", "query", "offset"):
        if getattr(roles, name) is None and name in stored:
            chosen[name] = stored[name].split("\n") if name == "target" else stored[name]
    return replace(roles, **chosen)


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the columns that a model needs; None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]

"""Registered losses, and the lookup of the `loss` parameter."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

from sapwood.losses import CUSTOM, DEPRECATED_NAMES, LOSSES, FunctionLoss, Loss
from sapwood.losses.base import LINKS

REGISTERED: dict[str, Callable[[], Loss]] = {}


def register_loss(name: str, loss: Callable[[], Loss]) -> None:
    """Register a loss under a name, for `loss=name`. The name is stored in the files of models trained with it.

    Parameters
    ----------
    name : str
        Name that is not the name of a built-in loss. Registering a name again replaces the loss.
    loss : subclass of Loss, or a function without arguments that returns a Loss

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import BoostingRegressor, Loss, register_loss
    >>> class Cubic(Loss):
    ...     def loss(self, y, raw):
    ...         return np.abs(raw - y) ** 3 / 3
    ...
    ...     def gradients(self, y, raw):
    ...         return (raw - y) * np.abs(raw - y), 2 * np.abs(raw - y)
    >>> register_loss("cubic", Cubic)
    >>> BoostingRegressor(loss="cubic").fit([[0], [1]], [0.0, 1.0]).model_.loss
    'cubic'
    """
    if not isinstance(name, str) or not is_valid_name(name):
        raise ValueError(f"name must be at most 64 letters, digits, '_', '-' and '.', not beginning with a digit; got {name!r}")
    if name in LOSSES or name in DEPRECATED_NAMES or name == CUSTOM:
        raise ValueError(f"name={name!r} is the name of a built-in loss; choose another name")
    made = loss() if callable(loss) else loss
    if not isinstance(made, Loss):
        raise TypeError(f"loss must be a subclass of Loss or a function that returns a Loss; got {loss!r}")
    _check_link(made)
    REGISTERED[name] = loss


def is_valid_name(name: str) -> bool:
    """Whether a string can be the name of a loss."""
    return re.fullmatch(r"[A-Za-z_][\w.-]{0,63}", name, re.ASCII) is not None


def find_loss(choice: Any, table: Mapping[str, type[Loss]], settings: Any, n_outputs: int = 1, link: str = "identity") -> Loss:
    """Return the loss of a fit.

    Parameters
    ----------
    choice : name in the table or registered name, Loss, subclass of Loss, or function (y, raw) -> (gradient, hessian)
    table : built-in losses for the kind of target
    settings : object whose attributes are the parameters of losses
    n_outputs : number of outputs of built-in losses and functions
    link : link of a function
    """
    if isinstance(choice, str):
        name = DEPRECATED_NAMES.get(choice, choice)
        if name in table:
            cls = table[name]
            return cls(n_outputs, **{setting: getattr(settings, setting) for setting in cls.settings})
        if name not in REGISTERED:
            raise ValueError(f"loss={choice!r} is not available for this kind of target; choose from {', '.join([*table, *REGISTERED])}")
        loss = REGISTERED[name]()
        loss.name = name
        return loss
    if isinstance(choice, type) and issubclass(choice, Loss):
        choice = choice()
    if isinstance(choice, Loss):
        _check_link(choice)
        loss = copy.copy(choice)  # training stores buffers in it
        if loss.name not in LOSSES and not (loss.name in REGISTERED and isinstance(REGISTERED[loss.name](), type(loss))):
            loss.name = next((name for name, made in REGISTERED.items() if made is type(loss)), CUSTOM)
        return loss
    loss = FunctionLoss(choice, n_outputs)
    loss.link = link
    return loss


def _check_link(loss: Loss) -> None:
    if loss.link not in LINKS:
        raise ValueError(f"{type(loss).__name__}.link={loss.link!r} is unknown; choose from {', '.join(LINKS)}")

"""Losses of users' own: their names, and what `loss=` may be."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

from sapwood.losses import CUSTOM, DEPRECATED_NAMES, LOSSES, FunctionLoss, Loss
from sapwood.losses.base import LINKS

REGISTERED: dict[str, Callable[[], Loss]] = {}


def register_loss(name: str, loss: Callable[[], Loss]) -> None:
    """Give a loss a name: `loss=name` then means it, and models trained with it keep the name in their file.

    Parameters
    ----------
    name : str
        A word that no other loss has. Registering a name again replaces the loss.
    loss : Loss class, or a function without arguments that makes a Loss

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
    if not isinstance(name, str) or not is_name(name):
        raise ValueError(f"a loss's name must be a word of at most 64 letters, digits, '_', '-' and '.'; got {name!r}")
    if name in LOSSES or name in DEPRECATED_NAMES or name == CUSTOM:
        raise ValueError(f"{name!r} is the name of a loss that is built in; choose another")
    made = loss() if callable(loss) else loss
    if not isinstance(made, Loss):
        raise TypeError(f"register_loss takes a subclass of Loss, or a function that makes a Loss; got {loss!r}")
    _check_link(made)
    REGISTERED[name] = loss


def is_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_][\w.-]{0,63}", name, re.ASCII) is not None


def find_loss(choice: Any, table: Mapping[str, type[Loss]], settings: Any, n_outputs: int = 1, link: str = "identity") -> Loss:
    """A loss for one fit.

    Parameters
    ----------
    choice : a name of the table or a registered one, a Loss, its class, or a function (y, raw) -> (gradient, hessian)
    settings : has the parameters of losses as its attributes
    n_outputs, link : of a function, which cannot say them itself
    """
    if isinstance(choice, str):
        name = DEPRECATED_NAMES.get(choice, choice)
        if name in table:
            cls = table[name]
            return cls(n_outputs, **{setting: getattr(settings, setting) for setting in cls.settings})
        if name not in REGISTERED:
            raise ValueError(f"loss={choice!r} is not for targets like these; choose from {', '.join([*table, *REGISTERED])}")
        loss = REGISTERED[name]()
        loss.name = name
        return loss
    if isinstance(choice, type) and issubclass(choice, Loss):
        choice = choice()
    if isinstance(choice, Loss):
        _check_link(choice)
        loss = copy.copy(choice)  # training keeps memory in it
        if loss.name not in LOSSES and not (loss.name in REGISTERED and isinstance(REGISTERED[loss.name](), type(loss))):
            loss.name = next((name for name, made in REGISTERED.items() if made is type(loss)), CUSTOM)
        return loss
    loss = FunctionLoss(choice, n_outputs)
    loss.link = link
    return loss


def _check_link(loss: Loss) -> None:
    if loss.link not in LINKS:
        raise ValueError(f"{type(loss).__name__}.link={loss.link!r} is unknown; choose from {', '.join(LINKS)}")

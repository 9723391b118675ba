"""Check of the names of parameters and arguments, with a suggestion of the right name."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from sapwood.params.arguments import ARGUMENTS
from sapwood.params.foreign import LIBRARIES, advice

if TYPE_CHECKING:
    from typing import Self

FIT_ARGUMENTS = tuple(argument.name for argument in ARGUMENTS)


class CheckedNames:
    """Mixin that raises an error for an unknown parameter, before `__init__` is called."""

    _parameters: ClassVar[Mapping[str, Any]]

    if not TYPE_CHECKING:  # editors and type checkers shall use the signature of __init__

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            known = constructor_names(cls.__init__)
            if known is not None:
                check_names(cls, {name: kwargs[name] for name in kwargs if name not in known}, cls._parameters, TypeError)
            return super().__new__(cls)


@functools.lru_cache(maxsize=64)
def constructor_names(init: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names of the parameters of a constructor; None if it takes any name."""
    parameters = inspect.signature(init).parameters
    return None if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values()) else frozenset(parameters)


def check_names(cls: type, given: Mapping[str, Any], known: Collection[str], error: type[Exception]) -> None:
    """Raise an error for a name that is not a parameter. The message suggests the right parameter."""
    for name, value in given.items():
        if name not in known:
            hint = "it is an argument of fit" if name in FIT_ARGUMENTS else advice(LIBRARIES, name, value, [*known, *FIT_ARGUMENTS])
            raise error(f"{cls.__name__} has no parameter {name!r}{_hint(hint, name, known)} The parameters are: {', '.join(known)}")


def with_checked_arguments(method: Callable[..., Any], parameters: Collection[str]) -> Callable[..., Any]:
    """Return a method that raises an error for an unknown argument, with a suggestion. `parameters` are those of the estimator."""
    known = [name for name in inspect.signature(method).parameters if name != "self"]

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in known:
                raise TypeError(_unknown_argument(type(self), method.__name__, name, kwargs[name], known, parameters))
        return method(self, *args, **kwargs)

    return checked


def _unknown_argument(cls: type, method: str, name: str, value: Any, known: Collection[str], parameters: Collection[str]) -> str:
    if name in parameters:
        hint: str | None = f"it is a parameter of the constructor: {cls.__name__}({name}=...)"
    else:
        hint = advice(LIBRARIES, name, value, [*known, *parameters], of_fit=True)
    return f"{cls.__name__}.{method} has no argument {name!r}{_hint(hint, name, known)} The arguments are: {', '.join(known)}"


def _hint(hint: str | None, name: str, known: Collection[str]) -> str:
    if hint is not None:
        return f"; {hint}."
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else "."

"""Names of parameters, checked with an error that names the closest one."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing import Self


class CheckedNames:
    """Base of constructors: an unknown parameter is refused before `__init__` is called."""

    _parameters: ClassVar[Mapping[str, Any]]

    if not TYPE_CHECKING:  # for tools the signature is that of __init__

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            known = inspect.signature(cls.__init__).parameters
            if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
                check_names(cls, [name for name in kwargs if name not in known], cls._parameters, TypeError)
            return super().__new__(cls)


def check_names(cls: type, given: Iterable[str], known: Collection[str], error: type[Exception]) -> None:
    """Raise for a name that is not a parameter, with the closest one that is."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise error(f"{cls.__name__} has no parameter {name!r}{hint} The parameters are: {', '.join(known)}")

"""Values that are computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """Attribute that is computed when it is read for the first time, as `functools.cached_property` of Python 3.12.

        That of Python 3.11 has a lock for all objects of a class: a process that is forked while another thread computes such an attribute
        would wait for it for ever.
        """

        def __init__(self, compute):
            self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = self.compute(instance)
            return instance.__dict__.setdefault(self.name, value)  # two threads get the same one

"""Methods of data classes (`msgspec.Struct`) that treat some fields otherwise than the library does."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any


def repr_without(*hidden: str) -> Callable[[Any], str]:
    """Return a `__repr__` that leaves fields out: secrets, and what is too long to read."""

    def __repr__(self: Any) -> str:
        names = [name for name in self.__struct_fields__ if name not in hidden]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def compare_by(*compared: str) -> tuple[Any, Any]:
    """Return `__eq__` and `__hash__` of these fields alone."""
    key = attrgetter(*compared)

    def __eq__(self: Any, other: object) -> bool:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__, hash_by(*compared)


def hash_by(*hashed: str) -> Callable[[Any], int]:
    """Return a `__hash__` of these fields alone, for classes with fields that have none."""
    key = attrgetter(*hashed)

    def __hash__(self: Any) -> int:
        return hash(key(self))

    return __hash__

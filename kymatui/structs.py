"""What data classes (`msgspec.Struct`) need beyond the library: methods, and types that threads may share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeVar, cast

from msgspec.json import Decoder

T = TypeVar("T")
_RESOLVING: Final = threading.Lock()


def resolved_type(struct: type[T]) -> type[T]:
    """Return a type that `convert` and `decode` take from any thread: the types of its fields are resolved.

    msgspec resolves them at the first use, and a second thread that meets the class meanwhile ends the process by a
    segmentation fault (seen with 0.22.0).
    """
    _resolve(cast(Hashable, struct))
    return struct


@cache
def _resolve(struct: Hashable) -> None:
    with _RESOLVING:
        Decoder(cast(Any, struct))


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

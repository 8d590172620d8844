"""Values of a Go type: zero value, typed literals, assignability."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from kymatui.helm.govalues import types
from kymatui.helm.govalues.naming import assignable, type_kind, underlying
from kymatui.helm.govalues.types import ANY, INVALID, LIST, MAP, REFLECT, NilPointer, TypedList, TypedMap, go_type

_NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "int": int,
    "float64": float,
    "float32": types.Float32,
    **{
        cls.__name__.lower(): cls
        for cls in (
            types.Int8,
            types.Int16,
            types.Int32,
            types.Int64,
            types.Uint,
            types.Uint8,
            types.Uint16,
            types.Uint32,
            types.Uint64,
        )
    },
}


def typed(value: Any, name: str) -> Any:
    """Return a literal's value in this type."""
    convert = _NUMBERS.get(underlying(name))
    return value if convert is None else convert(value)


def zero(name: str) -> Any:
    """Return reflect.Zero of a type."""
    if name == REFLECT:
        return INVALID
    if name == ANY:
        return None
    if name == MAP:
        return TypedMap(MAP, is_nil=True)
    if name == LIST:
        return []
    kind = type_kind(name)
    if kind == "map":
        return TypedMap(name, is_nil=True)
    if kind == "slice":
        return TypedList(name, is_nil=True)
    if kind == "ptr":
        return NilPointer(name)
    if kind == "interface":
        return None
    return "" if kind == "string" else False if kind == "bool" else typed(0, name)


def assignable_value(value: Any, name: str) -> bool:
    """Return whether the value is assignable to a variable of the type."""
    return _assignable(go_type(value), name)


@lru_cache(maxsize=2048)
def _assignable(source: str, name: str) -> bool:
    return assignable(source, name)

"""Go type names: their parts, underlying types, and assignability.

Types are identified by the name that reflect prints. The few named types of templates are declared here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kymatui.helm.govalues.types import ANY, MAP, REFLECT

_UNDERLYING: Final[dict[str, str]] = {
    "common.Values": MAP,
    "common.VersionSet": "[]string",
    "engine.files": "map[string][]uint8",
    "time.Duration": "int64",
    "time.Month": "int",
    "time.Weekday": "int",
    "json.Number": "string",
}
_BASIC: Final = frozenset(
    {"bool", "string", "uintptr", "float32", "float64", "complex64", "complex128"}
    | {f"{sign}int{bits}" for sign in ("", "u") for bits in ("", 8, 16, 32, 64)}
)


def underlying(name: str) -> str:
    return _UNDERLYING.get(name, name)


@lru_cache(maxsize=1024)
def type_kind(name: str) -> str:
    """Return reflect's Kind of a type name."""
    under = underlying(name)
    if under in _BASIC:
        return under
    for prefix, kind in (
        ("[]", "slice"),
        ("map[", "map"),
        ("*", "ptr"),
        ("interface {", "interface"),
        ("func(", "func"),
    ):
        if under.startswith(prefix):
            return kind
    return "interface" if under == "error" else "array" if under.startswith("[") else "struct"


@lru_cache(maxsize=1024)
def elem_type(name: str) -> str:
    """Return the element type of a slice or map, or the target type of a pointer."""
    under = underlying(name)
    if under.startswith("map["):
        return under[_closing(under, 3) + 1 :]
    if under.startswith("["):
        return under[under.index("]") + 1 :]
    return under.removeprefix("*")


@lru_cache(maxsize=1024)
def key_type(name: str) -> str:
    under = underlying(name)
    return under[4 : _closing(under, 3)]


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += {"[": 1, "]": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


@lru_cache(maxsize=4096)
def assignable(source: str, target: str) -> bool:
    """Return whether a value of one type is assignable to a variable of another (Go's assignability)."""
    if source == target or target == ANY:
        return True
    if target == REFLECT or underlying(source) != underlying(target):
        return False
    return is_unnamed(source) or is_unnamed(target)


def is_unnamed(name: str) -> bool:
    """Return whether the type has no name: map[…]…, []…, *…, func(…)."""
    return name.startswith(("map[", "[", "*", "func(", "interface {", "struct {"))


@lru_cache(maxsize=1024)
def can_be_nil(name: str) -> bool:
    """Return whether nil is a value of this type."""
    return name == REFLECT or type_kind(name) in {"interface", "map", "ptr", "slice", "func", "chan"}

"""Declarations of template functions: `declare("trunc(int, string)", trunc)`.

The words in parentheses are Go parameter types; "..." before the last makes it variadic. Arguments are checked and
converted before the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kymatui.helm.govalues.bounding import PART_LIMIT, TEXT_LIMIT
from kymatui.helm.govalues.types import ANY, LIST, MAP, Function, FunctionError

__all__ = ["LIST_LIMIT", "declare", "hold_list", "hold_text", "table"]

_SHORT: Final[Mapping[str, str]] = {
    "any": ANY,
    "list": LIST,
    "map": MAP,
    "time": "time.Time",
    "certificate": "sprig.certificate",
}

LIST_LIMIT: Final = PART_LIMIT
"""Elements that one call of a function may make."""


def declare(signature: str, call: Callable[..., Any], *, environment: bool = False) -> Function:
    """Return a function with a signature; with `environment`, it receives the Environment first."""
    name, _, words = signature.removesuffix(")").partition("(")
    params = [word.strip() for word in words.split(",") if word.strip()]
    variadic = bool(params) and params[-1].startswith("...")
    named = tuple(_SHORT.get(word.removeprefix("..."), word.removeprefix("...")) for word in params)
    return Function(name, named, variadic, call, takes_environment=environment)


def table(functions: Iterable[Function]) -> dict[str, Function]:
    return {function.name: function for function in functions}


def hold_text(length: int, what: str) -> None:
    """Raise FunctionError if a text would exceed TEXT_LIMIT."""
    if length > TEXT_LIMIT:
        raise FunctionError(f"{what} would be {length} characters long, the limit is {TEXT_LIMIT}")


def hold_list(length: int, what: str, limit: int | None = None) -> None:
    """Raise FunctionError if a list would exceed the limit, LIST_LIMIT by default."""
    limit = LIST_LIMIT if limit is None else limit
    if length > limit:
        raise FunctionError(f"{what} would have {length} elements, the limit is {limit}")

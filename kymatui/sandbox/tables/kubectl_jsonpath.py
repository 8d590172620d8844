"""JSONPath in kubectl's dialect, for printer columns of custom resources."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

JsonPathStep = Callable[[list[Any]], list[Any]]
_TOKEN = re.compile(
    r"""(?P<deep>\.\.)?\.?(?:(?P<name>(?:\\.|[A-Za-z0-9_\-/$:])+)|(?P<star>\*)|\[(?P<index>(?:'[^']*'|"[^"]*"|[^\]'"])+)\])""",
    re.VERBOSE,
)
_FILTER = re.compile(r"^\?\(\s*@\.(?P<path>[^=!<>\s]+)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>.+?)\s*)?\)$")


class JsonPathError(ValueError):
    """A malformed path."""


@functools.lru_cache(maxsize=512)
def compile_path(text: str) -> tuple[JsonPathStep, ...]:
    """Return the steps of `.status.conditions[?(@.type=="Ready")].status`. Raise `JsonPathError`."""
    rest = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps: list[JsonPathStep] = []
    position = 0
    while position < len(rest):
        match = _TOKEN.match(rest, position)
        if match is None or match.end() == position:
            raise JsonPathError(f"unrecognized character in path {text!r} at {position}")
        if match["deep"]:
            steps.append(_descendants)
        if match["name"]:
            steps.append(_field(match["name"].replace("\\", "")))
        elif match["star"]:
            steps.append(_every)
        else:
            steps.append(_bracket(match["index"].strip()))
        position = match.end()
    return tuple(steps)


def find_values(text: str, obj: Any) -> list[Any]:
    """Return all values at a path. Raise `JsonPathError`."""
    values = [obj]
    for step in compile_path(text):
        values = step(values)
    return values


def _field(name: str) -> JsonPathStep:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _every(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found


def _descendants(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found.append(value)
        found += _descendants(_every([value]))
    return found


def _bracket(text: str) -> JsonPathStep:
    if text[0] in "'\"":
        return _field(text[1:-1])
    if text == "*":
        return _every
    if text.startswith("?"):
        return _selection(text)
    if re.fullmatch(r"-?\d+", text):
        index = int(text)
        return lambda values: [
            value[index] for value in values if isinstance(value, list) and -len(value) <= index < len(value)
        ]
    if re.fullmatch(r"-?\d*(:-?\d*){1,2}", text):
        parts = [int(part) if part else None for part in text.split(":")]
        return lambda values: [item for value in values if isinstance(value, list) for item in value[slice(*parts)]]
    raise JsonPathError(f"cannot read [{text}]")


def _selection(text: str) -> JsonPathStep:
    match = _FILTER.match(text)
    if match is None:
        raise JsonPathError(f"cannot read [{text}]")
    path, operator, wanted = "." + match["path"], match["operator"], match["value"]

    def chosen(item: Any) -> bool:
        found = find_values(path, item)
        if operator is None:
            return bool(found)
        return bool(found) and _compare(found[0], operator, _literal(wanted))

    return lambda values: [item for item in _every(values) if chosen(item)]


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _compare(left: Any, operator: str, right: Any) -> bool:
    if operator in ("==", "!="):
        return (left == right) is (operator == "==")
    if isinstance(left, bool) or isinstance(right, bool) or type(left) is not type(right):
        return False
    if not isinstance(left, (int, float, str)):
        return False
    order: dict[str, Callable[[Any, Any], bool]] = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    return order[operator](left, right)

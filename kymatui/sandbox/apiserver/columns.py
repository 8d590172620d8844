"""Printer columns of custom resources, and the columns that every other kind has at least."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from kymatui.sandbox.apiserver.resources import Object
from kymatui.sandbox.schemas.structural import object_meta

_STEP = re.compile(
    r"""\.(?P<field>(?:[^.\[\]\\]|\\.)+)|\[(?P<quoted>'[^']*'|"[^"]*")\]|\[(?P<index>-?\d+|\*)\]|"""
    r"""\[\?\(@\.(?P<tested>[^=!<>]+?)\s*(?P<operator>==|!=)\s*(?P<wanted>'[^']*'|"[^"]*"|[^)]+)\)\]|(?P<all>\.\*)"""
)

Step = Callable[[Any], list[Any]]


def name_column() -> Object:
    """The first column of every table."""
    return {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": object_meta().properties["name"].description,
        "priority": 0,
    }


def age_column() -> Object:
    """When the object was made."""
    return {
        "name": "Age",
        "type": "date",
        "format": "",
        "description": object_meta().properties["creationTimestamp"].description,
        "priority": 0,
    }


class CustomColumns:
    """The columns of one version of a definition; without any of its own it shows the age."""

    def __init__(self, given: Sequence[Object]) -> None:
        self._given = given or ({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},)
        self._paths = [path(column["jsonPath"]) for column in self._given]
        self._shows_age = not given

    def definitions(self) -> list[Object]:
        if self._shows_age:
            return [name_column(), age_column()]
        return [name_column(), *(_definition(column) for column in self._given)]

    def cells(self, obj: Object, now: float) -> list[Any]:
        found = [
            _cell(column.get("type", "string"), select(obj), now)
            for column, select in zip(self._given, self._paths, strict=True)
        ]
        return [obj["metadata"]["name"], *found]


def _definition(column: Object) -> Object:
    described = f"Custom resource definition column (in JSONPath format): {column['jsonPath']}"
    return {
        "name": column["name"],
        "type": column.get("type", "string"),
        "format": column.get("format", ""),
        "description": column.get("description") or described,
        "priority": column.get("priority", 0),
    }


def _cell(kind: str, values: list[Any], now: float) -> Any:
    if not values or values[0] is None:
        return None
    value = values[0]
    if kind == "integer":
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if kind == "number":
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date":
        return age_of(value, now)
    return " ".join(_text(found) for found in values)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


@functools.lru_cache(maxsize=512)
def path(text: str) -> Callable[[Any], list[Any]]:
    """The values at a JSON path in kubectl's dialect; what cannot be read selects nothing."""
    text = text.strip().removeprefix("{").removesuffix("}")
    if text and text[0] not in ".[":
        text = "." + text
    steps: list[Step] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None:
            return lambda value: []
        steps.append(_step(match))
        at = match.end()

    def select(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [part for each in found for part in step(each)]
        return found

    return select


def _step(match: re.Match[str]) -> Step:
    if match["tested"]:
        return _filter(match["tested"], match["operator"], match["wanted"].strip("'\""))
    if match["all"] or match["index"] == "*" or match["field"] == "*":
        return _children
    if match["index"]:
        return functools.partial(_item, int(match["index"]))
    name = match["quoted"][1:-1] if match["quoted"] else re.sub(r"\\(.)", r"\1", match["field"])
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _item(index: int, value: Any) -> list[Any]:
    if isinstance(value, list) and -len(value) <= index < len(value):
        return [value[index]]
    return []


def _filter(tested: str, operator: str, wanted: str) -> Step:
    select = path("." + tested)

    def step(value: Any) -> list[Any]:
        items = value if isinstance(value, list) else []
        return [item for item in items if (_first_text(select(item)) == wanted) is (operator == "==")]

    return step


def _first_text(values: list[Any]) -> str | None:
    return _text(values[0]) if values else None


def age_of(moment: Any, now: float) -> str:
    """How long ago, as kubectl shows it; "<unknown>" for no time, "<invalid>" for the future."""
    try:
        seconds = now - datetime.fromisoformat(str(moment).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return "<unknown>"
    return human_duration(seconds)


def human_duration(seconds: float) -> str:
    """k8s.io/apimachinery/pkg/util/duration.HumanDuration."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    years, rest = divmod(days, 365)
    return _two(years, "y", rest, "d") if years < 8 else f"{years}y"


def _two(first: int, unit: str, second: int, other: str) -> str:
    return f"{first}{unit}{second}{other}" if second else f"{first}{unit}"

"""Cells that several kinds share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.metav1_time import TimeError, parse_time

NONE = "<none>"

Cells = Callable[[Object, float], list[Any]]
"""The cells of an object at a time (epoch seconds)."""


def age_of(obj: Object, now: float) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def images(spec: Object) -> tuple[str, str]:
    """Return the container names and their images of a pod template."""
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
    return ",".join(c["name"] for c in containers), ",".join(c.get("image", "") for c in containers)


def format_selector(selector: Any) -> str:
    """Return a LabelSelector on one line."""
    if selector is None:
        return NONE
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        key, operator, values = term["key"], term["operator"], ",".join(sorted(term.get("values") or ()))
        if operator in ("In", "NotIn"):
            terms.append(f"{key} {operator.lower()} ({values})")
        else:
            terms.append(key if operator == "Exists" else f"!{key}")
    return ",".join(terms) or NONE


def format_labels(labels: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def named(obj: Object, *cells: Any) -> list[Any]:
    """Return a row that begins with the name."""
    return [obj["metadata"]["name"], *cells]


# Ages in kubectl's format (k8s.io/apimachinery/pkg/util/duration).


UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def human_duration(seconds: int) -> str:
    """Return at most two units: 5s, 2m30s, 90m, 3h20m, 4d2h, 3y40d."""
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds // _MINUTE, "m", seconds % _MINUTE, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds // _HOUR, "h", seconds % _HOUR // _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds // _DAY, "d", seconds % _DAY // _HOUR, "h")
    if seconds < 2 * 365 * _DAY:
        return f"{seconds // _DAY}d"
    if seconds < 8 * 365 * _DAY:
        return _two(seconds // (365 * _DAY), "y", seconds % (365 * _DAY) // _DAY, "d")
    return f"{seconds // (365 * _DAY)}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def seconds_of(text: Any) -> float | None:
    """Return a time in Unix seconds, None for other text."""
    if not isinstance(text, str) or not text:
        return None
    try:
        return parse_time(text).timestamp()
    except TimeError:
        return None


def age(text: Any, now: float) -> str:
    then = seconds_of(text)
    return UNKNOWN if then is None else human_duration(int(now - then))

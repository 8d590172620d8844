"""Cells that several kinds share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.sandbox.tables.human_durations import age
from kymatui.schemas.types.schema_node import Object

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

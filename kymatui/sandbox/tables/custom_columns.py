"""Columns of custom resources: those of the CRD, else the age."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kymatui.domain.kubernetes.jsonpath import JsonPathError, find_values
from kymatui.sandbox.tables.human_durations import age
from kymatui.schemas.objects.structural_schemas import object_meta
from kymatui.schemas.types.schema_node import Object

AGE: Object = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def name_column() -> Object:
    """Return the first column of every kind."""
    return _column("Name", "string", object_meta().properties["name"].description, form="name")


def _column(name: str, kind: str, description: str, *, form: str = "", priority: int = 0) -> Object:
    return {"name": name, "type": kind, "format": form, "description": description, "priority": priority}


def custom_columns(printed: Sequence[Object]) -> list[Object]:
    """Return the columnDefinitions; `printed` are the version's additionalPrinterColumns."""
    columns = [name_column()]
    if not printed:
        columns.append(_column("Age", "date", object_meta().properties["creationTimestamp"].description))
    for column in printed:
        description = column.get("description") or ""
        if not description:
            description = f"Custom resource definition column (in JSONPath format): {column['jsonPath']}"
        form, priority = column.get("format") or "", column.get("priority") or 0
        columns.append(_column(column["name"], column["type"], description, form=form, priority=priority))
    return columns


def custom_cells(printed: Sequence[Object], obj: Object, now: float) -> list[Any]:
    cells: list[Any] = [(obj.get("metadata") or {}).get("name", "")]
    return cells + [_cell(column, obj, now) for column in printed or (AGE,)]


def _cell(column: Object, obj: Object, now: float) -> Any:
    try:
        values = find_values(column["jsonPath"], obj)
    except JsonPathError:
        return None
    if not values or values[0] is None:
        return None
    value, kind = values[0], column["type"]
    if kind == "string":
        return " ".join(_text(item) for item in values) if len(values) > 1 else _text(value)
    if kind == "date":
        return age(value, now)
    if kind == "integer":
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if kind == "number":
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

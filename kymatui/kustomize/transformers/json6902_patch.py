"""JSON patches (RFC 6902)."""

from __future__ import annotations

import copy
from typing import Any, Final

from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import SourceError
from kymatui.helm.yaml.conversions import count_nodes
from kymatui.helm.yaml.errors import YamlLimitError
from kymatui.helm.yaml.limits import YamlBudget

_OPERATIONS: Final = frozenset(["add", "remove", "replace", "move", "copy", "test"])
_MISSING: Final = object()


def apply(body: Any, patch: list[Any], where: str, budget: YamlBudget) -> Any:
    """Apply all operations to the object and return it. Raises SourceError, also for what is no object any more.

    Copies are charged to the budget of the build.
    """
    for number, operation in enumerate(patch, 1):
        kind = operation.get("op") if isinstance(operation, dict) else None
        if not isinstance(kind, str) or kind not in _OPERATIONS:
            raise SourceError(f"{where}: operation {number} is not a JSON patch operation")
        path = operation.get("path")
        if not isinstance(path, str) or (path and not path.startswith("/")):
            raise SourceError(f"{where}: operation {number} has no path that starts with /")
        try:
            body = _one(body, operation, path, budget)
        except (_PathError, YamlLimitError) as error:
            raise SourceError(f"{where}: operation {number}, {operation['op']} {path}: {error}") from error
    if not isinstance(body, dict):
        raise SourceError(f"{where}: the patch leaves no object", hint="patch below the root, such as /spec/replicas")
    return body


class _PathError(Exception):
    """A path does not exist, or a test fails."""


def _one(body: Any, operation: dict[str, Any], path: str, budget: YamlBudget) -> Any:
    match operation["op"]:
        case "add":
            return _add(body, path, _given(operation, budget))
        case "remove":
            _remove(body, path)
        case "replace":
            return _replace(body, path, _given(operation, budget))
        case "move":
            value = _there(body, _source(operation))
            _remove(body, _source(operation))
            return _add(body, path, value)
        case "copy":
            return _add(body, path, charged_copy(_there(body, _source(operation)), budget))
        case _:
            current = _get(body, path)
            if (None if current is _MISSING else current) != operation.get("value"):
                raise _PathError(f"the test failed, found {'nothing' if current is _MISSING else 'another value'}")
    return body


def charged_copy(value: Any, budget: YamlBudget) -> Any:
    """Return a copy, which counts: copies of an object into itself double it each time. Raises YamlLimitError."""
    budget.charge(count_nodes(value))
    return copy.deepcopy(value)


def _given(operation: dict[str, Any], budget: YamlBudget) -> Any:
    if "value" not in operation:
        raise _PathError("the operation has no value")
    return charged_copy(operation["value"], budget)


def _source(operation: dict[str, Any]) -> str:
    source = operation.get("from")
    if not isinstance(source, str) or not source.startswith("/"):
        raise _PathError(f"from is {source!r}, expected a path that starts with /")
    return source


def _parts(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _holder(body: Any, path: str) -> tuple[Any, str]:
    *parents, last = _parts(path)
    for part in parents:
        body = _child(body, part)
        if not isinstance(body, dict | list):
            raise _PathError(f"the path has no {part!r}")
    return body, last


def _child(body: Any, part: str) -> Any:
    if isinstance(body, dict):
        return body.get(part, _MISSING)
    if isinstance(body, list):
        at = _index(body, part)
        return body[at] if 0 <= at < len(body) else _MISSING
    return _MISSING


def _index(items: list[Any], part: str) -> int:
    """Return the index; negative ones count from the end, as in kustomize's library."""
    if not part.lstrip("-").isdigit() or not part.isascii():
        raise _PathError(f"{part!r} is not a list index")
    at = int(part)
    return at + len(items) if at < 0 else at


def _get(body: Any, path: str) -> Any:
    for part in _parts(path) if path else ():
        body = _child(body, part)
        if body is _MISSING:
            return _MISSING
    return body


def _there(body: Any, path: str) -> Any:
    value = _get(body, path)
    if value is _MISSING:
        raise _PathError(f"nothing at {path}")
    return value


def _add(body: Any, path: str, value: Any) -> Any:
    if not path:
        return value
    holder, key = _holder(body, path)
    if isinstance(holder, dict):
        holder[key] = value
        return body
    at = len(holder) if key == "-" else _index(holder, key)
    if not 0 <= at <= len(holder):
        raise _PathError(f"the list has {format_count(len(holder), 'element')}")
    holder.insert(at, value)
    return body


def _replace(body: Any, path: str, value: Any) -> Any:
    """Replace a value; a map's field need not exist, as in kustomize's library."""
    if not path:
        return value
    holder, key = _holder(body, path)
    if isinstance(holder, dict):
        holder[key] = value
        return body
    at = _index(holder, key)
    if not 0 <= at < len(holder):
        raise _PathError(f"the list has {format_count(len(holder), 'element')}")
    holder[at] = value
    return body


def _remove(body: Any, path: str) -> None:
    if not path or _get(body, path) is _MISSING:
        raise _PathError("nothing to remove")
    holder, key = _holder(body, path)
    if isinstance(holder, dict):
        del holder[key]
    else:
        del holder[_index(holder, key)]

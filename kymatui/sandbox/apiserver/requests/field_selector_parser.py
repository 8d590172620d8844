"""Field selectors: the supported fields of each kind and the parser of the terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kymatui.sandbox.apiserver.requests.label_selector_parser import SelectorError

_GENERIC = ("metadata.name", "metadata.namespace")

FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "namespaces": ("status.phase", "name"),
    "nodes": ("spec.unschedulable",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicationcontrollers": ("status.replicas",),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.successful",),
}
"""Beyond the name and the namespace, which every kind can be selected by."""


class FieldTerm(NamedTuple):
    field: str
    value: str
    equal: bool


def parse_field_selector(text: str) -> list[FieldTerm]:
    """Return the terms. Raise `SelectorError`."""
    terms: list[FieldTerm] = []
    for term in _split(text):
        if not term:
            continue
        parsed = _term(text, term)
        if parsed.field or parsed.value:
            terms.append(parsed)
    return terms


def _split(text: str) -> list[str]:
    parts: list[str] = []
    start = at = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == ",":
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [*parts, text[start:]]


def _term(text: str, term: str) -> FieldTerm:
    for at, char in enumerate(term):
        for operator in ("!=", "==", "="):
            if char in "!=" and term.startswith(operator, at):
                value = _unescaped(term[at + len(operator) :])
                return FieldTerm(term[:at], value, operator != "!=")
    raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")


def _unescaped(value: str) -> str:
    out: list[str] = []
    chars = iter(value)
    for char in chars:
        if char == "\\":
            following = next(chars, "")
            if following not in ("\\", ",", "="):
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{following} in '{value}'")
            out.append(following)
        elif char == "=":
            raise SelectorError(f"invalid field selector: unescaped character in '{value}': {char}")
        else:
            out.append(char)
    return "".join(out)


def check_field(resource: str, field: str, selectable: tuple[str, ...], *, custom: bool) -> None:
    """Raise `SelectorError` for a field that the kind does not support."""
    if field in _GENERIC or field in FIELDS.get(resource, ()) or field in selectable:
        return
    if resource == "jobs.batch":
        raise SelectorError(f'field label "{field}" not supported for Job')
    if custom or resource in FIELDS:
        raise SelectorError(f"field label not supported: {field}")
    raise SelectorError(f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"')


def field_value(resource: str, obj: Mapping[str, Any], field: str) -> str:
    """Return the value of a field as text, "" if it is missing."""
    if field == "name":
        field = "metadata.name"
    if resource == "events" and field == "source":
        source = obj.get("source") or {}
        return str(source.get("component") or obj.get("reportingComponent") or "")
    if resource == "pods" and field == "status.podIPs":
        return ",".join(address["ip"] for address in (obj.get("status") or {}).get("podIPs") or ())
    if field == "status.successful":
        field = "status.succeeded"
    value = _dig(obj, field)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return _EMPTY.get(field, "")
    return str(value)


_EMPTY = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.replicas": "0", "status.succeeded": "0"}


def _dig(obj: Any, path: str) -> Any:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return obj

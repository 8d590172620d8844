"""Parsers of label and field selectors, with the messages of k8s.io/apimachinery/pkg/labels and fields."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kymatui.schemas.values.name_rules import label_value, qualified_name

Labels = Mapping[str, str]

_OPERATORS = ("=", "==", "!=", ">", "<", "in", "notin")
_EXPECTED = "in, notin, =, ==, !=, gt, lt"
_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_SYMBOLS = frozenset(("=", "==", "!=", "!", "<", ">", "(", ")", ","))


class SelectorError(ValueError):
    """Text that is no selector; the message is the server's."""


class SelectorRequirement(NamedTuple):
    """One term; `operator` is one of =, !=, in, notin, >, <, exists, missing."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "missing":
                return value is None
            case "=" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        try:
            left, right = int(value), int(next(iter(self.values)))
        except ValueError:
            return False
        return left > right if self.operator == ">" else left < right


@functools.lru_cache(maxsize=256)
def parse_label_selector(text: str) -> Callable[[Labels], bool]:
    """Return a test for labels. Raise `SelectorError`."""
    requirements = tuple(_Parser(text).parse())
    return lambda labels: all(requirement.holds(labels) for requirement in requirements)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def _peek(self) -> str:
        """Return the next token, "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def parse(self) -> list[SelectorRequirement]:
        requirements: list[SelectorRequirement] = []
        while word := self._peek():
            if word in _SYMBOLS and word != "!":
                raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            separator = self._next()
            if separator == "":
                break
            if separator != ",":
                raise SelectorError(f"found '{separator}', expected: ',' or 'end of string'")
            following = self._peek()
            if following == "" or (following in _SYMBOLS and following != "!"):
                raise SelectorError(f"found '{following}', expected: identifier after ','")
        return requirements

    def _requirement(self) -> SelectorRequirement:
        missing = self._peek() == "!"
        if missing:
            self._next()
        key = self._next()
        if not key or key in _SYMBOLS:
            raise SelectorError(f"found '{key}', expected: identifier")
        _check_key(key)
        if missing or self._peek() in ("", ","):
            return SelectorRequirement(key, "missing" if missing else "exists", frozenset())
        operator = self._next()
        if operator not in _OPERATORS:
            raise SelectorError(f"found '{operator}', expected: {_EXPECTED}")
        values = self._values() if operator in ("in", "notin") else self._value()
        _check_values(key, operator, values)
        return SelectorRequirement(key, "=" if operator == "==" else operator, frozenset(values))

    def _value(self) -> list[str]:
        if self._peek() in ("", ","):
            return [""]
        value = self._next()
        if value in _SYMBOLS:
            raise SelectorError(f"found '{value}', expected: identifier")
        return [value]

    def _values(self) -> list[str]:
        opening = self._next()
        if opening != "(":
            raise SelectorError(f"found '{opening}' expected: '('")
        first = self._peek()
        if first == ")":
            self._next()
            return [""]
        if first == "" or (first in _SYMBOLS and first != ","):
            raise SelectorError(f"found '{first}', expected: ',', ')' or identifier")
        values = self._identifiers()
        if self._next() != ")":
            raise SelectorError(f"found '{first}', expected: ')'")
        return values

    def _identifiers(self) -> list[str]:
        """Return the identifiers up to the closing parenthesis; an empty text stands between two commas."""
        values: list[str] = []
        while True:
            word = self._next()
            if word == ",":
                if not values:
                    values.append("")
                following = self._peek()
                if following == ")":
                    return [*values, ""]
                if following == ",":
                    self._next()
                    values.append("")
            elif word == "" or word in _SYMBOLS:
                raise SelectorError(f"found '{word}', expected: ',', or identifier")
            else:
                values.append(word)
                following = self._peek()
                if following == ")":
                    return values
                if following != ",":
                    raise SelectorError(f"found '{following}', expected: ',' or ')'")


def _check_key(key: str) -> None:
    problems = qualified_name(key)
    if problems:
        raise SelectorError(f'<nil>: Invalid value: "{key}": {"; ".join(problems)}')


def _check_values(key: str, operator: str, values: list[str]) -> None:
    if operator in (">", "<"):
        try:
            int(values[0])
        except ValueError:
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise SelectorError(f'values[0]: Invalid value: "{values[0]}": {text}') from None
    for index, value in enumerate(values):
        problems = label_value(value)
        if problems:
            raise SelectorError(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(problems)}')


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

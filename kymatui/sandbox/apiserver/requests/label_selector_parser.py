"""Parser of label selectors, with the messages of k8s.io/apimachinery/pkg/labels."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

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

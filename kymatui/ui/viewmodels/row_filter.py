"""Filter behind `/` in k9s grammar: a regular expression, `!` inverts, `-f` is fuzzy, `-l` labels.

Labels are `-l key=value`, `-l key` or `-l key!=value`, several separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

Predicate = Callable[[str, Mapping[str, str]], bool]


class RowFilter(Struct, frozen=True):
    """Parsed filter; with a `problem` the text is no valid filter and all rows stay."""

    text: str
    accepts: Predicate
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.text.strip())


def parse_filter(text: str) -> RowFilter:
    """Return the filter of a text; an invalid text accepts all rows and sets `problem`."""
    stripped = text.strip()
    if not stripped:
        return RowFilter(text, _everything)
    if stripped.startswith("-l"):
        return _labels(text, stripped[2:].strip())
    if stripped.startswith("-f"):
        return RowFilter(text, _fuzzy(stripped[2:].strip().casefold()))
    inverse = stripped.startswith("!")
    return _pattern(text, stripped[1:].strip() if inverse else stripped, inverse)


def _everything(line: str, labels: Mapping[str, str]) -> bool:
    del line, labels
    return True


def _pattern(text: str, pattern: str, inverse: bool) -> RowFilter:
    try:
        expression = re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        return RowFilter(text, _everything, f"invalid regular expression: {error}")
    return RowFilter(text, lambda line, labels: bool(expression.search(line)) != inverse)


def _fuzzy(letters: str) -> Predicate:
    def accepts(line: str, labels: Mapping[str, str]) -> bool:
        del labels
        rest = iter(line.casefold())
        return all(letter in rest for letter in letters if letter != " ")

    return accepts


def _labels(text: str, selector: str) -> RowFilter:
    if not selector:
        return RowFilter(text, _everything, "-l needs a label, such as -l app=web")
    requirements = [_requirement(part.strip()) for part in selector.split(",") if part.strip()]
    return RowFilter(text, lambda line, labels: all(accepts(labels) for accepts in requirements))


def _requirement(part: str) -> Callable[[Mapping[str, str]], bool]:
    if "!=" in part:
        key, value = (side.strip() for side in part.split("!=", 1))
        return lambda labels: labels.get(key) != value
    if "=" in part:
        key, value = (side.strip() for side in re.split("==?", part, maxsplit=1))
        return lambda labels: labels.get(key) == value
    if part.startswith("!"):
        return lambda labels: part[1:].strip() not in labels
    return lambda labels: part in labels

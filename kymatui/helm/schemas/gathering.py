"""Conversion of validation errors to the error tree of Helm's library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from msgspec import Struct, field

from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.quoting import quote

_RANKS: Final = {
    word: rank
    for rank, word in enumerate(
        (
            "type", "const", "enum", "format", "$ref", "minProperties", "maxProperties", "required", "dependencies",
            "properties", "patternProperties", "additionalProperties", "propertyNames", "dependentSchemas",
            "dependentRequired", "minItems", "maxItems", "uniqueItems", "items", "prefixItems", "additionalItems",
            "contains", "minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum",
            "exclusiveMaximum", "multipleOf", "$recursiveRef", "$dynamicRef", "not", "allOf", "anyOf", "oneOf", "if",
        )
    )
}  # fmt: skip
_FIRST: Final = ("type", "const", "enum", "format")
_NAMED: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "allOf", "prefixItems", "if"}
)
_INNER: Final = frozenset({"properties", "patternProperties", "items", "prefixItems", "additionalItems", "contains"})


class _Failure(Struct):
    """An error of the library with its remaining paths, relative to a schema on the way."""

    rest: list[Any]
    place: list[Any]
    error: Any


class _Entry(Struct):
    """A node in the error tree of Helm's library."""

    kind: str
    place: list[Any]
    text: str = ""
    causes: list[_Entry] = field(default_factory=list)

    def lines(self, depth: int) -> Iterator[str]:
        if self.kind == "$ref" and len(self.causes) == 1:
            yield from self.causes[0].lines(depth)
            return
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self.place)
        yield f"{'  ' * depth}- at {quoted(pointer)}: {self.text}"
        for cause in self.causes:
            yield from cause.lines(depth + 1)


def describe(errors: Iterable[Any]) -> str:
    """Return the library's errors, one line per node of the tree."""
    top = _gather([_Failure(list(error.schema_path), list(error.path), error) for error in errors], [])
    causes = top.causes if top.kind == "group" else [top]
    return "\n".join(line for cause in causes for line in cause.lines(0)) + "\n"


def _gather(failures: list[_Failure], location: list[Any]) -> _Entry:
    """Return the failures of one schema and place as one node or a group."""
    if none := [failure for failure in failures if not failure.rest]:  # the schema is `false`
        return _leaf(none[0], location)
    for word in _FIRST:
        if first := [failure for failure in failures if failure.rest == [word]]:
            return _leaf(first[0], location)
    entries: list[_Entry] = []
    # The library reports each missing property, Go's library all at once.
    repeated = {id(failure) for failure in [failure for failure in failures if failure.rest == ["required"]][1:]}
    failures = [failure for failure in failures if id(failure) not in repeated]
    for _, group in groupby(sorted(failures, key=_order), key=_step):
        entries += _follow(list(group), location)
    return entries[0] if len(entries) == 1 else _Entry("group", location, "validation failed", entries)


def _order(failure: _Failure) -> tuple[Any, ...]:
    word = failure.rest[0]
    names = [str(part).zfill(6) if isinstance(part, int) else str(part) for part in failure.place[:1]]
    return (
        _RANKS.get(word, 99),
        *([str(failure.rest[1])] if word in _NAMED and len(failure.rest) > 1 else [""]),
        names,
    )


def _step(failure: _Failure) -> tuple[Any, ...]:
    """Return the key that failures of the same subschema share."""
    word = failure.rest[0]
    if len(failure.rest) == 1:
        return (word, id(failure))
    name = failure.rest[1] if word in _NAMED and word != "allOf" else None
    inner = failure.place[0] if failure.place and _descends(failure) else None
    return (word, name, inner)


def _descends(failure: _Failure) -> bool:
    return failure.rest[0] in _INNER or failure.rest[0] in ("additionalProperties", "unevaluatedProperties")


def _follow(failures: list[_Failure], location: list[Any]) -> list[_Entry]:
    word = failures[0].rest[0]
    if len(failures[0].rest) == 1:
        forbidden = failures[0].error.validator is None and _descends(failures[0])
        return [_leaf(failures[0], location + failures[0].place[:forbidden])]
    if word == "allOf":
        parts = [list(group) for _, group in groupby(failures, key=lambda failure: failure.rest[1])]
        return [_Entry("allOf", location, "'allOf' failed", [_gather(_cut(part, 2, 0), location) for part in parts])]
    inner = 1 if _descends(failures[0]) and failures[0].place else 0
    below = _gather(_cut(failures, 2 if word in _NAMED else 1, inner), location + failures[0].place[:inner])
    if word == "$ref":
        return [_Entry("$ref", location, "validation failed", below.causes if below.kind == "group" else [below])]
    return [below]


def _cut(failures: list[_Failure], steps: int, inner: int) -> list[_Failure]:
    return [_Failure(failure.rest[steps:], failure.place[inner:], failure.error) for failure in failures]


def _leaf(failure: _Failure, location: list[Any]) -> _Entry:
    word, error = failure.error.validator, failure.error
    entry = _Entry(str(word), location, error_message(error))
    if word in ("anyOf", "oneOf") and error.context:
        parts = [
            _Failure(list(context_error.relative_schema_path), list(context_error.relative_path), context_error)
            for context_error in error.context
        ]
        grouped = [list(group) for _, group in groupby(parts, key=lambda part: part.rest[0])]
        entry.causes = [_gather(_cut(part, 1, 0), location) for part in grouped]
    if word == "propertyNames":
        entry.place = []  # the library validates the name as a document of its own
        names = _gather(
            [
                _Failure(list(context_error.relative_schema_path), list(context_error.relative_path), context_error)
                for context_error in error.context
            ],
            [],
        )
        entry.causes = names.causes if names.kind == "group" else [names]
    return entry


# Messages of Helm's library for one invalid value.


_TYPES: Final = ("null", "boolean", "number", "integer", "string", "array", "object")


def quoted(text: str) -> str:
    return "'" + quote(text)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "value" if isinstance(value, (list, dict)) else format_value(value)


def _number(value: Any) -> str:
    """Return numbers with thousands separators, as the library's English messages."""
    if isinstance(value, float) and not value.is_integer():
        integer, _, fraction = repr(value).partition(".")
        return f"{int(integer):,}.{fraction}" if integer.lstrip("-").isdigit() else repr(value)
    return f"{int(value):,}"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = ((str, "string"), ((int, float), "number"), (list, "array"))
    return next((name for cls, name in kinds if isinstance(value, cls)), "object")


def error_message(error: Any) -> str:
    word, expected, actual = str(error.validator), error.validator_value, error.instance
    if word == "type":
        names = [expected] if isinstance(expected, str) else expected
        return f"got {_kind(actual)}, want {' or '.join(sorted(names, key=_TYPES.index))}"
    if word == "required":
        return _missing(error)
    if word in ("const", "enum"):
        return _choice(word, [expected] if word == "const" else expected)
    if word == "pattern":
        return f"{quoted(actual)} does not match pattern {quoted(expected)}"
    if word in ("minimum", "maximum") and error.schema.get(exclusive := f"exclusive{word.capitalize()}") is True:
        word = exclusive  # draft 4
    if word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        return f"{word}: got {_number(actual)}, want {_number(expected)}"
    if word in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
        return f"{word}: got {_number(len(actual))}, want {_number(expected)}"
    if word in ("additionalProperties", "unevaluatedProperties") and expected is False:
        names = ", ".join(quoted(name) for name in error.message.split("\0"))
        return f"additional properties {names} not allowed"
    if "\0" in error.message and word in ("dependentRequired", "dependencies"):
        name, *missing = error.message.split("\0")
        return f"properties {', '.join(map(quoted, missing))} required, if {quoted(name)} exists"
    if word == "format":
        return f"{_shown(actual)} is not valid {expected}: {error.cause or 'no match'}"
    if word == "additionalItems" and expected is False:
        return f"last {len(actual) - len(error.schema['items'])} additionalItem(s) not allowed"
    if word == "oneOf":
        return f"'oneOf' failed, {'none' if error.context else f'subschemas {error.message}'} matched"
    fixed = {
        "not": "'not' failed",
        "anyOf": "'anyOf' failed",
        "contains": "no items match contains schema",
        "None": "false schema",
        "propertyNames": f"invalid propertyName {quoted(error.message)}",
    }
    return fixed.get(word) or str(error.message)


def _missing(error: Any) -> str:
    names = [name for name in error.validator_value if name not in error.instance]
    listed = ", ".join(quoted(name) for name in names)
    return f"missing {'property' if len(names) == 1 else 'properties'} {listed}"


def _choice(word: str, allowed: list[Any]) -> str:
    if any(isinstance(allowed_value, (list, dict)) for allowed_value in allowed):
        return f"'{word}' failed"
    shown = [_shown(allowed_value) for allowed_value in allowed]
    return f"value must be {shown[0]}" if len(shown) == 1 else f"value must be one of {', '.join(shown)}"

"""values.schema.json: whether values are what the charts ask for, in the words of Helm's library.

The jsonschema library decides; patterns are RE2's, and nothing is ever fetched: a reference to another place is an
error. Schemas without `$schema` are of 2020-12.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from itertools import groupby
from typing import Any, Final

from kymatui.errors import HelmError
from kymatui.helm.functions.regexes import compiled
from kymatui.helm.govalues.printing import format_value
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.govalues.types import FunctionError, go_type
from kymatui.helm.references import check_references
from kymatui.helm.trees import ChartNode

_HEADLINE: Final = "values don't meet the specifications of the schema(s) in the following chart(s):\n"
_TYPES: Final = ("null", "boolean", "number", "integer", "string", "array", "object")
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


def check_schemas(node: ChartNode, values: Mapping[str, Any]) -> None:
    """The values of a chart and of its dependencies against their schemas. Raises HelmError."""
    if problems := _problems(node, values):
        raise HelmError(_HEADLINE + problems)


def _problems(node: ChartNode, values: Mapping[str, Any]) -> str:
    found = ""
    if node.chart.schema is not None and (problem := validate(values, node.chart.schema)):
        found = f"{node.name}:\n{problem}"
    for child in node.dependencies:
        inner = values.get(child.name)
        if isinstance(inner, dict):
            found += _problems(child, inner)
        elif inner is not None:
            found += f"{child.name}:\ninvalid type for values: expected object (map), got {go_type(inner)}\n"
    return found


def validate(values: Mapping[str, Any], schema: bytes) -> str:
    """What is wrong with values, one line for each; "" where nothing is."""
    try:
        validator = _validator(schema)
    except (ValueError, RecursionError) as error:
        return f"{error}\n"
    try:
        errors = [_Failure(list(one.schema_path), list(one.path), one) for one in validator.iter_errors(dict(values))]
    except RecursionError:
        return "unable to validate schema: the schema goes round in a circle\n"
    except Exception as error:  # noqa: BLE001 - the library raises what its parts raise: references, patterns, numbers
        return f"{_one_line(error)}\n"
    if not errors:
        return ""
    top = _gather(errors, [])
    causes = top.causes if top.kind == "group" else [top]
    return "\n".join(line for cause in causes for line in cause.lines(0)) + "\n"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@lru_cache(maxsize=64)
def _validator(schema: bytes) -> Any:
    """A validator for a schema; ValueError where it is none."""
    from jsonschema.exceptions import SchemaError  # the library costs 60 ms, most charts have no schema

    try:
        document = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"values.schema.json: {error}") from error
    cls = _class_for(document)
    try:
        cls.check_schema(document, format_checker=None)  # patterns are Go's, not Python's: see _check_patterns
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        raise ValueError(
            f"\"file:///values.schema.json#\" is not valid against metaschema: at '/{place}': {error.message}"
        ) from error
    registry = _registry()
    check_references(document, lambda uri: uri in registry, _check_patterns)
    return cls(document, registry=registry, format_checker=_format_checker(cls))


def _check_patterns(schema: dict[str, Any]) -> None:
    named = schema.get("patternProperties")
    for pattern in [schema.get("pattern"), *(named if isinstance(named, dict) else ())]:
        if isinstance(pattern, str):
            _matches(pattern, "")


def _registry() -> Any:
    """The metaschemas, and a true schema for every URN (Helm's: a name that nothing resolves permits everything)."""
    specifications, referencing = import_module("jsonschema_specifications"), import_module("referencing")

    def refuse(uri: str) -> Any:
        if uri.startswith("urn:"):
            return referencing.jsonschema.DRAFT202012.create_resource(True)
        raise referencing.exceptions.NoSuchResource(ref=uri)

    return specifications.REGISTRY.combine(referencing.Registry(retrieve=refuse))


def _format_checker(cls: Any) -> Any:
    """Formats are asserted up to draft 7, and only annotate after it."""
    from jsonschema.validators import Draft4Validator, Draft6Validator, Draft7Validator

    older = (Draft4Validator, Draft6Validator, Draft7Validator)
    return cls.FORMAT_CHECKER if any(cls.META_SCHEMA is one.META_SCHEMA for one in older) else None


def _class_for(document: Any) -> Any:
    from jsonschema.validators import Draft202012Validator, extend, validator_for

    if not isinstance(document, (dict, bool)):
        raise ValueError("values.schema.json: a schema is an object or a boolean")
    chosen = validator_for(document, default=Draft202012Validator)
    checker = chosen.TYPE_CHECKER.redefine("integer", _is_integer)
    made = extend(
        chosen,
        {
            "pattern": _pattern,
            "patternProperties": _pattern_properties,
            "additionalProperties": _additional_properties,
            "multipleOf": _multiple_of,
            "propertyNames": _property_names,
            "dependentRequired": _dependent_required,
        },
        type_checker=checker,
    )
    made.descend = _placing(made.descend)
    return made


def _placing(descend: Any) -> Any:
    """The library's way down, which forgets where it is when the schema there is `false`."""

    def placing(self: Any, instance: Any, schema: Any, path: Any = None, schema_path: Any = None, **more: Any) -> Any:
        for error in descend(self, instance, schema, path=path, schema_path=schema_path, **more):
            if schema is False:
                error.path.extend([] if path is None else [path])
                error.schema_path.extend([] if schema_path is None else [schema_path])
            yield error

    return placing


def _is_integer(_checker: Any, value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _matches(pattern: str, text: str) -> bool:
    try:
        return compiled(pattern).search(to_bytes(text)) is not None
    except FunctionError as error:
        raise ValueError(f"{quote(pattern)} is not valid regex: {error}") from error


def _error(message: str) -> Any:
    from jsonschema.exceptions import ValidationError

    return ValidationError(message)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield _error(pattern)


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, schema in patterns.items():
            for name, value in instance.items():
                if _matches(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [name for name in instance if name not in known and not any(_matches(one, name) for one in patterns)]
    if isinstance(wanted, dict):
        for name in extras:
            yield from validator.descend(instance[name], wanted, path=name)
    elif not wanted and extras:
        yield _error("\0".join(sorted(extras)))


def _property_names(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for name in instance if isinstance(instance, dict) else ():
        if found := list(validator.descend(name, wanted)):
            error = _error(name)
            error.context.extend(found)
            yield error


def _dependent_required(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for name, needed in wanted.items() if isinstance(instance, dict) else ():
        if name in instance and (missing := [one for one in needed if one not in instance]):
            yield _error(f"properties {', '.join(map(_quoted, missing))} required, if {_quoted(name)} exists")


def _multiple_of(_validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, (int, float)) and not isinstance(instance, bool):
        quotient = Fraction(str(float(instance))) / Fraction(str(divisor))
        if quotient.denominator != 1:
            yield _error("multipleOf")


@dataclass(slots=True)
class _Failure:
    """An error of the library with what is left of its paths, seen from some schema on the way."""

    rest: list[Any]
    place: list[Any]
    error: Any


@dataclass(slots=True)
class _Entry:
    """A node in the tree of errors that Helm's library makes."""

    kind: str
    place: list[Any]
    text: str = ""
    causes: list[_Entry] = field(default_factory=list)

    def lines(self, depth: int) -> Iterator[str]:
        if self.kind == "$ref" and len(self.causes) == 1:
            yield from self.causes[0].lines(depth)
            return
        pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self.place)
        yield f"{'  ' * depth}- at {_quoted(pointer)}: {self.text}"
        for cause in self.causes:
            yield from cause.lines(depth + 1)


def _gather(failures: list[_Failure], place: list[Any]) -> _Entry:
    """The failures of one schema at one place as one entry, or as a group of them."""
    if none := [one for one in failures if not one.rest]:  # the schema is `false`
        return _leaf(none[0], place)
    for word in _FIRST:
        if first := [one for one in failures if one.rest == [word]]:
            return _leaf(first[0], place)
    entries: list[_Entry] = []
    for _, found in groupby(sorted(failures, key=_order), key=_step):
        entries += _follow(list(found), place)
    return entries[0] if len(entries) == 1 else _Entry("group", place, "validation failed", entries)


def _order(failure: _Failure) -> tuple[Any, ...]:
    word = failure.rest[0]
    names = [str(part).zfill(6) if isinstance(part, int) else str(part) for part in failure.place[:1]]
    return (
        _RANKS.get(word, 99),
        *([str(failure.rest[1])] if word in _NAMED and len(failure.rest) > 1 else [""]),
        names,
    )


def _step(failure: _Failure) -> tuple[Any, ...]:
    """What failures have in common that come from the same schema below."""
    word = failure.rest[0]
    if len(failure.rest) == 1:
        return (word, id(failure))
    name = failure.rest[1] if word in _NAMED and word != "allOf" else None
    inner = failure.place[0] if failure.place and _descends(failure) else None
    return (word, name, inner)


def _descends(failure: _Failure) -> bool:
    return failure.rest[0] in _INNER or failure.rest[0] in ("additionalProperties", "unevaluatedProperties")


def _follow(failures: list[_Failure], place: list[Any]) -> list[_Entry]:
    word = failures[0].rest[0]
    if len(failures[0].rest) == 1:
        return [_leaf(failures[0], place)]
    if word == "allOf":
        parts = [list(found) for _, found in groupby(failures, key=lambda one: one.rest[1])]
        return [_Entry("allOf", place, "'allOf' failed", [_gather(_cut(part, 2, 0), place) for part in parts])]
    inner = 1 if _descends(failures[0]) and failures[0].place else 0
    below = _gather(_cut(failures, 2 if word in _NAMED else 1, inner), place + failures[0].place[:inner])
    if word == "$ref":
        return [_Entry("$ref", place, "validation failed", below.causes if below.kind == "group" else [below])]
    return [below]


def _cut(failures: list[_Failure], steps: int, inner: int) -> list[_Failure]:
    return [_Failure(one.rest[steps:], one.place[inner:], one.error) for one in failures]


def _leaf(failure: _Failure, place: list[Any]) -> _Entry:
    word, error = failure.error.validator, failure.error
    entry = _Entry(str(word), place, _words(error))
    if word in ("anyOf", "oneOf") and error.context:
        parts = [_Failure(list(one.relative_schema_path), list(one.relative_path), one) for one in error.context]
        grouped = [list(found) for _, found in groupby(parts, key=lambda one: one.rest[0])]
        entry.causes = [_gather(_cut(part, 1, 0), place) for part in grouped]
    if word == "propertyNames":
        names = _gather(
            [_Failure(list(one.relative_schema_path), list(one.relative_path), one) for one in error.context], []
        )
        entry.causes = names.causes if names.kind == "group" else [names]
    return entry


def _quoted(text: str) -> str:
    return "'" + quote(text)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    return "value" if isinstance(value, (list, dict)) else format_value(value)


def _number(value: Any) -> str:
    """Numbers with separators of thousands, as the library's English has them."""
    if isinstance(value, float) and not value.is_integer():
        whole, _, fraction = repr(value).partition(".")
        return f"{int(whole):,}.{fraction}" if whole.lstrip("-").isdigit() else repr(value)
    return f"{int(value):,}"


def _kind(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = ((str, "string"), ((int, float), "number"), (list, "array"))
    return next((name for cls, name in kinds if isinstance(value, cls)), "object")


def _words(error: Any) -> str:
    word, wanted, found = str(error.validator), error.validator_value, error.instance
    if word == "type":
        names = [wanted] if isinstance(wanted, str) else wanted
        return f"got {_kind(found)}, want {' or '.join(sorted(names, key=_TYPES.index))}"
    if word == "required":
        return _missing(error)
    if word in ("const", "enum"):
        return _choice(word, [wanted] if word == "const" else wanted)
    if word == "pattern":
        return f"{_quoted(found)} does not match pattern {_quoted(wanted)}"
    if word in ("minimum", "maximum") and error.schema.get(exclusive := f"exclusive{word.capitalize()}") is True:
        word = exclusive  # draft 4
    if word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        return f"{word}: got {_number(found)}, want {_number(wanted)}"
    if word in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
        return f"{word}: got {_number(len(found))}, want {_number(wanted)}"
    if word in ("additionalProperties", "unevaluatedProperties") and wanted is False:
        names = ", ".join(_quoted(name) for name in error.message.split("\0"))
        return f"additional properties {names} not allowed"
    if word == "format":
        return f"{_shown(found)} is not valid {wanted}: {error.cause or 'no match'}"
    if word == "oneOf":
        return "'oneOf' failed, none matched" if error.context else _several(error)
    if word == "uniqueItems":
        return _equal_items(found)
    fixed = {
        "not": "'not' failed",
        "anyOf": "'anyOf' failed",
        "contains": "no items match contains schema",
        "None": "false schema",
        "propertyNames": f"invalid propertyName {_quoted(error.message)}",
    }
    return fixed.get(word) or str(error.message)


def _missing(error: Any) -> str:
    names = [name for name in error.validator_value if name not in error.instance]
    quoted = ", ".join(_quoted(name) for name in names)
    return f"missing {'property' if len(names) == 1 else 'properties'} {quoted}"


def _choice(word: str, wanted: list[Any]) -> str:
    if any(isinstance(one, (list, dict)) for one in wanted):
        return f"'{word}' failed"
    shown = [_shown(one) for one in wanted]
    return f"value must be {shown[0]}" if len(shown) == 1 else f"value must be one of {', '.join(shown)}"


def _several(error: Any) -> str:
    matched = [index for index, one in enumerate(error.validator_value) if _is_valid(one, error)][:2]
    return f"'oneOf' failed, subschemas {', '.join(map(str, matched))} matched"


def _is_valid(schema: Any, error: Any) -> bool:
    try:
        return bool(_class_for(error.schema if isinstance(error.schema, dict) else {})(schema).is_valid(error.instance))
    except Exception:  # noqa: BLE001 - only the words of an error depend on it
        return False


def _equal_items(items: list[Any]) -> str:
    for later, item in enumerate(items):
        for earlier in range(later):
            if items[earlier] == item and _kind(items[earlier]) == _kind(item):
                return f"items at {earlier} and {later} are equal"
    return "items are equal"

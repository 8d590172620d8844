"""The drafts of JSON Schema as Go's library understands them: its numbers, its patterns, the words it counts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any, Final

from jsonschema.exceptions import ValidationError
from jsonschema.validators import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    extend,
)

from kymatui.helm.functions.regexes import compiled
from kymatui.helm.govalues.quoting import quote
from kymatui.helm.govalues.text import to_bytes
from kymatui.helm.govalues.types import FunctionError

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


_DRAFTS: Final = {
    "schema": Draft202012Validator,
    "draft/2020-12/schema": Draft202012Validator,
    "draft/2019-09/schema": Draft201909Validator,
    "draft-07/schema": Draft7Validator,
    "draft-06/schema": Draft6Validator,
    "draft-04/schema": Draft4Validator,
}
"""By what follows json-schema.org/ in `$schema`, whether that begins with http: or https:."""


def _draft(document: Any) -> Any:
    named = document.get("$schema") if isinstance(document, dict) else None
    if not isinstance(named, str):
        return Draft202012Validator
    place = named.partition("#")[0]
    known = place.removeprefix("http://" if place.startswith("http://") else "https://")
    draft = _DRAFTS.get(known.removeprefix("json-schema.org/")) if known.startswith("json-schema.org/") else None
    if draft is not None:
        return draft
    if place.startswith("urn:"):
        return Draft202012Validator
    reason = "kymatui fetches no schemas" if ":" in place else f"no URLLoader registered for {quote(place)}"
    raise ValueError(f"failing loading {quote(place)}: {reason}")


def class_for(document: Any) -> Any:
    """The validators for the draft that a schema says it is of. ValueError where it cannot be known."""
    if not isinstance(document, (dict, bool)):
        raise ValueError("values.schema.json: a schema is an object or a boolean")
    return _extended(_draft(document))


@cache
def _extended(chosen: Any) -> Any:
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
            **{word: _counted(chosen.VALIDATORS[word]) for word in _REFERENCES if word in chosen.VALIDATORS},
        },
        type_checker=checker,
    )
    made.descend = _placing(made.descend)
    return made


def _counted(follow: Any) -> Any:
    """A reference as a step of its own, which the library leaves out of the paths of errors."""

    def counted(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
        for error in follow(validator, target, instance, schema) or ():
            error.schema_path.appendleft("$ref")
            yield error

    return counted


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


def matches(pattern: str, text: str) -> bool:
    try:
        return compiled(pattern).search(to_bytes(text)) is not None
    except FunctionError as error:
        raise ValueError(f"{quote(pattern)} is not valid regex: {error}") from error


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(pattern)


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, schema in patterns.items():
            for name, value in instance.items():
                if matches(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [name for name in instance if name not in known and not any(matches(one, name) for one in patterns)]
    if isinstance(wanted, dict):
        for name in extras:
            yield from validator.descend(instance[name], wanted, path=name)
    elif not wanted and extras:
        yield ValidationError("\0".join(sorted(extras)))


def _property_names(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for name in instance if isinstance(instance, dict) else ():
        if found := list(validator.descend(name, wanted)):
            error = ValidationError(name)
            error.context.extend(found)
            yield error


def _dependent_required(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for name, needed in wanted.items() if isinstance(instance, dict) else ():
        if name in instance and (missing := [one for one in needed if one not in instance]):
            yield ValidationError("\0".join([name, *missing]))


def _multiple_of(_validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, (int, float)) and not isinstance(instance, bool):
        quotient = Fraction(str(float(instance))) / Fraction(str(divisor))
        if quotient.denominator != 1:
            yield ValidationError("multipleOf")

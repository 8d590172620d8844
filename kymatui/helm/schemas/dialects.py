"""JSON Schema drafts as Go's library implements them: numbers, patterns, counted keywords."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from jsonschema import _legacy_keywords, _utils
from jsonschema.exceptions import ValidationError
from jsonschema.validators import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    extend,
)

from kymatui.helm.govalues.quoting import quote
from kymatui.helm.schemas.drafts import NEWEST, draft_of, metaschema_place
from kymatui.helm.schemas.patterns import matches
from kymatui.helm.schemas.steps import count_comparisons, count_error, count_steps, count_visit, first_equal

_ONLY_REFERENCES: Final = (Draft6Validator, Draft7Validator)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


_VALIDATORS: Final = {
    2020: Draft202012Validator,
    2019: Draft201909Validator,
    7: Draft7Validator,
    6: Draft6Validator,
    4: Draft4Validator,
}


def _draft(document: Any) -> Any:
    draft = draft_of(document)
    if draft is not None:
        return _VALIDATORS[draft]
    metaschema = metaschema_place(document) or ""
    if metaschema.startswith("urn:"):
        return _VALIDATORS[NEWEST]
    reason = "kymatui fetches no schemas" if ":" in metaschema else f"no URLLoader registered for {quote(metaschema)}"
    raise ValueError(f"failing loading {quote(metaschema)}: {reason}")


def metaschema_of(cls: Any) -> Any:
    """Return the metaschema as in Go's library, which requires unique values in an enum."""
    document = dict(cls.META_SCHEMA)
    if document.get("$id", "").startswith(("http://json-schema.org/draft-06/", "http://json-schema.org/draft-07/")):
        enum = {**document["properties"]["enum"], "minItems": 1, "uniqueItems": True}
        document["properties"] = {**document["properties"], "enum": enum}
    return document


def class_for(document: Any) -> Any:
    """Return the validator class for a schema's draft. Raise ValueError if it is unknown."""
    return _extended(_draft(document))


@cache
def _extended(chosen: Any) -> Any:
    checker = chosen.TYPE_CHECKER.redefine("integer", _is_integer)
    validators = chosen.VALIDATORS
    own = {word: check for word, check in _OWN.items() if word in validators}
    references = {word: _counted(chosen, validators[word]) for word in _REFERENCES if word in validators}
    compared = {word: _compared(validators[word]) for word in ("enum", "const") if word in validators}
    words = {**own, **references, **compared, "dependencies": _dependencies}
    if (find := validators.get("unevaluatedProperties")) is not None:
        words["unevaluatedProperties"] = _unevaluated_properties(find)
    extended = extend(chosen, words, type_checker=checker)
    extended.descend = _placing(extended.descend)
    extended.evolve = _counting(extended.evolve)
    return extended


def _counting(evolve: Any) -> Any:
    """Count each schema that the library turns to; in metaschemas, it would go on with a class of its own."""

    def counting(self: Any, **changes: Any) -> Any:
        count_visit(changes.get("schema"))
        new = evolve(self, **changes)
        if new.__class__ is self.__class__:
            return new
        return self.__class__(
            new.schema, format_checker=new.format_checker, registry=new._registry, _resolver=new._resolver
        )

    return counting


# Where the library looks for what no keyword has evaluated, it uses Python's patterns, which may take forever.
for _module in (_utils, _legacy_keywords):
    _module.re = SimpleNamespace(search=matches)


class _Followed(threading.local):
    """The references in progress, with their schema and value."""

    def __init__(self) -> None:
        self.steps: set[tuple[int, int]] = set()


_FOLLOWED: Final = _Followed()


def _counted(chosen: Any, follow: Any) -> Any:
    """Count a reference as a step in error paths, which the library leaves out.

    A reference that leads back to itself with the same value is an error, as in Go; the library would loop forever.
    """

    def counted(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if chosen in _ONLY_REFERENCES and "const" in schema and "const" in validator.VALIDATORS:
            yield from _beside(validator, "const", instance, schema)
        step = id(schema), id(instance)
        if step in _FOLLOWED.steps:
            yield ValidationError(f"{quote(str(target))} leads back to itself, causing reference cycle")
            return
        _FOLLOWED.steps.add(step)
        try:
            for error in follow(validator, target, instance, schema) or ():
                error.schema_path.appendleft("$ref")
                yield error
        finally:
            _FOLLOWED.steps.discard(step)

    return counted


def _beside(validator: Any, word: str, instance: Any, schema: Any) -> Iterator[Any]:
    """Check keywords beside a reference, which Go's library does although drafts ignore them there."""
    for error in validator.VALIDATORS[word](validator, schema[word], instance, schema) or ():
        error._set(validator=word, validator_value=schema[word], instance=instance, schema=schema, type_checker=None)
        error.schema_path.appendleft(word)
        yield error


def _placing(descend: Any) -> Any:
    """Keep the path of errors below a `false` schema, which the library loses."""

    def placing(self: Any, instance: Any, schema: Any, path: Any = None, schema_path: Any = None, **more: Any) -> Any:
        for error in descend(self, instance, schema, path=path, schema_path=schema_path, **more):
            count_error()
            if schema is False:
                error.path.extend([] if path is None else [path])
                error.schema_path.extend([] if schema_path is None else [schema_path])
            yield error

    return placing


def _is_integer(_checker: Any, value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(pattern)


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        count_steps(len(patterns) * len(instance))
        for pattern, schema in patterns.items():
            for name, value in instance.items():
                if matches(pattern, name):
                    yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, additional: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    count_steps(len(patterns) * len(instance))
    extras = [
        name for name in instance if name not in known and not any(matches(pattern, name) for pattern in patterns)
    ]
    if isinstance(additional, dict):
        for name in extras:
            yield from validator.descend(instance[name], additional, path=name)
    elif not additional and extras:
        yield ValidationError("\0".join(sorted(extras)))


def _property_names(validator: Any, name_schema: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for name in instance if isinstance(instance, dict) else ():
        if errors := list(validator.descend(name, name_schema)):
            error = ValidationError(name)
            error.context.extend(errors)
            yield error


def _dependent_required(_validator: Any, requirements: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    for name, needed in requirements.items() if isinstance(instance, dict) else ():
        if name in instance and (missing := [needed_name for needed_name in needed if needed_name not in instance]):
            yield ValidationError("\0".join([name, *missing]))


def _multiple_of(_validator: Any, divisor: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(instance, (int, float)) and not isinstance(instance, bool):
        quotient = Fraction(str(float(instance))) / Fraction(str(divisor))
        if quotient.denominator != 1:
            yield ValidationError("multipleOf")


def _dependencies(validator: Any, dependencies: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Check dependencies in every draft, as Go's library does."""
    for name, needed in dependencies.items() if isinstance(instance, dict) else ():
        if isinstance(needed, list):
            yield from _dependent_required(validator, {name: needed}, instance, schema)
        elif name in instance:
            yield from validator.descend(instance, needed, schema_path=name)


def _one_of(validator: Any, alternatives: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    refused: list[Any] = []
    matched: list[str] = []
    for number, alternative in enumerate(alternatives):
        errors = list(validator.descend(instance, alternative, schema_path=number))
        refused += errors
        matched += [] if errors else [str(number)]
    if not matched:
        yield ValidationError("none", context=refused)
    elif len(matched) > 1:
        yield ValidationError(", ".join(matched[:2]))


def _unique_items(_validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if unique and isinstance(instance, list) and (equal := first_equal(instance)) is not None:
        yield ValidationError(f"items at {equal[0]} and {equal[1]} are equal")


def _compared(check: Any) -> Any:
    """Count the comparisons of `enum` and `const`."""

    def compared(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
        count_comparisons(instance, len(expected) if isinstance(expected, list) else 1)
        yield from check(validator, expected, instance, schema) or ()

    return compared


class _Descending:
    """A validator that records the errors of one schema's checks."""

    def __init__(self, validator: Any, schema: Any) -> None:
        self.validator = validator
        self.schema = schema
        self.found: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.validator, name)

    def descend(self, instance: Any, schema: Any, path: Any = None, schema_path: Any = None) -> Iterator[Any]:
        if schema is not self.schema or path is None:
            return iter(self.validator.descend(instance, schema, path=path, schema_path=schema_path))
        self.found += self.validator.descend(instance, schema, path=path)
        return iter(())


def _unevaluated_properties(find: Any) -> Any:
    """Report each unevaluated property separately, as Go's library; jsonschema reports all at once."""

    def unevaluated(validator: Any, subschema: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, dict):
            descending = _Descending(validator, subschema)
            list(find(descending, subschema, instance, schema))
            yield from descending.found

    return unevaluated


_OWN: Final = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "multipleOf": _multiple_of,
    "propertyNames": _property_names,
    "dependentRequired": _dependent_required,
    "oneOf": _one_of,
    "uniqueItems": _unique_items,
}
"""Words that are checked here, in the drafts that have them."""

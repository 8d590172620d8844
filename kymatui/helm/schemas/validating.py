"""Validation of values with one schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, uses_relative

from jsonschema import FormatChecker
from jsonschema.validators import Draft4Validator, Draft6Validator, Draft7Validator

from kymatui.helm.encodings.json_decoder import JsonSyntaxError, decode_json
from kymatui.helm.govalues.budget import LimitError
from kymatui.helm.govalues.text import from_bytes
from kymatui.helm.schemas.dialects import class_for, metaschema_of
from kymatui.helm.schemas.formats import FORMATS
from kymatui.helm.schemas.gathering import describe
from kymatui.helm.schemas.patterns import matches
from kymatui.helm.schemas.steps import MOST_ERRORS, count_steps, start_steps
from kymatui.json_input import read_json


def validate(values: Mapping[str, Any], schema: bytes) -> str:
    """Return one line per error of the values, "" if they are valid.

    As in helm, errors of values end with a newline, and a single reason, such as an invalid schema, without.
    """
    start_steps()
    try:
        validator = _remembered(schema) if len(schema) <= LARGEST_REMEMBERED else _validator(schema)
    except (ValueError, RecursionError) as error:
        return str(error).rstrip("\n")
    try:
        errors = list(islice(validator.iter_errors(dict(values)), MOST_ERRORS))
    except RecursionError:
        return "unable to validate schema: the schema goes round in a circle"
    except LimitError:
        raise
    except Exception as error:  # noqa: BLE001 - the library raises what its parts raise: references, patterns, numbers
        return _one_line(error)
    return describe(errors) if errors else ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


LARGEST_REMEMBERED: Final = 500_000
"""Bytes of a schema whose validator is kept, which takes some ten times as much."""


@lru_cache(maxsize=16)
def _remembered(schema: bytes) -> Any:
    return _validator(schema)


def _validator(schema: bytes) -> Any:
    """Return a validator for a schema. Raise ValueError for an invalid schema."""
    try:
        document = read_json(schema)
    except ValueError as error:
        raise ValueError(_json_problem(schema) or f"values.schema.json: {error}") from error
    cls = class_for(document)
    registry = _registry()
    _check_schema(cls, document, registry)
    check_references(document, lambda uri: uri in registry, _check_patterns)
    return cls(_undeclared(document), registry=registry, format_checker=_format_checker(cls))


def _json_problem(schema: bytes) -> str:
    """Return Go's stream decoder message for invalid JSON."""
    if not schema.strip():
        return "EOF"
    try:
        decode_json(from_bytes(schema))
    except JsonSyntaxError as error:
        words = str(error)
        if words.endswith("after top-level value"):
            return "invalid character after top-level value"
        ended = words == "unexpected end of JSON input" or words.startswith("invalid character ' ' in literal")
        return "unexpected EOF" if ended else words
    return ""


def _check_schema(cls: Any, document: Any, registry: Any) -> None:
    """Validate the schema without formats; patterns are Go's, not Python's, see _check_patterns."""
    if errors := list(cls(_undeclared(metaschema_of(cls)), registry=registry).iter_errors(document)):
        metaschema = cls.ID_OF(cls.META_SCHEMA).rstrip("#")
        problem = f"jsonschema validation failed with '{metaschema}#'\n{describe(errors)}"
        raise ValueError(f'"file:///values.schema.json#" is not valid against metaschema: {problem}'.rstrip("\n"))


def _undeclared(schema: Any) -> Any:
    """Return a schema without `$schema`, since the library would look up and use its own draft otherwise."""
    if isinstance(schema, dict):
        return {
            word: _undeclared(part) for word, part in schema.items() if word != "$schema" or not isinstance(part, str)
        }
    return [_undeclared(part) for part in schema] if isinstance(schema, list) else schema


def _check_patterns(schema: dict[str, Any]) -> None:
    named = schema.get("patternProperties")
    for pattern in [schema.get("pattern"), *(named if isinstance(named, dict) else ())]:
        if isinstance(pattern, str):
            matches(pattern, "")


def _registry() -> Any:
    """Return the metaschemas, and for every URN a schema that allows everything, as in Helm."""
    specifications, referencing = import_module("jsonschema_specifications"), import_module("referencing")

    def refuse(uri: str) -> Any:
        if uri.startswith("urn:"):
            return referencing.jsonschema.DRAFT202012.create_resource(True)
        raise referencing.exceptions.NoSuchResource(ref=uri)

    return specifications.REGISTRY.combine(referencing.Registry(retrieve=refuse))


def _format_checker(cls: Any) -> Any:
    """Return the checker: formats are validated up to draft 7, later drafts only annotate."""
    if not any(cls.META_SCHEMA == draft.META_SCHEMA for draft in (Draft4Validator, Draft6Validator, Draft7Validator)):
        return None
    checker = FormatChecker(formats=())
    for name, check in FORMATS.items():
        checker.checks(name, raises=ValueError)(_asserted(check))
    return checker


def _asserted(check: Callable[[str], None]) -> Callable[[object], bool]:
    def asserted(value: object) -> bool:
        if isinstance(value, str):
            count_steps(1 + len(value) // 100)
            check(value)
        return True

    return asserted


_BASE: Final = "file:///values.schema.json"
_ONE: Final = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema",
    }
)  # fmt: skip
_SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
_HOLDERS: Final = frozenset({"definitions", "$defs"})


def check_references(document: Any, is_known: Callable[[str], bool], visit: Callable[[dict[str, Any]], None]) -> None:
    """Raise ValueError for a reference outside the document, the metaschemas and URNs.

    `visit` is called with every reachable schema.
    """
    bases = set(_bases(document))
    visited: set[int] = set()
    waiting: list[tuple[Any, str]] = [(document, _BASE)]
    while waiting:
        schema, base = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in visited:
            continue
        visited.add(id(schema))
        visit(schema)
        base = _base_of(schema, base)
        waiting.extend((part, base) for part in _parts(schema))
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = _resolve(document, _join(base, reference), base, bases, is_known)
            waiting.append((target, base))


def _resolve(document: Any, uri: str, base: str, bases: set[str], is_known: Callable[[str], bool]) -> Any:
    location, fragment = urldefrag(uri)
    if is_known(location):
        return None
    if location not in bases:
        if location.startswith("urn:"):
            return None
        raise ValueError(f'failing loading "{location}": kymatui fetches no schemas')
    if fragment and not fragment.startswith("/"):
        return None
    if location != _base_of(document, _BASE):
        return None
    target = document
    for token in unquote(fragment).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and token in target:
            target = target[token]
        elif isinstance(target, list) and token.isdecimal() and int(token) < len(target):
            target = target[int(token)]
        else:
            raise ValueError(f'jsonpointer in "{uri}" not found')
    return target


def _base_of(schema: Any, base: str) -> str:
    own = (schema.get("$id") or schema.get("id")) if isinstance(schema, dict) else None
    return urldefrag(_join(base, own))[0] if isinstance(own, str) and not own.startswith("#") else base


def _join(base: str, reference: str) -> str:
    """Resolve a reference; names without a hierarchy, such as URNs and tags, only have fragments."""
    if reference.startswith("#") or not reference:
        return urldefrag(base)[0] + reference
    return urljoin(base, reference) if urlsplit(base).scheme in uses_relative else reference


def _bases(document: Any) -> Iterator[str]:
    """Yield every base URI in the document."""
    waiting: list[tuple[Any, str]] = [(document, _BASE)]
    yield _BASE
    while waiting:
        schema, base = waiting.pop()
        if not isinstance(schema, dict):
            continue
        base = _base_of(schema, base)
        yield base
        waiting.extend((part, base) for part in _parts(schema, _HOLDERS))


def _parts(schema: dict[str, Any], holders: frozenset[str] = frozenset()) -> Iterator[Any]:
    for word, value in schema.items():
        if word in _ONE and isinstance(value, dict):
            yield value
        elif word in _SEVERAL and isinstance(value, list):
            yield from value
        elif (word in _NAMED or word in holders) and isinstance(value, dict):
            yield from value.values()

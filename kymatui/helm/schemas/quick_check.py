"""A quick check of values with a schema that is known to be right: valid, invalid, or not decided here.

The library for JSON Schema takes 60 ms to import, and longer to hold a large schema against its metaschema. So a schema
that the library has once accepted is remembered by its digest, and values that are surely valid need no library. All
else is the library's: schemas that are not known, errors with their text, and keywords that charts seldom use.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, Final

from kymatui.helm.language.caching import CodeFolder, signature_of_sources
from kymatui.helm.schemas.drafts import draft_of
from kymatui.json_input import read_json

_UNDECIDED_WORDS: Final = frozenset(
    {
        "$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "if", "then",
        "else", "additionalItems", "contains", "minContains", "maxContains", "dependencies", "dependentRequired",
        "dependentSchemas", "multipleOf", "prefixItems", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
"""Keywords of schemas that leave the decision to the library."""


MOST_VISITS: Final = 200_000
"""Schemas held against values before the library is asked, which counts its steps."""


class UndecidedError(Exception):
    """The quick check does not decide this."""


class KnownSchemas:
    """The schemas that the library has accepted, by digest, in a folder that processes share."""

    def __init__(self, folder: CodeFolder) -> None:
        self._folder = folder

    def has(self, schema: bytes) -> bool:
        return self._folder.read(_key(schema)) is not None

    def add(self, schema: bytes) -> None:
        """Remember an accepted schema; an unwritable folder is no error."""
        self._folder.write(_key(schema), b"")


def is_surely_valid(values: Mapping[str, Any], schema: bytes) -> bool:
    """Return whether values are valid by an accepted schema; False also where that is not decided here."""
    try:
        return is_valid(values, schema)
    except (UndecidedError, RecursionError):
        return False


def is_valid(values: Mapping[str, Any], schema: bytes) -> bool:
    """Return whether values are valid by an accepted schema. Raise UndecidedError, RecursionError."""
    document = _document(schema)
    return _Check(document, _draft(document)).holds(values, document, is_root=True)


def _key(schema: bytes) -> str:
    return hashlib.sha256(_judge() + schema).hexdigest()


@cache
def _judge() -> bytes:
    """Return what the acceptance of a schema depends on: Python, the library and the modules here."""
    library = find_spec("jsonschema")
    folder = os.path.dirname(library.origin or "") if library is not None else ""
    own = signature_of_sources(os.path.dirname(__file__))
    return str(sys.hexversion).encode() + (signature_of_sources(folder) if folder else b"") + own


@lru_cache(maxsize=16)
def _document(schema: bytes) -> Any:
    try:
        return read_json(schema)
    except ValueError:
        raise UndecidedError from None


def _draft(document: Any) -> int:
    """Return the draft of a schema. Raise UndecidedError for draft 4, whose limits differ, and unknown ones."""
    draft = draft_of(document)
    if draft is None or draft == 4:
        raise UndecidedError
    return draft


_Keyword = Callable[["_Check", Any, Any, Mapping[str, Any]], bool]


class _Check:
    """The check of one document's values. Answers are certain, since `not` and `oneOf` turn them round."""

    def __init__(self, document: Any, draft: int) -> None:
        self.document = document
        self.draft = draft
        self._followed: set[tuple[int, int]] = set()
        self._visits = MOST_VISITS

    def holds(self, value: Any, schema: Any, *, is_root: bool = False) -> bool:
        if isinstance(schema, bool):
            return schema
        self._visits -= 1
        if not isinstance(schema, dict) or self._visits < 0:
            raise UndecidedError
        asserted = [word for word in schema if word in _KEYWORDS]
        if not _UNDECIDED_WORDS.isdisjoint(schema) and not (is_root and self._has_own_id_only(schema)):
            raise UndecidedError
        if "$ref" in schema and len(asserted) > 1 and self.draft <= 7:  # these drafts leave out what stands beside it
            raise UndecidedError
        return all(_KEYWORDS[word](self, schema[word], value, schema) for word in asserted)

    def follow(self, reference: Any, value: Any) -> bool:
        step = id(reference), id(value)
        if step in self._followed:
            raise UndecidedError
        self._followed.add(step)
        try:
            return self.holds(value, self._target(reference), is_root=reference == "#")
        finally:
            self._followed.discard(step)

    @staticmethod
    def _has_own_id_only(schema: Mapping[str, Any]) -> bool:
        return _UNDECIDED_WORDS.intersection(schema) == {"$id"}

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")) or "%" in reference:
            raise UndecidedError
        target = self.document
        for token in reference.split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or name not in target:
                raise UndecidedError
            target = target[name]
            if isinstance(target, dict) and isinstance(target.get("$id", target.get("id")), str):  # a base of its own
                raise UndecidedError
        return target


def _type_of(value: Any) -> str:
    kind = _TYPES.get(value.__class__)
    if kind is None:
        raise UndecidedError
    return kind


_TYPES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    type(None): "null",
}


def _is_of_type(_check: _Check, types: Any, value: Any, _schema: Any) -> bool:
    kind = _type_of(value)
    kinds = [types] if isinstance(types, str) else types
    if kind in kinds:
        return True
    return "integer" in kinds and kind == "number" and (value.__class__ is int or value.is_integer())


def _is_equal(expected: Any, value: Any) -> bool:
    kind = _type_of(expected)
    if kind in ("object", "array"):
        raise UndecidedError
    return kind == _type_of(value) and bool(expected == value)


def _is_in_enum(_check: _Check, allowed: Any, value: Any, _schema: Any) -> bool:
    return any(_is_equal(allowed_value, value) for allowed_value in allowed)


def _is_const(_check: _Check, constant: Any, value: Any, _schema: Any) -> bool:
    return _is_equal(constant, value)


def _are_properties_valid(check: _Check, properties: Any, value: Any, _schema: Any) -> bool:
    if _type_of(value) != "object":
        return True
    return all(check.holds(value[name], schema) for name, schema in properties.items() if name in value)


def _are_patterns_valid(check: _Check, patterns: Any, value: Any, _schema: Any) -> bool:
    if _type_of(value) != "object":
        return True
    return all(
        check.holds(part, schema)
        for pattern, schema in patterns.items()
        for name, part in value.items()
        if _matches(pattern, name)
    )


def _are_others_valid(check: _Check, additional: Any, value: Any, schema: Mapping[str, Any]) -> bool:
    if _type_of(value) != "object":
        return True
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    if len(value) * len(patterns) > MOST_VISITS:
        raise UndecidedError
    others = [name for name in value if name not in known and not any(_matches(pattern, name) for pattern in patterns)]
    return all(check.holds(value[name], additional) for name in others)


def _are_required_there(_check: _Check, names: Any, value: Any, _schema: Any) -> bool:
    return _type_of(value) != "object" or all(name in value for name in names)


def _are_items_valid(check: _Check, item_schema: Any, value: Any, _schema: Any) -> bool:
    if isinstance(item_schema, list):
        raise UndecidedError
    return _type_of(value) != "array" or all(check.holds(item, item_schema) for item in value)


def _are_unique(_check: _Check, unique: Any, value: Any, _schema: Any) -> bool:
    if not unique or _type_of(value) != "array" or len(value) < 2:
        return True
    if any(item.__class__ is not str for item in value):
        raise UndecidedError
    return len(set(value)) == len(value)


def _matches(pattern: str, text: Any) -> bool:
    from kymatui.helm.schemas.patterns import matches  # most schemas have no pattern

    if text.__class__ is not str:
        raise UndecidedError
    return matches(pattern, text)


def _matches_pattern(_check: _Check, pattern: Any, value: Any, _schema: Any) -> bool:
    return _type_of(value) != "string" or _matches(pattern, value)


def _has_format(check: _Check, name: Any, value: Any, _schema: Any) -> bool:
    if check.draft > 7 or _type_of(value) != "string":
        return True
    from kymatui.helm.schemas.formats import FORMATS  # later drafts only annotate

    if name not in FORMATS:
        return True
    try:
        FORMATS[name](value)
    except ValueError:
        return False
    return True


def _sized(kind: str, fits: Callable[[int, Any], bool]) -> _Keyword:
    def check_size(_check: _Check, limit: Any, value: Any, _schema: Any) -> bool:
        return _type_of(value) != kind or fits(len(value), limit)

    return check_size


def _bounded(fits: Callable[[Any, Any], bool]) -> _Keyword:
    def check_number(_check: _Check, limit: Any, value: Any, _schema: Any) -> bool:
        return _type_of(value) != "number" or fits(value, limit)

    return check_number


def _count_valid(check: _Check, schemas: Any, value: Any) -> int:
    return sum([check.holds(value, schema) for schema in schemas])


_KEYWORDS: Final[Mapping[str, _Keyword]] = {
    "$ref": lambda check, reference, value, _schema: check.follow(reference, value),
    "type": _is_of_type,
    "enum": _is_in_enum,
    "const": _is_const,
    "properties": _are_properties_valid,
    "patternProperties": _are_patterns_valid,
    "additionalProperties": _are_others_valid,
    "required": _are_required_there,
    "items": _are_items_valid,
    "uniqueItems": _are_unique,
    "pattern": _matches_pattern,
    "format": _has_format,
    "minLength": _sized("string", lambda size, limit: bool(size >= limit)),
    "maxLength": _sized("string", lambda size, limit: bool(size <= limit)),
    "minItems": _sized("array", lambda size, limit: bool(size >= limit)),
    "maxItems": _sized("array", lambda size, limit: bool(size <= limit)),
    "minProperties": _sized("object", lambda size, limit: bool(size >= limit)),
    "maxProperties": _sized("object", lambda size, limit: bool(size <= limit)),
    "minimum": _bounded(lambda value, limit: bool(value >= limit)),
    "maximum": _bounded(lambda value, limit: bool(value <= limit)),
    "exclusiveMinimum": _bounded(lambda value, limit: bool(value > limit)),
    "exclusiveMaximum": _bounded(lambda value, limit: bool(value < limit)),
    "allOf": lambda check, schemas, value, _schema: _count_valid(check, schemas, value) == len(schemas),
    "anyOf": lambda check, schemas, value, _schema: _count_valid(check, schemas, value) > 0,
    "oneOf": lambda check, schemas, value, _schema: _count_valid(check, schemas, value) == 1,
    "not": lambda check, schema, value, _schema: not check.holds(value, schema),
}
"""The keywords that are decided here."""

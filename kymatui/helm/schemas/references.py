"""Check of schema references: all must be in the schema or a metaschema, since nothing is downloaded.

Helm's library loads all references when it compiles a schema, used or not. So one that cannot be loaded is an error
here before the validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit, uses_relative

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

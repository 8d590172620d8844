"""Iterators over the subschemas of a CRD's schema and their paths."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.schemas.types.schema_node import Object

JUNCTORS = ("allOf", "anyOf", "oneOf")


def values_under(document: Object, at: str) -> Iterator[tuple[Object, str]]:
    """Yield the schemas of the values below a node."""
    items, additional = document.get("items"), document.get("additionalProperties")
    if isinstance(additional, dict):
        yield additional, f"{at}.additionalProperties"
    for name, below in (document.get("properties") or {}).items():
        yield below, f"{at}.properties[{name}]"
    if isinstance(items, dict):
        yield items, f"{at}.items"


def said_of_itself(document: Object, at: str) -> Iterator[tuple[Object, str]]:
    """Yield the schemas that constrain the node itself (allOf, anyOf, oneOf, not)."""
    for junctor in JUNCTORS:
        for index, below in enumerate(document.get(junctor) or ()):
            yield below, f"{at}.{junctor}[{index}]"
    if document.get("not") is not None:
        yield document["not"], f"{at}.not"

"""The schemas within a schema of a definition, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.sandbox.schemas.types.schema_node import Object

JUNCTORS = ("allOf", "anyOf", "oneOf")


def values_under(document: Object, at: str) -> Iterator[tuple[Object, str]]:
    """The schemas of the values under a node."""
    items, additional = document.get("items"), document.get("additionalProperties")
    if isinstance(additional, dict):
        yield additional, f"{at}.additionalProperties"
    for name, below in (document.get("properties") or {}).items():
        yield below, f"{at}.properties[{name}]"
    if isinstance(items, dict):
        yield items, f"{at}.items"


def said_of_itself(document: Object, at: str) -> Iterator[tuple[Object, str]]:
    """The schemas that say more of the value itself."""
    for junctor in JUNCTORS:
        for index, below in enumerate(document.get(junctor) or ()):
            yield below, f"{at}.{junctor}[{index}]"
    if document.get("not") is not None:
        yield document["not"], f"{at}.not"

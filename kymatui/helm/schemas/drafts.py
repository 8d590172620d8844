"""The draft of a JSON Schema document, by its `$schema`."""

from __future__ import annotations

from typing import Any, Final

NEWEST: Final = 2020
_DRAFTS: Final = {
    "schema": NEWEST,
    "draft/2020-12/schema": 2020,
    "draft/2019-09/schema": 2019,
    "draft-07/schema": 7,
    "draft-06/schema": 6,
    "draft-04/schema": 4,
}
"""By what follows json-schema.org/ in `$schema`, whether that begins with http: or https:."""


def metaschema_place(document: Any) -> str | None:
    """Return the address of a document's metaschema without its fragment, None where it names none."""
    named = document.get("$schema") if isinstance(document, dict) else None
    return named.partition("#")[0] if isinstance(named, str) else None


def draft_of(document: Any) -> int | None:
    """Return the number or year of a document's draft, the newest by default; None for another metaschema."""
    metaschema = metaschema_place(document)
    if metaschema is None:
        return NEWEST
    known = metaschema.removeprefix("http://" if metaschema.startswith("http://") else "https://")
    return _DRAFTS.get(known.removeprefix("json-schema.org/")) if known.startswith("json-schema.org/") else None

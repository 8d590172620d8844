"""Documents of component descriptors with digests and signatures; everything else stays as it was written."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from kymatui.ocm import ComponentDescriptor
from kymatui.ocm.descriptors import SCHEMA_V3, Digest
from kymatui.ocm.signing import digest_entry, signature_entry


def signed_document(document: Mapping[str, Any], descriptor: ComponentDescriptor) -> dict[str, Any]:
    """Return the document with the descriptor's digests where it has none, and with its signatures.

    Entries of signatures that the document already has are kept as they are, with fields that are not read.
    """
    signed = copy.deepcopy(dict(document))
    body = signed["spec"] if descriptor.schema == SCHEMA_V3 else signed["component"]
    references = "references" if descriptor.schema == SCHEMA_V3 else "componentReferences"
    _add_digests(body.get("resources") or (), [resource.digest for resource in descriptor.resources])
    _add_digests(body.get(references) or (), [reference.digest for reference in descriptor.references])
    known = {entry["name"]: entry for entry in signed.get("signatures") or ()}
    entries = [(signature, signature_entry(signature)) for signature in descriptor.signatures]
    signed["signatures"] = [
        known[signature.name] if signature.name in known and _is_same(known[signature.name], entry) else entry
        for signature, entry in entries
    ]
    return signed


def _is_same(known: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return bool(known.get("signature", {}).get("value") == entry["signature"]["value"])


def _add_digests(entries: Sequence[dict[str, Any]], digests: Sequence[Digest | None]) -> None:
    for entry, digest in zip(entries, digests, strict=True):
        if not entry.get("digest") and digest is not None:
            entry["digest"] = digest_entry(digest)

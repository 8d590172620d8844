"""Describe one object: read it and the objects that it refers to, of Secrets only whether they exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import SECRET, ObjectRef
from kymatui.domain.objects.description import Description
from kymatui.domain.objects.references import Reference, ReferenceState, ResolvedReference, find_references
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError

MOST_LOOKED_UP: Final = 50
"""Objects that are read for one description."""
ReadObject = Callable[[ObjectRef], Object]


def describe_object(read: ReadObject, ref: ObjectRef) -> Description:
    """Read an object and look its references up. Raise what the server answers about the object itself."""
    return look_up(read, Description(read(ref)))


def look_up(read: ReadObject, description: Description) -> Description:
    """Return the description with its references looked up, each object once."""
    known: dict[ObjectRef, Object | KymatuiError] = {}
    resolved, left_out = [], set()
    for reference in find_references(description.raw):
        if reference.ref not in known:
            if len(known) >= MOST_LOOKED_UP:
                left_out.add(reference.ref)
                continue
            try:
                known[reference.ref] = read(reference.ref)
            except KymatuiError as error:  # one unreadable object does not hide the others
                known[reference.ref] = error
        resolved.append(_resolved(reference, known[reference.ref]))
    return replace(description, references=tuple(resolved), left_out=len(left_out))


def _resolved(reference: Reference, answer: Object | KymatuiError) -> ResolvedReference:
    if isinstance(answer, NotFoundError):
        return ResolvedReference(reference, ReferenceState.MISSING)
    if isinstance(answer, ForbiddenError):
        return ResolvedReference(reference, ReferenceState.FORBIDDEN, str(answer))
    if isinstance(answer, KymatuiError):
        return ResolvedReference(reference, ReferenceState.UNKNOWN, str(answer))
    if reference.key and reference.ref.kind != SECRET and not _has_key(answer, reference.key):
        return ResolvedReference(reference, ReferenceState.NO_KEY)
    return ResolvedReference(reference, ReferenceState.FOUND)


def _has_key(raw: Object, key: str) -> bool:
    return any(isinstance(part := raw.get(name), Mapping) and key in part for name in ("data", "binaryData"))

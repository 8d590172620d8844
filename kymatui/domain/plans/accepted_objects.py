"""The objects that a plan displayed and a person accepted, each by its uid: nothing else is deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kymatui.domain.kubernetes.refs import ObjectRef

_NAMED = 3

ObjectKey = tuple[str, str, str, str]
"""Group, kind, namespace and name: the version says nothing about which object it is."""


def object_key(ref: ObjectRef) -> ObjectKey:
    """Return where an object is, in whatever version it is read."""
    return (ref.kind.group, ref.kind.kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class AcceptedObjects:
    """What one plan displayed. An object that was deleted and created again has another uid, and is not in it."""

    uids: frozenset[tuple[ObjectKey, str]] = field(default_factory=frozenset)

    @staticmethod
    def of(objects: Iterable[tuple[ObjectRef, str]]) -> AcceptedObjects:
        """Collect references with their uids."""
        return AcceptedObjects(frozenset((object_key(ref), uid) for ref, uid in objects))

    def __or__(self, other: AcceptedObjects) -> AcceptedObjects:
        return AcceptedObjects(self.uids | other.uids)

    def has(self, ref: ObjectRef, uid: str) -> bool:
        """Return whether the plan displayed exactly this object."""
        return (object_key(ref), uid) in self.uids


def summarize_names(refs: Iterable[ObjectRef]) -> str:
    """Return the first few names, and how many more."""
    found = [str(ref) for ref in refs]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more

"""The objects that a plan displayed and the user accepted, by uid; nothing else is deleted."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import ObjectKey, ObjectRef

_NAMED = 3  # objects that a message names; the others are counted


class AcceptedObjects(Struct, frozen=True):
    """The accepted objects of a plan. A recreated object has another uid and is not accepted.

    uids  all displayed objects
    kept  those that the plan displayed as kept: they stay, also if their reason has gone meanwhile
    """

    uids: frozenset[tuple[ObjectKey, str]] = field(default_factory=frozenset)
    kept: frozenset[tuple[ObjectKey, str]] = field(default_factory=frozenset)

    @staticmethod
    def of(objects: Iterable[tuple[ObjectRef, str]], kept: Iterable[tuple[ObjectRef, str]] = ()) -> AcceptedObjects:
        """Collect references with their uids: of what is deleted, and of what is kept."""
        staying = frozenset((ref.key, uid) for ref, uid in kept)
        return AcceptedObjects(frozenset((ref.key, uid) for ref, uid in objects) | staying, staying)

    def __or__(self, other: AcceptedObjects) -> AcceptedObjects:
        return AcceptedObjects(self.uids | other.uids, self.kept | other.kept)

    def has(self, ref: ObjectRef, uid: str) -> bool:
        """Return whether the plan displayed exactly this object."""
        return (ref.key, uid) in self.uids

    def may_delete(self, ref: ObjectRef, uid: str) -> bool:
        """Return whether the plan displayed that it deletes exactly this object."""
        return self.has(ref, uid) and (ref.key, uid) not in self.kept


def summarize_names(refs: Iterable[ObjectRef]) -> str:
    """Return the first few names and the number of the rest."""
    names = [str(ref) for ref in refs]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

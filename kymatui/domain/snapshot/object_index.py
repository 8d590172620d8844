"""An index of a snapshot's objects by name and by owner reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from kymatui.domain.kubernetes.json_reader import JsonReader, objects_at, text_at
from kymatui.domain.kubernetes.object_meta import read_ref, uid_of
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectKey, ObjectRef
from kymatui.domain.snapshot.snapshots import NamespacedKind, Object, ReadCache, Snapshot

_PARTIAL = frozenset({"kymas", "workloads", "definitions", "owned"})
"""Lists whose objects are decoded in part, or joined from two clusters (a runtime's Kyma)."""


class _Part:
    """One list of a snapshot, indexed again only if it changed.

    `is_complete` means that its objects are complete, as on the server.
    """

    def __init__(self, objects: Iterable[Object], is_complete: bool = True) -> None:
        self.whole = is_complete
        self.named: dict[ObjectKey, Object] = {}
        self.owned: dict[str, list[Object]] = {}
        self.definitions: dict[tuple[str, str], Object] = {}
        for raw in objects:
            ref = read_ref(raw)
            self.named.setdefault(ref.key, raw)
            if ref.kind.kind == "CustomResourceDefinition":
                spec = JsonReader(raw).child("spec")
                self.definitions[spec.text("group"), spec.child("names").text("kind")] = raw
            for uid in owner_uids(raw):
                self.owned.setdefault(uid, []).append(raw)


class ObjectIndex:
    """Objects by group, kind, namespace and name (any version), and by their owners' uids.

    `kinds` are the namespaces and kinds that are fully listed, besides the kinds that are always watched.
    """

    def __init__(self, parts: Iterable[_Part] = (), kinds: frozenset[NamespacedKind] = frozenset()) -> None:
        self.places = kinds
        self._parts = tuple(parts)

    @classmethod
    def of(cls, objects: Iterable[Object]) -> ObjectIndex:
        """Return an index of these objects."""
        return cls((_Part(objects),))

    def find(self, ref: ObjectRef) -> Object | None:
        """Return the observed object, None if absent."""
        name = ref.key
        for part in self._parts:
            raw = part.named.get(name)
            if raw is not None:
                return raw
        return None

    def whole(self, ref: ObjectRef) -> Object | None:
        """Return the object if all of its fields are watched, else None."""
        name = ref.key
        return next((part.named[name] for part in self._parts if part.whole and name in part.named), None)

    def definition_of(self, kind: GroupVersionKind) -> Object | None:
        """Return the CRD of a custom kind."""
        name = kind.group, kind.kind
        return next((part.definitions[name] for part in self._parts if name in part.definitions), None)

    def owned_by(self, raw: Object) -> Sequence[Object]:
        """Return the objects that name this object as an owner."""
        uid = uid_of(raw)
        return [child for part in self._parts for child in part.owned.get(uid, ())] if uid else []


def owner_uids(raw: Object) -> Iterator[str]:
    """Yield the uids in `metadata.ownerReferences`."""
    yield from filter(None, (text_at(owner, "uid") for owner in objects_at(raw, "metadata", "ownerReferences")))


def index_objects(snapshot: Snapshot, cache: ReadCache) -> ObjectIndex:
    """Index all objects that a module may consist of; unchanged lists are not indexed again."""
    parts = {
        "kymas": snapshot.kymas,
        "manifests": snapshot.manifests,
        "resources": tuple(raw for objects in snapshot.module_resources.values() for raw in objects),
        "workloads": snapshot.workloads,
        "definitions": snapshot.definitions,
        "templates": snapshot.templates,
        "outside": snapshot.outside,
        "owned": snapshot.owned,
    }
    index_parts = (
        cache.recall(f"located {name}", (part,), partial(_Part, part, name not in _PARTIAL))
        for name, part in parts.items()
    )
    return ObjectIndex(index_parts, snapshot.namespaced_kinds)

"""Finding objects of a snapshot by their names, and what belongs to them by their owner references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kymatui.domain.objects import read_ref
from kymatui.domain.reading import Reader
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.domain.remembering import Memory
from kymatui.domain.snapshots import Object, Place, Snapshot

Name = tuple[str, str, str, str]


class Locations:
    """Objects by group, kind, namespace and name (versions do not matter), and by the uids of their owners.

    `places` tells where, besides the kinds that are always watched, everything of a kind is known.
    """

    def __init__(self, objects: Iterable[Object], places: frozenset[Place] = frozenset()) -> None:
        self.places = places
        self._named: dict[Name, Object] = {}
        self._owned: dict[str, list[Object]] = {}
        self._definitions: dict[tuple[str, str], Object] = {}
        for raw in objects:
            ref = read_ref(raw)
            self._named.setdefault(name_of(ref), raw)
            if ref.kind.kind == "CustomResourceDefinition":
                spec = Reader(raw).child("spec")
                self._definitions[spec.text("group"), spec.child("names").text("kind")] = raw
            for uid in owner_uids(raw):
                self._owned.setdefault(uid, []).append(raw)

    def find(self, ref: ObjectRef) -> Object | None:
        """The object as it was observed; None where it was not."""
        return self._named.get(name_of(ref))

    def definition_of(self, kind: GroupVersionKind) -> Object | None:
        """The definition of a custom kind."""
        return self._definitions.get((kind.group, kind.kind))

    def owned_by(self, raw: Object) -> Sequence[Object]:
        """What names this object as an owner."""
        uid = uid_of(raw)
        return self._owned.get(uid, ()) if uid else ()


def name_of(ref: ObjectRef) -> Name:
    """What makes two references mean one object."""
    return ref.kind.group, ref.kind.kind, ref.namespace, ref.name


def uid_of(raw: Object) -> str:
    """The uid of an object, "" where it has none."""
    metadata = raw.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
    return uid if isinstance(uid, str) else ""


def owner_uids(raw: Object) -> Iterator[str]:
    """The uids that `metadata.ownerReferences` names."""
    metadata = raw.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("ownerReferences"):
        for entry in Reader(metadata).children("ownerReferences"):
            if uid := entry.text("uid"):
                yield uid


def locate(snapshot: Snapshot, memory: Memory) -> Locations:
    """Everything of a snapshot that a module may consist of; made anew only where something of it changed."""
    resources = tuple(raw for found in snapshot.module_resources.values() for raw in found)
    parts = (
        snapshot.kymas,
        snapshot.manifests,
        resources,
        snapshot.workloads,
        snapshot.definitions,
        snapshot.templates,
        snapshot.outside,
        snapshot.owned,
    )
    return memory.recall(
        "locations", parts, lambda: Locations((raw for part in parts for raw in part), snapshot.places), snapshot.places
    )

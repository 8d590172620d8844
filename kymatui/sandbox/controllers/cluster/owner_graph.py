"""Ownership graph over the uid and owner references of all objects, updated by store changes."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from kymatui.sandbox.apimachinery.object_store import Key, ObjectStore, StoreChange, Stored

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class GraphOwnerReference(msgspec.Struct, frozen=True, omit_defaults=True):
    """metav1.OwnerReference."""

    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    blockOwnerDeletion: bool | None = None


class _Metadata(msgspec.Struct):
    ownerReferences: tuple[GraphOwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletionTimestamp: str = ""


class _Partial(msgspec.Struct):
    metadata: _Metadata


_DECODER = msgspec.json.Decoder(_Partial)


class OwnerNode(Struct, frozen=True):
    """The fields of an object that the garbage collector needs."""

    uid: str
    resource: str
    key: Key
    owners: tuple[GraphOwnerReference, ...]
    finalizers: tuple[str, ...]
    deleting: bool

    @property
    def namespace(self) -> str:
        return self.key[0]

    @property
    def deletes_dependents_first(self) -> bool:
        return self.deleting and FOREGROUND in self.finalizers


class OwnerGraph:
    """All objects by uid, and the dependents of each uid, even if that object does not exist."""

    def __init__(self) -> None:
        self._nodes: dict[str, OwnerNode] = {}
        self._dependents: dict[str, set[str]] = {}

    def fill(self, store: ObjectStore, ignored: frozenset[str]) -> None:
        """Add all existing objects."""
        for resource in store.resources():
            if resource not in ignored:
                for stored in store.walk(resource):
                    self.put(resource, stored)

    def node(self, uid: str) -> OwnerNode | None:
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[OwnerNode]:
        return [self._nodes[child] for child in sorted(self._dependents.get(uid, ())) if child in self._nodes]

    def nodes(self) -> list[OwnerNode]:
        return list(self._nodes.values())

    def apply(self, change: StoreChange) -> tuple[OwnerNode | None, OwnerNode | None]:
        """Apply a change; return the old and the new node of the object (None: does not exist)."""
        before = self._nodes.get(change.current.uid)
        if change.kind == "DELETED":
            self._drop(change.current.uid)
            return before, None
        return before, self.put(change.resource, change.current)

    def put(self, resource: str, stored: Stored) -> OwnerNode:
        self._drop(stored.uid)
        node = _node(resource, stored)
        self._nodes[node.uid] = node
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(node.uid)
        return node

    def _drop(self, uid: str) -> None:
        node = self._nodes.pop(uid, None)
        if node is None:
            return
        for owner in node.owners:
            children = self._dependents.get(owner.uid)
            if children is not None:
                children.discard(uid)
                if not children:
                    del self._dependents[owner.uid]


def _node(resource: str, stored: Stored) -> OwnerNode:
    data = stored.data
    if b'"ownerReferences"' not in data and b'"finalizers"' not in data and b'"deletionTimestamp"' not in data:
        return OwnerNode(stored.uid, resource, stored.key, (), (), deleting=False)
    metadata = _DECODER.decode(data).metadata
    deleting = bool(metadata.deletionTimestamp)
    return OwnerNode(stored.uid, resource, stored.key, metadata.ownerReferences, metadata.finalizers, deleting=deleting)

"""The garbage collector: deletes objects without owners; runs foreground and orphan deletions.

The rules are those of k8s.io/kubernetes/pkg/controller/garbagecollector: an owner is solid (exists and stays),
dangling (does not exist) or waiting (deletes its dependents first). An object with a solid owner stays and loses its
references to the others; one without is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from kymatui.sandbox.apimachinery.object_store import Key, ObjectStore, StoreChange, Stored
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.work_queue import ControllerQueue

IGNORED = frozenset({"events"})
SOURCE = "garbage-collector-controller"

KindIsServed = Callable[[str, str], bool]


def every_kind_is_served(api_version: str, kind: str) -> bool:
    return True


class GarbageCollector:
    """Collects garbage; keys are ("", uid)."""

    name = "garbage-collector"

    def __init__(self, context: ControllerContext, kind_is_served: KindIsServed = every_kind_is_served) -> None:
        self._context = context
        self._kind_is_served = kind_is_served
        self._graph = OwnerGraph()
        self._queue: ControllerQueue | None = None

    def watch(self, queue: ControllerQueue) -> None:
        self._queue = queue
        self._graph.fill(self._context.observer.store, IGNORED)
        queue.on_change("*", self._changed)
        for node in self._graph.nodes():
            if node.owners or node.deleting:
                queue.add(("", node.uid))

    def _changed(self, change: StoreChange) -> None:
        if change.resource in IGNORED:
            return
        before, after = self._graph.apply(change)
        if after is not None and (after.owners or after.deleting):
            self._ask(after.uid)
        if after is None and before is not None:
            self._ask_all(self._graph.dependents(before.uid))
        if before is not None and (after is None or after.owners != before.owners):
            for owner in before.owners:
                self._ask(owner.uid)
        if after is not None and after.deleting and (before is None or not before.deleting):
            self._ask_all(self._graph.dependents(after.uid))

    def _ask(self, uid: str) -> None:
        if self._queue is not None:
            self._queue.add(("", uid))

    def _ask_all(self, nodes: Sequence[OwnerNode]) -> None:
        for node in nodes:
            self._ask(node.uid)

    # -- one object

    def reconcile(self, key: Key) -> float | None:
        node = self._graph.node(key[1])
        if node is None:
            return None
        if node.deleting:
            self._finish_deletion(node)
        elif node.owners:
            self._judge(node)
        return None

    def _finish_deletion(self, node: OwnerNode) -> None:
        if ORPHAN in node.finalizers:
            self._orphan(node)
        elif FOREGROUND in node.finalizers:
            self._delete_dependents(node)

    def _orphan(self, node: OwnerNode) -> None:
        for child in self._graph.dependents(node.uid):
            self._keep_owners(child, [owner for owner in child.owners if owner.uid != node.uid])
        self._remove_finalizer(node, ORPHAN)

    def _delete_dependents(self, node: OwnerNode) -> None:
        """Delete the blocking dependents; remove the finalizer after the last one."""
        blocking = [child for child in self._graph.dependents(node.uid) if _blocks(child, node)]
        if not blocking:
            self._remove_finalizer(node, FOREGROUND)
            return
        for child in blocking:
            if not child.deletes_dependents_first:
                self._ask(child.uid)

    def _judge(self, node: OwnerNode) -> None:
        solid: list[GraphOwnerReference] = []
        waiting: list[GraphOwnerReference] = []
        for reference in node.owners:
            owner = self._owner(node, reference)
            if owner is None:
                if not self._kind_is_served(reference.apiVersion, reference.kind):
                    return
                continue
            if node.namespace == "" and owner.namespace:
                self._complain(node, reference)
                return
            (waiting if owner.deletes_dependents_first else solid).append(reference)
        if solid:
            if len(solid) < len(node.owners):
                self._keep_owners(node, solid)
            return
        self._delete(node, foreground=bool(waiting) and bool(self._graph.dependents(node.uid)))

    def _owner(self, node: OwnerNode, reference: GraphOwnerReference) -> OwnerNode | None:
        """Return the owner from the object's namespace, or a cluster-scoped one."""
        owner = self._graph.node(reference.uid)
        if owner is None or owner.key[1] != reference.name:
            return None
        if node.namespace and owner.namespace not in ("", node.namespace):
            return None
        return owner

    # -- writing

    def _delete(self, node: OwnerNode, *, foreground: bool) -> None:
        if ORPHAN in node.finalizers:
            policy = "Orphan"
        elif foreground or FOREGROUND in node.finalizers:
            policy = "Foreground"
        else:
            policy = "Background"
        if foreground:
            self._unblock_cycle(node)
        namespace, name = node.key
        self._tolerate(
            lambda: self._context.client.delete(
                node.resource, name, namespace=namespace, propagation=policy, uid=node.uid
            )
        )

    def _unblock_cycle(self, node: OwnerNode) -> None:
        """Unblock a cycle of foreground deletions, in which two objects would wait for each other forever."""
        if any(child.deletes_dependents_first for child in self._graph.dependents(node.uid)):
            unblocked = [
                GraphOwnerReference(o.apiVersion, o.kind, o.name, o.uid, blockOwnerDeletion=False) for o in node.owners
            ]
            self._write_owners(node, unblocked)

    def _keep_owners(self, node: OwnerNode, owners: Sequence[GraphOwnerReference]) -> None:
        kept = {owner.uid for owner in owners}
        stored = self._context.observer.get(node.resource, node.key)
        if stored is None or stored["metadata"].get("uid") != node.uid:
            return
        owner_references = [o for o in stored["metadata"].get("ownerReferences", []) if o["uid"] in kept]
        self._patch(node, {"ownerReferences": owner_references or None})

    def _write_owners(self, node: OwnerNode, owners: Sequence[GraphOwnerReference]) -> None:
        blocking = {owner.uid: owner.blockOwnerDeletion for owner in owners}
        stored = self._context.observer.get(node.resource, node.key)
        if stored is None:
            return
        references = [
            {**o, "blockOwnerDeletion": blocking[o["uid"]]}
            for o in stored["metadata"].get("ownerReferences", [])
            if o["uid"] in blocking
        ]
        self._patch(node, {"ownerReferences": references})

    def _remove_finalizer(self, node: OwnerNode, finalizer: str) -> None:
        finalizers = [name for name in node.finalizers if name != finalizer]
        self._patch(node, {"finalizers": finalizers or None})

    def _patch(self, node: OwnerNode, metadata: dict[str, object]) -> None:
        namespace, name = node.key
        patch = {"metadata": {"uid": node.uid, **metadata}}
        self._tolerate(lambda: self._context.client.patch(node.resource, name, patch, namespace=namespace))

    @staticmethod
    def _tolerate(write: Callable[[], object]) -> None:
        """Run the write; ignore that the object is deleted or replaced by another of the same name."""
        try:
            write()
        except StatusError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise

    def _complain(self, node: OwnerNode, reference: GraphOwnerReference) -> None:
        involved = self._context.observer.get(node.resource, node.key)
        if involved is None:
            return
        kind = f"{reference.apiVersion}/{reference.kind}"
        message = (
            f"ownerRef [{kind}, namespace: , name: {reference.name}, uid: {reference.uid}] "
            "is namespaced, but the object that has it is cluster-scoped"
        )
        self._context.recorder.event(
            involved, node.resource, "", "OwnerRefInvalidNamespace", message, type="Warning", source=SOURCE
        )


def _blocks(child: OwnerNode, owner: OwnerNode) -> bool:
    return any(reference.uid == owner.uid and reference.blockOwnerDeletion for reference in child.owners)


# Ownership graph over the uid and owner references of all objects, updated by store changes.


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

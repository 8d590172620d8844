"""The owners of restored objects: a reference has the uid of an owner, and a restored owner has another one.

The garbage collector deletes an object at once whose owners do not exist under their uids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import ForbiddenError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster

Object = dict[str, Any]


class Owners(Struct, frozen=True):
    """The owner references of the objects of a backup, by the object that is owned."""

    of: dict[ObjectRef, tuple[Object, ...]]
    saved: frozenset[ObjectRef]

    def lost(self, ref: ObjectRef, cluster: Cluster) -> tuple[str, ...]:
        """Return the owners that are neither in the backup nor in the cluster."""
        return tuple(
            _name(one)
            for one in self.of.get(ref, ())
            if not self.saved.intersection(_places(one, ref)) and _uid(one, ref, cluster) is None
        )

    def attach(self, ref: ObjectRef, body: Object, cluster: Cluster) -> tuple[Object, tuple[str, ...]]:
        """Return an object with the owners that exist now, and the names of those that do not."""
        found = [(one, _uid(one, ref, cluster)) for one in self.of.get(ref, ())]
        alive = [{**one, "uid": uid} for one, uid in found if uid is not None]
        lost = tuple(_name(one) for one, uid in found if uid is None)
        return {**body, "metadata": {**body["metadata"], "ownerReferences": alive}} if alive else body, lost

    def first(self, waves: Iterable[Sequence[Object]]) -> Iterator[tuple[Object, ...]]:
        """Yield the waves, with objects behind their owners; owners that own each other are yielded last."""
        done: set[ObjectRef] = set()
        waiting: list[Object] = []
        for wave in waves:
            ready = [body for body in wave if not self._waits(read_ref(body), done)]
            waiting += [body for body in wave if self._waits(read_ref(body), done)]
            done |= {read_ref(body) for body in ready}
            yield tuple(ready)
        while waiting:
            ready = [body for body in waiting if not self._waits(read_ref(body), done)] or waiting
            done |= {read_ref(body) for body in ready}
            waiting = [body for body in waiting if read_ref(body) not in done]
            yield tuple(ready)

    def _waits(self, ref: ObjectRef, done: set[ObjectRef]) -> bool:
        owners = {place for one in self.of.get(ref, ()) for place in _places(one, ref)}
        return bool(owners & self.saved - done)


def detach_owners(objects: Iterable[Object]) -> tuple[list[Object], Owners]:
    """Return objects without owners and finalizers, and the owners.

    Each controller sets its finalizers again; those of a controller that is gone would block the next deletion.
    """
    some = list(objects)
    owners = {read_ref(body): tuple((body.get("metadata") or {}).get("ownerReferences") or ()) for body in some}
    freed = [
        {
            **body,
            "metadata": {
                name: value
                for name, value in (body.get("metadata") or {}).items()
                if name not in ("ownerReferences", "finalizers")
            },
        }
        for body in some
    ]
    return freed, Owners(owners, frozenset(owners))


def _places(owner: Object, ref: ObjectRef) -> tuple[ObjectRef, ObjectRef]:
    """Return the owner as an object of the cluster, and of the namespace of what it owns."""
    kind = GroupVersionKind.of(str(owner.get("apiVersion") or ""), str(owner.get("kind") or ""))
    found = ObjectRef(kind, "", str(owner.get("name") or ""))
    return found, replace(found, namespace=ref.namespace)


def _uid(owner: Object, ref: ObjectRef, cluster: Cluster) -> str | None:
    """Return the owner's uid now; None where it does not exist, is being deleted, or cannot be read."""
    everywhere, inside = _places(owner, ref)
    served = cluster.kind(everywhere.kind)
    if served is None:
        return None
    try:
        live = cluster.get(inside if served.namespaced else everywhere)
    except ForbiddenError:
        return None
    if live is None or live["metadata"].get("deletionTimestamp"):
        return None
    return str(live["metadata"].get("uid") or "") or None


def _name(owner: Object) -> str:
    return f"{owner.get('kind')} {owner.get('name')}"

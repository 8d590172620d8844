"""What a module's manager looks after and is still there: everywhere, in whatever version it is written, each once."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kymatui.domain.objects import moment
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.engine.concurrency import each
from kymatui.engine.finalizers import held_by
from kymatui.engine.inventories import Inventory
from kymatui.engine.ordering import defined_kinds, identity, is_definition
from kymatui.engine.ports import Cluster, Object
from kymatui.errors import ForbiddenError


@dataclass(frozen=True, slots=True)
class Instance:
    """One object. `ours` came with the module (its default resource, or of its manifest), others are the users'."""

    ref: ObjectRef
    uid: str
    ours: bool = False
    created: float | None = None
    finalizers: tuple[str, ...] = ()
    held: str = ""


@dataclass(frozen=True, slots=True)
class Instances:
    """All instances, and the kinds of which nobody may say whether there are any, with the reason."""

    instances: tuple[Instance, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def theirs(self) -> tuple[Instance, ...]:
        return tuple(one for one in self.instances if not one.ours)

    @property
    def ours(self) -> tuple[Instance, ...]:
        return tuple(one for one in self.instances if one.ours)


GroupKind = tuple[str, str]


def managed_kinds(inventory: Inventory, cluster: Cluster) -> tuple[GroupKind, ...]:
    """What the module's manager looks after: its own definitions' kinds, the default resource's, the associated."""
    definitions = [cluster.get(item.ref) for item in inventory.items if is_definition(item.ref)]
    found = [(gvk.group, gvk.kind) for gvk in defined_kinds(body for body in definitions if body is not None)]
    found += [(ref.kind.group, ref.kind.kind) for ref in inventory.defaults]
    found += [(gvk.group, gvk.kind) for gvk in inventory.associated]
    return tuple(dict.fromkeys(found))


def count_remaining(
    inventory: Inventory, cluster: Cluster, kinds: Sequence[GroupKind], cancel: threading.Event, width: int
) -> Instances:
    """Everything of the kinds, in all namespaces. Kinds that are not served have nothing."""
    own = {identity(item.ref) for item in inventory.items}
    if inventory.resource_created:
        own |= {identity(ref) for ref in inventory.defaults}
    found = each(kinds, lambda kind: _list(cluster, *kind), cancel, width)
    instances: dict[str, Instance] = {}
    unknown = []
    for kind, listed in zip(kinds, found, strict=True):
        if isinstance(listed, str):
            unknown.append((".".join(part for part in reversed(kind) if part), listed))
            continue
        for gvk, body in listed:
            one = _instance(gvk, body, own)
            instances.setdefault(one.uid or str(one.ref), one)
    return Instances(tuple(instances.values()), tuple(unknown))


def _list(cluster: Cluster, group: str, kind: str) -> list[tuple[GroupVersionKind, Object]] | str:
    served = cluster.kinds(group, kind)
    if not served:
        return []
    try:
        return [(served[0].gvk, body) for body in cluster.list(served[0].gvk)]
    except ForbiddenError as error:
        return str(error)


def _instance(gvk: GroupVersionKind, body: Object, own: Iterable[tuple[str, str, str, str]]) -> Instance:
    metadata = body["metadata"]
    ref = ObjectRef(gvk, str(metadata.get("namespace") or ""), str(metadata["name"]))
    return Instance(
        ref,
        str(metadata.get("uid") or ""),
        identity(ref) in own,
        moment(str(metadata.get("creationTimestamp") or "")),
        tuple(metadata.get("finalizers") or ()),
        held_by(body) if metadata.get("deletionTimestamp") else "",
    )

"""The existing objects that a module's manager handles, in all namespaces, each once."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.managed_fields import created_by, manager_name
from kymatui.domain.kubernetes.object_meta import OPERATOR, parse_time
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.modules.module_manager import is_applied_from
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.finalizers import deletion_blocker
from kymatui.engine.cluster.kind_order import defined_kinds, is_definition
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.inventory.inventory import Inventory
from kymatui.errors import ForbiddenError

GroupKind = tuple[str, str]

_NEVER: Final = frozenset(
    (OPERATOR, kind) for kind in ("Kyma", "Manifest", "ModuleTemplate", "ModuleReleaseMeta", "Watcher")
)
"""Kinds of lifecycle-manager, which are never a module's resources, even if a template names one."""

_KUBERNETES: Final = frozenset({"apps", "autoscaling", "batch", "extensions", "policy"})
_OTHERS_SUFFIX: Final = (".x-k8s.io", "gateway.networking.k8s.io", "snapshot.storage.k8s.io", "metrics.k8s.io")


def is_shared_kind(group: str) -> bool:
    """Return whether a group is Kubernetes' own, so that any software may use its kinds."""
    return not group or group in _KUBERNETES or (group.endswith(".k8s.io") and not group.endswith(_OTHERS_SUFFIX))


class ManagedObject(Struct, frozen=True):
    """One managed object; `ours` means that the module installed it, else a user created it.

    `applied` means that lifecycle-manager applied it from the module's manifest and deletes it with the module.
    `created` and `deleted_at` are in seconds of the Unix clock, None if absent; `held` is text after the name that
    tells what blocks the deletion; `maker` is the creator.
    """

    ref: ObjectRef
    uid: str
    ours: bool = False
    created: float | None = None
    finalizers: tuple[str, ...] = ()
    held: str = ""
    deleted_at: float | None = None
    maker: str = ""
    resource_version: str = ""
    applied: bool = False

    @property
    def shared(self) -> bool:
        """Return whether it may belong to other software; it is then never deleted with the module."""
        return not self.ours and is_shared_kind(self.ref.kind.group)


class ManagedObjects(Struct, frozen=True):
    """All managed objects, and the kinds that could not be listed, with the reason."""

    instances: tuple[ManagedObject, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()

    @property
    def theirs(self) -> tuple[ManagedObject, ...]:
        return tuple(one for one in self.instances if not one.ours)

    @property
    def ours(self) -> tuple[ManagedObject, ...]:
        return tuple(one for one in self.instances if one.ours)


def managed_kinds(inventory: Inventory, cluster: Cluster) -> tuple[GroupKind, ...]:
    """Return the kinds that the manager handles: of its CRDs, of the default CRs, and associated ones."""
    definitions = [cluster.get(item.ref) for item in inventory.items if is_definition(item.ref)]
    found = [(gvk.group, gvk.kind) for gvk in defined_kinds(body for body in definitions if body is not None)]
    found += [(ref.kind.group, ref.kind.kind) for ref in inventory.defaults]
    found += [(gvk.group, gvk.kind) for gvk in inventory.associated]
    return without_operator_kinds(found)


def without_operator_kinds(kinds: Iterable[GroupKind]) -> tuple[GroupKind, ...]:
    """Return each kind once, without the kinds of lifecycle-manager, which a template may name."""
    return tuple(kind for kind in dict.fromkeys(kinds) if kind not in _NEVER)


def list_managed_resources(
    inventory: Inventory, cluster: Cluster, kinds: Sequence[GroupKind], cancel: threading.Event, width: int
) -> ManagedObjects:
    """Return all objects of the kinds, in all namespaces; kinds that are not served have none."""
    own = {item.ref.key for item in inventory.items}
    if inventory.resource_created:
        own |= {ref.key for ref in inventory.defaults}
    return list_instances(own, cluster, kinds, cancel, width)


def list_instances(
    own: Collection[tuple[str, str, str, str]],
    cluster: Cluster,
    kinds: Sequence[GroupKind],
    cancel: threading.Event,
    width: int,
    manifest: str = "",
) -> ManagedObjects:
    """Return all objects of the kinds for a module without inventory.

    `own` are the identities of the default CR; `manifest` ("namespace/name") is the module's Manifest.
    lifecycle-manager waits for every other object of the default CR's kind, even its own, so those are not
    `applied`.
    """
    waited_for = {(group, kind) for group, kind, *_ in own}
    found = run_for_each(kinds, lambda kind: _list(cluster, *kind), cancel, width)
    instances: dict[str, ManagedObject] = {}
    unknown = []
    for kind, listed in zip(kinds, found, strict=True):
        if isinstance(listed, str):
            unknown.append((".".join(part for part in reversed(kind) if part), listed))
            continue
        for gvk, body in listed:
            one = _instance(gvk, body, own)
            if kind not in waited_for and is_applied_from(body, manifest):
                one = replace(one, ours=True, applied=True)
            instances.setdefault(one.uid or str(one.ref), one)
    return ManagedObjects(tuple(instances.values()), tuple(unknown))


def _list(cluster: Cluster, group: str, kind: str) -> list[tuple[GroupVersionKind, Object]] | str:
    served = cluster.kinds(group, kind)
    if not served:
        return []
    try:
        return [(served[0].gvk, body) for body in cluster.list(served[0].gvk)]
    except ForbiddenError as error:
        return str(error)


def _instance(gvk: GroupVersionKind, body: Object, own: Iterable[tuple[str, str, str, str]]) -> ManagedObject:
    metadata = body["metadata"]
    ref = ObjectRef(gvk, str(metadata.get("namespace") or ""), str(metadata["name"]))
    return ManagedObject(
        ref,
        str(metadata.get("uid") or ""),
        ref.key in own,
        parse_time(str(metadata.get("creationTimestamp") or "")),
        tuple(metadata.get("finalizers") or ()),
        deletion_blocker(body) if metadata.get("deletionTimestamp") else "",
        parse_time(str(metadata.get("deletionTimestamp") or "")),
        _maker(body),
        str(metadata.get("resourceVersion") or ""),
    )


def _maker(body: Object) -> str:
    """Return the owner of an object, else the field manager that created it."""
    for owner in body["metadata"].get("ownerReferences") or ():
        return f"{owner.get('kind')} {owner.get('name')}"
    return manager_name(created_by(body))

"""Pruning: objects of an earlier version, deleted with consent and never if another owns them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import (
    defined_kinds,
    is_definition,
    is_namespace,
    is_system_namespace,
)
from kymatui.engine.cluster.namespace_contents import list_foreign_contents
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.dryrun.preview import observe
from kymatui.engine.inventory.inventory import Inventory, InventoryItem
from kymatui.engine.inventory.managed_resources import list_instances
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS, Owner, bundle_owner, read_owner
from kymatui.engine.inventory.ownership_transfer import is_lifecycle_manager_mark
from kymatui.engine.jobs.object_deletion import uid_of
from kymatui.engine.plans.plan import Action, BundlePart, Intent, ObservedVersion, Step

FIRST_PHASE: Final = 1_000  # above every wave of applied objects
SECOND_PHASE: Final = 1_001  # dependencies are deleted after the objects that use them
_MOST_NAMED: Final = 5  # objects that a message names; the others are counted

# lifecycle-manager's list plus StatefulSet and DaemonSet: dependencies are deleted after their users.
_LATE: Final = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "ServiceAccount"),
        ("rbac.authorization.k8s.io", "Role"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("", "Service"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
    }
)


class PruneResult(Struct, frozen=True):
    """The prune steps, and the observed versions of their objects."""

    steps: tuple[Step, ...]
    observed: dict[ObjectRef, ObservedVersion]


def is_late(ref: ObjectRef) -> bool:
    """Return whether an object is deleted in the second phase."""
    return (ref.kind.group, ref.kind.kind) in _LATE


def prune_steps(
    intent: Intent,
    items: Sequence[InventoryItem],
    previous: Inventory | None,
    bundle: Bundle,
    cluster: Cluster,
    cancel: threading.Event,
    width: int,
) -> PruneResult:
    """Return the steps for items that the bundle no longer has: to delete, or to keep with the reason."""
    if not items:
        return PruneResult((), {})
    wanted = {read_ref(body).key for body in (*bundle.crds, *bundle.objects)}
    gone = [item for item in items if item.ref.key not in wanted and not _is_own_place(item, previous)]
    live = run_for_each(gone, lambda item: cluster.get(item.ref), cancel, width)
    observed = {item.ref: observe(body) for item, body in zip(gone, live, strict=True)}
    there = [(item, body) for item, body in zip(gone, live, strict=True) if body is not None]
    losses = CascadeLosses(cluster, cancel, width)
    steps = {item.ref: _step(intent, item, body, losses) for item, body in there if not is_namespace(item.ref)}
    kept = [step.ref for step in steps.values() if step.action is Action.KEEP]
    kept += previous.defaults if previous is not None else ()
    losses = replace(losses, planned=planned_uids(steps.values()))
    steps |= {
        item.ref: _namespace_step(intent, item, body, losses, kept) for item, body in there if is_namespace(item.ref)
    }
    return PruneResult(tuple(steps[item.ref] for item, _ in there), observed)


def planned_uids(steps: Iterable[Step]) -> frozenset[str]:
    """Return the uids of what these steps delete, with the instances of CRDs."""
    deletions = [step for step in steps if step.action is Action.DELETE]
    instances = {uid for step in deletions if is_definition(step.ref) for uid in step.takes}
    return frozenset((instances | {step.uid for step in deletions}) - {""})


class CascadeLoss(Struct, frozen=True):
    """The objects that are deleted with a CRD or namespace: names, uids, and the known references."""

    names: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    unknown: bool = False
    refs: tuple[ObjectRef, ...] = ()


class CascadeLosses(Struct, frozen=True):
    """The search for objects that are deleted with a CRD or namespace.

    planned     uids of objects that the plan deletes anyway; a namespace's content without them is its loss
    """

    cluster: Cluster
    cancel: threading.Event
    width: int
    planned: frozenset[str] = frozenset()

    def of(self, live: Object) -> CascadeLoss:
        """Return what is deleted with this object; empty for all kinds but CRDs and namespaces."""
        ref = read_ref(live)
        if is_definition(ref):
            kinds = sorted({(gvk.group, gvk.kind) for gvk in defined_kinds([live])})
            found = list_instances((), self.cluster, kinds, self.cancel, self.width)
            refs = tuple(one.ref for one in found.instances)
            uids = tuple(one.uid for one in found.instances)
            return CascadeLoss(tuple(map(str, refs)), uids, bool(found.unknown), refs)
        if not is_namespace(ref):
            return CascadeLoss()
        others = list_foreign_contents(
            self.cluster, ref.name, lambda _, body: uid_of(body) in self.planned, self.cancel, self.width
        )
        refs = tuple(one.ref for one in others if one.ref is not None)
        return CascadeLoss(tuple(one.message for one in others), tuple(one.uid for one in others), refs=refs)


def _instances(loss: CascadeLoss) -> str:
    return _named(loss.names, "you may not list them" if loss.unknown else "none exist")


def _named(names: Sequence[str], none: str) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f" ({', '.join(names[:_MOST_NAMED]) or none}{more})"


def _is_own_place(item: InventoryItem, previous: Inventory | None) -> bool:
    return (
        previous is not None
        and previous.made_namespace
        and is_namespace(item.ref)
        and item.ref.name == previous.namespace
    )


def _step(intent: Intent, item: InventoryItem, live: Object, losses: CascadeLosses) -> Step:
    loss = losses.of(live) if is_definition(item.ref) else CascadeLoss()
    reason = _kept_because(intent, item, live, loss)
    more = f"; deletes all its objects too{_instances(loss)}" if is_definition(item.ref) else ""
    return _deletion(item, live, loss, more) if not reason else _kept(item, live, reason)


def _namespace_step(
    intent: Intent, item: InventoryItem, live: Object, losses: CascadeLosses, kept: Iterable[ObjectRef]
) -> Step:
    name = item.ref.name
    reason = _kept_because(intent, item, live, CascadeLoss()) or _occupied_because(intent.bundle, name)
    if reason or not intent.prune_namespaces:
        return _kept(item, live, reason or "deleting a namespace deletes everything in it; this needs consent")
    loss = losses.of(live)
    content = {ref.key for ref in loss.refs}
    staying = next((ref for ref in kept if ref.namespace == name and ref.key in content), None)
    if staying is not None:
        return _kept(item, live, f"{staying} is in it and is kept")
    return _deletion(item, live, loss, f"; deletes everything in it too{_named(loss.names, 'nothing else')}")


def _occupied_because(bundle: Bundle, namespace: str) -> str:
    """Return why the new version needs a namespace, "" if it does not."""
    bodies = (*bundle.objects, *bundle.defaults, *(hook.body for hook in bundle.hooks))
    if any(read_ref(body).namespace == namespace for body in bodies):
        return "the new version still has objects in it"
    return f"the inventory of {bundle.name} is stored in it" if bundle.namespace == namespace else ""


def _kept(item: InventoryItem, live: Object, reason: str) -> Step:
    return Step(
        Action.KEEP, item.ref, _wave(item), BundlePart.PREVIOUS, reason=reason, adopted=item.adopted, uid=uid_of(live)
    )


def _deletion(item: InventoryItem, live: Object, loss: CascadeLoss, more: str) -> Step:
    reason = f"not in this version{more}"
    return Step(
        Action.DELETE, item.ref, _wave(item), BundlePart.PREVIOUS, reason=reason, uid=uid_of(live), takes=loss.uids
    )


def _wave(item: InventoryItem) -> int:
    return SECOND_PHASE if is_late(item.ref) else FIRST_PHASE


def _kept_because(intent: Intent, item: InventoryItem, live: Object, loss: CascadeLoss) -> str:
    ref = item.ref
    if is_namespace(ref) and is_system_namespace(ref.name):
        return "a system namespace"
    if item.adopted:
        return "it existed before the module"
    if not intent.prune:
        return "pruning is turned off"
    if is_definition(ref) and not intent.prune_definitions:
        return f"deleting a CRD deletes all its objects{_instances(loss)}; this needs consent"
    annotations = live["metadata"].get("annotations") or {}
    if annotations.get("helm.sh/resource-policy") == "keep":
        return "kept by its annotation helm.sh/resource-policy"
    return foreign_claim(live, bundle_owner(intent.bundle), item, adopt=intent.adopt)


def foreign_claim(live: Object, mine: Owner, item: InventoryItem, *, adopt: bool = False) -> str:
    """Return why another owner has the object, "" if it may be deleted.

    With `adopt`, an object without an owner may be deleted if kubectl or lifecycle-manager wrote it.
    """
    found = read_owner(live)
    if adopt and (found is None or is_lifecycle_manager_mark(found)):
        writers = field_managers(live)
        return (
            ""
            if writers & ADOPTED_MANAGERS
            else f"written by {', '.join(sorted(writers)) or 'an unknown field manager'}"
        )
    if found is not None and found != mine:
        return f"owned by the {found} now"
    if found is None and not (item.definition and is_definition(item.ref)):  # others may write the inventory
        return "its ownership labels were removed, so another client uses it"
    return ""


def phases(steps: Sequence[Step]) -> tuple[tuple[Step, ...], ...]:
    """Return the deletions in phases; namespaces are last, so that they stay for a skipped deletion in them."""
    deletions = [step for step in steps if step.action is Action.DELETE]
    early = tuple(step for step in deletions if step.wave == FIRST_PHASE)
    late = [step for step in deletions if step.wave == SECOND_PHASE]
    namespaces = tuple(step for step in late if is_namespace(step.ref))
    return (early, tuple(step for step in late if not is_namespace(step.ref)), namespaces)

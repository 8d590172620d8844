"""Pruning: objects of an earlier version, deleted with consent and never if another owns them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from kymatui.domain.kubernetes.object_meta import read_ref
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
from kymatui.engine.inventory.ownership_marks import ADOPTED_MANAGERS, Owner, bundle_owner, field_managers, read_owner
from kymatui.engine.inventory.ownership_transfer import is_lifecycle_manager_mark
from kymatui.engine.jobs.object_deletion import uid_of
from kymatui.engine.plans.plan import Action, BundlePart, Intent, ObservedVersion, Step
from kymatui.first_use import dataclass

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


@dataclass(frozen=True, slots=True)
class PruneResult:
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
    mine = bundle_owner(bundle)
    there = [(item, body) for item, body in zip(gone, live, strict=True) if body is not None]
    losses = CascadeLosses(cluster, mine, cancel, width)
    steps = [_step(intent, item, body, mine, losses) for item, body in there]
    return PruneResult(tuple(steps), observed)


@dataclass(frozen=True, slots=True)
class CascadeLoss:
    """The objects that are deleted with a CRD or namespace: names, uids, and the known references."""

    names: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    unknown: bool = False
    refs: tuple[ObjectRef, ...] = ()


@dataclass(frozen=True, slots=True)
class CascadeLosses:
    """The search for objects that are deleted with a CRD or namespace."""

    cluster: Cluster
    mine: Owner
    cancel: threading.Event
    width: int

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
            self.cluster, ref.name, lambda _, body: read_owner(body) == self.mine, self.cancel, self.width
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


def _step(intent: Intent, item: InventoryItem, live: Object, mine: Owner, losses: CascadeLosses) -> Step:
    wave = SECOND_PHASE if is_late(item.ref) else FIRST_PHASE
    loss = losses.of(live) if is_definition(item.ref) or intent.prune_namespaces else CascadeLoss()
    reason, uid = _kept_because(intent, item, live, mine, loss), uid_of(live)
    if reason:
        return Step(Action.KEEP, item.ref, wave, BundlePart.PREVIOUS, reason=reason, adopted=item.adopted, uid=uid)
    reason = "not in this version"
    if is_definition(item.ref):
        reason += f"; deletes all its objects too{_instances(loss)}"
    elif is_namespace(item.ref):
        reason += f"; deletes everything in it too{_named(loss.names, 'nothing else')}"
    return Step(Action.DELETE, item.ref, wave, BundlePart.PREVIOUS, reason=reason, uid=uid, takes=loss.uids)


def _kept_because(intent: Intent, item: InventoryItem, live: Object, mine: Owner, loss: CascadeLoss) -> str:
    ref = item.ref
    if is_namespace(ref) and is_system_namespace(ref.name):
        return "a system namespace"
    if item.adopted:
        return "it existed before the module"
    if not intent.prune:
        return "pruning is turned off"
    if is_definition(ref) and not intent.prune_definitions:
        return f"deleting a CRD deletes all its objects{_instances(loss)}; this needs consent"
    if is_namespace(ref) and not intent.prune_namespaces:
        return "deleting a namespace deletes everything in it; this needs consent"
    annotations = live["metadata"].get("annotations") or {}
    if annotations.get("helm.sh/resource-policy") == "keep":
        return "kept by its annotation helm.sh/resource-policy"
    return foreign_claim(live, mine, item, adopt=intent.adopt)


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
    if found is None and not item.definition:
        return "its ownership labels were removed, so another client uses it"
    return ""


def phases(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the deletions of the first and of the second phase."""
    deletions = [step for step in steps if step.action is Action.DELETE]
    return (
        tuple(step for step in deletions if step.wave == FIRST_PHASE),
        tuple(step for step in deletions if step.wave == SECOND_PHASE),
    )

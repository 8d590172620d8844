"""The plan of an uninstallation: existing objects, order of deletion, and obstacles."""

from __future__ import annotations

import threading
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.plans.accepted_objects import AcceptedObjects
from kymatui.engine.apply.prune import foreign_claim
from kymatui.engine.bundles.bundle import hooks_of
from kymatui.engine.cluster.concurrency import WIDTH, run_for_each
from kymatui.engine.cluster.kind_order import (
    deletion_waves,
    is_definition,
    is_namespace,
    is_system_namespace,
)
from kymatui.engine.cluster.ports import NAMESPACE, Clock, Cluster, Object
from kymatui.engine.cluster.read_once import read_once
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryPolicy
from kymatui.engine.inventory.inventory import Inventory, InventoryItem, InventoryState
from kymatui.engine.inventory.inventory_lookup import read_inventory
from kymatui.engine.inventory.managed_resources import ManagedObjects, list_managed_resources, managed_kinds
from kymatui.engine.inventory.ownership_marks import Owner, OwnerKind, applyset_id, inventory_name
from kymatui.engine.inventory.release_store import ReleaseStore
from kymatui.engine.jobs.hooks import hook_key
from kymatui.engine.jobs.object_deletion import uid_of, version_of
from kymatui.engine.plans.plan import Action, BundlePart, RequiredPermission, Step


class UninstallPlan(Struct, frozen=True):
    """The plan of an uninstallation.

    remaining  objects that the module's manager handles; while they exist, the module stays
    steps      the module's own objects, in waves, and kept ones with the reason; namespaces are decided last
    hooks      a chart's hooks before and after the deletion, in order
    lost       installed objects that another client deleted
    """

    cluster: str
    inventory: Inventory
    remaining: ManagedObjects
    steps: tuple[Step, ...]
    made_at: float
    missing: tuple[RequiredPermission, ...] = ()
    hooks: tuple[Step, ...] = ()
    lost: tuple[ObjectRef, ...] = ()

    @property
    def deletions(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action is Action.DELETE)

    @property
    def kept(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action is Action.KEEP)

    @property
    def accepted(self) -> AcceptedObjects:
        """Return the objects that the plan displays and the user accepts."""
        remaining = ((one.ref, one.uid) for one in self.remaining.instances)
        return AcceptedObjects.of((*remaining, *((step.ref, step.uid) for step in self.steps)))


def plan_uninstall(
    name: str,
    namespace: str,
    cluster: Cluster,
    clock: Clock,
    *,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    patience: RetryPolicy = DEFAULT_RETRY,
) -> UninstallPlan | None:
    """Return what would be deleted, None if nothing is installed under the name; nothing is written."""
    stop = cancel or threading.Event()
    patient = read_once(cluster, clock, stop, patience)
    inventory = read_inventory(patient, clock, name, namespace)
    return None if inventory is None else plan_uninstall_of(inventory, patient, clock, stop, width)


def plan_uninstall_of(
    inventory: Inventory, patient: Cluster, clock: Clock, stop: threading.Event, width: int = WIDTH
) -> UninstallPlan:
    """Return what would be deleted of an installation whose inventory was just read."""
    remaining = list_managed_resources(inventory, patient, managed_kinds(inventory, patient), stop, width)
    steps = deletion_steps(inventory, patient, stop, width)
    going = (step.ref for step in steps if step.action is Action.DELETE)
    rights = list(dict.fromkeys(RequiredPermission("delete", ref.kind, ref.namespace) for ref in going))
    allowed = run_for_each(rights, lambda right: patient.allowed(right.verb, right.kind, right.namespace), stop, width)
    missing = tuple(right for right, may in zip(rights, allowed, strict=True) if not may)
    there = {step.ref for step in steps}
    whole = inventory.state is InventoryState.INSTALLED  # an interrupted run lacks objects that no client deleted
    lost = tuple(item.ref for item in inventory.items if whole and not item.adopted and item.ref not in there)
    hooks = _hooks(inventory, patient, clock)
    return UninstallPlan(patient.name, inventory, remaining, steps, clock.now(), missing, hooks, lost)


def _hooks(inventory: Inventory, cluster: Cluster, clock: Clock) -> tuple[Step, ...]:
    """Return the hooks that have not run yet in an earlier attempt."""
    if not inventory.chart:
        return ()
    hooks = ReleaseStore(cluster, inventory.name, inventory.namespace, clock.now).hooks(inventory)
    done = inventory.done if inventory.is_deleting else ()
    return tuple(
        Step(Action.CREATE, read_ref(one.body), one.hook.weight, BundlePart.HOOK, event=event)
        for event in ("pre-delete", "post-delete")
        for one in hooks_of(hooks, event)
        if hook_key(event, one) not in done
    )


def deletion_steps(
    inventory: Inventory, cluster: Cluster, cancel: threading.Event, width: int, part: BundlePart | None = None
) -> tuple[Step, ...]:
    """Return the module's existing objects (or those of a part) in the order of deletion."""
    items = {item.ref: item for item in inventory.items}
    if inventory.made_namespace:
        items.setdefault(ObjectRef(NAMESPACE, "", inventory.namespace), InventoryItem(_place(inventory)))
    items = {ref: item for ref, item in items.items() if part in (None, _part(ref))}
    numbered = [(ref, number) for number, wave in enumerate(deletion_waves(items)) for ref in wave]
    live = run_for_each([ref for ref, _ in numbered], cluster.get, cancel, width)
    mine = inventory_owner(inventory)
    return tuple(
        _step(items[ref], number, body, mine, inventory)
        for (ref, number), body in zip(numbered, live, strict=True)
        if body is not None
    )


def inventory_owner(inventory: Inventory) -> Owner:
    """Return the owner in the marks of the module's objects."""
    if inventory.chart:
        return Owner(OwnerKind.HELM, f"{inventory.namespace}/{inventory.name}")
    return Owner(OwnerKind.APPLYSET, applyset_id(inventory_name(inventory.name), inventory.namespace))


def _place(inventory: Inventory) -> ObjectRef:
    return ObjectRef(NAMESPACE, "", inventory.namespace)


def _part(ref: ObjectRef) -> BundlePart:
    return (
        BundlePart.DEFINITION
        if is_definition(ref)
        else BundlePart.NAMESPACE
        if is_namespace(ref)
        else BundlePart.OBJECT
    )


def _step(item: InventoryItem, wave: int, live: Object, mine: Owner, inventory: Inventory) -> Step:
    reason = _kept_because(item, live, mine, inventory)
    action = Action.KEEP if reason else Action.DELETE
    if not reason and is_namespace(item.ref):
        reason = "last, and only if it contains no other objects"
    uid, version = uid_of(live), version_of(live)
    return Step(action, item.ref, wave, _part(item.ref), reason=reason, adopted=item.adopted, uid=uid, version=version)


def _kept_because(item: InventoryItem, live: Object, mine: Owner, inventory: Inventory) -> str:
    if is_namespace(item.ref) and is_system_namespace(item.ref.name):
        return "a system namespace"
    if item.adopted:
        return "it existed before the module"
    if item.ref == _place(inventory) and inventory.made_namespace:
        return ""
    annotations: dict[str, Any] = live["metadata"].get("annotations") or {}
    if annotations.get("helm.sh/resource-policy") == "keep":
        return "kept by its annotation helm.sh/resource-policy"
    return foreign_claim(live, mine, item)

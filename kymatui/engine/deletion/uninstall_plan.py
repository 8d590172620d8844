"""The plan of an uninstallation: what it deletes in which order, what it keeps and why."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.gitops import git_source
from kymatui.domain.inventories import Inventory, InventoryItem, InventoryState, inventory_name, inventory_owner
from kymatui.domain.kubernetes.object_meta import read_ref, uid_of
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET, ObjectRef
from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.domain.plans.backups import AcceptedObjects
from kymatui.domain.rights import RequiredPermission
from kymatui.engine.bundles.bundle import hooks_of
from kymatui.engine.cluster.concurrency import WIDTH, run_for_each
from kymatui.engine.cluster.kind_order import deletion_waves, is_definition, is_namespace
from kymatui.engine.cluster.ports import NAMESPACE, Clock, Cluster, Object
from kymatui.engine.cluster.request_scope import missing_permissions, note_permission
from kymatui.engine.cluster.retries import DEFAULT_RETRY, RetryPolicy, read_once
from kymatui.engine.deletion.cascade_contents import (
    CascadeContents,
    ContainedObject,
    contents_left,
    instances_left,
    name_contents,
    staying,
)
from kymatui.engine.inventory.managed_resources import (
    ManagedKinds,
    ManagedObjects,
    find_crd_holders,
    keep_reason,
    list_managed_resources,
    managed_kinds,
)
from kymatui.engine.inventory.release_store import ReleaseStore, read_inventory, record_kind, refuse_pending
from kymatui.engine.jobs.hooks import hook_key
from kymatui.engine.jobs.lease import LEASE
from kymatui.engine.jobs.object_deletion import version_of
from kymatui.engine.plans.plan import Action, BundlePart, Step

CHART_CRDS: Final = "CRDs of a chart's folder crds/ stay, as with helm"
_LAST: Final = "last, and only if it contains no other objects"
_EMPTY: Final = "only if it has no objects by then"


class DeletionScope(Struct, frozen=True):
    """What the person chooses, and what else is known of the cluster.

    delete_crds  also delete the CRDs of a chart's folder crds/
    manifest     the Manifest of this installation ("namespace/name"), "" for none
    manifests    Manifests on a control plane that describe this cluster; None reads the cluster's own
    companions   owners of what the same request deletes, too: their objects may be gone before this deletion ends
    """

    delete_crds: bool = False
    manifest: str = ""
    manifests: tuple[object, ...] | None = None
    companions: tuple[Owner, ...] = ()

    def owners(self, inventory: Inventory) -> tuple[Owner, ...]:
        """Return all owners in marks that are an installation."""
        manifest = (Owner(OwnerKind.LIFECYCLE_MANAGER, self.manifest),) if self.manifest else ()
        return (inventory_owner(inventory), *manifest, *self.companions)

    def remaining(
        self, inventory: Inventory, kinds: ManagedKinds, cluster: Cluster, cancel: threading.Event, width: int
    ) -> ManagedObjects:
        """Return the objects that the module's manager handles, each with whose it is."""
        owners = self.owners(inventory)
        return list_managed_resources(inventory, cluster, kinds, cancel, width, owners, self.manifests)


WHOLE: Final = DeletionScope()


class UninstallPlan(Struct, frozen=True):
    """The plan of an uninstallation.

    remaining  objects that the module's manager handles; while they exist, the module stays
    steps      the module's own objects, in waves, and kept ones with the reason
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
    scope: DeletionScope = WHOLE

    @property
    def deletions(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action is Action.DELETE)

    @property
    def kept(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action is Action.KEEP)

    @property
    def chart_crds(self) -> tuple[ObjectRef, ...]:
        """Return the CRDs for which a person may choose whether they stay."""
        return tuple(item.ref for item in self.inventory.items if item.definition) if self.inventory.chart else ()

    @property
    def accepted(self) -> AcceptedObjects:
        """Return the objects that the plan displays and the user accepts."""
        instances = self.remaining.instances
        goes = [(instance.ref, instance.uid) for instance in instances if not instance.stays]
        stays = [(instance.ref, instance.uid) for instance in instances if instance.stays]
        return AcceptedObjects.of(
            (*goes, *((step.ref, step.uid) for step in self.deletions)),
            (*stays, *((step.ref, step.uid) for step in self.kept)),
        )


def plan_uninstall(
    name: str,
    namespace: str,
    cluster: Cluster,
    clock: Clock,
    *,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    retry: RetryPolicy = DEFAULT_RETRY,
    scope: DeletionScope = WHOLE,
) -> UninstallPlan | None:
    """Return what would be deleted, None if nothing is installed under the name; nothing is written."""
    stop = cancel or threading.Event()
    patient = read_once(cluster, clock, stop, retry)
    inventory = read_inventory(patient, clock, name, namespace)
    return None if inventory is None else plan_uninstall_of(inventory, patient, clock, stop, width, scope)


def plan_uninstall_of(
    inventory: Inventory,
    patient: Cluster,
    clock: Clock,
    stop: threading.Event,
    width: int = WIDTH,
    scope: DeletionScope = WHOLE,
) -> UninstallPlan:
    """Return what would be deleted of an installation whose inventory was just read."""
    refuse_pending(inventory)
    kinds = managed_kinds(inventory, patient)
    remaining = scope.remaining(inventory, kinds, patient, stop, width)
    steps = DeletionSteps(inventory, patient, stop, width, scope).planned(remaining)
    going = (step.ref for step in steps if step.action is Action.DELETE)
    rights = (RequiredPermission("delete", ref.kind, ref.namespace) for ref in going)
    missing = missing_permissions(patient, rights, stop, width)
    _note_run(inventory, steps)
    existing = {step.ref for step in steps}
    is_complete = inventory.state is InventoryState.INSTALLED  # an interrupted run lacks objects that no client deleted
    lost = tuple(item.ref for item in inventory.items if is_complete and not item.adopted and item.ref not in existing)
    hooks = _hooks(inventory, patient, clock)
    return UninstallPlan(patient.name, inventory, remaining, steps, clock.now(), missing, hooks, lost, scope)


def _note_run(inventory: Inventory, steps: Iterable[Step]) -> None:
    """Note what the run needs beside the deletions: its Lease, and the record of the installation."""
    for verb in ("get", "create", "update", "delete"):
        note_permission(verb, LEASE, inventory.namespace)
    for verb in ("patch", "delete"):
        note_permission(verb, record_kind(inventory), inventory.namespace)
    for step in steps:
        # the marks of what stays are removed, and a namespace stays that other clients use by then
        if step.action is not Action.DELETE or is_namespace(step.ref):
            note_permission("patch", step.ref.kind, step.ref.namespace, step.ref.name)


def _hooks(inventory: Inventory, cluster: Cluster, clock: Clock) -> tuple[Step, ...]:
    """Return the hooks that have not run yet in an earlier attempt."""
    if not inventory.chart:
        return ()
    hooks = ReleaseStore(cluster, inventory.name, inventory.namespace, clock.now).hooks(inventory)
    done = inventory.done if inventory.is_deleting else ()
    return tuple(
        Step(Action.CREATE, read_ref(hook.body), hook.hook.weight, BundlePart.HOOK, event=event)
        for event in ("pre-delete", "post-delete")
        for hook in hooks_of(hooks, event)
        if hook_key(event, hook) not in done
    )


class DeletionSteps:
    """The steps of one installation's deletion: for its plan, and again at each part of its run."""

    def __init__(
        self, inventory: Inventory, cluster: Cluster, cancel: threading.Event, width: int, scope: DeletionScope
    ) -> None:
        self._inventory, self._cluster, self._scope = inventory, cluster, scope
        self._cancel, self._width = cancel, width
        self._mine = inventory_owner(inventory)
        self._owners = scope.owners(inventory)
        self._contents = CascadeContents(cluster, cancel, width, self._owners.__contains__, self._is_record)
        self._items = {item.ref: item for item in inventory.items}
        if inventory.made_namespace:
            self._items.setdefault(self._own_namespace, InventoryItem(self._own_namespace))

    def planned(self, remaining: ManagedObjects) -> tuple[Step, ...]:
        """Return all steps in the order of deletion, before anything is deleted."""
        objects = self.of_objects()
        going = {step.uid for step in objects if step.action is Action.DELETE}
        going |= {instance.uid for instance in remaining.instances if not instance.stays}
        kept = {instance.uid: instance.stay_reason for instance in remaining.instances if instance.stays}
        kept |= {step.uid: step.reason for step in objects if step.action is Action.KEEP}
        crds = tuple(self._planned_crd(step, going, kept) for step in self.of_crds())
        spaces = tuple(self._planned_namespace(step, going, kept, objects) for step in self.of_namespaces())
        return (*objects, *crds, *spaces)

    def of_objects(self) -> tuple[Step, ...]:
        """Return the steps of everything but CRDs and namespaces."""
        return self._steps({ref: item for ref, item in self._items.items() if _part(ref) is BundlePart.OBJECT})

    def of_crds(self) -> tuple[Step, ...]:
        """Return the steps of the CRDs, whatever objects they have."""
        items = {ref: item for ref, item in self._items.items() if _part(ref) is BundlePart.DEFINITION}
        steps = tuple(self._without_chart_crd(items[step.ref], step) for step in self._steps(items))
        names = {step.ref.name for step in steps if step.action is Action.DELETE}
        holders = find_crd_holders(self._cluster, names, self._owners, self._cancel, self._width, self._scope.manifests)
        return tuple(_kept_for(step, holders.reason(step.ref.name)) for step in steps)

    def of_namespaces(self) -> tuple[Step, ...]:
        """Return the steps of the namespaces, whatever they contain; that of the inventory is last."""
        own = self._own_namespace
        items = {ref: item for ref, item in self._items.items() if _part(ref) is BundlePart.NAMESPACE}
        return tuple(sorted(self._steps(items), key=lambda step: step.ref == own))

    def contents(self, live: Object) -> tuple[ContainedObject, ...]:
        """Return what would be deleted with a CRD or a namespace of the installation."""
        return self._contents.of(live)

    def reason_to_keep(self, ref: ObjectRef, live: Object) -> str:
        """Return why an object of the installation stays, "" if it may be deleted."""
        item = self._items.get(ref)
        return "" if item is None else self._keep_reason(item, live)

    def _keep_reason(self, item: InventoryItem, live: Object) -> str:
        is_made_namespace = self._inventory.made_namespace and item.ref == self._own_namespace
        return keep_reason(item, live, self._mine, unmarked=is_made_namespace)

    @property
    def _own_namespace(self) -> ObjectRef:
        return ObjectRef(NAMESPACE, "", self._inventory.namespace)

    def _steps(self, items: Mapping[ObjectRef, InventoryItem]) -> tuple[Step, ...]:
        numbers = {ref: number for number, wave in enumerate(deletion_waves(self._items)) for ref in wave}
        refs = [ref for ref in numbers if ref in items]
        live = run_for_each(refs, self._cluster.get, self._cancel, self._width)
        return tuple(
            self._step(items[ref], numbers[ref], body) for ref, body in zip(refs, live, strict=True) if body is not None
        )

    def _step(self, item: InventoryItem, wave: int, live: Object) -> Step:
        reason, part = self._keep_reason(item, live), _part(item.ref)
        action = Action.KEEP if reason else Action.DELETE
        reason = reason or (_LAST if part is BundlePart.NAMESPACE else "")
        return Step(
            action,
            item.ref,
            wave,
            part,
            reason=reason,
            adopted=item.adopted,
            uid=uid_of(live),
            version=version_of(live),
            git=git_source(live),
        )

    def _without_chart_crd(self, item: InventoryItem, step: Step) -> Step:
        stays = self._inventory.chart and item.definition and not self._scope.delete_crds
        return _kept_for(step, CHART_CRDS if stays else "")

    def _planned_crd(self, step: Step, going: Collection[str], kept: Mapping[str, str]) -> Step:
        """Return the step of a CRD; objects that nothing holds may be gone by then."""
        live = self._cluster.get(step.ref) if step.action is Action.DELETE else None
        rest = staying(self.contents(live), going) if live is not None else ()
        if held := _held(rest, kept):
            return _kept_for(step, instances_left(held))
        return replace(step, reason=f"{_EMPTY}; now it has {name_contents(rest)}") if rest else step

    def _planned_namespace(
        self, step: Step, going: Collection[str], kept: Mapping[str, str], objects: Iterable[Step]
    ) -> Step:
        """Return the step of a namespace; content that nothing holds may be gone by then: a manager may delete it."""
        if step.action is not Action.DELETE:
            return step
        inside = [
            other_step
            for other_step in objects
            if other_step.action is Action.KEEP and other_step.ref.namespace == step.ref.name
        ]
        if inside:
            contents = [
                ContainedObject(str(other_step.ref), other_step.uid, other_step.ref, other_step.reason)
                for other_step in inside
            ]
            return _kept_for(step, contents_left(contents))
        live = self._cluster.get(step.ref)
        rest = staying(self.contents(live), going) if live is not None else ()
        if held := _held(rest, kept):
            return _kept_for(step, contents_left(held))
        return replace(step, reason=f"{_LAST} by then; now it contains {name_contents(rest)}") if rest else step

    def _is_record(self, ref: ObjectRef, body: Object) -> bool:
        """Return whether an object only stores this installation's inventory."""
        name = self._inventory.name
        if not self._inventory.chart:
            return ref.kind == CONFIG_MAP and ref.name == inventory_name(name)
        labels = body["metadata"].get("labels") or {}
        return ref.kind in (SECRET, CONFIG_MAP) and labels.get("owner") == "helm" and labels.get("name") == name


def _part(ref: ObjectRef) -> BundlePart:
    return (
        BundlePart.DEFINITION
        if is_definition(ref)
        else BundlePart.NAMESPACE
        if is_namespace(ref)
        else BundlePart.OBJECT
    )


def _held(rest: Iterable[ContainedObject], kept: Mapping[str, str]) -> tuple[ContainedObject, ...]:
    """Return the contents that stay for certain, each with what keeps it."""
    return tuple(
        contained_object if contained_object.hold else replace(contained_object, hold=kept[contained_object.uid])
        for contained_object in rest
        if contained_object.hold or contained_object.uid in kept
    )


def _kept_for(step: Step, reason: str) -> Step:
    """Return a step as kept, the same step without a reason or with one of its own."""
    return replace(step, action=Action.KEEP, reason=reason) if reason and step.action is Action.DELETE else step

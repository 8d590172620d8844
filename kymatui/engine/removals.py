"""A removal as data: what of a module is there, what of it will go in which order, and what stands in the way."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kymatui.domain.deletion import AcceptedObjects
from kymatui.domain.objects import read_ref
from kymatui.domain.refs import ObjectRef
from kymatui.engine.bundles import hooks_of
from kymatui.engine.concurrency import WIDTH, each
from kymatui.engine.deletion import uid_of
from kymatui.engine.holders import Holder, HolderKind, applyset_id, inventory_name
from kymatui.engine.hooks import key
from kymatui.engine.inventories import Inventory, Item, State
from kymatui.engine.ordering import is_definition, is_namespace, is_system_namespace, removal_waves
from kymatui.engine.planning import NAMESPACE, installed
from kymatui.engine.plans import Action, Part, Right, Step
from kymatui.engine.ports import Clock, Cluster, Object
from kymatui.engine.pruning import others_claim
from kymatui.engine.releases import ReleaseKeeper
from kymatui.engine.remaining import Instances, count_remaining, managed_kinds
from kymatui.engine.retrying import PATIENT, Patience, PatientCluster
from kymatui.errors import ConfigurationError

SCHEMA: Final = "kymatui.io/removal/v1"


@dataclass(frozen=True, slots=True)
class Removal:
    """What `delete` will do with what is installed under a name.

    remaining  what the module's manager looks after: it stays as long as any of that does
    steps      the module's own objects, in waves, with those that are kept and why; namespaces are judged at the end
    hooks      of a chart, that run before its objects go and after it, in their order
    lost       what was installed and is not there any more, though no deletion has begun: somebody else deleted it
    """

    cluster: str
    inventory: Inventory
    remaining: Instances
    steps: tuple[Step, ...]
    made_at: float
    missing: tuple[Right, ...] = ()
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
        """What a person accepts with it: everything that it displays."""
        remaining = ((one.ref, one.uid) for one in self.remaining.instances)
        return AcceptedObjects.of((*remaining, *((step.ref, step.uid) for step in self.steps)))


def removal(
    name: str,
    namespace: str,
    cluster: Cluster,
    clock: Clock,
    *,
    cancel: threading.Event | None = None,
    width: int = WIDTH,
    patience: Patience = PATIENT,
) -> Removal | None:
    """What would be deleted; None where nothing is installed under that name. Nothing is written."""
    stop = cancel or threading.Event()
    patient = PatientCluster(cluster, clock, stop, patience)
    inventory = installed(patient, clock, name, namespace)
    if inventory is None:
        return None
    remaining = count_remaining(inventory, patient, managed_kinds(inventory, patient), stop, width)
    steps = removal_steps(inventory, patient, stop, width)
    rights = list(dict.fromkeys(Right("delete", step.ref.kind, step.ref.namespace) for step in steps))
    allowed = each(rights, lambda right: patient.allowed(right.verb, right.kind, right.namespace), stop, width)
    missing = tuple(right for right, may in zip(rights, allowed, strict=True) if not may)
    there = {step.ref for step in steps}
    whole = inventory.state is State.INSTALLED
    lost = tuple(item.ref for item in inventory.items if whole and not item.adopted and item.ref not in there)
    hooks = _hooks(inventory, patient, clock)
    return Removal(cluster.name, inventory, remaining, steps, clock.now(), missing, hooks, lost)


def _hooks(inventory: Inventory, cluster: Cluster, clock: Clock) -> tuple[Step, ...]:
    """Those that have not run yet: an earlier attempt may have begun."""
    if not inventory.chart:
        return ()
    hooks = ReleaseKeeper(cluster, inventory.name, inventory.namespace, clock.now).hooks(inventory)
    done = inventory.done if inventory.state is State.DELETING else ()
    return tuple(
        Step(Action.CREATE, read_ref(one.body), one.hook.weight, Part.HOOK, event=event)
        for event in ("pre-delete", "post-delete")
        for one in hooks_of(hooks, event)
        if key(event, one) not in done
    )


def removal_steps(
    inventory: Inventory, cluster: Cluster, cancel: threading.Event, width: int, part: Part | None = None
) -> tuple[Step, ...]:
    """The module's own objects (or those of a part) that are there, in the order in which they go."""
    items = {item.ref: item for item in inventory.items}
    if inventory.made_namespace:
        items.setdefault(ObjectRef(NAMESPACE, "", inventory.namespace), Item(_place(inventory)))
    items = {ref: item for ref, item in items.items() if part in (None, _part(ref))}
    numbered = [(ref, number) for number, wave in enumerate(removal_waves(items)) for ref in wave]
    live = each([ref for ref, _ in numbered], cluster.get, cancel, width)
    mine = own_marks(inventory)
    return tuple(
        _step(items[ref], number, body, mine, inventory)
        for (ref, number), body in zip(numbered, live, strict=True)
        if body is not None
    )


def own_marks(inventory: Inventory) -> Holder:
    """The marks that the module's objects carry."""
    if inventory.chart:
        return Holder(HolderKind.HELM, f"{inventory.namespace}/{inventory.name}")
    return Holder(HolderKind.APPLYSET, applyset_id(inventory_name(inventory.name), inventory.namespace))


def _place(inventory: Inventory) -> ObjectRef:
    return ObjectRef(NAMESPACE, "", inventory.namespace)


def _part(ref: ObjectRef) -> Part:
    return Part.DEFINITION if is_definition(ref) else Part.NAMESPACE if is_namespace(ref) else Part.OBJECT


def _step(item: Item, wave: int, live: Object, mine: Holder, inventory: Inventory) -> Step:
    reason = _kept_because(item, live, mine, inventory)
    action = Action.KEEP if reason else Action.DELETE
    if not reason and is_namespace(item.ref):
        reason = "at the end, unless something of others is in it"
    return Step(action, item.ref, wave, _part(item.ref), reason=reason, adopted=item.adopted, uid=uid_of(live))


def _kept_because(item: Item, live: Object, mine: Holder, inventory: Inventory) -> str:
    if is_namespace(item.ref) and is_system_namespace(item.ref.name):
        return "a namespace of the system"
    if item.adopted:
        return "it was there before the module"
    if item.ref == _place(inventory) and inventory.made_namespace:
        return ""
    annotations: dict[str, Any] = live["metadata"].get("annotations") or {}
    if annotations.get("helm.sh/resource-policy") == "keep":
        return "it says that it is to be kept (helm.sh/resource-policy)"
    return others_claim(live, mine, item)


def to_json(found: Removal) -> bytes:
    """The whole removal as a JSON document."""
    return msgspec.json.encode({"schema": SCHEMA, "removal": msgspec.to_builtins(found)}, order="deterministic")


def from_json(text: bytes | str) -> Removal:
    """A removal out of `to_json`; raises ConfigurationError."""
    try:
        document = msgspec.json.decode(text, type=dict[str, Any])
        if document.get("schema") != SCHEMA:
            raise ConfigurationError(f"this is no removal: its schema is {document.get('schema')!r}")
        return msgspec.convert(document.get("removal"), Removal)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"this is no removal: {error}") from error

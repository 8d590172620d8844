"""What an earlier version had and this one has not: deleted with consent, in two phases, never what is another's."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kymatui.domain.objects import read_ref
from kymatui.domain.refs import ObjectRef
from kymatui.engine.adopting import is_left_behind
from kymatui.engine.bundles import Bundle
from kymatui.engine.concurrency import each
from kymatui.engine.deletion import uid_of
from kymatui.engine.emptiness import others_in
from kymatui.engine.holders import ADOPTED_MANAGERS, Holder, field_managers, holder, own_holder
from kymatui.engine.inventories import Inventory, Item
from kymatui.engine.ordering import defined_kinds, identity, is_definition, is_namespace, is_system_namespace
from kymatui.engine.plans import Action, Intent, Observed, Part, Step
from kymatui.engine.ports import Cluster, Object
from kymatui.engine.remaining import count
from kymatui.engine.sighting import observe

FIRST_PHASE: Final = 1_000
SECOND_PHASE: Final = 1_001
_MOST_NAMED: Final = 5

# Lifecycle-manager's list, with StatefulSet and DaemonSet: what others run on goes when they are gone.
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
class Pruned:
    """The steps, and what was seen of their objects."""

    steps: tuple[Step, ...]
    observed: dict[ObjectRef, Observed]


def is_late(ref: ObjectRef) -> bool:
    """Whether an object goes in the second phase."""
    return (ref.kind.group, ref.kind.kind) in _LATE


def prune_steps(
    intent: Intent,
    items: Sequence[Item],
    previous: Inventory | None,
    bundle: Bundle,
    cluster: Cluster,
    cancel: threading.Event,
    width: int,
) -> Pruned:
    """What of the previous version's items the bundle has not: to be deleted, or kept with the reason."""
    if not items:
        return Pruned((), {})
    wanted = {identity(read_ref(body)) for body in (*bundle.crds, *bundle.objects)}
    gone = [item for item in items if identity(item.ref) not in wanted and not _is_own_place(item, previous)]
    live = each(gone, lambda item: cluster.get(item.ref), cancel, width)
    observed = {item.ref: observe(body) for item, body in zip(gone, live, strict=True)}
    mine = own_holder(bundle)
    there = [(item, body) for item, body in zip(gone, live, strict=True) if body is not None]
    losses = Losses(cluster, mine, cancel, width)
    steps = [_step(intent, item, body, mine, losses) for item, body in there]
    return Pruned(tuple(steps), observed)


@dataclass(frozen=True, slots=True)
class Loss:
    """What goes with an object that others live in: names, their uids, and the objects that are known."""

    names: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    unknown: bool = False
    refs: tuple[ObjectRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Losses:
    """Looks up what goes with a definition or a namespace."""

    cluster: Cluster
    mine: Holder
    cancel: threading.Event
    width: int

    def of(self, live: Object) -> Loss:
        """Return what goes with this object; nothing with any other kind."""
        ref = read_ref(live)
        if is_definition(ref):
            kinds = sorted({(gvk.group, gvk.kind) for gvk in defined_kinds([live])})
            found = count((), self.cluster, kinds, self.cancel, self.width)
            refs = tuple(one.ref for one in found.instances)
            uids = tuple(one.uid for one in found.instances)
            return Loss(tuple(map(str, refs)), uids, bool(found.unknown), refs)
        if not is_namespace(ref):
            return Loss()
        others = others_in(self.cluster, ref.name, lambda _, body: holder(body) == self.mine, self.cancel, self.width)
        refs = tuple(one.ref for one in others if one.ref is not None)
        return Loss(tuple(one.words for one in others), tuple(one.uid for one in others), refs=refs)


def _instances(loss: Loss) -> str:
    return _told(loss.names, "you may not list them" if loss.unknown else "there are none")


def _told(names: Sequence[str], none: str) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f" ({', '.join(names[:_MOST_NAMED]) or none}{more})"


def _is_own_place(item: Item, previous: Inventory | None) -> bool:
    return (
        previous is not None
        and previous.made_namespace
        and is_namespace(item.ref)
        and item.ref.name == previous.namespace
    )


def _step(intent: Intent, item: Item, live: Object, mine: Holder, losses: Losses) -> Step:
    wave = SECOND_PHASE if is_late(item.ref) else FIRST_PHASE
    loss = losses.of(live) if is_definition(item.ref) or intent.prune_namespaces else Loss()
    reason, uid = _kept_because(intent, item, live, mine, loss), uid_of(live)
    if reason:
        return Step(Action.KEEP, item.ref, wave, Part.PREVIOUS, reason=reason, adopted=item.adopted, uid=uid)
    reason = "this version does not have it"
    if is_definition(item.ref):
        reason += f", and with it go all its instances{_instances(loss)}"
    elif is_namespace(item.ref):
        reason += f", and with it goes everything in it{_told(loss.names, 'nothing else is in it')}"
    return Step(Action.DELETE, item.ref, wave, Part.PREVIOUS, reason=reason, uid=uid, takes=loss.uids)


def _kept_because(intent: Intent, item: Item, live: Object, mine: Holder, loss: Loss) -> str:
    ref = item.ref
    if is_namespace(ref) and is_system_namespace(ref.name):
        return "a namespace of the system"
    if item.adopted:
        return "it was there before the module"
    if not intent.prune:
        return "nothing is pruned, as asked"
    if is_definition(ref) and not intent.prune_definitions:
        return f"with a definition go all its instances{_instances(loss)}; that needs consent"
    if is_namespace(ref) and not intent.prune_namespaces:
        return "with a namespace goes everything in it; that needs consent"
    annotations = live["metadata"].get("annotations") or {}
    if annotations.get("helm.sh/resource-policy") == "keep":
        return "it says that it is to be kept (helm.sh/resource-policy)"
    return others_claim(live, mine, item, adopt=intent.adopt)


def others_claim(live: Object, mine: Holder, item: Item, *, adopt: bool = False) -> str:
    """Return why an object is not ours to delete, or "".

    With `adopt` it is also ours where nothing says whose it is, and kubectl or lifecycle-manager wrote it.
    """
    found = holder(live)
    if adopt and (found is None or is_left_behind(found)):
        writers = field_managers(live)
        return (
            ""
            if writers & ADOPTED_MANAGERS
            else f"it was written by {', '.join(sorted(writers)) or 'an unknown manager'}"
        )
    if found is not None and found != mine:
        return f"it belongs to the {found} now"
    if found is None and not item.definition:
        return "its marks were taken away: somebody has made it his own"
    return ""


def phases(steps: Sequence[Step]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The deletions of a plan, those of the first phase and those of the second."""
    deletions = [step for step in steps if step.action is Action.DELETE]
    return (
        tuple(step for step in deletions if step.wave == FIRST_PHASE),
        tuple(step for step in deletions if step.wave == SECOND_PHASE),
    )

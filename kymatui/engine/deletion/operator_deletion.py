"""What the deletion of the operator means for the objects that it reconciles: which stay, and what blocks it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import DEPLOYMENT, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.backups import summarize_names
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.kind_order import is_definition
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.deletion.deletion_state import DeletionState
from kymatui.engine.deletion.uninstall_plan import UninstallPlan
from kymatui.engine.inventory.managed_resources import InstallationClaim, ManagedObject, ManagedObjects, list_instances
from kymatui.engine.jobs.wait import CLUSTER_FINALIZERS
from kymatui.engine.plans.plan import Action, Step

OPERATOR_RELEASE: Final = "kymatui-operator"
CRDS_RELEASE: Final = f"{OPERATOR_RELEASE}-crds"
_PLURALS: Final = {
    "Kyma": "kymas",
    "Manifest": "manifests",
    "ModuleReleaseMeta": "modulereleasemetas",
    "ModuleTemplate": "moduletemplates",
    "Watcher": "watchers",
}
_OF_KYMAS: Final = ("Kyma", "Manifest")


def with_operator_objects(state: DeletionState, cluster: Cluster, *, delete_kymas: bool) -> DeletionState:
    """Return the state of a deletion of the operator or its CRDs with what it means for Kymas; others unchanged.

    With `delete_kymas`, the operator's Kymas are deleted while it still works, and their Manifests with them.
    """
    if state.uninstall is None or state.module not in (OPERATOR_RELEASE, CRDS_RELEASE):
        return state
    kinds = [(OPERATOR, kind) for kind in _PLURALS]
    listed = list_instances(InstallationClaim(), cluster, kinds, threading.Event(), WIDTH)
    if state.module == CRDS_RELEASE:
        gone = _OF_KYMAS if delete_kymas else ()
        remaining = [instance for instance in listed.instances if instance.ref.kind.kind not in gone]
        return replace(state, uninstall=_without_used_crds(state.uninstall, remaining, listed.unknown))
    return _without_operator(state, cluster, listed, delete_kymas=delete_kymas)


def _without_operator(
    state: DeletionState, cluster: Cluster, listed: ManagedObjects, *, delete_kymas: bool
) -> DeletionState:
    assert state.uninstall is not None
    namespace = state.uninstall.inventory.namespace
    here = [instance for instance in listed.instances if instance.ref.namespace == namespace]
    manager = ObjectRef(DEPLOYMENT, namespace, OPERATOR_RELEASE)
    live = cluster.get(manager)
    available = ((live or {}).get("status") or {}).get("availableReplicas") or 0
    state = replace(state, manager=manager if live is not None else None, runs=available > 0)
    if delete_kymas:
        kymas = tuple(managed_object for managed_object in here if managed_object.ref.kind.kind == "Kyma")
        return replace(state, remaining=ManagedObjects(kymas, (*state.remaining.unknown, *listed.unknown)))
    held = [managed_object for managed_object in here if set(managed_object.finalizers) - CLUSTER_FINALIZERS]
    deleting = [managed_object for managed_object in held if managed_object.deleted_at is not None]
    if deleting:
        names = summarize_names(managed_object.ref for managed_object in deleting)
        return replace(
            state, refusal=f"only the operator finishes the deletion of {names}; wait until they are deleted"
        )
    unknown = [f"it is unknown whether {kind} have finalizers: {reason}" for kind, reason in listed.unknown]
    stay = f"{_counted(held)} stay; only an operator removes their finalizers, so install one before you delete them"
    return replace(state, foreseen=(*state.foreseen, *([stay] if held else []), *unknown))


def _without_used_crds(
    plan: UninstallPlan, remaining: Iterable[ManagedObject], unknown: Iterable[tuple[str, str]]
) -> UninstallPlan:
    """Return the plan that keeps the CRDs of these objects, and those whose objects cannot be listed."""
    counts = Counter(managed_object.ref.kind.kind for managed_object in remaining)
    hidden = {kind.partition(".")[0] for kind, _ in unknown}
    reasons = {
        f"{plural}.{OPERATOR}": f"{format_count(counts[kind], 'object')} of its kind left"
        if counts[kind]
        else "you may not list its objects"
        for kind, plural in _PLURALS.items()
        if counts[kind] or kind in hidden
    }

    def step(planned: Step) -> Step:
        used = is_definition(planned.ref) and planned.action is Action.DELETE and planned.ref.name in reasons
        return replace(planned, action=Action.KEEP, reason=reasons[planned.ref.name]) if used else planned

    return replace(plan, steps=tuple(map(step, plan.steps)))


def _counted(held: Iterable[ManagedObject]) -> str:
    counts = Counter(managed_object.ref.kind.kind for managed_object in held)
    return ", ".join(format_count(count, kind) for kind, count in sorted(counts.items()))

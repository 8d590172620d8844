"""The plans of deletions: what they delete, and what stands against it, read before anything is deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.actions.plans import DeletionPlan, DeletionRequest
from kymatui.domain.inventories import inventory_owner
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.domain.rights import RequiredPermission
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.engine.cluster.concurrency import WIDTH
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.cluster.request_scope import missing_permissions, note_permission, optional_requests
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy, ModuleCRHandling, NextStep
from kymatui.engine.deletion.uninstall_plan import DeletionScope
from kymatui.engine.inventory.crd_holders import find_crd_holders

if TYPE_CHECKING:
    from kymatui.actions.ports import DeletionPort


def plan_deletions(
    port: DeletionPort, requests: Iterable[DeletionRequest], *, edits_kyma: bool = True
) -> tuple[DeletionPlan, ...]:
    """Read where each deletion is, what it would delete, and which permissions it lacks; nothing is written.

    `edits_kyma` is False where the caller edits the Kyma, and checks that permission itself.
    """
    plans = [DeletionPlan(request, read_deletion(port, request)) for request in requests]
    uninstalls = [plan.state.uninstall for plan in plans if plan.state.uninstall is not None]
    owners = tuple(inventory_owner(uninstall.inventory) for uninstall in uninstalls)
    return tuple(_planned(port, _with_companions(port, plan, owners), edits_kyma=edits_kyma) for plan in plans)


def _with_companions(port: DeletionPort, plan: DeletionPlan, owners: tuple[Owner, ...]) -> DeletionPlan:
    """Return the plan of one of several deletions: what the others delete keeps nothing."""
    uninstall = plan.state.uninstall
    if len(owners) < 2 or uninstall is None or not uninstall.kept:
        return plan
    return replace(plan, state=read_deletion(port, plan.request, owners))


def _planned(port: DeletionPort, plan: DeletionPlan, *, edits_kyma: bool) -> DeletionPlan:
    if plan.is_gone or plan.next_step is NextStep.REFUSED:
        return plan
    missing = tuple(dict.fromkeys(missing_rights(port, plan.state, edits_kyma=edits_kyma)))
    return replace(plan, state=replace(with_shared_crds(port, plan.state), missing=missing))


def read_deletion(port: DeletionPort, request: DeletionRequest, companions: tuple[Owner, ...] = ()) -> DeletionState:
    """Read where a deletion is now; `companions` are deleted by the same request."""
    scope = DeletionScope(request.delete_crds, companions=companions)
    return port.read_state(request.module, request.namespace, request.handling, scope=scope)


def missing_rights(port: DeletionPort, state: DeletionState, *, edits_kyma: bool) -> Iterator[RequiredPermission]:
    """Yield the permissions that the deletion needs and the user lacks."""
    _note_backup(state)
    if state.managed_by is ManagedBy.KYMA and state.requested and edits_kyma:
        proposal = port.edits.propose(ModuleEdit(EditVerb.DISABLE, state.module))
        if proposal.edit is not None and not port.edits.may_write(proposal):
            yield RequiredPermission("patch", proposal.edit.kyma.kind, proposal.edit.kyma.namespace)
    if state.handling is ModuleCRHandling.UNMANAGE:
        return
    default = (state.default,) if state.handling is ModuleCRHandling.IGNORE and state.default is not None else ()
    own = (managed for managed in state.remaining.ours if state.managed_by is ManagedBy.DIRECT and not managed.applied)
    going = (managed.ref for managed in (*state.theirs, *default, *own) if managed.deleted_at is None)
    yield from _undeletable(port.cluster, going)
    if state.uninstall is not None:
        yield from state.uninstall.missing
    if state.managed_by is ManagedBy.MANIFEST and state.manifest is not None:
        yield from _undeletable(port.manifests_on, [state.manifest])


def _note_backup(state: DeletionState) -> None:
    """Note that the backup reads what the deletion deletes."""
    refs = [instance.ref for instance in state.remaining.instances if not instance.stays]
    refs += [step.ref for step in state.uninstall.deletions] if state.uninstall is not None else []
    for ref in refs:
        note_permission("get", ref.kind, ref.namespace, ref.name)


def with_shared_crds(port: DeletionPort, state: DeletionState) -> DeletionState:
    """Return the state refused if lifecycle-manager would delete a CRD that another installation has, too.

    It deletes all objects with it. kymatui's operator and kymatui itself keep such a CRD.
    """
    if state.managed_by not in (ManagedBy.KYMA, ManagedBy.MANIFEST) or state.keeper is Actor.OPERATOR:
        return state
    if state.handling is ModuleCRHandling.UNMANAGE or state.refusal:
        return state
    manifest = Owner(OwnerKind.LIFECYCLE_MANAGER, state.manifest.path if state.manifest is not None else "")
    names = [ref.name for ref in state.definitions]
    own = index_cluster(port.snapshot(), cache=port.cache).manifests.values()
    manifests = [described.raw for described in own]
    with optional_requests():
        holders = find_crd_holders(port.cluster, names, (manifest,), threading.Event(), WIDTH, manifests)
    shared = [f"CRD {name}: {holders.reason(name)}" for name in names if name in holders.names]
    if shared:
        words = f"{state.keeper} deletes CRDs of {state.module} with all their objects, but {'; '.join(shared)}"
        return replace(state, refusal=f"{words}. Delete the other installation first, or unmanage the module")
    if not holders.unread:
        return state
    words = f"it is unknown whether other installations have the CRDs that {state.keeper} deletes: {holders.unread}"
    return replace(state, foreseen=(*state.foreseen, words))


def _undeletable(cluster: Cluster, refs: Iterable[ObjectRef]) -> Iterator[RequiredPermission]:
    yield from missing_permissions(cluster, (RequiredPermission("delete", ref.kind, ref.namespace) for ref in refs))

"""The permissions of a deletion: those that it needs and the user lacks, read before anything is deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy, ModuleCRHandling
from kymatui.engine.plans.plan import RequiredPermission
from kymatui.errors import NotFoundError

if TYPE_CHECKING:
    from kymatui.actions.ports import DeletionPort
    from kymatui.engine.cluster.ports import Cluster


def missing_rights(port: DeletionPort, seen: DeletionState, *, edits_kyma: bool) -> Iterator[RequiredPermission]:
    """Yield the permissions that the deletion needs and the user lacks."""
    if seen.managed_by is ManagedBy.KYMA and seen.requested and edits_kyma:
        proposal = port.edits.propose(ModuleEdit(EditVerb.DISABLE, seen.module))
        if proposal.edit is not None and not port.edits.may_write(proposal):
            yield RequiredPermission("patch", proposal.edit.kyma.kind, proposal.edit.kyma.namespace)
    if seen.way is ModuleCRHandling.UNMANAGE:
        return
    default = (seen.default,) if seen.way is ModuleCRHandling.IGNORE and seen.default is not None else ()
    own = (one for one in seen.remaining.ours if seen.managed_by is ManagedBy.DIRECT and not one.applied)
    going = (one.ref for one in (*seen.theirs, *default, *own) if one.deleted_at is None)
    yield from _undeletable(port.cluster, going)
    if seen.found is not None:
        yield from seen.found.missing
    if seen.managed_by is ManagedBy.MANIFEST and seen.manifest is not None:
        yield from _undeletable(port.manifests_on, [seen.manifest])


def _undeletable(cluster: Cluster, refs: Iterable[ObjectRef]) -> Iterator[RequiredPermission]:
    rights = list(dict.fromkeys(RequiredPermission("delete", ref.kind, ref.namespace) for ref in refs))

    def is_allowed(right: RequiredPermission) -> bool:
        try:
            return cluster.allowed(right.verb, right.kind, right.namespace)
        except NotFoundError:  # a kind that is no longer served has no objects
            return True

    allowed = run_for_each(rights, is_allowed, threading.Event())
    yield from (right for right, may in zip(rights, allowed, strict=True) if not may)

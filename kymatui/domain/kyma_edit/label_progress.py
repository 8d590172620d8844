"""The progress of a label edit: modules that come and go, and the copies in a runtime."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kymatui.domain.catalog.effects import Effect
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.edit_progress import (
    NOT_VISIBLE,
    EditPhase,
    EditProgress,
    progress_with_keeper,
    track_install,
)
from kymatui.domain.kyma_edit.label_edit import LabelEdit, LabelProposal
from kymatui.domain.modules.presence import Presence
from kymatui.domain.remote.catalog_sync import SyncPlan, SyncStatus
from kymatui.domain.snapshot.snapshots import Snapshot


def track_label_edit(
    proposal: LabelProposal, snapshot: Snapshot, catalog: Catalog, plan: SyncPlan | None
) -> EditProgress:
    """Return the first unfinished stage, else the result; `plan` is a runtime's catalog sync, if any."""
    return progress_with_keeper(_track(proposal, snapshot, catalog, plan), catalog)


def _track(proposal: LabelProposal, snapshot: Snapshot, catalog: Catalog, plan: SyncPlan | None) -> EditProgress:
    edit = proposal.edit
    assert edit is not None
    kyma = read_kyma(next((raw for raw in snapshot.kymas if read_ref(raw) == edit.kyma), None))
    if not isinstance(kyma, Kyma):
        return EditProgress(f"{edit.kyma} no longer exists", lost=True)
    if (changed := _changed(edit, kyma)) is not None:
        return changed
    stages = [*_modules(proposal, catalog), *_copies(proposal, plan)]
    waiting = next((stage for stage in stages if not stage.finished), None)
    if waiting is not None:
        return waiting
    messages = [f"{change.label} is {change.after or 'removed'}" for change in edit.changes if not change.is_empty]
    return EditProgress(
        "; ".join([*messages, *(stage.message for stage in stages)]), finished=True, phase=EditPhase.SET
    )


def _changed(edit: LabelEdit, kyma: Kyma) -> EditProgress | None:
    """Return progress if the labels differ from the edit, else None."""
    now = {change.label: kyma.meta.labels.get(change.label) for change in edit.changes}
    if now == edit.labels:
        return None
    if now == {change.label: change.before for change in edit.changes}:
        return EditProgress(NOT_VISIBLE)
    return EditProgress(f"another client has changed the labels of {edit.kyma} since", Actor.YOU, lost=True)


def _modules(proposal: LabelProposal, catalog: Catalog) -> Iterator[EditProgress]:
    for effect in proposal.effects:
        row = catalog.row(effect.module)
        if effect.uninstalls:
            yield _uninstalled(effect, row)
        elif effect.after is not None and effect.after.managed and effect.after.desired:
            progress = track_install(effect.module, row)
            yield replace(
                progress, message=progress.message if progress.finished else f"{effect.module}: {progress.message}"
            )


def _uninstalled(effect: Effect, row: ModuleRow | None) -> EditProgress:
    if row is None or row.presence is Presence.NOT_INSTALLED or (row.manifest is None and not row.installed):
        return EditProgress(f"{effect.module} is uninstalled", finished=True, phase=EditPhase.GONE)
    if row.presence is Presence.DELETING:
        return EditProgress(f"{effect.module}: {row.reason.text}", row.actor, phase=EditPhase.DELETING)
    return EditProgress(f"{effect.module} is not uninstalled yet", Actor.KLM)


def _copies(proposal: LabelProposal, plan: SyncPlan | None) -> Iterator[EditProgress]:
    """Yield unfinished copies; lifecycle-manager syncs the catalog on its own schedule."""
    standing = {entry.ref: entry.standing for entry in plan.entries} if plan is not None else {}
    come = [ref for ref in proposal.comes if standing.get(ref) is SyncStatus.MISSING]
    go = [ref for ref in proposal.goes if standing.get(ref) is SyncStatus.LEFT_OVER]
    for refs, words in ((come, "the catalog sync has not created"), (go, "the catalog sync has not deleted")):
        if refs:
            yield EditProgress(f"{words} {_some(refs)} yet", Actor.KLM)


def _some(refs: list[ObjectRef]) -> str:
    first = f"{refs[0].kind.kind} {refs[0].name}"
    return f"{first} and {len(refs) - 1} more" if len(refs) > 1 else first

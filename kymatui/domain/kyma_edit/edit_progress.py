"""The progress of a Kyma edit, and who has to act."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.effects import Effect
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kyma_keeper import NOT_RUNNING, statement_with_keeper
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.kyma_edit.label_edit import LabelEdit, LabelProposal
from kymatui.domain.kyma_edit.module_edit import EditVerb, KymaEdit, ModuleEdit, find_kyma
from kymatui.domain.modules.presence import Presence
from kymatui.domain.remote.catalog_sync import SyncPlan, SyncStatus
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import held_back_words
from kymatui.domain.versions.refusals import HeldBack

_SETTLED = (
    DriftKind.UP_TO_DATE,
    DriftKind.NONE,
    DriftKind.AHEAD,
    DriftKind.NEWER_THAN_CHANNEL,
    DriftKind.AWAITING_WINDOW,
)


class EditPhase(StrEnum):
    """The phases of an edit; the verb decides which ones apply."""

    ACCEPTED = "accepted by the server"
    TAKEN_UP = "Manifest created"
    APPLYING = "applying"
    READY = "ready"
    DELETING = "deleting"
    GONE = "gone"
    LET_GO = "released"
    SET = "set"


def edit_phases(verb: EditVerb) -> tuple[EditPhase, ...]:
    """Return the phases of a verb in order."""
    match verb:
        case EditVerb.DISABLE:
            return EditPhase.ACCEPTED, EditPhase.DELETING, EditPhase.GONE
        case EditVerb.UNMANAGE:
            return EditPhase.ACCEPTED, EditPhase.LET_GO
        case EditVerb.POLICY:
            return EditPhase.ACCEPTED, EditPhase.SET
        case EditVerb.ENABLE | EditVerb.CHANNEL | EditVerb.MANAGE:
            return EditPhase.ACCEPTED, EditPhase.TAKEN_UP, EditPhase.APPLYING, EditPhase.READY


class EditProgress(Struct, frozen=True):
    """The progress of an edit.

    `lost` means that another client changed the entry, so kymatui stops tracking it. `held` means that
    lifecycle-manager keeps the installed version instead of the requested one.
    """

    message: str
    actor: Actor = Actor.NOBODY
    finished: bool = False
    lost: bool = False
    held: bool = False
    phase: EditPhase = EditPhase.ACCEPTED


NOT_VISIBLE: Final = "Kyma edited; waiting for lifecycle-manager to react"


def progress_with_keeper(progress: EditProgress, catalog: Catalog) -> EditProgress:
    """Return progress that names what works on the Kyma."""
    if (kyma := catalog.kyma) is None:
        return progress
    if kyma.stopped and progress.actor is Actor.KLM:
        progress = replace(progress, message=f"{progress.message}; {NOT_RUNNING}")
    return statement_with_keeper(progress, kyma.keeper, stopped=kyma.stopped)


def track_edit(
    toggle: ModuleEdit, edit: KymaEdit, generation: int, snapshot: Snapshot, catalog: Catalog
) -> EditProgress:
    """Return the progress in a snapshot; `generation` is the Kyma's after the edit, 0 if unknown."""
    return progress_with_keeper(_track(toggle, edit, generation, snapshot, catalog), catalog)


def _track(toggle: ModuleEdit, edit: KymaEdit, generation: int, snapshot: Snapshot, catalog: Catalog) -> EditProgress:
    kyma = find_kyma(snapshot, edit.kyma)
    if kyma is None:
        return EditProgress(f"{edit.kyma} no longer exists", lost=True)
    if kyma.meta.generation < generation:
        return EditProgress(NOT_VISIBLE)
    if not _stands(edit, kyma):
        return EditProgress(f"another client has changed the entry of {edit.module} since", Actor.YOU, lost=True)
    row = catalog.row(toggle.module)
    match toggle.verb:
        case EditVerb.DISABLE:
            return _disabled(toggle, row)
        case EditVerb.UNMANAGE:
            return _unmanaged(row)
        case EditVerb.POLICY:
            return EditProgress("the policy is set", finished=True, phase=EditPhase.SET)
        case EditVerb.ENABLE | EditVerb.CHANNEL | EditVerb.MANAGE:
            return _held(track_install(toggle.module, row), toggle, row)


def _held(progress: EditProgress, toggle: ModuleEdit, row: ModuleRow | None) -> EditProgress:
    """Mark the edit as held if lifecycle-manager refuses to move to the channel's version."""
    refusal = row.resolution.refusal if row is not None else None
    if not progress.finished or toggle.channel is None or not isinstance(refusal, HeldBack):
        return progress
    return replace(progress, message=f"{toggle.module} {held_back_words(refusal)}", held=True)


def _stands(edit: KymaEdit, kyma: Kyma) -> bool:
    """Return whether the entry still matches the edit; the server may have added defaults."""
    entries: list[Mapping[str, Any]] = [reader.raw for reader in JsonReader(kyma.raw).child("spec").children("modules")]
    entry = next((entry for entry in entries if entry.get("name") == edit.module), None)
    if entry is None or edit.after is None:
        return entry is None and edit.after is None
    return all(entry.get(key) == value for key, value in edit.after.items())


def track_install(module: str, row: ModuleRow | None) -> EditProgress:
    """Return the progress of a module that the Kyma requests."""
    if row is None or row.reports.kyma in ("", State.UNMANAGED):
        return EditProgress("accepted; the installation has not started yet", Actor.KLM)
    if _is_outdated(row):
        return EditProgress(NOT_VISIBLE, Actor.KLM)
    if row.state is State.WARNING:
        return EditProgress(row.reason.text, row.actor, finished=True, phase=EditPhase.READY)
    if row.drift.kind in _SETTLED and row.state is State.READY:
        version = f" {row.installed}" if row.installed else ""
        return EditProgress(f"{module}{version} is ready", finished=True, phase=EditPhase.READY)
    applying = row.manifest is not None and bool(row.reports.manifest)
    return EditProgress(row.reason.text, row.actor, phase=EditPhase.APPLYING if applying else EditPhase.TAKEN_UP)


def _is_outdated(row: ModuleRow) -> bool:
    """Return whether only the Kyma still reports the Warning of a refusal that the edit has ended."""
    is_reported = row.state is State.WARNING and row.state_source is StateSource.KYMA
    return is_reported and row.resolution.refusal is None and row.reports.manifest == State.READY


def _disabled(toggle: ModuleEdit, row: ModuleRow | None) -> EditProgress:
    if row is None or not row.reports.kyma:
        return EditProgress(f"{toggle.module} is removed from the Kyma", finished=True, phase=EditPhase.GONE)
    phase = EditPhase.DELETING if row.presence is Presence.DELETING else EditPhase.ACCEPTED
    return EditProgress(row.reason.text, row.actor, phase=phase)


def _unmanaged(row: ModuleRow | None) -> EditProgress:
    if row is not None and row.reports.kyma == State.UNMANAGED:
        if row.manifest is not None:
            words = f"the Kyma reports Unmanaged; lifecycle-manager is still releasing {row.manifest}"
            return EditProgress(words, Actor.KLM, phase=EditPhase.LET_GO)
        return EditProgress("lifecycle-manager has released the module", finished=True, phase=EditPhase.LET_GO)
    return EditProgress("accepted; lifecycle-manager has not released the module yet", Actor.KLM)


def track_label_edit(
    proposal: LabelProposal, snapshot: Snapshot, catalog: Catalog, plan: SyncPlan | None
) -> EditProgress:
    """Return the first unfinished stage, else the result; `plan` is a runtime's catalog sync, if any."""
    return progress_with_keeper(_track_labels(proposal, snapshot, catalog, plan), catalog)


def _track_labels(proposal: LabelProposal, snapshot: Snapshot, catalog: Catalog, plan: SyncPlan | None) -> EditProgress:
    edit = proposal.edit
    assert edit is not None
    kyma = find_kyma(snapshot, edit.kyma)
    if kyma is None:
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

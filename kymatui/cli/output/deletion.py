"""A guided deletion in words and as a document: where it stands, what is left, and what will go in which order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymatui.cli.output.plan_changes import step_json, step_word
from kymatui.cli.output.printing import markdown, paragraph, table
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.engine.jobs.job_progress import JobProgress, progress_document
from kymatui.moments import format_duration

if TYPE_CHECKING:
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.inventory.managed_resources import ManagedObject


def deletion_text(state: DeletionState, form: str, *, cascade: bool, is_refused: bool = False) -> str:
    """Return who deletes the module, what it still manages, and what is deleted in which order; none if refused."""
    from kymatui.engine.deletion.deletion_state import ManagedBy

    draw = markdown if form == "md" else table
    parts = [paragraph(f"{state.module} {state.installed}".strip() + f": {state.managed_by_words}", form)]
    if state.manifest is not None and state.control:
        goes = "is deleted last, after the module's objects in the runtime"
        what = f"{state.manifest} {state.reported_by_manifest}".rstrip()
        parts.append(paragraph(f"on {state.control}: {what} {goes}", form))
    if state.refusal:
        parts.append(paragraph(state.refusal, form))
    parts += remaining_parts(state, form, cascade=cascade)
    if state.warning:
        who = f"--way let: {state.keeper} deletes the default CR, ignore: kymatui does, unmanage: it stays"
        parts.append(paragraph(f"warning: {state.warning} ({who}; now: {state.handling.value})", form))
    if state.advice:
        parts.append(paragraph(f"warning: {state.advice}", form))
    parts += [paragraph(f"warning: {text}", form) for text in state.warnings]
    missing = [paragraph(f"missing permission: {right}", form) for right in state.missing]
    parts += ["\n".join(missing)] if missing else []
    if is_refused or state.refusal:
        return "\n\n".join(parts)
    if state.managed_by is ManagedBy.KYMA:
        parts.append(paragraph(_who_deletes(state), form))
    if state.managed_by is ManagedBy.MANIFEST and state.manifest is not None:
        parts.append(paragraph(f"delete {state.manifest}: its controller deletes what it installed", form))
    if state.uninstall is not None:
        before = [step for step in state.uninstall.hooks if step.event.startswith("pre-")]
        after = [step for step in state.uninstall.hooks if not step.event.startswith("pre-")]
        shown = (*before, *state.uninstall.steps, *after)
        rows = [[step_word(step), str(step.ref), step.reason] for step in shown]
        parts += [draw(("ACTION", "OBJECT", "REASON"), rows)] if rows else []
        if state.uninstall.chart_crds and not state.uninstall.scope.delete_crds:
            text = "--delete-crds deletes the chart's CRDs, too, as far as nothing else uses them"
            parts.append(paragraph(text, form))
        lost = (f"{ref} was installed with the module and is already deleted" for ref in state.uninstall.lost)
        parts += [paragraph(text, form) for text in lost]
    return "\n\n".join(parts)


def deletion_consequence(states: Sequence[DeletionState], *, backup: bool) -> str:
    """Return what a question says of a deletion: how many objects, and whether they are saved first."""
    refs = {deleted_object.ref for some in states for deleted_object in some.deleted_objects}
    refs |= {step.ref for some in states if some.uninstall is not None for step in some.uninstall.deletions}
    objects = [format_count(len(refs), "object")] if refs else []
    return ", ".join([*objects, "backup saved" if backup else "no backup"])


def _who_deletes(state: DeletionState) -> str:
    """Return who deletes what where lifecycle-manager manages the module."""
    from kymatui.engine.deletion.deletion_state import ModuleCRHandling

    if state.handling is ModuleCRHandling.UNMANAGE and state.requested:
        return f"{state.keeper} releases the module; nothing is deleted"
    count = len(state.theirs)
    first = f"kymatui deletes {format_count(count, 'managed object')} first; then " if count else ""
    entry = "kymatui removes the module from the Kyma, and " if state.requested else ""
    return f"{first}{entry}{state.keeper} deletes the module's own objects"


def remaining_parts(state: DeletionState, form: str, *, cascade: bool) -> list[str]:
    """Return what the module still manages, with what becomes of it, and the kinds that cannot be listed."""
    draw, heads = markdown if form == "md" else table, ("OBJECT", "AGE", "CREATED BY", "FINALIZERS", "EFFECT")
    instances = state.remaining.instances
    parts = [draw(heads, [_row(instance, state, cascade=cascade) for instance in instances])] if instances else []
    unknown = (f"unknown: {kind} cannot be listed: {sanitize(reason)}" for kind, reason in state.remaining.unknown)
    return [*parts, *(paragraph(text, form) for text in unknown)]


def _row(managed_object: ManagedObject, state: DeletionState, *, cascade: bool) -> list[str]:
    age = format_duration(max(0.0, time.time() - managed_object.created)) if managed_object.created is not None else ""
    what = managed_object.held.strip(", ") or _effect(managed_object, state, cascade=cascade)
    return [str(managed_object.ref), age, managed_object.maker, ", ".join(managed_object.finalizers), what]


def _effect(managed_object: ManagedObject, state: DeletionState, *, cascade: bool) -> str:
    """Return what becomes of an object, with the other installation that has it."""
    if managed_object.stays:
        return f"stays: {managed_object.stay_reason}"
    if managed_object.protection:
        return managed_object.protection
    if managed_object.ours and managed_object not in state.theirs:
        return "deleted with the module"
    if managed_object.ours and state.by_hand:
        return state.by_hand_words
    of = f" (of the {managed_object.owner})" if managed_object.owner else ""
    return f"deleted first{of}" if cascade else f"blocks the deletion{of}"


def deletion_json(
    state: DeletionState,
    outcome: str,
    gone: Sequence[ObjectRef] = (),
    kept: Sequence[tuple[ObjectRef, str]] = (),
    lost: Sequence[ObjectRef] = (),
    *,
    accept_unknown: bool = False,
    stopped: Sequence[JobProgress] = (),
) -> dict[str, Any]:
    """Return the document of a deletion.

    `{"cluster", "name", "charge", "installedBy", "manifest", "stations": […], "remaining": […], "steps": […],
    "outcome"}`. One that a person `stopped` has `{"stopped": {"done", "ongoing", "unknown", "left"}}`.
    """
    from kymatui.engine.deletion.deletion_state import deletion_stages

    inventory = state.uninstall.inventory if state.uninstall is not None else None
    return {
        "cluster": state.cluster,
        "name": state.module,
        "namespace": inventory.namespace if inventory is not None else None,
        "version": state.installed or None,
        "charge": state.managed_by.name.lower(),
        "installedBy": state.installer or None,
        "manifest": _manifest_json(state),
        "way": state.handling.value,
        "turn": state.next_step(accept_unknown=accept_unknown).name.lower(),
        "refusal": state.refusal or None,
        "warning": state.warning or state.advice or None,
        "foreseen": list(state.warnings),
        "missing": [str(right) for right in state.missing],
        "stations": [
            {"title": stage.title, "progressed": stage.progressed.value, "words": stage.message}
            for stage in deletion_stages(state, accept_unknown=accept_unknown)
        ],
        **remaining_json(state),
        "steps": [step_json(step) for step in state.uninstall.steps] if state.uninstall is not None else [],
        "hooks": [
            {"event": step.event, "weight": step.wave, **step_json(step)}
            for step in (state.uninstall.hooks if state.uninstall is not None else ())
        ],
        "lost": [
            str(ref) for ref in dict.fromkeys((*(state.uninstall.lost if state.uninstall is not None else ()), *lost))
        ],
        "gone": [str(ref) for ref in gone],
        "kept": [{"object": str(ref), "reason": reason} for ref, reason in kept],
        "stopped": progress_document(stopped) if stopped else None,
        "outcome": outcome,
    }


def remaining_json(state: DeletionState) -> dict[str, Any]:
    """Return `{"remaining": […], "unknown": […]}`: managed objects, and kinds that cannot be listed."""
    return {
        "remaining": [_instance_json(instance) for instance in state.remaining.instances],
        "unknown": [{"kind": kind, "reason": reason} for kind, reason in state.remaining.unknown],
    }


def _manifest_json(deletion_state: DeletionState) -> dict[str, Any] | None:
    """Return the Manifest's JSON; its `cluster` is the control plane unless the runtime has it."""
    if deletion_state.manifest is None:
        return None
    state = deletion_state.reported_by_manifest or None
    return {
        "cluster": deletion_state.control or deletion_state.cluster,
        "object": str(deletion_state.manifest),
        "state": state,
    }


def _instance_json(managed_object: ManagedObject) -> dict[str, Any]:
    return {
        "object": str(managed_object.ref),
        "byTheModule": managed_object.ours,
        "created": managed_object.created,
        "deleted": managed_object.deleted_at,
        "maker": managed_object.maker or None,
        "finalizers": list(managed_object.finalizers),
        "staysAnyway": managed_object.stays,
        "ownership": managed_object.ownership.value,
        "owner": managed_object.owner or None,
        "protection": managed_object.protection or None,
        "git": str(managed_object.git) if managed_object.git is not None else None,
    }

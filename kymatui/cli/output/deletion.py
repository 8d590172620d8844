"""A guided deletion in words and as a document: where it stands, what is left, and what will go in which order."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymatui.cli.output.plan_changes import step_json
from kymatui.cli.output.printing import markdown, paragraph, table
from kymatui.domain.kubernetes.durations import format_duration
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.engine.jobs.job_progress import JobProgress, progress_document

if TYPE_CHECKING:
    from kymatui.domain.kubernetes.refs import ObjectRef
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.inventory.managed_resources import ManagedObject
    from kymatui.engine.plans.plan import Step


def deletion_text(seen: DeletionState, form: str, *, cascade: bool, is_refused: bool = False) -> str:
    """Return who deletes the module, what it still manages, and what is deleted in which order; none if refused."""
    from kymatui.engine.deletion.deletion_state import ManagedBy

    draw = markdown if form == "md" else table
    parts = [paragraph(f"{seen.module} {seen.installed}".strip() + f": {seen.managed_by_words}", form)]
    if seen.manifest is not None and seen.control:
        goes = "is deleted last, after the module's objects in the runtime"
        what = f"{seen.manifest} {seen.reported_by_manifest}".rstrip()
        parts.append(paragraph(f"on {seen.control}: {what} {goes}", form))
    if seen.refusal:
        parts.append(paragraph(seen.refusal, form))
    parts += remaining_parts(seen, form, cascade=cascade)
    if seen.warning:
        ways = f"(--way let|ignore|unmanage; selected: {seen.way.value})"
        parts.append(paragraph(f"warning: {seen.warning} {ways}", form))
    if seen.advice:
        parts.append(paragraph(f"warning: {seen.advice}", form))
    parts += [paragraph(f"warning: {text}", form) for text in seen.foreseen]
    parts += [paragraph(f"missing permission: {right}", form) for right in seen.missing]
    if is_refused or seen.refusal:
        return "\n\n".join(parts)
    if seen.managed_by is ManagedBy.KYMA:
        parts.append(paragraph(_who_deletes(seen), form))
    if seen.managed_by is ManagedBy.MANIFEST and seen.manifest is not None:
        parts.append(paragraph(f"delete {seen.manifest}: its controller deletes what it installed", form))
    if seen.found is not None:
        before = [step for step in seen.found.hooks if step.event.startswith("pre-")]
        after = [step for step in seen.found.hooks if not step.event.startswith("pre-")]
        shown = (*before, *seen.found.steps, *after)
        rows = [[_word(step), str(step.ref), step.reason] for step in shown]
        parts += [draw(("ACTION", "OBJECT", "REASON"), rows)] if rows else []
        if seen.found.chart_crds and not seen.found.scope.delete_crds:
            text = "--delete-crds deletes the chart's CRDs, too, as far as nothing else uses them"
            parts.append(paragraph(text, form))
        lost = (f"{ref} was installed with the module and is already deleted" for ref in seen.found.lost)
        parts += [paragraph(text, form) for text in lost]
    return "\n\n".join(parts)


def deletion_consequence(seen: Sequence[DeletionState], *, backup: bool) -> str:
    """Return what a question says of a deletion: how many objects, and whether they are saved first."""
    refs = {one.ref for some in seen for one in some.deleted_objects}
    refs |= {step.ref for some in seen if some.found is not None for step in some.found.deletions}
    objects = [format_count(len(refs), "object")] if refs else []
    return ", ".join([*objects, "backup saved" if backup else "no backup"])


def _who_deletes(seen: DeletionState) -> str:
    """Return who deletes what where lifecycle-manager manages the module."""
    from kymatui.engine.deletion.deletion_state import ModuleCRHandling

    if seen.way is ModuleCRHandling.UNMANAGE and seen.requested:
        return f"{seen.keeper} releases the module; nothing is deleted"
    count = len(seen.theirs)
    first = f"kymatui deletes {format_count(count, 'managed object')} first; then " if count else ""
    entry = "kymatui removes the module from the Kyma, and " if seen.requested else ""
    return f"{first}{entry}{seen.keeper} deletes the module's own objects"


def remaining_parts(seen: DeletionState, form: str, *, cascade: bool) -> list[str]:
    """Return what the module still manages, with what becomes of it, and the kinds that cannot be listed."""
    draw, heads = markdown if form == "md" else table, ("OBJECT", "AGE", "CREATED BY", "FINALIZERS", "EFFECT")
    instances = seen.remaining.instances
    parts = [draw(heads, [_row(one, seen, cascade=cascade) for one in instances])] if instances else []
    unknown = (f"unknown: {kind} cannot be listed: {sanitize(reason)}" for kind, reason in seen.remaining.unknown)
    return [*parts, *(paragraph(text, form) for text in unknown)]


def _word(step: Step) -> str:
    return f"{step.event} hook" if step.event else step.action.value


def _row(one: ManagedObject, seen: DeletionState, *, cascade: bool) -> list[str]:
    age = format_duration(max(0.0, time.time() - one.created)) if one.created is not None else ""
    what = one.held.strip(", ") or _effect(one, seen, cascade=cascade)
    return [str(one.ref), age, one.maker, ", ".join(one.finalizers), what]


def _effect(one: ManagedObject, seen: DeletionState, *, cascade: bool) -> str:
    """Return what becomes of an object, with the other installation that has it."""
    if one.stays:
        return f"stays: {one.stay_reason}"
    if one.protection:
        return one.protection
    if one.ours and one not in seen.theirs:
        return "deleted with the module"
    if one.ours and seen.by_hand:
        return "deleted before the module: the policy is Ignore"
    of = f" (of the {one.owner})" if one.owner else ""
    return f"deleted first{of}" if cascade else f"blocks the deletion{of}"


def deletion_json(
    seen: DeletionState,
    outcome: str,
    gone: Sequence[ObjectRef] = (),
    kept: Sequence[tuple[ObjectRef, str]] = (),
    lost: Sequence[ObjectRef] = (),
    *,
    accept_unknown: bool = False,
    stopped: Sequence[JobProgress] = (),
) -> dict[str, Any]:
    """Return the document of a deletion.

    `{"cluster", "name", "charge", "manifest", "stations": […], "remaining": […], "steps": […], "outcome"}`. One that a
    person `stopped` has `{"stopped": {"done", "ongoing", "unknown", "left"}}`.
    """
    from kymatui.engine.deletion.deletion_state import deletion_stages

    inventory = seen.found.inventory if seen.found is not None else None
    return {
        "cluster": seen.cluster,
        "name": seen.module,
        "namespace": inventory.namespace if inventory is not None else None,
        "version": seen.installed or None,
        "charge": seen.managed_by.name.lower(),
        "manifest": _manifest_json(seen),
        "way": seen.way.value,
        "turn": seen.next_step(accept_unknown=accept_unknown).name.lower(),
        "refusal": seen.refusal or None,
        "warning": seen.warning or seen.advice or None,
        "foreseen": list(seen.foreseen),
        "missing": [str(right) for right in seen.missing],
        "stations": [
            {"title": one.title, "progressed": one.progressed.value, "words": one.message}
            for one in deletion_stages(seen, accept_unknown=accept_unknown)
        ],
        **remaining_json(seen),
        "steps": [step_json(step) for step in seen.found.steps] if seen.found is not None else [],
        "hooks": [
            {"event": step.event, "weight": step.wave, **step_json(step)}
            for step in (seen.found.hooks if seen.found is not None else ())
        ],
        "lost": [str(ref) for ref in dict.fromkeys((*(seen.found.lost if seen.found is not None else ()), *lost))],
        "gone": [str(ref) for ref in gone],
        "kept": [{"object": str(ref), "reason": reason} for ref, reason in kept],
        "stopped": progress_document(stopped) if stopped else None,
        "outcome": outcome,
    }


def remaining_json(seen: DeletionState) -> dict[str, Any]:
    """Return `{"remaining": […], "unknown": […]}`: managed objects, and kinds that cannot be listed."""
    return {
        "remaining": [_instance_json(one) for one in seen.remaining.instances],
        "unknown": [{"kind": kind, "reason": reason} for kind, reason in seen.remaining.unknown],
    }


def _manifest_json(seen: DeletionState) -> dict[str, Any] | None:
    """Return the Manifest's JSON; its `cluster` is the control plane unless the runtime has it."""
    if seen.manifest is None:
        return None
    state = seen.reported_by_manifest or None
    return {"cluster": seen.control or seen.cluster, "object": str(seen.manifest), "state": state}


def _instance_json(one: ManagedObject) -> dict[str, Any]:
    return {
        "object": str(one.ref),
        "byTheModule": one.ours,
        "created": one.created,
        "deleted": one.deleted_at,
        "maker": one.maker or None,
        "finalizers": list(one.finalizers),
        "staysAnyway": one.stays,
        "ownership": one.ownership.value,
        "owner": one.owner or None,
        "protection": one.protection or None,
    }

"""The reason of a row: the first applicable sentence, in order of importance for the operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kymatui.domain.catalog.assessment import Assessment
from kymatui.domain.catalog.module_inputs import ModuleInputs
from kymatui.domain.catalog.rows import CheckedResource
from kymatui.domain.kubernetes.conditions import find_condition
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import find_manual_changes
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.problems import Actor, Reason, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.next_actor import actor_for_manifest_state, actor_for_state, actor_on_drift
from kymatui.domain.modules.presence import ManagerVisibility, Presence
from kymatui.domain.modules.readiness import Readiness
from kymatui.domain.modules.risks import (
    NOT_RELEASED,
    is_not_applied,
    is_still_releasing,
    is_stuck,
    not_applied_words,
    still_releasing_words,
    stuck_words,
)
from kymatui.domain.modules.state_checks import Evaluation, StateDecision
from kymatui.domain.versions import refusals
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.domain.versions.messages import note_words, refusal_words, window_words
from kymatui.domain.versions.refusals import Refusal

KLM = "lifecycle-manager"
_SEVERITY = {State.ERROR: Severity.ERROR, State.WARNING: Severity.WARNING}


@dataclass(frozen=True, slots=True)
class ReasonInputs:
    """The inputs for choosing the reason of one module."""

    subject: ModuleInputs
    presence: Presence
    assessment: Assessment
    drift: Drift
    installed: str
    readiness: Readiness | None
    checked: tuple[CheckedResource, ...]
    unseen: str = ""
    kyma_unseen: str = ""

    @property
    def refusal(self) -> Refusal | None:
        """Return why the module does not resolve, None if it does."""
        return self.subject.resolution.refusal


def choose_reason(case: ReasonInputs) -> Reason:
    """Return the most important reason."""
    return next(filter(None, (step(case) for step in _STEPS)), Reason("in step and ready"))


def _deleting(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.DELETING:
        return None
    left = [item for item in case.checked if not item.deleting]
    held = [item for item in case.checked if item.deleting and item.finalizers]
    if case.subject.managed and left:
        names = ", ".join(str(item.resource) for item in left[:3])
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        return Reason(f"deleting waits for YOU to delete {names}{more}", Actor.YOU, Severity.WARNING, says_waiting=True)
    if held:
        return _held(case, held[0])
    manifest = case.subject.manifest
    if manifest is not None and is_stuck(manifest) and not case.checked:
        return Reason(stuck_words(manifest), Actor.YOU, Severity.WARNING)
    said = (case.subject.report.message if case.subject.report else "") or (
        case.subject.manifest.operation if case.subject.manifest else ""
    )
    if case.subject.managed:
        operation = case.subject.manifest.operation if case.subject.manifest else ""
        actor = actor_for_state(State.DELETING, operation)
        severity = Severity.WARNING if actor is Actor.YOU else Severity.INFO
        return Reason(f"being deleted by {KLM}{f': {said}' if said else ''}", actor, severity)
    return Reason("being deleted", Actor.MANAGER)


def _held(case: ReasonInputs, item: CheckedResource) -> Reason:
    names = ", ".join(item.finalizers)
    if case.subject.manager.sight is ManagerVisibility.ABSENT:
        text = f"{item.resource} is held by {names}, and the manager that should remove it is gone: you must"
        return Reason(text, Actor.YOU, Severity.ERROR, about=item.resource)
    said = f": {item.message}" if item.message else ""
    if said and item.klm.state in _SEVERITY:
        # a manager that can continue by itself reports no Error or Warning
        text = f"deleting waits for YOU: {item.resource} is held by {names}{said}"
        return Reason(text, Actor.YOU, Severity.WARNING, says_waiting=True, about=item.resource)
    text = f"deleting waits for the manager to remove {names} from {item.resource}{said}"
    return Reason(text, Actor.MANAGER, says_waiting=True)


def _conflict(case: ReasonInputs) -> Reason | None:
    if case.presence is Presence.CONFLICT:
        others = ", ".join(map(str, case.subject.manager.others)) or "a direct installation"
        text = f"managed by {KLM} and installed directly as well ({others}): remove one"
        return Reason(text, Actor.YOU, Severity.WARNING)
    if case.presence is Presence.ORPHAN:
        left = f"{case.checked[0].resource}" if case.checked else "a resource of the module"
        more = f" and {len(case.checked) - 1} more" if len(case.checked) > 1 else ""
        text = f"{left}{more} is there without its manager: install the module or delete it"
        return Reason(text, Actor.YOU, Severity.WARNING)
    return None


def _refused(case: ReasonInputs) -> Reason | None:
    refusal = case.refusal
    if refusal is None or not case.subject.managed or case.subject.mandatory or case.subject.request is None:
        return None
    words = refusal_words(refusal)
    if refusal.uninstalls:
        return Reason(f"not allowed for this Kyma, so {KLM} removes it: {words}", Actor.YOU, Severity.ERROR)
    if isinstance(refusal, refusals.HeldBack | refusals.WaitsForWindow):
        return None
    return Reason(words, _actor(refusal), Severity.ERROR if refusal.state is State.ERROR else Severity.WARNING)


def _actor(refusal: Refusal) -> Actor:
    yours = (
        refusals.ChannelIsNone,
        refusals.ChannelAndVersion,
        refusals.ChannelMissing,
        refusals.NoTemplateInChannel,
        refusals.NoReleaseMeta,
        refusals.IsMandatory,
    )
    return Actor.YOU if isinstance(refusal, yours) else Actor.CATALOG


def _unmanaged(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.UNMANAGED:
        return None
    if case.subject.report is not None and case.subject.report.state != State.UNMANAGED:
        return Reason(NOT_RELEASED, Actor.KLM)
    manifest = case.subject.manifest
    if is_still_releasing(case.subject.report, manifest) and manifest is not None:
        return Reason(still_releasing_words(manifest), Actor.KLM, Severity.WARNING)
    own = case.assessment.evaluation
    word = own.state if own is not None else case.readiness.state if case.readiness is not None else None
    if word in (State.ERROR, State.WARNING):
        text = f"unmanaged, and its own state is {word}{_said(case)}"
        return Reason(text, Actor.YOU, _SEVERITY[word])
    return Reason(f"unmanaged: {KLM} leaves it alone{f', its own state is {word}' if word else ''}")


def _said(case: ReasonInputs) -> str:
    message = case.checked[0].message if case.checked else ""
    return f": {message}" if message else ""


def _bad_state(case: ReasonInputs) -> Reason | None:
    state, source = case.assessment.state, case.assessment.source
    if state not in _SEVERITY:
        return None
    evaluation = case.assessment.evaluation
    if source in (StateSource.RULES, StateSource.STATUS) and evaluation is not None:
        return _of_resource(case, evaluation, state)
    if source is StateSource.MANAGER:
        return _manager_reason(case, _SEVERITY[state])
    if source is StateSource.KYMA and case.subject.report is not None and case.drift.kind is not DriftKind.CHANNEL_SKEW:
        said = f": {case.subject.report.message}" if case.subject.report.message else ""
        return Reason(f"the Kyma reports {case.subject.report.state}{said}", actor_for_state(state), _SEVERITY[state])
    if source is StateSource.MANIFEST and case.subject.manifest is not None:
        said = f": {case.subject.manifest.operation}" if case.subject.manifest.operation else ""
        actor = actor_for_manifest_state(state)
        return Reason(f"its Manifest is in {case.subject.manifest.state}{said}", actor, _SEVERITY[state])
    return None


def _of_resource(case: ReasonInputs, evaluation: Evaluation, state: State) -> Reason:
    worst, bad = case.checked[0], _SEVERITY[state]
    count = f" (the worst of {len(case.checked)})" if len(case.checked) > 1 else ""
    if evaluation.decision in (StateDecision.INCOMPLETE, StateDecision.NOT_A_STRING):
        return Reason(f"customStateCheck cannot be evaluated: {evaluation.message}", Actor.CATALOG, bad)
    if evaluation.decision is StateDecision.UNSUPPORTED:
        text = f"status.state of {worst.resource} is {worst.status_state!r}, which is no state of {KLM}"
        return Reason(text, Actor.MANAGER, bad, about=worst.resource)
    if evaluation.decision is StateDecision.NOTHING_FOUND:
        text = f"{worst.resource} has said nothing of its state for more than 5 minutes{count}"
        return Reason(text, Actor.MANAGER, bad, about=worst.resource)
    source = "customStateCheck gives" if evaluation.source is StateSource.RULES else "status.state is"
    waits = state is State.WARNING
    message = f": {worst.message}" if worst.message else ""
    text = f"{'waiting for YOU: ' if waits else ''}{source} {state} for {worst.resource}{count}{message}"
    return Reason(text, Actor.YOU, bad, says_waiting=waits, about=worst.resource)


def _manager_words(case: ReasonInputs) -> str:
    if case.readiness is None:
        wanted = case.subject.manager.wanted
        name = f"{wanted.kind.kind} {wanted.namespace}/{wanted.name}" if wanted is not None else "its manager"
        return f"{name} is missing, though {KLM} reports the module as Ready"
    return f"{case.readiness.ref}: {case.readiness.words}"


def _manager_reason(case: ReasonInputs, severity: Severity) -> Reason:
    """Return what keeps the manager from being ready and who has to act; a normal rollout needs no action."""
    words, by_hand = _manager_words(case), _by_hand(case)
    ref = case.readiness.ref if case.readiness is not None else None
    if by_hand:
        return Reason(f"{words}{by_hand}", Actor.YOU, severity, about=ref)
    rolls_out = case.readiness is not None and case.readiness.state is State.PROCESSING and not _is_paused(case)
    return Reason(words, Actor.NOBODY if rolls_out else Actor.CLUSTER, severity, about=ref)


def _is_paused(case: ReasonInputs) -> bool:
    """Return whether the manager's rollout is paused and continues only after a person resumes it."""
    workload = case.subject.manager.workload
    return workload is not None and JsonReader(workload).child("spec").flag("paused")


def _by_hand(case: ReasonInputs) -> str:
    workload = case.subject.manager.workload
    writer = find_manual_changes(workload) if workload is not None else None
    return f"; {writer.manager} changed it after it was installed" if writer is not None else ""


def _held_back(case: ReasonInputs) -> Reason | None:
    refusal = case.refusal
    if isinstance(refusal, refusals.HeldBack):
        text = f"held back: {refusal_words(refusal)}; wait for the channel, or delete and add the module again"
        return Reason(text, _on_drift(case), Severity.WARNING)
    if isinstance(refusal, refusals.WaitsForWindow):
        return Reason(refusal_words(refusal), _on_drift(case), says_waiting=True)
    if case.drift.kind is DriftKind.PENDING_MAINTENANCE:
        text = f"the update to {case.subject.desired} waits for a maintenance window; {window_words(case.drift.window)}"
        return Reason(text, _on_drift(case), says_waiting=True)
    return None


def _processing(case: ReasonInputs) -> Reason | None:
    if case.assessment.state is not State.PROCESSING:
        return None
    if case.subject.managed and case.subject.request is not None and case.subject.report is None:
        return Reason(f"asked for, and {KLM} has not answered yet", Actor.KLM)
    if case.readiness is not None and not case.readiness.ready:
        return _manager_reason(case, Severity.INFO)
    if case.subject.report is not None and case.subject.report.message:
        return Reason(f"{KLM} is at work: {case.subject.report.message}", Actor.KLM)
    if case.checked:
        worst = case.checked[0]
        said = f": {worst.message}" if worst.message else ""
        return Reason(f"{worst.resource} is being processed{said}", Actor.MANAGER)
    return Reason(f"{KLM} is at work", Actor.KLM)


def _owner_unknown(case: ReasonInputs) -> Reason | None:
    if not case.kyma_unseen or case.subject.managed or case.presence in (Presence.NOT_INSTALLED, Presence.UNKNOWN):
        return None
    running = f"{case.installed} running" if case.installed else "installed"
    return Reason(f"{running}; managed by: {case.kyma_unseen}", Actor.CLUSTER)


def _idle(case: ReasonInputs) -> Reason | None:
    """Return the reason for a manager scaled to zero: its module CR keeps its last state forever."""
    if case.readiness is None or not case.readiness.scaled_to_zero or case.presence is Presence.NOT_INSTALLED:
        return None
    reason = _manager_reason(case, Severity.WARNING)
    said = f"its own state is {case.assessment.state} still" if case.checked else "nobody looks after the module"
    return Reason(f"{reason.text}, and {said}", Actor.YOU, Severity.WARNING, about=reason.about)


def _on_drift(case: ReasonInputs) -> Actor:
    return actor_on_drift(case.drift.kind, managed=case.subject.managed)


def _drifting(case: ReasonInputs) -> Reason | None:
    kind, apart, manifest = case.drift.kind, case.drift.distance, case.subject.manifest
    if kind in (DriftKind.BEHIND, DriftKind.AHEAD) and manifest is not None and manifest.skipped:
        text = f"{case.installed} runs, {case.subject.desired} should, and {KLM} skips {manifest.ref}: remove its label"
        return Reason(text, Actor.YOU, Severity.WARNING)
    if is_not_applied(case.subject.report, manifest, case.drift, case.subject.desired, case.readiness):
        text = f"{case.installed} runs. {not_applied_words(case.subject.desired)}"
        return Reason(text, Actor.KLM, Severity.WARNING)
    if kind is DriftKind.BEHIND and case.subject.managed:
        text = (
            f"{case.installed} runs, {case.subject.desired} should ({apart} behind): {KLM} has not finished the upgrade"
        )
        return Reason(text, _on_drift(case), Severity.WARNING)
    if kind is DriftKind.BEHIND:
        text = f"{case.installed} runs, {case.subject.desired} is there ({apart} behind): upgrade it when you are ready"
        return Reason(text, _on_drift(case), Severity.WARNING)
    if kind is DriftKind.AHEAD:
        text = f"{case.installed} runs, which is {apart} ahead of {case.subject.desired}{_by_hand(case)}"
        return Reason(text, _on_drift(case), Severity.WARNING)
    if kind is DriftKind.ROLLING_OUT:
        words = case.readiness.words if case.readiness is not None else f"{KLM} is at work"
        actor = Actor.CLUSTER if _is_paused(case) else Actor.NOBODY
        return Reason(f"{case.subject.desired} is rolling out: {words}", actor)
    return None


def _conventions(case: ReasonInputs) -> Reason | None:
    notes = case.subject.resolution.notes
    return Reason(note_words(notes[0]), Actor.CATALOG, Severity.WARNING) if notes else None


def _not_configured(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.NOT_CONFIGURED:
        return None
    request = case.subject.request
    if case.subject.managed and request is not None and request.policy != Policy.IGNORE:
        text = f"installed, not configured: its resource is not there, {_recreated(case.subject.manifest)}"
        return Reason(text, Actor.YOU, Severity.WARNING)
    return Reason("installed, not configured: create its resource to use it", Actor.YOU)


def _recreated(manifest: Manifest | None) -> str:
    """Return whether lifecycle-manager creates the module CR again.

    Since March 2026, lifecycle-manager records in a condition that it created the CR once, and then leaves it
    deleted.
    """
    if manifest is None:
        return f"and {KLM} may make it again, which cannot be seen from here"
    made = find_condition(manifest.conditions, "ModuleCR")
    if made is None:
        return f"and this generation of {KLM} makes it again"
    if made.status == "True":
        return f"and {KLM} does not make it again: create it yourself"
    return f"and {KLM} has not made it yet"


def _unknown(case: ReasonInputs) -> Reason | None:
    if case.drift.kind is DriftKind.UNKNOWN and case.presence not in (Presence.NOT_INSTALLED, Presence.UNKNOWN):
        if not case.installed:
            return Reason(f"installed version: {case.unseen or 'unknown (no image or report names it)'}", Actor.NOBODY)
        if isinstance(case.refusal, refusals.ChannelUnknown):
            return Reason(f"{case.installed} runs; {refusal_words(case.refusal)}")
        if not case.subject.desired:
            return Reason(f"{case.installed} runs, and nothing is offered to compare it with")
        return Reason(f"{case.installed} runs, which is no version to compare with {case.subject.desired}")
    if case.presence is Presence.UNKNOWN:
        hidden = [part for part in (case.unseen, case.kyma_unseen) if part] or ["unknown (its manager is in a runtime)"]
        return Reason(f"install state: {'; '.join(hidden)}")
    return None


def _absent(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.NOT_INSTALLED:
        return None
    if case.subject.mandatory and case.subject.managed:
        return Reason(f"mandatory, and not installed yet: {KLM} has to", Actor.KLM, Severity.WARNING)
    refusal = case.refusal
    if isinstance(refusal, refusals.CatalogUnreadable | refusals.ChannelUnknown):
        return Reason(f"not installed; {refusal_words(refusal)}", Actor.NOBODY)
    if refusal is not None and not isinstance(refusal, refusals.NoReleaseMeta | refusals.NoTemplateInChannel):
        return Reason(f"not installed, and not offered: {refusal_words(refusal)}", Actor.NOBODY)
    return Reason(f"not installed; {case.subject.desired} can be added" if case.subject.desired else "not installed")


def _in_step(case: ReasonInputs) -> Reason | None:
    if case.drift.kind is DriftKind.IN_SYNC and case.assessment.state is State.READY:
        newer = (
            f"; {case.subject.newest} is the newest"
            if case.subject.newest and case.subject.newest != case.subject.desired
            else ""
        )
        hidden = f"; {case.unseen}" if case.unseen else ""
        return Reason(f"{case.installed} is installed and ready{newer}{hidden}")
    return Reason(f"{case.assessment.state}") if case.assessment.state is not State.READY else None


_STEPS: tuple[Callable[[ReasonInputs], Reason | None], ...] = (
    _deleting,
    _conflict,
    _refused,
    _unmanaged,
    _bad_state,
    _held_back,
    _processing,
    _owner_unknown,
    _idle,
    _drifting,
    _conventions,
    _not_configured,
    _unknown,
    _absent,
    _in_step,
)

"""The reason of a row: the first applicable sentence, in order of importance for the operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from kymatui.domain.catalog.assessment import ReasonInputs
from kymatui.domain.catalog.module_inputs import channels_of
from kymatui.domain.catalog.rows import CatalogOrigin, CheckedResource
from kymatui.domain.installed import (
    InstallationPhase,
    deletion_command,
    install_command,
    interruption_advice,
    interruption_words,
    is_deleted_elsewhere,
    run_words,
)
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import find_manual_changes
from kymatui.domain.kubernetes.object_meta import find_condition, read_ref
from kymatui.domain.kubernetes.terminal_text import first_of, to_sentence
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.manifests import Manifest, default_resource
from kymatui.domain.kyma.problems import (
    Actor,
    Advice,
    AdviceKind,
    Reason,
    Severity,
    action_needed,
    create_secret,
    reason_by,
    remove_finalizer,
    scale_up,
    shell_command,
    unpause,
    worst_severity,
)
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.modules.presence import (
    UNFINISHED,
    ManagerVisibility,
    Presence,
    actor_for_manifest_state,
    actor_for_state,
    actor_on_drift,
)
from kymatui.domain.modules.readiness import PodFailure
from kymatui.domain.modules.risks import (
    KEEP_ENTRY,
    NOT_RELEASED,
    ModuleRisk,
    is_not_applied,
    is_still_releasing,
    not_applied,
    paused_words,
    still_releasing,
    stuck_advice,
    stuck_finalizers,
    stuck_words,
)
from kymatui.domain.modules.state_checks import Evaluation, StateDecision
from kymatui.domain.snapshot.missing_lists import ListGap
from kymatui.domain.versions import refusals
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.messages import drift_words, note_words, refusal_advice, refusal_words, window_words
from kymatui.domain.versions.refusals import Refusal

KLM = "lifecycle-manager"
_SEVERITY = {State.ERROR: Severity.ERROR, State.WARNING: Severity.WARNING}


def choose_reason(case: ReasonInputs) -> Reason:
    """Return the most important reason, which is as severe as the state of the module."""
    reason = next(filter(None, (step(case) for step in _STEPS)), Reason("Up to date and ready"))
    of_state = _SEVERITY.get(case.assessment.state, Severity.INFO)
    return replace(reason, severity=worst_severity(reason.severity, of_state))


def _deleting(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.DELETING:
        return None
    if (blocked := _blocked(case)) is not None:
        return blocked
    manifest = case.subject.manifest
    operation = manifest.operation if manifest is not None else ""
    message = (case.subject.report.message if case.subject.report else "") or operation
    if case.subject.managed and _has_failed(case):
        why, about = (message or "it gives no reason").removesuffix("."), manifest.ref if manifest is not None else None
        return action_needed(f"{KLM} cannot delete the module: {why}", Severity.ERROR, about)
    if case.subject.managed:
        if not case.is_read:
            text = f"{KLM} is deleting the module{f': {message}' if message else ''}"
            return Reason(text, actor_for_state(State.DELETING, is_read=False))
        return Reason(f"{KLM} is deleting the module{f': {message}' if message else ''}", Actor.KLM, says_waiting=True)
    return Reason("The module is being deleted", Actor.MANAGER)


def _blocked(case: ReasonInputs) -> Reason | None:
    """Return what the deletion of a module waits for: its paused Manifest, its CRs, its Manifest's finalizers."""
    manifest = case.subject.manifest
    if case.subject.managed and manifest is not None and manifest.skipped:
        effect, advice = f"{KLM} does not uninstall the module", unpause(case.subject.name)
        reason = action_needed(paused_words(manifest), Severity.WARNING, manifest.ref, effect=effect, advice=advice)
        return replace(reason, blocked_by=(manifest.ref,))
    remaining = [item for item in case.checked if not item.deleting]
    held = [item for item in case.checked if item.deleting and item.finalizers]
    if case.subject.managed and remaining:
        return _remaining(case, remaining)
    if held:
        return replace(_held(case, held[0]), blocked_by=tuple(item.resource for item in held))
    if manifest is not None and stuck_finalizers(manifest) and not case.checked:
        reason = action_needed(stuck_words(manifest), Severity.WARNING, manifest.ref, advice=stuck_advice(manifest))
        return replace(reason, blocked_by=(manifest.ref,))
    return None


def _remaining(case: ReasonInputs, remaining: Sequence[CheckedResource]) -> Reason:
    """Return what blocks the deletion; the default CR alone does not while lifecycle-manager deletes it."""
    manifest, refs = case.subject.manifest, [item.resource for item in remaining]
    if manifest is not None and manifest.resource is not None and manifest.policy != Policy.IGNORE:
        is_wide = not refs[0].namespace
        default = default_resource(manifest.resource, manifest.meta.name, cluster_scoped=is_wide)
        is_default = [ref.key for ref in refs] == [default.key]
    else:
        is_default = False
    if is_default:
        return Reason(f"{KLM} is deleting {refs[0]}", Actor.KLM, says_waiting=True)
    text = f"Delete {'it' if len(refs) == 1 else 'them'} to continue"
    advice = _delete_blockers(case.subject.name, text)
    reason = action_needed(f"deletion blocked by {first_of(refs, 3)}", Severity.WARNING, refs[0], advice=advice)
    return replace(reason, blocked_by=tuple(refs))


def _delete_blockers(module: str, text: str) -> Advice:
    return Advice(AdviceKind.DELETE_BLOCKERS, text, shell_command("kymatui", "delete", module, "--cascade"))


def _has_failed(case: ReasonInputs) -> bool:
    """Return whether lifecycle-manager reports an Error of the deletion, which is no wait."""
    report, manifest = case.subject.report, case.subject.manifest
    return State.ERROR in ((report.state if report else ""), (manifest.state if manifest else ""))


def _held(case: ReasonInputs, item: CheckedResource) -> Reason:
    names = ("finalizers " if len(item.finalizers) > 1 else "finalizer ") + ", ".join(item.finalizers)
    remove = remove_finalizer(case.subject.name, item.resource, item.finalizers[0])
    if item.set_by_hand:
        text = f"deletion of {item.resource} is blocked by {names}, set by hand ({', '.join(item.set_by_hand)})"
        effect = "no controller removes it"
        return action_needed(text, Severity.WARNING, item.resource, effect=effect, advice=remove)
    if case.subject.manager.visibility is ManagerVisibility.ABSENT:
        text = f"deletion of {item.resource} is blocked by {names}"
        effect = "the module's manager, which should remove it, does not exist"
        return action_needed(text, Severity.ERROR, item.resource, effect=effect, advice=remove)
    if item.message and item.klm.state in _SEVERITY:
        # a manager that can continue by itself reports no Error or Warning
        text = f"deletion of {item.resource} is blocked: {item.message.removesuffix('.')}"
        words = f"Delete what blocks it; the module's manager then removes {names}"
        advice = _delete_blockers(case.subject.name, words)
        return action_needed(text, Severity.WARNING, item.resource, advice=advice)
    if (failure := case.pod_failure) is not None:
        effect = f"deletion of {item.resource} is blocked by {names}, which the module's manager removes"
        cause = f"{failure.pod} {failure.message}"
        return reason_by(failure.actor, cause, Severity.WARNING, effect=effect, advice=_pod_advice(case, failure))
    detail = f": {item.message}" if item.message else ""
    text = f"Deleting {item.resource}: waiting for the module's manager to remove {names}{detail}"
    return Reason(text, Actor.MANAGER, says_waiting=True)


def _unfinished(case: ReasonInputs) -> Reason | None:
    """Return what is installing, or what was interrupted: this explains everything else that is wrong with it."""
    installation, run = case.subject.installation, case.subject.run
    if installation is None or run is None or case.presence not in (*UNFINISHED, Presence.DELETING):
        return None
    if not run.phase.is_interrupted:
        advice = None if installation.is_own else interruption_advice(installation, run, direct=False)
        return None if run.phase is InstallationPhase.INSTALLED else Reason(run_words(installation, run), advice=advice)
    severity = Severity.ERROR if case.assessment.state is State.ERROR else Severity.WARNING
    words = interruption_words(installation, run)
    advice = interruption_advice(installation, run, direct=_needs_direct(case))
    actor = Actor.YOU if installation.is_own else Actor.CLUSTER
    return Reason(words, actor, severity, about=installation.record, advice=advice)


def _needs_direct(case: ReasonInputs) -> bool:
    """Return whether a command has to say that lifecycle-manager is not to manage the module."""
    return case.subject.origin is CatalogOrigin.KYMA


def _missing(case: ReasonInputs) -> Reason | None:
    installation = case.subject.installation
    if installation is None or not case.subject.missing or case.assessment.source is not StateSource.MANAGER:
        return None
    ref, more = case.subject.missing[0], len(case.subject.missing) - 1
    others = f" and {more} more" if more else ""
    text = f"{ref}{others} {'are' if more else 'is'} missing, although {installation.installer} installed it"
    if not installation.is_own or installation.inventory is None:
        return Reason(to_sentence(text), Actor.CLUSTER, Severity.ERROR, about=ref)
    command = install_command(installation.inventory, direct=_needs_direct(case))
    return action_needed(text, Severity.ERROR, ref, advice=Advice(AdviceKind.REPAIR, "Install it again", command))


def _deleted_elsewhere(case: ReasonInputs) -> Reason | None:
    installation = case.subject.installation
    if (
        installation is None
        or not is_deleted_elsewhere(case.subject.run)
        or case.presence is not Presence.NOT_INSTALLED
    ):
        return None
    command = deletion_command(installation.name, installation.namespace)
    advice = Advice(AdviceKind.DELETE_INSTALLATION, "Delete the record, or install it again", command)
    effect = f"{installation.record} still records it"
    cause = "Not installed: another tool deleted it"
    return Reason(cause, Actor.YOU, about=installation.record, effect=effect, advice=advice)


def _failed_release(case: ReasonInputs) -> Reason | None:
    installation = case.subject.installation
    if installation is None or installation.is_own or installation.status != "failed":
        return None
    text = f"The last change of Helm release {installation.namespace}/{installation.name} failed, says helm"
    return Reason(text, Actor.CLUSTER, Severity.WARNING, about=installation.record)


def _conflict(case: ReasonInputs) -> Reason | None:
    if case.presence is Presence.CONFLICT:
        others = f" ({', '.join(map(str, case.subject.manager.others))})" if case.subject.manager.others else ""
        command = shell_command("kymatui", "unmanage", case.subject.name)
        advice = Advice(AdviceKind.DELETE_INSTALLATION, "Keep the direct installation and end the other one", command)
        return action_needed(f"installed twice, by {KLM} and directly{others}", Severity.ERROR, advice=advice)
    if case.presence is Presence.ORPHAN:
        blocker = f"{case.checked[0].resource}" if case.checked else "a module CR"
        more = f" and {len(case.checked) - 1} more" if len(case.checked) > 1 else ""
        exist, them = ("exist", "the module CRs") if more else ("exists", "the module CR")
        verb = "enable" if case.subject.origin is CatalogOrigin.KYMA else "install"
        text, command = f"Install the module or delete {them}", shell_command("kymatui", verb, case.subject.name)
        cause = f"{blocker}{more} {exist}, but the module's manager does not"
        return action_needed(cause, Severity.WARNING, advice=Advice(AdviceKind.INSTALL, text, command))
    return None


def _refused(case: ReasonInputs) -> Reason | None:
    refusal = case.refusal
    if refusal is None or not case.subject.managed:
        return None
    if case.subject.mandatory:  # of these, only a missing template keeps lifecycle-manager from installing
        if not isinstance(refusal, refusals.TemplateMissing):
            return None
    elif case.subject.request is None:
        return None
    words = refusal_words(refusal)
    if refusal.uninstalls:
        text = f"{KLM} uninstalls the module, because this Kyma may not use it: {words}"
        return action_needed(text, Severity.ERROR, advice=refusal_advice(refusal))
    if isinstance(refusal, refusals.HeldBack | refusals.WaitsForWindow):
        return None
    if refusal.state is State.UNKNOWN:  # it must not hide what the module itself reports
        return None
    severity = Severity.ERROR if refusal.state is State.ERROR else Severity.WARNING
    if _actor(refusal) is Actor.YOU:
        return action_needed(words, severity, advice=refusal_advice(refusal))
    return Reason(f"{KLM} cannot install or upgrade the module: {words}", _actor(refusal), severity)


def _actor(refusal: Refusal) -> Actor:
    of_channel = (refusals.ChannelIsNone, refusals.ChannelAndVersion, refusals.ChannelMissing)
    of_module = (refusals.NoTemplateInChannel, refusals.NoReleaseMeta, refusals.IsMandatory)
    if isinstance(refusal, refusals.CatalogUnreadable | refusals.ChannelUnknown):
        return Actor.NOBODY if refusal.why.gap is ListGap.LOADING else Actor.CLUSTER
    return Actor.YOU if isinstance(refusal, (*of_channel, *of_module)) else Actor.CATALOG


def _unmanaged(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.UNMANAGED:
        return None
    if case.subject.report is not None and case.subject.report.state != State.UNMANAGED:
        return Reason(NOT_RELEASED, Actor.KLM, says_waiting=True, advice=KEEP_ENTRY)
    manifest = case.subject.manifest
    if is_still_releasing(case.subject.report, manifest) and manifest is not None:
        return _of_risk(still_releasing(case.subject.name, manifest), says_waiting=not manifest.skipped)
    own = case.assessment.evaluation
    word = own.state if own is not None else case.readiness.state if case.readiness is not None else None
    if word in (State.ERROR, State.WARNING):
        who = "module CR" if own is not None else "module's manager"
        text = f"unmanaged, and the {who} reports {word}{_report_suffix(case)}"
        return action_needed(text, _SEVERITY[word], advice=_resource_advice(case))
    return Reason(f"Unmanaged: {KLM} does not update or repair it{f'; it reports {word}' if word else ''}")


def _of_risk(risk: ModuleRisk, *, says_waiting: bool = False) -> Reason:
    return Reason(risk.message, risk.actor, risk.severity, says_waiting=says_waiting, advice=risk.advice)


def _report_suffix(case: ReasonInputs) -> str:
    message = case.checked[0].message if case.checked else ""
    return f": {message}" if message else ""


def _bad_state(case: ReasonInputs) -> Reason | None:
    state, source = case.assessment.state, case.assessment.source
    if state not in _SEVERITY:
        return None
    if case.pod_failure is not None:
        return _of_pod(case, case.pod_failure, _SEVERITY[state])
    evaluation = case.assessment.evaluation
    if source in (StateSource.RULES, StateSource.STATUS) and evaluation is not None:
        return _of_resource(case, evaluation, state)
    if source is StateSource.MANAGER:
        return _manager_reason(case, _SEVERITY[state])
    if (
        source is StateSource.KYMA
        and case.subject.report is not None
        and case.drift.kind is not DriftKind.NEWER_THAN_CHANNEL
    ):
        message = case.subject.report.message
        by_manifest = case.subject.manifest.operation if case.subject.manifest is not None and not message else ""
        detail = f": {message}" if message else f", the Manifest has the reason: {by_manifest}" if by_manifest else ""
        return reason_by(
            actor_for_state(state, is_read=case.is_read),
            f"the Kyma reports {case.subject.report.state}{detail}",
            _SEVERITY[state],
            advice=None if detail else _read_logs(case),
        )
    if source is StateSource.MANIFEST and case.subject.manifest is not None:
        detail = f": {case.subject.manifest.operation}" if case.subject.manifest.operation else ""
        actor = actor_for_manifest_state(state, is_read=case.is_read)
        return reason_by(actor, f"the Manifest reports {case.subject.manifest.state}{detail}", _SEVERITY[state])
    return None


def _of_resource(case: ReasonInputs, evaluation: Evaluation, state: State) -> Reason:
    worst, bad = case.checked[0], _SEVERITY[state]
    count = f" (worst of {len(case.checked)})" if len(case.checked) > 1 else ""
    if evaluation.decision in (StateDecision.INCOMPLETE, StateDecision.NOT_A_STRING):
        return Reason(f"customStateCheck cannot be evaluated: {evaluation.message}", Actor.CATALOG, bad)
    if evaluation.decision is StateDecision.UNSUPPORTED:
        text = f"{worst.resource} reports the state {worst.status_state!r}, which {KLM} does not know"
        return Reason(text, Actor.MANAGER, bad, about=worst.resource)
    if evaluation.decision is StateDecision.NOTHING_FOUND:
        text = f"{worst.resource} has no state after more than 5 minutes{count}"
        return Reason(text, Actor.MANAGER, bad, about=worst.resource, advice=_read_logs(case))
    phrase = f"is in {state} by customStateCheck" if evaluation.source is StateSource.RULES else f"reports {state}"
    message = f": {worst.message}" if worst.message else ""
    advice = _resource_advice(case)
    return action_needed(f"{worst.resource} {phrase}{count}{message}", bad, worst.resource, advice=advice)


def _resource_advice(case: ReasonInputs) -> Advice | None:
    """Return what to do about the worst module CR: create the Secret that it names, else read why."""
    worst = case.checked[0] if case.checked else None
    if worst is None or not worst.message:
        return _read_logs(case)
    return create_secret(worst.message, worst.resource.namespace)


def _read_logs(case: ReasonInputs, *options: str) -> Advice | None:
    """Return the advice to read the log of the module's manager, None where there is no manager."""
    if case.subject.manager.workload is None:
        return None
    command = shell_command("kymatui", "logs", case.subject.name, *options)
    return Advice(AdviceKind.READ_LOGS, "Read the log of its manager", command)


def _manager_words(case: ReasonInputs) -> str:
    if case.readiness is None:
        manager_ref = case.subject.manager.declared
        name = (
            f"{manager_ref.kind.kind} {manager_ref.namespace}/{manager_ref.name}"
            if manager_ref is not None
            else "the module's manager"
        )
        return f"{name} is missing, but {KLM} reports the module as Ready"
    return f"{case.readiness.ref}: {case.readiness.message}"


def _manager_reason(case: ReasonInputs, severity: Severity) -> Reason:
    """Return what keeps the manager from being ready and who has to act; a normal rollout needs no action."""
    if case.pod_failure is not None and case.readiness is not None:
        return _of_pod(case, case.pod_failure, severity)
    words, by_hand = _manager_words(case), _by_hand(case)
    if severity is Severity.ERROR and case.pods_unseen:
        words += f"; why is in its Pods: {case.pods_unseen}"
    ref = case.readiness.ref if case.readiness is not None else None
    advice = unpause(case.subject.name, "Resume the rollout") if _is_paused(case) and ref is not None else None
    if by_hand and severity is not Severity.INFO:
        return action_needed(words, severity, ref, effect=by_hand, advice=advice)
    if by_hand:
        return Reason(words, Actor.YOU, severity, about=ref, effect=by_hand, advice=advice)
    rolls_out = case.readiness is not None and case.readiness.state is State.PROCESSING and not _is_paused(case)
    actor = Actor.NOBODY if rolls_out else Actor.CLUSTER
    return Reason(to_sentence(words), actor, severity, about=ref, advice=advice)


def _of_pod(case: ReasonInputs, failure: PodFailure, severity: Severity) -> Reason:
    """Return the cause of a rollout that does not end, then the rollout."""
    effect = _manager_words(case).partition(" (")[0]  # without the message of a condition, which repeats the cause
    by_hand = _by_hand(case)
    return Reason(
        f"{failure.pod} {failure.message}",
        Actor.YOU if by_hand else failure.actor,
        Severity.WARNING if severity is Severity.INFO else severity,
        about=failure.pod,
        effect=f"{effect}; {by_hand}" if by_hand else effect,
        advice=_pod_advice(case, failure),
    )


def _pod_advice(case: ReasonInputs, failure: PodFailure) -> Advice | None:
    if failure.crashed:
        return _read_logs(case, "-p")
    return create_secret(failure.message, failure.pod.namespace)


def _is_paused(case: ReasonInputs) -> bool:
    """Return whether the manager's rollout is paused and continues only after a person resumes it."""
    workload = case.subject.manager.workload
    return workload is not None and JsonReader(workload).child("spec").flag("paused")


def _by_hand(case: ReasonInputs) -> str:
    workload = case.subject.manager.workload
    writer = find_manual_changes(workload) if workload is not None else None
    if workload is None or writer is None:
        return ""
    return f"field manager {writer.manager} changed the {read_ref(workload).kind.kind} after the installation"


def _held_back(case: ReasonInputs) -> Reason | None:
    refusal = case.refusal
    if isinstance(refusal, refusals.HeldBack):
        cause, advice = to_sentence(refusal_words(refusal)), _held_back_advice(case, refusal)
        return Reason(cause, _on_drift(case), Severity.WARNING, advice=advice)
    if isinstance(refusal, refusals.WaitsForWindow):
        words = refusal_words(refusal)
        return _by_klm(case, to_sentence(words if refusal.window else f"{words}: {_reported_window(case, words)}"))
    if case.drift.kind is DriftKind.AWAITING_WINDOW:
        window = window_words(case.drift.window) if case.drift.window else _reported_window(case)
        text = f"Awaiting maintenance window for the upgrade to {case.subject.desired}: {window}"
        return _by_klm(case, text)
    return None


def _held_back_advice(case: ReasonInputs, refusal: refusals.HeldBack) -> Advice:
    """Return the channel that offers the installed version, else the way to downgrade."""
    name, meta = case.subject.name, case.subject.meta
    channels = channels_of(meta, case.subject.offers)
    for channel, version in channels.items():
        if same_version(version, refusal.installed):
            text = f"Wait for the channel, or move the module to channel {channel}, which has {version}"
            return Advice(AdviceKind.CHANGE_CHANNEL, text, shell_command("kymatui", "channel", name, channel))
    text = "Wait for the channel; to downgrade, disable the module and enable it again"
    return Advice(AdviceKind.REINSTALL, text, shell_command("kymatui", "disable", name))


def _reported_window(case: ReasonInputs, words: str = "") -> str:
    """Return what the Kyma reports of a window whose policy was not read; `words` precede it."""
    message = case.subject.report.message if case.subject.report is not None else ""
    message = message.removeprefix(f"{words}: ")
    return f"{message} (reported by the Kyma)" if message else window_words(None)


def _leaving(case: ReasonInputs) -> Reason | None:
    """Return the reason of a module that lifecycle-manager does not create again, because the Kyma is being deleted."""
    if not (case.kyma_deleting and case.subject.managed and case.subject.request is not None):
        return None
    if case.lacks_manifest:
        return Reason(f"{KLM} is deleting the Kyma, and has deleted the Manifest of the module")
    if case.subject.manifest is not None and case.subject.manifest.meta.deleting:
        return _blocked(case) or Reason(f"{KLM} is deleting the Kyma with the module", Actor.KLM, says_waiting=True)
    return None


def _without_manifest(case: ReasonInputs) -> Reason | None:
    """Return the reason of a module whose Manifest lifecycle-manager has still to create, or that no Kyma names."""
    manifest = case.subject.manifest
    if case.is_orphaned and manifest is not None:
        text = f"{manifest.ref} is orphaned: the Kyma neither requests nor reports the module"
        command = shell_command("kymatui", "enable", case.subject.name)
        advice = Advice(AdviceKind.ENABLE, "Enable the module, or delete the Manifest", command)
        return action_needed(text, Severity.WARNING, manifest.ref, advice=advice)
    if case.lacks_manifest:
        return _by_klm(case, f"Requested in the Kyma; {KLM} has not created the Manifest yet")
    if case.subject.managed and case.subject.request is not None and manifest is not None and manifest.meta.deleting:
        return _blocked(case) or _by_klm(case, f"{KLM} deletes {manifest.ref}, and creates it again after that")
    return None


def _by_klm(case: ReasonInputs, text: str, severity: Severity = Severity.INFO, *, says_waiting: bool = True) -> Reason:
    """Return a reason that waits for lifecycle-manager, or for you while it skips the Kyma."""
    if case.skipped_kyma is not None:
        text = f"{text.removesuffix('.')}, but {KLM} skips the Kyma"
        advice = unpause("", "Remove the skip label from the Kyma")
        return Reason(text, Actor.YOU, severity, advice=advice)
    return Reason(text, Actor.KLM, severity, says_waiting=says_waiting)


def _processing(case: ReasonInputs) -> Reason | None:
    if case.assessment.state is not State.PROCESSING:
        return None
    if case.subject.managed and case.subject.request is not None and case.subject.report is None:
        return _by_klm(case, f"Requested in the Kyma; waiting for {KLM}")
    if case.readiness is not None and not case.readiness.ready:
        return _manager_reason(case, Severity.INFO)
    if case.subject.report is not None and case.subject.report.message:
        text = f"{KLM} is processing the module: {case.subject.report.message}"
        return Reason(text, Actor.KLM, says_waiting=True)
    if case.checked:
        worst = case.checked[0]
        detail = f": {worst.message}" if worst.message else ""
        return Reason(f"The module's manager is processing {worst.resource}{detail}", Actor.MANAGER, says_waiting=True)
    return Reason(f"{KLM} is processing the module", Actor.KLM, says_waiting=True)


def _version_unknown(case: ReasonInputs) -> Reason | None:
    refusal = case.refusal
    if refusal is None or refusal.state is not State.UNKNOWN or not case.subject.managed:
        return None
    if case.subject.request is None and not case.subject.mandatory:
        return None
    return Reason(f"Expected version unknown: {refusal_words(refusal)}", _actor(refusal), Severity.WARNING)


def _owner_unknown(case: ReasonInputs) -> Reason | None:
    if not case.kyma_unseen or case.subject.managed or case.presence in (Presence.NOT_INSTALLED, Presence.UNKNOWN):
        return None
    running = f"{case.installed} installed" if case.installed else "Installed"
    return Reason(f"{running}; managed by: {case.kyma_unseen}", Actor.CLUSTER)


def _idle(case: ReasonInputs) -> Reason | None:
    """Return the reason for a manager scaled to zero: its module CR keeps its last state forever."""
    if case.readiness is None or not case.readiness.scaled_to_zero or case.presence is Presence.NOT_INSTALLED:
        return None
    ref, last = case.readiness.ref, case.assessment.state
    effect = f"the module CR keeps its last state, {last}" if case.checked else "the module does not work"
    if by_hand := _by_hand(case):
        effect = f"{effect}; {by_hand}"
    advice = scale_up(case.subject.name)
    return action_needed(f"{ref} is scaled to zero", Severity.WARNING, ref, effect=effect, advice=advice)


def _on_drift(case: ReasonInputs) -> Actor:
    return actor_on_drift(case.drift.kind, managed=case.subject.managed, mandatory=case.subject.mandatory)


def _drifting(case: ReasonInputs) -> Reason | None:
    kind, apart, manifest = case.drift.kind, drift_words(case.drift), case.subject.manifest
    if kind in (DriftKind.BEHIND, DriftKind.AHEAD) and manifest is not None and manifest.skipped:
        effect = f"running {case.installed}, expected {case.subject.desired}"
        advice = unpause(case.subject.name)
        return action_needed(paused_words(manifest), Severity.WARNING, manifest.ref, effect=effect, advice=advice)
    if is_not_applied(case.subject.report, manifest, case.drift, case.subject.desired, case.readiness):
        reason = _of_risk(not_applied(case.subject.name, case.subject.desired))
        return replace(reason, effect=f"running {case.installed}")
    if kind is DriftKind.BEHIND and case.subject.managed:
        text = (
            f"Running {case.installed}, expected {case.subject.desired} ({apart}). {KLM} has not finished the upgrade."
        )
        return _by_klm(case, text, Severity.WARNING, says_waiting=False)
    if kind is DriftKind.BEHIND:
        text = f"{case.installed} installed, {case.subject.desired} available ({apart})"
        command = shell_command("kymatui", "upgrade", case.subject.name)
        return Reason(text, _on_drift(case), advice=Advice(AdviceKind.UPGRADE, "Upgrade it", command))
    if kind is DriftKind.AHEAD and _on_drift(case) is Actor.KLM:
        versions = f"Running {case.installed}, expected {case.subject.desired} ({apart})"
        return _by_klm(case, f"{versions}. {KLM} downgrades mandatory modules.", Severity.WARNING, says_waiting=False)
    if kind is DriftKind.AHEAD:
        text = f"Running {case.installed}, expected {case.subject.desired} ({apart})"
        return Reason(text, _on_drift(case), Severity.WARNING, effect=_by_hand(case))
    if kind is DriftKind.ROLLING_OUT and case.pod_failure is not None:
        return _of_pod(case, case.pod_failure, Severity.WARNING)
    if kind is DriftKind.ROLLING_OUT:
        words = case.readiness.message if case.readiness is not None else f"{KLM} is processing the module"
        actor = Actor.CLUSTER if _is_paused(case) else Actor.NOBODY
        return Reason(f"Rolling out {case.subject.desired}: {words}", actor)
    return None


def _conventions(case: ReasonInputs) -> Reason | None:
    notes = case.subject.resolution.notes
    return Reason(to_sentence(note_words(notes[0])), Actor.CATALOG, Severity.WARNING) if notes else None


def _not_configured(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.NOT_CONFIGURED:
        return None
    request = case.subject.request
    if case.subject.managed and request is not None and request.policy != Policy.IGNORE:
        return _recreated(case.subject.name, case.subject.manifest)
    kind = f" of kind {case.subject.kind.kind}" if case.subject.kind is not None else ""
    cause, advice = "Installed, but not in use: it has no module CR", _create_cr(case.subject.name, kind)
    return Reason(cause, Actor.YOU, advice=advice)


def _create_cr(module: str, kind: str = "") -> Advice:
    text = f"Create one{kind} to use the module" if kind else "Create it to use the module"
    return Advice(AdviceKind.CREATE_CR, text, shell_command("kymatui", "edit", module))


def _recreated(module: str, manifest: Manifest | None) -> Reason:
    """Return the reason for a missing module CR, and whether lifecycle-manager creates it again.

    Since March 2026, it records in a condition that it created the CR once, and then leaves it deleted.
    """
    text, advice = "the module CR is missing", _create_cr(module)
    if manifest is None:
        effect = f"whether {KLM} creates it again is unknown"
        return Reason(to_sentence(text), Actor.YOU, Severity.WARNING, effect=effect, advice=advice)
    condition = find_condition(manifest.conditions, "ModuleCR")
    if condition is not None and condition.status == "True":
        return action_needed(text, Severity.WARNING, effect=f"{KLM} does not create it again", advice=advice)
    if condition is not None:
        return Reason(f"{to_sentence(text)}: {KLM} has not created it yet", Actor.KLM, says_waiting=True)
    effect = f"{KLM} creates it with the next version"
    return Reason(to_sentence(text), Actor.YOU, Severity.WARNING, effect=effect, advice=advice)


_IN_RUNTIME: Final = "unknown (the module's manager runs in a runtime)"


def _unknown(case: ReasonInputs) -> Reason | None:
    if case.drift.kind is DriftKind.UNKNOWN and case.presence not in (Presence.NOT_INSTALLED, Presence.UNKNOWN):
        if not case.installed and not case.subject.is_unoffered:
            return Reason(f"Installed version: {case.unseen or 'unknown (no image or report names it)'}", Actor.NOBODY)
        if isinstance(case.refusal, refusals.ChannelUnknown):
            return Reason(f"{case.installed} installed; {refusal_words(case.refusal)}")
        if case.subject.is_unoffered:
            return _from_elsewhere(case)
        if not case.subject.desired:
            return Reason(f"{case.installed} installed; the catalog offers no version to compare it with")
        if case.unseen:
            return Reason(f"{case.installed} reported; running version: {case.unseen}")
        return Reason(f"{case.installed} installed, which cannot be compared with {case.subject.desired}")
    if case.presence is Presence.UNKNOWN:
        hidden = [part for part in (case.unseen, case.kyma_unseen) if part] or [_IN_RUNTIME]
        return Reason(f"Install state: {'; '.join(hidden)}")
    return None


def _from_elsewhere(case: ReasonInputs) -> Reason | None:
    installation = case.subject.installation
    if installation is None or case.assessment.state is not State.READY:
        return None
    version = f"{case.installed} installed" if case.installed else "Installed"
    source = f" from {installation.source}" if installation.source is not None else ""
    address = f" {installation.address}" if installation.address else ""
    by = "" if installation.is_own else f" by {installation.installer}"
    if case.subject.newest:
        newest = f"the catalogs end at {case.subject.newest}"
        return Reason(f"{version} by kymatui; {newest}. `--catalog` adds the one that it came from.")
    return Reason(f"{version}{by}{source}{address}; no catalog offers it")


def _absent(case: ReasonInputs) -> Reason | None:
    if case.presence is not Presence.NOT_INSTALLED:
        return None
    if case.subject.mandatory and case.subject.managed:
        text = f"Mandatory, but {KLM} has not installed it yet"
        return _by_klm(case, text, Severity.WARNING)
    refusal = case.refusal
    if isinstance(refusal, refusals.CatalogUnreadable | refusals.ChannelUnknown):
        return Reason(f"not installed; {refusal_words(refusal)}", Actor.NOBODY)
    if refusal is not None and not isinstance(refusal, refusals.NoReleaseMeta | refusals.NoTemplateInChannel):
        offered = "available versions unknown" if refusal.state is State.UNKNOWN else "not available"
        return Reason(f"Not installed, {offered}: {refusal_words(refusal)}", Actor.NOBODY)
    return Reason(f"Not installed ({case.subject.desired} available)" if case.subject.desired else "Not installed")


def _in_step(case: ReasonInputs) -> Reason | None:
    if case.drift.kind is DriftKind.UP_TO_DATE and case.assessment.state is State.READY:
        newest = case.subject.newest
        newer = f" (newest {newest})" if newest and newest != case.subject.desired else ""
        hidden = f"; {case.unseen}" if case.unseen else ""
        return Reason(f"{case.installed} installed and ready{newer}{hidden}")
    return Reason(f"{case.assessment.state}") if case.assessment.state is not State.READY else None


_STEPS: tuple[Callable[[ReasonInputs], Reason | None], ...] = (
    _unfinished,
    _deleting,
    _conflict,
    _refused,
    _unmanaged,
    _deleted_elsewhere,
    _missing,
    _bad_state,
    _failed_release,
    _held_back,
    _leaving,
    _without_manifest,
    _processing,
    _version_unknown,
    _owner_unknown,
    _idle,
    _drifting,
    _conventions,
    _not_configured,
    _unknown,
    _absent,
    _in_step,
)

"""Guided deletion as a stepper, a list of remaining objects, and a plan of the next steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.domain.ownership import describe_objects
from kymatui.domain.plans.backups import summarize_names
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine, git_consents
from kymatui.domain.rights import role_hint
from kymatui.engine.deletion.deletion_state import (
    DeletionState,
    ManagedBy,
    ModuleCRHandling,
    NextStep,
    StageStatus,
    deletion_options,
    deletion_stages,
    explain_finalizers,
)
from kymatui.engine.inventory.managed_resources import ManagedObject
from kymatui.engine.plans.plan import Action, Step
from kymatui.lists.columns import Cell, Column, with_age
from kymatui.ui.viewmodels.display_text import as_screen_commands, shorten_path
from kymatui.ui.viewmodels.row_list import Row

COLUMNS = (
    Column("kind", "KIND", 12, flex=1),
    Column("namespace", "NAMESPACE", 10, flex=1, priority=1),
    Column("name", "NAME", 12, flex=2, wraps=True),
    Column("age", "AGE", 5, priority=2, right=True),
    Column("maker", "CREATED BY", 10, flex=1, priority=3),
    Column("blocks", "EFFECT", 20, flex=3, wraps=True),
)
_SIGNS = {StageStatus.DONE: "✔", StageStatus.NOW: "▶", StageStatus.AHEAD: "·", StageStatus.NOT_NEEDED: "–"}
_TONES = {
    StageStatus.DONE: "ready",
    StageStatus.NOW: "accent",
    StageStatus.AHEAD: "muted",
    StageStatus.NOT_NEEDED: "muted",
}
_WAYS = {
    ModuleCRHandling.LET: "lifecycle-manager deletes the default CR",
    ModuleCRHandling.IGNORE: "set the policy to Ignore, then kymatui deletes the default CR",
    ModuleCRHandling.UNMANAGE: "unmanage (keep installed, stop updates)",
}


def stage_lines(
    state: DeletionState, *, accept_unknown: bool = False, begun: DeletionState | None = None
) -> list[tuple[str, str]]:
    """Return one line per stage with its tone: sign, number, title and details."""
    stages = deletion_stages(state, accept_unknown=accept_unknown, begun=begun)
    return [
        (
            f"{_SIGNS[stage.progressed]} {number} {stage.title}"
            + (f"  {sanitize(stage.message)}" if stage.message else ""),
            _TONES[stage.progressed],
        )
        for number, stage in enumerate(stages, 1)
    ]


def deletion_rows(state: DeletionState, now: float) -> list[Row]:
    """Return the remaining objects that the module's manager manages."""
    return [_row(managed_object, now, state) for managed_object in (*state.remaining.theirs, *state.remaining.ours)]


def _row(managed_object: ManagedObject, now: float, state: DeletionState) -> Row:
    words, tone = describe_blocking(managed_object, state)
    cells = {
        "kind": Cell(sanitize(managed_object.ref.kind.kind)),
        "namespace": Cell(sanitize(managed_object.ref.namespace), "muted"),
        "name": Cell(sanitize(managed_object.ref.name)),
        "age": with_age(Cell("", "muted", since=managed_object.created), now),
        "maker": Cell(sanitize(managed_object.maker), "muted"),
        "blocks": Cell(sanitize(words), tone),
    }
    return Row(_key(managed_object), cells)


def _key(managed_object: ManagedObject) -> str:
    return managed_object.uid or str(managed_object.ref)


def deletion_subject(state: DeletionState, key: str) -> ObjectRef | None:
    """Return the object of a line."""
    return next(
        (managed_object.ref for managed_object in state.remaining.instances if _key(managed_object) == key), None
    )


def full_row_text(state: DeletionState, key: str | None) -> list[tuple[str, str]]:
    """Return what the list may clip of a row: the whole object, its creator and its meaning."""
    for managed_object in state.remaining.instances:
        if _key(managed_object) == key:
            maker = f", created by {sanitize(managed_object.maker)}" if managed_object.maker else ""
            return [
                (
                    f"{sanitize(str(managed_object.ref))}{maker}: "
                    f"{sanitize(describe_blocking(managed_object, state)[0])}",
                    "muted",
                )
            ]
    return []


def describe_blocking(managed_object: ManagedObject, state: DeletionState) -> tuple[str, str]:
    """Return what an object means for the deletion, with the tone."""
    if managed_object.deleted_at is not None:
        return f"being deleted{managed_object.held}", "deleting"
    if managed_object.stays:
        return f"stays: {managed_object.stay_reason}", "muted"
    if managed_object.protection:
        return managed_object.protection, "warning"
    if managed_object.ours and not managed_object.applied and state.deletes_default:
        return state.by_hand_words if state.by_hand else "the default CR, left by the module", "warning"
    if managed_object.ours:
        return "deleted with the module", "muted"
    of = f" (of the {managed_object.owner})" if managed_object.owner else ""
    held = f" (finalizers: {', '.join(managed_object.finalizers)})" if managed_object.finalizers else ""
    return f"blocks the deletion{of}{held}", "warning"


def deletion_notes(deletion_state: DeletionState, *, accept_unknown: bool = False) -> list[tuple[str, str]]:
    """Return the notes to read before you continue, with tones; who must act comes first."""
    step = deletion_state.next_step(accept_unknown=accept_unknown)
    notes = [(f"Next (ctrl-d): {with_keeper(step.value, deletion_state.keeper)}", "accent")]
    if deletion_state.refusal:
        notes = [
            (as_screen_commands(sanitize(deletion_state.refusal)), "error" if step is NextStep.REFUSED else "ready")
        ]
        if step is NextStep.GONE:
            notes.append((f":restore {sanitize(deletion_state.module)} restores its objects from a backup", "muted"))
    elif step is NextStep.FOLLOW:
        notes = [(f"Waiting for {deletion_state.keeper} to uninstall the module", "accent")]
    if deletion_state.manifest is not None and deletion_state.control:
        state = deletion_state.reported_by_manifest or "has not reported"
        notes.append(
            (
                f"on {sanitize(deletion_state.control)}: {sanitize(str(deletion_state.manifest))} {sanitize(state)}",
                "muted",
            )
        )
    if deletion_state.stuck:
        notes.append(
            (f"Blocked by finalizers: {as_screen_commands(sanitize(explain_finalizers(deletion_state)))}", "deleting")
        )
    for kind, reason in deletion_state.remaining.unknown:
        agreed = "assumed to have no objects" if accept_unknown else "number of objects unknown"
        notes.append((f"{kind}: {agreed} ({sanitize(reason)})", "warning"))
    if deletion_state.advice:
        notes.append((f"▲ {sanitize(deletion_state.advice)}", "warning"))
    notes += [(f"▲ {sanitize(text)}", "warning") for text in deletion_state.warnings]
    if deletion_state.warning:
        notes += [
            (f"▲ {sanitize(deletion_state.warning)}", "warning"),
            (f"Option (w): {with_keeper(_WAYS[deletion_state.handling], deletion_state.keeper)}", "accent"),
        ]
    return notes


def remaining_title(state: DeletionState, *, accept_unknown: bool) -> tuple[str, str]:
    """Return how many managed objects still exist, with its tone."""
    count, unknown = len(state.theirs), state.remaining.unknown
    count_words = f"{format_count(count, 'managed object')} still {'exists' if count == 1 else 'exist'}"
    text = count_words if count else "no managed objects remain"
    if unknown and not accept_unknown:
        text += f", and {format_count(len(unknown), 'kind')} cannot be listed"
    return text, "warning" if count or unknown else "ready"


def backup_line(keeps_backup: bool) -> tuple[str, str]:
    """Return whether deleted objects are saved, and the key that changes it."""
    return f"b backup: {'on, deleted objects are saved as YAML first' if keeps_backup else 'off'}", "muted"


def crd_line(state: DeletionState, delete_crds: bool) -> list[tuple[str, str]]:
    """Return what becomes of the CRDs of a chart's folder crds/, and the key that changes it; none without any."""
    if state.uninstall is None or not state.uninstall.chart_crds:
        return []
    deleted = "deleted, unless they have objects or another installation has them"
    return [(f"r CRDs of the chart: {deleted if delete_crds else 'stay, as with helm'}", "muted")]


def next_way(state: DeletionState, handling: ModuleCRHandling) -> ModuleCRHandling:
    """Return the option after `handling`."""
    offered = deletion_options(state)
    return offered[(offered.index(handling) + 1) % len(offered) if handling in offered else 0]


def why_no_choice(state: DeletionState | None, step: NextStep | None, what: object) -> str:
    """Return why there is no choice of the "way", "backup" or "crds"; "" where there is one."""
    if what == "crds":
        return (
            ""
            if state is not None and state.uninstall is not None and state.uninstall.chart_crds
            else "no CRDs of a chart"
        )
    if what == "backup":
        return "already deleted" if step is NextStep.GONE else ""
    if what == "way":
        return "" if state is not None and len(deletion_options(state)) > 1 else "no other option"
    return ""


def preview_deletion(state: DeletionState, *, accept_unknown: bool, backup: str) -> Preview:
    """Return the preview of all remaining steps of the deletion."""
    step = state.next_step(accept_unknown=accept_unknown)
    unmanages = step is NextStep.UNMANAGE
    title = f"{'unmanage' if unmanages else 'delete'} {state.module} {state.installed}".strip()
    return Preview(
        title,
        lines=tuple(_lines(state, step)),
        management=f"{state.managed_by_words[:1].upper()}{state.managed_by_words[1:]}",
        refusals=tuple(_refusals(state, step)),
        warnings=tuple(_warnings(state, unmanages, backup)),
        missing=state.missing,
        role=role_hint("unmanage" if unmanages else "delete", state.module),
        consents=tuple(_consents(state, unmanages)),
        question=f"{title[:1].upper()}{title[1:]}?",
        editable=True,
    )


def _refusals(state: DeletionState, step: NextStep) -> Iterator[str]:
    if step in (NextStep.REFUSED, NextStep.GONE):
        yield state.refusal or f"{state.module} is deleted completely"
    if step is NextStep.UNKNOWN:
        yield "the kinds that you cannot list may have objects; press u to assume that they have none"


def _warnings(state: DeletionState, unmanages: bool, backup: str) -> Iterator[str]:
    if unmanages:
        yield f"{state.keeper} stops updates and repairs; nothing is deleted"
        return
    if state.warning:
        yield f"{state.warning}. Selected: {with_keeper(_WAYS[state.handling], state.keeper)}"
    if state.advice:
        yield state.advice
    yield from state.warnings
    if not state.refusal:
        yield (
            f"deleted objects are saved first to {shorten_path(backup)}"
            if backup
            else "no backup: deleted objects are not saved"
        )
    staying = [managed_object for managed_object in state.remaining.instances if managed_object.stays]
    for reason in dict.fromkeys(managed_object.stay_reason for managed_object in staying):
        some = [managed_object.ref for managed_object in staying if managed_object.stay_reason == reason]
        yield f"{summarize_names(some)} {'stays' if len(some) == 1 else 'stay'}: {reason}"


def _consents(state: DeletionState, unmanages: bool) -> Iterator[Consent]:
    if unmanages:
        return
    theirs = [managed_object for managed_object in state.theirs if managed_object.deleted_at is None]
    if theirs:
        yield Consent("cascade", f"delete {describe_objects(managed_object.owned for managed_object in theirs)}")
    yield from git_consents(state.git)
    yield Consent("name", "delete it", typed=state.module)


def _lines(state: DeletionState, following: NextStep) -> Iterator[PreviewLine]:
    if following is NextStep.UNMANAGE:
        yield PreviewLine(PlannedChange.CHANGE, f"Kyma: module {state.module}", "managed: false")
        return
    yield from _instances(state.theirs, "deleted first")
    if state.managed_by is ManagedBy.KYMA:
        if state.handling is ModuleCRHandling.IGNORE and not state.by_hand and state.default is not None:
            policy = "customResourcePolicy: Ignore"
            yield PreviewLine(PlannedChange.CHANGE, f"Kyma: module {state.module}", policy, counts_as="")
            yield PreviewLine(PlannedChange.DELETE, str(state.default.ref), "deleted by kymatui")
        elif state.default is not None and not state.by_hand:
            yield PreviewLine(PlannedChange.DELETE, str(state.default.ref), f"deleted by {state.keeper}")
        yield from _instances(
            [managed_object for managed_object in state.remaining.ours if managed_object.applied],
            f"deleted by {state.keeper} (part of the manifest)",
        )
        yield PreviewLine(PlannedChange.CHANGE, f"Kyma: module {state.module}", "entry removed")
        yield PreviewLine(
            PlannedChange.DELETE,
            str(state.manager) if state.manager is not None else f"module {state.module}",
            f"deleted by {state.keeper}, with the module's objects",
            counts_as="uninstall",
        )
        if state.manifest is not None and state.control:
            yield PreviewLine(
                PlannedChange.DELETE,
                f"{state.manifest} on {state.control}",
                f"deleted by {state.keeper} at the end",
                counts_as="",
            )
        return
    if state.manifest is not None:
        yield PreviewLine(PlannedChange.DELETE, str(state.manifest), "its controller deletes the module's objects")
    yield from _instances(state.remaining.ours if not state.deletes_default else (), "created by the module")
    if state.uninstall is None:
        return
    yield from (_hook(step) for step in state.uninstall.hooks if step.event.startswith("pre-"))
    for step in state.uninstall.steps:
        mark = PlannedChange.DELETE if step.action is Action.DELETE else PlannedChange.SAME
        yield PreviewLine(mark, str(step.ref), step.reason)
    yield from (_hook(step) for step in state.uninstall.hooks if not step.event.startswith("pre-"))


def _hook(step: Step) -> PreviewLine:
    return PreviewLine(PlannedChange.CREATE, str(step.ref), f"{step.event} hook: kymatui waits until it is done")


def _instances(some: Iterable[ManagedObject], words: str) -> Iterator[PreviewLine]:
    for managed_object in some:
        finalizers = tuple(f"  finalizer {name}" for name in managed_object.finalizers)
        yield PreviewLine(
            PlannedChange.DELETE,
            str(managed_object.ref),
            f"being deleted{managed_object.held}" if managed_object.deleted_at else words,
            finalizers,
        )

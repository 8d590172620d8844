"""Guided deletion as a stepper, a list of remaining objects, and a plan of the next steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.domain.kubernetes.durations import format_duration
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.kyma_keeper import with_keeper
from kymatui.domain.ownership import describe_objects
from kymatui.domain.plans.accepted_objects import summarize_names
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
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
from kymatui.ui.viewmodels.columns import Column
from kymatui.ui.viewmodels.display_text import as_screen_commands, shorten_path
from kymatui.ui.viewmodels.row_list import Cell, Row

COLUMNS = (
    Column("kind", "KIND", 12, flex=1),
    Column("namespace", "NAMESPACE", 10, flex=1, priority=1),
    Column("name", "NAME", 12, flex=2),
    Column("age", "AGE", 5, priority=2, right=True),
    Column("maker", "CREATED BY", 10, flex=1, priority=3),
    Column("blocks", "EFFECT", 20, flex=3),
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


def stage_lines(seen: DeletionState, *, accept_unknown: bool = False) -> list[tuple[str, str]]:
    """Return one line per stage with its tone: sign, number, title and details."""
    found = deletion_stages(seen, accept_unknown=accept_unknown)
    return [
        (
            f"{_SIGNS[one.progressed]} {number} {one.title}" + (f"  {sanitize(one.message)}" if one.message else ""),
            _TONES[one.progressed],
        )
        for number, one in enumerate(found, 1)
    ]


def deletion_rows(seen: DeletionState, now: float) -> list[Row]:
    """Return the remaining objects that the module's manager manages."""
    return [_row(one, now, seen) for one in (*seen.remaining.theirs, *seen.remaining.ours)]


def _row(one: ManagedObject, now: float, seen: DeletionState) -> Row:
    words, tone = describe_blocking(one, seen)
    cells = {
        "kind": Cell(sanitize(one.ref.kind.kind)),
        "namespace": Cell(sanitize(one.ref.namespace), "muted"),
        "name": Cell(sanitize(one.ref.name)),
        "age": Cell(
            format_duration(max(0.0, now - one.created)) if one.created is not None else "", "muted", since=one.created
        ),
        "maker": Cell(sanitize(one.maker), "muted"),
        "blocks": Cell(sanitize(words), tone),
    }
    return Row(_key(one), cells)


def _key(one: ManagedObject) -> str:
    return one.uid or str(one.ref)


def deletion_subject(seen: DeletionState, key: str) -> ObjectRef | None:
    """Return the object of a line."""
    return next((one.ref for one in seen.remaining.instances if _key(one) == key), None)


def full_row_text(seen: DeletionState, key: str | None) -> list[tuple[str, str]]:
    """Return what the list may clip of a row: the whole object, its creator and its meaning."""
    for one in seen.remaining.instances:
        if _key(one) == key:
            made = f", created by {sanitize(one.maker)}" if one.maker else ""
            return [
                (
                    f"{sanitize(str(one.ref))}{made}: {sanitize(describe_blocking(one, seen)[0])}",
                    "muted",
                )
            ]
    return []


def describe_blocking(one: ManagedObject, seen: DeletionState) -> tuple[str, str]:
    """Return what an object means for the deletion, with the tone."""
    if one.deleted_at is not None:
        return f"being deleted{one.held}", "deleting"
    if one.stays:
        return f"stays: {one.stay_reason}", "muted"
    if one.protection:
        return one.protection, "warning"
    if one.ours and not one.applied and seen.deletes_default:
        words = (
            "deleted before the module: the policy is Ignore" if seen.by_hand else "the default CR, left by the module"
        )
        return words, "warning"
    if one.ours:
        return "deleted with the module", "muted"
    of = f" (of the {one.owner})" if one.owner else ""
    held = f" (finalizers: {', '.join(one.finalizers)})" if one.finalizers else ""
    return f"blocks the deletion{of}{held}", "warning"


def deletion_notes(seen: DeletionState, *, accept_unknown: bool = False) -> list[tuple[str, str]]:
    """Return the notes to read before you continue, with tones; who must act comes first."""
    step = seen.next_step(accept_unknown=accept_unknown)
    said = [(f"Next (ctrl-d): {with_keeper(step.value, seen.keeper)}", "accent")]
    if seen.refusal:
        said = [(as_screen_commands(sanitize(seen.refusal)), "error" if step is NextStep.REFUSED else "ready")]
        if step is NextStep.GONE:
            said.append((f":restore {sanitize(seen.module)} restores its objects from a backup", "muted"))
    elif step is NextStep.FOLLOW:
        said = [(f"Waiting for {seen.keeper} to uninstall the module", "accent")]
    if seen.manifest is not None and seen.control:
        state = seen.reported_by_manifest or "has not reported"
        said.append((f"on {sanitize(seen.control)}: {sanitize(str(seen.manifest))} {sanitize(state)}", "muted"))
    if seen.stuck:
        said.append((f"Blocked by finalizers: {as_screen_commands(sanitize(explain_finalizers(seen)))}", "deleting"))
    for kind, reason in seen.remaining.unknown:
        agreed = "assumed to have no objects" if accept_unknown else "number of objects unknown"
        said.append((f"{kind}: {agreed} ({sanitize(reason)})", "warning"))
    if seen.advice:
        said.append((f"▲ {sanitize(seen.advice)}", "warning"))
    said += [(f"▲ {sanitize(text)}", "warning") for text in seen.foreseen]
    if seen.warning:
        said += [
            (f"▲ {sanitize(seen.warning)}", "warning"),
            (f"Option (w): {with_keeper(_WAYS[seen.way], seen.keeper)}", "accent"),
        ]
    return said


def remaining_title(seen: DeletionState, *, accept_unknown: bool) -> tuple[str, str]:
    """Return how many managed objects still exist, with its tone."""
    count, unknown = len(seen.theirs), seen.remaining.unknown
    left = f"{format_count(count, 'managed object')} still {'exists' if count == 1 else 'exist'}"
    text = left if count else "no managed objects remain"
    if unknown and not accept_unknown:
        text += f", and {format_count(len(unknown), 'kind')} cannot be listed"
    return text, "warning" if count or unknown else "ready"


def backup_line(keeps_backup: bool) -> tuple[str, str]:
    """Return whether deleted objects are saved, and the key that changes it."""
    return f"b backup: {'on, deleted objects are saved as YAML first' if keeps_backup else 'off'}", "muted"


def crd_line(seen: DeletionState, delete_crds: bool) -> list[tuple[str, str]]:
    """Return what becomes of the CRDs of a chart's folder crds/, and the key that changes it; none without any."""
    if seen.found is None or not seen.found.chart_crds:
        return []
    deleted = "deleted, unless they have objects or another installation has them"
    return [(f"r CRDs of the chart: {deleted if delete_crds else 'stay, as with helm'}", "muted")]


def next_way(seen: DeletionState, way: ModuleCRHandling) -> ModuleCRHandling:
    """Return the option after `way`."""
    offered = deletion_options(seen)
    return offered[(offered.index(way) + 1) % len(offered) if way in offered else 0]


def why_no_choice(seen: DeletionState | None, step: NextStep | None, what: object) -> str:
    """Return why there is no choice of the "way", "backup", "crds" or "unknown" kinds; "" where there is one."""
    if what == "crds":
        return "" if seen is not None and seen.found is not None and seen.found.chart_crds else "no CRDs of a chart"
    if what == "backup":
        return "already deleted" if step is NextStep.GONE else ""
    if what == "way":
        return "" if seen is not None and len(deletion_options(seen)) > 1 else "no other option"
    return "" if seen is not None and seen.remaining.unknown else "all kinds can be listed"


def preview_deletion(seen: DeletionState, *, accept_unknown: bool, backup: str) -> Preview:
    """Return the preview of all remaining steps of the deletion."""
    step = seen.next_step(accept_unknown=accept_unknown)
    unmanages = step is NextStep.UNMANAGE
    title = f"{'unmanage' if unmanages else 'delete'} {seen.module} {seen.installed}".strip()
    return Preview(
        title,
        lines=tuple(_lines(seen, step)),
        management=f"{seen.managed_by_words[:1].upper()}{seen.managed_by_words[1:]}",
        refusals=tuple(_refusals(seen, step)),
        warnings=tuple(_warnings(seen, unmanages, backup)),
        missing=tuple(map(str, seen.missing)),
        consents=tuple(_consents(seen, unmanages)),
        question=f"{title[:1].upper()}{title[1:]}?",
        editable=True,
    )


def _refusals(seen: DeletionState, step: NextStep) -> Iterator[str]:
    if step in (NextStep.REFUSED, NextStep.GONE):
        yield seen.refusal or f"{seen.module} is deleted completely"
    if step is NextStep.UNKNOWN:
        yield "the kinds that you cannot list may have objects; press u to assume that they have none"


def _warnings(seen: DeletionState, unmanages: bool, backup: str) -> Iterator[str]:
    if unmanages:
        yield f"{seen.keeper} stops updates and repairs; nothing is deleted"
        return
    if seen.warning:
        yield f"{seen.warning}. Selected: {with_keeper(_WAYS[seen.way], seen.keeper)}"
    if seen.advice:
        yield seen.advice
    yield from seen.foreseen
    if not seen.refusal:
        yield (
            f"deleted objects are saved first to {shorten_path(backup)}"
            if backup
            else "no backup: deleted objects are not saved"
        )
    staying = [one for one in seen.remaining.instances if one.stays]
    for reason in dict.fromkeys(one.stay_reason for one in staying):
        some = [one.ref for one in staying if one.stay_reason == reason]
        yield f"{summarize_names(some)} {'stays' if len(some) == 1 else 'stay'}: {reason}"


def _consents(seen: DeletionState, unmanages: bool) -> Iterator[Consent]:
    if unmanages:
        return
    theirs = [one for one in seen.theirs if one.deleted_at is None]
    if theirs:
        yield Consent("cascade", f"delete {describe_objects(one.owned for one in theirs)}")
    yield Consent("name", "delete it", typed=seen.module)


def _lines(seen: DeletionState, following: NextStep) -> Iterator[PreviewLine]:
    if following is NextStep.UNMANAGE:
        yield PreviewLine(PlannedChange.CHANGE, f"Kyma: module {seen.module}", "managed: false")
        return
    yield from _instances(seen.theirs, "deleted first")
    if seen.managed_by is ManagedBy.KYMA:
        if seen.way is ModuleCRHandling.IGNORE and not seen.by_hand and seen.default is not None:
            policy = "customResourcePolicy: Ignore"
            yield PreviewLine(PlannedChange.CHANGE, f"Kyma: module {seen.module}", policy, counts_as="")
            yield PreviewLine(PlannedChange.DELETE, str(seen.default.ref), "deleted by kymatui")
        elif seen.default is not None and not seen.by_hand:
            yield PreviewLine(PlannedChange.DELETE, str(seen.default.ref), f"deleted by {seen.keeper}")
        yield from _instances(
            [one for one in seen.remaining.ours if one.applied], f"deleted by {seen.keeper} (part of the manifest)"
        )
        yield PreviewLine(PlannedChange.CHANGE, f"Kyma: module {seen.module}", "entry removed")
        yield PreviewLine(
            PlannedChange.DELETE,
            str(seen.manager) if seen.manager is not None else f"module {seen.module}",
            f"deleted by {seen.keeper}, with the module's objects",
            counts_as="uninstall",
        )
        if seen.manifest is not None and seen.control:
            yield PreviewLine(
                PlannedChange.DELETE,
                f"{seen.manifest} on {seen.control}",
                f"deleted by {seen.keeper} at the end",
                counts_as="",
            )
        return
    if seen.manifest is not None:
        yield PreviewLine(PlannedChange.DELETE, str(seen.manifest), "its controller deletes the module's objects")
    yield from _instances(seen.remaining.ours if not seen.deletes_default else (), "created by the module")
    if seen.found is None:
        return
    yield from (_hook(step) for step in seen.found.hooks if step.event.startswith("pre-"))
    for step in seen.found.steps:
        mark = PlannedChange.DELETE if step.action is Action.DELETE else PlannedChange.SAME
        yield PreviewLine(mark, str(step.ref), step.reason)
    yield from (_hook(step) for step in seen.found.hooks if not step.event.startswith("pre-"))


def _hook(step: Step) -> PreviewLine:
    return PreviewLine(PlannedChange.CREATE, str(step.ref), f"{step.event} hook: kymatui waits until it is done")


def _instances(some: Iterable[ManagedObject], words: str) -> Iterator[PreviewLine]:
    for one in some:
        finalizers = tuple(f"  finalizer {name}" for name in one.finalizers)
        yield PreviewLine(
            PlannedChange.DELETE, str(one.ref), f"being deleted{one.held}" if one.deleted_at else words, finalizers
        )

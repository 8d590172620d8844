"""Guided deletion from the screen: the plan, the job, and finalizers as a last resort."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from kymatui.actions.delete import Deletion, DeletionItem, RunControls, deletion_item, plan_deletions
from kymatui.actions.edits.session_deletions import SessionDeletions
from kymatui.actions.finalizers import BlockedObject, blocked_objects, remove_finalizer, require_runtime
from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.actions.plans import DeletionPlan, DeletionRequest
from kymatui.domain.gitops import joined_changes
from kymatui.domain.installed import is_deleted_elsewhere
from kymatui.domain.kubernetes.terminal_text import format_count, name_or_count, with_subject
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.jobs import JobPurpose, module_key
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine, git_option, join_previews
from kymatui.engine.deletion.deletion_state import NextStep
from kymatui.errors import KymatuiError, RefusedError
from kymatui.ui.connection.cluster_link import ConnectionLink
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job, with_durations
from kymatui.ui.flows.deletion_reader import DeletionChoices, delete_action
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.presenters.plans.deletion_stages import preview_deletion
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

STAYS = "deleted objects stay deleted; the module's manager and the other objects stay; delete again to continue"

_QUEUE = "the deletion queue"
_BACKUP_MARK = "<backup>"
_ALONE = "delete it alone (ctrl-d) to decide"


async def start_deletion(app: FlowApp, names: Sequence[str]) -> None:
    """Open the stepper of one module, or one plan of several."""
    if owner := _other_owner(app, names):
        raise RefusedError(owner, unchanged=True)
    await (open_deletion(app, names[0]) if len(names) == 1 else delete_modules(app, names))


async def open_deletion(app: FlowApp, module: str) -> None:
    app.ways.open(ScreenStep("delete", module))


def why_not_installed(app: FlowApp, names: Sequence[str]) -> str:
    """Return why there is nothing to delete; "" where there is."""
    rows = [app.catalog.row(name) for name in names] if app.catalog is not None else []
    gone = all(row is not None and row.presence is Presence.NOT_INSTALLED for row in rows)
    is_recorded = any(row is not None and is_deleted_elsewhere(row.run) for row in rows)
    return "not installed" if rows and gone and not is_recorded else _other_owner(app, names)


def _other_owner(app: FlowApp, names: Sequence[str]) -> str:
    """Return which other tool has one of these Helm releases, "" for none: it would undo or miss what kymatui does."""
    releases = {row.name: row for row in app.catalog.releases} if app.catalog is not None else {}
    return next((f"{releases[name].installed_by} manages it" for name in names if name in releases), "")


async def delete_module(app: FlowApp, choices: DeletionChoices) -> None:
    """Display the plan of the remaining deletion and start it once it is accepted."""
    deletions = delete_action(app)
    request = _request(app, deletions, choices.module)
    request = replace(
        request, handling=choices.handling, accept_unknown=choices.accept_unknown, delete_crds=choices.delete_crds
    )
    if not choices.keeps_backup:
        request = replace(request, backup=None)
    plans = await app.jobs.in_thread(lambda: plan_deletions(deletions, [request]))
    backup = str(request.backup) if request.backup is not None else ""
    shown = preview_deletion(plans[0].state, accept_unknown=choices.accept_unknown, backup=backup)
    await _accepted(app, deletions, plans, shown)


async def delete_modules(app: FlowApp, names: Sequence[str]) -> None:
    """Display one plan of several deletions and start a job for each once accepted; the jobs queue."""
    deletions = delete_action(app)
    plans, left_out = await app.jobs.in_thread(lambda: _planned(app, deletions, names))
    if not plans:
        raise RefusedError("; ".join(left_out), unchanged=True)
    parts = {plan.module: preview_deletion(plan.state, accept_unknown=False, backup=_BACKUP_MARK) for plan in plans}
    assert plans[0].request.backup is not None
    await _accepted(app, deletions, plans, _joined(parts, left_out, str(plans[0].request.backup.parent)))


def _request(app: FlowApp, deletions: SessionDeletions, name: str) -> DeletionRequest:
    backup = deletions.backup_path(name, app.clock())
    return DeletionRequest(name, backup=backup, timeout=float("inf"))


def _planned(app: FlowApp, deletions: SessionDeletions, names: Sequence[str]) -> tuple[list[DeletionPlan], list[str]]:
    """Return the deletions that are possible and the reasons for the others."""
    plans, left_out = [], []
    for name in names:
        try:
            (plan,) = plan_deletions(deletions, [_request(app, deletions, name)])
        except KymatuiError as error:
            left_out.append(f"{name}: {error}")
            continue
        if plan.next_step in (NextStep.GONE, NextStep.REFUSED):
            left_out.append(with_subject(name, plan.state.refusal or "already deleted"))
        elif plan.next_step is NextStep.UNKNOWN:
            left_out.append(f"{name}: some kinds cannot be listed, so remaining objects are unknown; {_ALONE}")
        else:
            plans.append(plan)
    if len(plans) > 1:  # what one deletes keeps nothing of the others
        plans = [*plan_deletions(deletions, [plan.request for plan in plans])]
    return plans, left_out


def _joined(parts: dict[str, Preview], left_out: Sequence[str], folder: str) -> Preview:
    """Join the plans with one typed word; user-created objects need a consent for each module."""
    names, count = ", ".join(parts), name_or_count(list(parts), "module")
    preview = join_previews(f"delete {count}", parts, left_out)
    ticks = tuple(consent for consent in preview.consents if not consent.typed)
    order = ", one after the other" if len(parts) > 1 else ""
    typed = Consent("names", f"delete {names}{order}", typed=count)
    kept = f"deleted objects are saved first, one backup per module, in {folder}"
    warnings = (*(warning for warning in preview.warnings if _BACKUP_MARK not in warning), kept)
    return replace(preview, consents=(*ticks, typed), warnings=warnings)


async def _accepted(app: FlowApp, deletions: SessionDeletions, plans: Sequence[DeletionPlan], shown: Preview) -> None:
    """Ask once for all deletions and start a job for each."""
    answer = await app.push_screen_wait(PlanScreen(await with_durations(app, shown, joined_changes(plans))))
    if not answer.is_yes:
        return
    for plan in plans:
        agreed = not answer.consents.isdisjoint({"cascade", f"cascade {plan.module}"})
        keeps = {module_key(plan.module), *({_QUEUE} if len(plans) > 1 else ())}
        start_deletion_job(
            app, deletions, replace(plan, request=replace(plan.request, cascade=agreed)), frozenset(keeps)
        )


def start_deletion_job(app: FlowApp, deletions: SessionDeletions, plan: DeletionPlan, keeps: frozenset[str]) -> None:
    """Start the job, which edits the Kyma only for a moment and so leaves it free for other jobs."""
    run = partial(run_deletion_job, deletions, plan, app.view.link)
    purpose = JobPurpose("delete", (plan.module,), {**_options(plan.request), **git_option(plan.git)})
    work = JobSpec(f"delete {plan.module}", run, plan.module, keeps, stays=STAYS, purpose=purpose)
    app.jobs.start(work, partial(open_deletion, app, plan.module))


def _options(request: DeletionRequest) -> dict[str, str]:
    """Return what the user chose, for the journal."""
    flags = {"cascade": request.cascade, "accept_unknown": request.accept_unknown, "no_backup": request.backup is None}
    return {"way": request.handling.value, **{name: "true" for name, value in flags.items() if value}}


def run_deletion_job(
    deletions: SessionDeletions, plan: DeletionPlan, link: ConnectionLink[Any], report: JobReport
) -> str:
    """Delete the module in the thread of its job."""

    def turned(step: NextStep) -> None:
        report.step(step.value)

    with link.listening() as changed:
        verb = Deletion(deletions, RunControls(report.progress, changed=changed, turned=turned))
        return run_batch_job([deletion_item(plan)], verb, report, _result_line)


def _result_line(item: DeletionItem) -> str:
    ended = item.result
    assert ended is not None
    kept = f"; not deleted: {', '.join(f'{ref} ({reason})' for ref, reason in ended.kept)}" if ended.kept else ""
    return f"{ended.message or f'{item.name} is deleted'}, {format_count(len(ended.gone), 'object')} deleted{kept}"


# the last resort


async def remove_one_finalizer(app: FlowApp, module: str) -> None:
    """Remove one finalizer of one object once its name is typed; never the default, never several."""
    deletions = delete_action(app)
    state = await app.jobs.in_thread(lambda: deletions.read_state(module))
    if app.catalog is not None:
        require_runtime(app.catalog, state)
    blocked = await app.jobs.in_thread(lambda: blocked_objects(state, deletions.cluster, deletions.manifests_on))
    if not blocked:
        app.problem(f"no object of {module} is blocked by finalizers")
        return
    chosen = await app.push_screen_wait(ChoiceScreen("Last resort: remove a finalizer", [_question(blocked)]))
    if chosen is None:
        return
    number, _, finalizer = chosen["finalizer"].partition(" ")
    chosen_object = blocked[int(number)]
    answer = await app.push_screen_wait(PlanScreen(_last_resort(chosen_object, finalizer)))
    if answer.is_yes:
        gone = await app.jobs.in_thread(lambda: remove_finalizer(chosen_object, finalizer, chosen_object.typed))
        app.notify(f"{chosen_object.ref} {'is deleted' if gone else 'is still blocked by other finalizers'}")


def _question(blocked: tuple[BlockedObject, ...]) -> Question:
    options = tuple(
        ChoiceOption(f"{number} {name}", str(blocked_object.ref), f"{name} (set by {owner or 'unknown'})")
        for number, blocked_object in enumerate(blocked)
        for name, owner in blocked_object.finalizers
    )
    return Question("finalizer", "object", options, options[0].value)


def _last_resort(blocked_object: BlockedObject, finalizer: str) -> Preview:
    return Preview(
        f"last resort: remove {finalizer} from {blocked_object.ref}",
        lines=(
            PreviewLine(PlannedChange.DELETE, f"{blocked_object.ref}", f"finalizer {finalizer}", (f"- {finalizer}",)),
        ),
        warnings=(
            blocked_object.expected,
            "the object is deleted without its finalizer's cleanup; related resources elsewhere may stay",
        ),
        consents=(Consent("name", "remove the finalizer without its cleanup", typed=blocked_object.typed),),
        question=f"Remove {finalizer} from {blocked_object.ref}?",
    )

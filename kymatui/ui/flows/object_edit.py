"""A module CR, or the Kyma, in the user's editor: the screen makes room, and what comes back is a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from textual.app import SuspendNotSupported

from kymatui.actions.edits.object_edit import (
    ObjectEdit,
    ObjectEditing,
    ObjectItem,
    editable_fields,
    object_item,
    plan_object,
    require_right,
)
from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.actions.session import Session
from kymatui.adapters.files.object_editor import edit_in_editor
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma_edit.module_edit import require_kyma
from kymatui.domain.plans.jobs import KYMA_KEY, module_key
from kymatui.domain.plans.plan_preview import PlannedChange, Preview, PreviewLine, git_consents
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.plans.plan import state_digest
from kymatui.errors import ConfigurationError, NotFoundError
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job, with_durations
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.job_controller import JobRestart
from kymatui.ui.presenters.plans.install_preview import changed_fields
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

Object = dict[str, Any]
KYMA = "kyma"
"""What `:edit` calls the Kyma."""
_STEP = "write the object"


def why_not_editable(app: FlowApp, names: Sequence[str]) -> str:
    """Return why the module CR of a module cannot be edited; "" where it can."""
    row = app.catalog.row(names[0]) if app.catalog is not None and names else None
    if off := app.why_no_writes:
        return off
    if row is not None and (row.checked or row.new_cr is not None):
        return ""
    return "module CRs unknown" if row is not None and RowFact.CHECKS in row.unknown else "no module CR"


async def edit_object(app: FlowApp, module: str) -> None:
    """Run the flow from the choice of a module CR, or with "" of the Kyma, to the job."""
    session = app.writing_session
    row = app.catalog.row(module) if module and app.catalog is not None else None
    initial = row.new_cr if row is not None else None
    refs = _kymas(app) if not module else _module_crs(app, module) if initial is None else [read_ref(initial)]
    ref = await _chosen(app, refs)
    if ref is None:
        return
    cluster, body = await app.jobs.in_thread(partial(_read, session, ref, is_new=initial is not None))
    edit = _in_editor(app, cluster, body if initial is None else None, initial or body, module or "--kyma")
    if edit is None or not edit.changes:
        app.notify(sanitize(f"{ref}: no changes"), timeout=3)
        return
    shown = await with_durations(app, preview_object_edit(edit, str(app.view.management or "")), edit.git)
    plan = PlanScreen(shown, partial(outdated_edit, app, edit))
    if (await app.push_screen_wait(plan)).is_yes:
        keeps = frozenset({module_key(module) if module else KYMA_KEY})
        start_object_job(app, cluster, object_item(module, edit), keeps, partial(edit_object, app, module))


def _module_crs(app: FlowApp, module: str) -> list[ObjectRef]:
    row = app.catalog.row(module) if app.catalog is not None else None
    if row is not None and not row.checked and (why := row.unknown.get(RowFact.CHECKS)) is not None:
        raise ConfigurationError(
            f"the module CRs of {module} are unknown: {why.reason}", hint="ctrl-r reads them again"
        )
    if row is None or not row.checked:
        raise NotFoundError(f"{module} has no module CR to edit", hint="enter opens what it has", status=404)
    return [resource.resource for resource in row.checked]


def _kymas(app: FlowApp) -> list[ObjectRef]:
    refs = [read_ref(raw) for raw in app.view.kymas]
    if refs:
        return refs
    assert app.catalog is not None, "a command waits for the catalog"
    return [require_kyma(app.catalog)]


async def _chosen(app: FlowApp, refs: Sequence[ObjectRef]) -> ObjectRef | None:
    """Return the only object, else the one that the user chooses."""
    if len(refs) == 1:
        return refs[0]
    by_name = {f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name: ref for ref in refs}
    question = Question("object", refs[0].kind.kind, tuple(ChoiceOption(name, name) for name in by_name))
    chosen = await app.push_screen_wait(ChoiceScreen(f"Edit which {refs[0].kind.kind}?", [question]))
    return by_name[chosen["object"]] if chosen is not None else None


def _read(session: Session, ref: ObjectRef, *, is_new: bool) -> tuple[Cluster, Object]:
    """Return the cluster and the object as it is now, empty if it is to be created.

    Raise ForbiddenError before anything is rewritten in vain.
    """
    cluster = session.cluster
    body = {} if is_new else cluster.get(ref)
    if body is None:
        raise NotFoundError(f"{ref} no longer exists", status=404)
    require_right(cluster, ref, is_new=is_new)
    return cluster, body


def _in_editor(
    app: FlowApp, cluster: Cluster, body: Mapping[str, Any] | None, initial: Mapping[str, Any], word: str
) -> ObjectEdit | None:
    """Return the edit that the server accepts, None without one; the editor has the terminal meanwhile.

    Without `body` it creates the object, which is `initial` at first.
    """

    shown = initial if body is None else editable_fields(body)
    plan = partial(plan_object, cluster, body, initial)
    try:
        with app.suspend():
            return edit_in_editor(shown, read_ref(initial).name, plan, is_new=body is None)
    except SuspendNotSupported:
        hint = f"run `kymatui edit {word}` for this cluster in another terminal"
        raise ConfigurationError("this terminal cannot run an editor", hint=hint) from None


def outdated_edit(app: FlowApp, edit: ObjectEdit) -> str:
    """Return why the plan is outdated: another client changed the object, as far as it is watched."""
    live = next((raw for raw in app.view.kymas if read_ref(raw) == edit.ref), None)
    live = live if live is not None else app.view.locations.whole(edit.ref)
    if edit.before is None:
        return f"{edit.ref} exists by now" if live is not None else ""
    if live is not None and state_digest(live) != state_digest(edit.before):
        return f"another client changed {edit.ref}"
    return ""


def start_object_job(
    app: FlowApp, cluster: Cluster, item: ObjectItem, keeps: frozenset[str], again: JobRestart
) -> None:
    """Start the write of an accepted edit of a module; `keeps` are the keys that no other job may hold."""
    edit = item.required_plan

    def run(report: JobReport) -> str:
        done = f"{edit.ref} {edit.verb}d"
        return run_batch_job([item], ObjectEditing(cluster), report, lambda _: done, lambda _: _STEP)

    app.jobs.start(JobSpec(object_edit_title(edit), run, item.name, keeps, (_STEP,)), again)


# Preview of one object that the user rewrote.


def object_edit_title(edit: ObjectEdit) -> str:
    """Return a title such as `edit Serverless kyma-system/default`."""
    return f"{'create' if edit.before is None else 'edit'} {edit.ref}"


def preview_object_edit(edit: ObjectEdit, management: str = "") -> Preview:
    """Return the fields that the server's dry run changed."""
    change = PlannedChange.CREATE if edit.before is None else PlannedChange.CHANGE
    line = PreviewLine(change, str(edit.ref), "", tuple(changed_fields(edit.changes)))
    return Preview(
        object_edit_title(edit),
        (line,),
        management,
        warnings=edit.warnings,
        consents=tuple(git_consents(edit.git)),
        question=f"{edit.verb.capitalize()} {edit.ref}?",
    )

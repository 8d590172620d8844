"""The restart of managers, or of the workload or Pod under the cursor, and the end of a pause: a plan, and one job."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from kymatui.actions.batch import Verb
from kymatui.actions.edits.object_edit import Object, ObjectEdit, ObjectItem
from kymatui.actions.edits.restart import Restart, Restarting, plan_restarts, require_restart_right, restartable
from kymatui.actions.edits.unpause import (
    Unpausing,
    pausing_objects,
    plan_unpause,
    plan_unpause_kyma,
    require_unpause_right,
)
from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import name_or_count, with_subject
from kymatui.domain.logs.log_sources import log_roots
from kymatui.domain.plans.jobs import KYMA_KEY, module_key
from kymatui.domain.plans.plan_preview import PlannedChange, Preview, PreviewLine, git_consents
from kymatui.domain.rights import role_hint
from kymatui.engine.jobs.run import Progress
from kymatui.errors import RefusedError
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job, with_durations
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.job_controller import JobRestart
from kymatui.ui.flows.object_edit import outdated_edit
from kymatui.ui.presenters.plans.install_preview import changed_fields

_STEP = "restart and wait for the new Pods"
_SECONDS: Final = 300.0  # of the wait for the new Pods


def _managers(app: FlowApp, names: Sequence[str]) -> dict[str, tuple[ObjectRef, ...]]:
    rows = [row for name in names if app.catalog is not None and (row := app.catalog.row(name)) is not None]
    workloads = {row.name: restartable(log_roots(row, app.view.locations)) for row in rows}
    return {name: refs for name, refs in workloads.items() if refs}


def why_not_restartable(app: FlowApp, names: Sequence[str]) -> str:
    """Return why no manager can be restarted; "" where one can."""
    return app.why_no_writes or ("" if _managers(app, names) else "no manager")


async def restart_managers(app: FlowApp, names: Sequence[str]) -> None:
    """Run the flow from the plan to the job for the managers of modules."""
    workloads = _managers(app, names)
    if why := why_not_restartable(app, names):
        raise RefusedError(with_subject(name_or_count(names, "module"), why), unchanged=True)
    left_out = [with_subject(name, "no manager") for name in names if name not in workloads]
    await _restart(app, workloads, left_out, partial(restart_managers, app, names))


async def restart_object(app: FlowApp, module: str, ref: ObjectRef) -> None:
    """Run the flow from the plan to the job for one workload or Pod."""
    await _restart(app, {module: (ref,)}, (), partial(restart_object, app, module, ref))


async def _restart(
    app: FlowApp, workloads: Mapping[str, Sequence[ObjectRef]], left_out: Sequence[str], again: JobRestart
) -> None:
    cluster = app.writing_session.cluster

    def plan() -> list[ObjectItem]:
        items = plan_restarts(cluster, workloads, time.time())
        for item in items:
            if item.is_pending:
                require_restart_right(cluster, item.required_plan, role_hint("restart", item.name))
        return items

    items = await app.jobs.in_thread(plan)
    verb = partial(Restarting, cluster, _SECONDS)
    await run_object_plan(app, items, "restart", verb, again, left_out=left_out, note=_consequence, step=_STEP)


def _consequence(item: ObjectItem) -> str:
    return item.plan.consequence if isinstance(item.plan, Restart) else ""


async def run_object_plan(
    app: FlowApp,
    items: Sequence[ObjectItem],
    word: str,
    verb: Callable[[Callable[[Progress], None]], Verb[ObjectEdit, Object]],
    again: JobRestart,
    *,
    left_out: Sequence[str] = (),
    note: Callable[[ObjectItem], str] = lambda item: "",
    step: str = "write the objects",
) -> None:
    """Display planned edits of objects, and run them in one job once they are accepted.

    word   the verb of the title and of the result, with `ed` at its end: "restart"
    note   what an edit does, in one line
    """
    pending = [item for item in items if item.is_pending]
    left_out = [*left_out, *(str(item.refusal or f"{item.name}: no changes") for item in items if not item.is_pending)]
    if not pending:
        raise RefusedError("; ".join(left_out), unchanged=True)
    edits = [item.required_plan for item in pending]
    title, changes = f"{word} {', '.join(dict.fromkeys(str(edit.ref) for edit in edits))}", joined_changes(edits)
    preview = Preview(
        title,
        tuple(_line(item, note(item)) for item in pending),
        warnings=tuple(f"not included: {text}" for text in left_out),
        consents=tuple(git_consents(changes)),
        overview=f"{len(pending)} to {word}",
        question=f"{word.capitalize()} {name_or_count([edit.ref.name for edit in edits], 'object')}?",
    )
    plan = PlanScreen(
        await with_durations(app, preview, changes),
        lambda: "; ".join(filter(None, (outdated_edit(app, edit) for edit in edits))),
    )
    if not (await app.push_screen_wait(plan)).is_yes:
        return
    names = list(dict.fromkeys(item.name for item in pending))

    def run(report: JobReport) -> str:
        done = partial(_done, f"{word.removesuffix('e')}ed")
        return run_batch_job(pending, verb(report.progress), report, done, lambda _: step)

    app.jobs.start(JobSpec(title, run, ", ".join(names), frozenset(map(_job_key, pending)), (step,)), again)


def _job_key(item: ObjectItem) -> str:
    return KYMA_KEY if item.required_plan.ref.kind.kind == "Kyma" else module_key(item.name)


def _done(word: str, item: ObjectItem) -> str:
    return f"{item.required_plan.ref} {word}"


def _line(item: ObjectItem, note: str) -> PreviewLine:
    edit = item.required_plan
    mark = PlannedChange.DELETE if edit.verb == "delete" else PlannedChange.CHANGE
    return PreviewLine(mark, str(edit.ref), note, () if note else tuple(changed_fields(edit.changes)))


async def unpause(app: FlowApp, names: Sequence[str]) -> None:
    """Run the flow from the plan to the job for what pauses modules, or with none of the Kyma."""
    session, catalog = app.writing_session, app.catalog
    assert catalog is not None, "a command waits for the catalog"
    is_kyma = not names
    rows = [row for name in names if (row := catalog.row(name)) is not None]

    def plan() -> list[ObjectItem]:
        items = plan_unpause_kyma(session, catalog) if is_kyma else plan_unpause(session, rows)
        for item in items:
            if item.is_pending:
                hint = role_hint("unpause", "--kyma" if is_kyma else item.name)
                require_unpause_right(session, item.required_plan.ref, hint)
        return items

    items = await app.jobs.in_thread(plan)
    planned = {item.name for item in items} | {item.plan.ref for item in items if item.plan is not None}
    idle = ["the Kyma"] if is_kyma and not items else []
    idle += [row.name for row in rows if not planned.intersection((row.name, *pausing_objects(row)))]
    left_out = [with_subject(name, "not paused") for name in idle]
    again = partial(unpause, app, names)
    await run_object_plan(app, items, "unpause", lambda _: Unpausing(session), again, left_out=left_out)

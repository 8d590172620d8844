"""The restart of a module's manager, or of the workload or Pod under the cursor: a plan, and one job."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from kymatui.actions.edits.object_edit import ObjectItem
from kymatui.actions.edits.restart import Restart, Restarting, plan_restarts, require_restart_right, restartable
from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import name_or_count, with_subject
from kymatui.domain.logs.log_sources import log_roots
from kymatui.domain.plans.jobs import module_key
from kymatui.domain.plans.plan_preview import PlannedChange, Preview, PreviewLine
from kymatui.domain.rights import role_hint
from kymatui.errors import RefusedError
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.job_controller import JobRestart

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
        now = time.time()
        items = [item for name, refs in workloads.items() for item in plan_restarts(cluster, name, refs, now)]
        for item in items:
            if item.is_pending:
                require_restart_right(cluster, item.required_plan, role_hint("restart", item.name))
        return items

    items = await app.jobs.in_thread(plan)
    pending = [item for item in items if item.is_pending]
    left_out = [*left_out, *(str(item.refusal or f"{item.name}: no changes") for item in items if not item.is_pending)]
    if not pending:
        raise RefusedError("; ".join(left_out), unchanged=True)
    title = f"restart {', '.join(dict.fromkeys(str(item.required_plan.ref) for item in pending))}"
    lines = (PreviewLine(_mark(item), str(item.required_plan.ref), _consequence(item)) for item in pending)
    shown = Preview(
        title,
        tuple(lines),
        warnings=tuple(f"not included: {text}" for text in left_out),
        overview=f"{len(pending)} to restart",
        question=f"Restart {name_or_count([item.required_plan.ref.name for item in pending], 'workload')}?",
    )
    if (await app.push_screen_wait(PlanScreen(shown))).is_yes:
        names = list(dict.fromkeys(item.name for item in pending))

        def run(report: JobReport) -> str:
            verb = Restarting(cluster, _SECONDS, report.progress)
            return run_batch_job(
                pending, verb, report, lambda item: f"{item.required_plan.ref} restarted", lambda _: _STEP
            )

        keeps = frozenset(map(module_key, names))
        app.jobs.start(JobSpec(title, run, ", ".join(names), keeps, (_STEP,)), again)


def _mark(item: ObjectItem) -> PlannedChange:
    return PlannedChange.DELETE if item.required_plan.verb == "delete" else PlannedChange.CHANGE


def _consequence(item: ObjectItem) -> str:
    return item.plan.consequence if isinstance(item.plan, Restart) else ""

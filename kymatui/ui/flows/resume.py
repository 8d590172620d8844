"""Interrupted jobs on the screen: reported at start, listed, and resumed on request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

from kymatui.adapters.files.job_journals import interrupted
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma_edit.label_edit import LABELS
from kymatui.domain.kyma_edit.module_edit import EditVerb
from kymatui.domain.plans.jobs import VALUES_LEFT_OUT
from kymatui.engine.cluster.ports import Cluster, name_cluster
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.errors import RefusedError
from kymatui.ui.flows.flow_app import FleetFlowApp, FlowApp
from kymatui.ui.flows.job_controller import read_interrupted
from kymatui.ui.navigation.command_table import unknown_name

_SECONDS = 30.0
"""Seconds for which it is displayed what was interrupted: after a start people look at the list first."""


async def report_interrupted(app: FlowApp) -> None:
    """Report the interrupted jobs on the displayed cluster."""
    await read_interrupted(app, app.jobs)
    for record in app.jobs.interrupted:
        app.problem(sanitize(f"{_describe(record)}; type `:resume {record.number}` to continue"), seconds=_SECONDS)


async def report_runtimes(app: FlowApp, control: Cluster) -> None:
    """Report the runtimes of a control plane with interrupted jobs."""
    for name in await app.jobs.in_thread(lambda: _interrupted_runtimes(control)):
        app.problem(sanitize(f"a job on runtime {name} was interrupted; open the runtime (enter) to resume it"))


def _interrupted_runtimes(control: Cluster) -> tuple[str, ...]:
    """Return the runtimes with interrupted jobs; the control plane is asked only if this machine has any job."""
    records = interrupted()
    if not records:
        return ()
    named = name_cluster(control)
    return tuple(dict.fromkeys(record.cluster.runtime for record in records if record.cluster.is_runtime_of(named)))


def _describe(record: JobRecord) -> str:
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(record.began))
    steps = record.describe(record.unfinished)
    where = f" at: {', '.join(steps[:3])}" if steps else ""
    return f"\u201c{record.title}\u201d, started {moment}, was interrupted{where}"


async def resume_job(app: FlowApp, words: Sequence[str]) -> None:
    """Plan an interrupted job again, or follow it again; completed steps are skipped."""
    await read_interrupted(app, app.jobs)
    records = app.jobs.interrupted
    word = " ".join(words)
    matching = [
        record
        for record in records
        if word in ("", record.number, *record.heading.modules, " ".join(record.heading.modules))
    ]
    if not records:
        app.problem("no interrupted job on this cluster")
    elif not matching:
        known = [name for record in records for name in (record.number, *record.heading.modules)]
        app.problem(unknown_name("interrupted job", word, known, "resume JOB"))
    elif len(matching) > 1:
        listed = ", ".join(f"{record.number} ({record.title})" for record in matching)
        app.problem(sanitize(f"{len(matching)} interrupted jobs: {listed}; type `:resume JOB`, or open the jobs (J)"))
    else:
        await resume_record(app, matching[0])


async def resume_record(app: FlowApp, record: JobRecord) -> None:
    """Run the flow that leads to the job again; its plan has what is left."""
    from kymatui.ui.flows import campaign, deletion, direct_install, kyma_edit, manifest, restore

    heading = record.heading
    modules, options = heading.modules, heading.options
    if record.is_fleet:
        await campaign.resume_campaign(cast("FleetFlowApp", app), record)
        return
    match heading.kind:
        case "delete":
            await deletion.start_deletion(app, modules)
        case kind if kind in set(EditVerb):
            await kyma_edit.resume_edit(app, EditVerb(kind), modules, options)
        case "label":
            for word in options.get("labels", "").split():
                name = word.partition("=")[0].removesuffix("-")
                await kyma_edit.edit_labels(app, name if name in LABELS else "beta", word.endswith("=true"))
        case "adopt":
            await direct_install.adopt(app, modules)
        case "manifest":
            await manifest.start_manifest_job(app, modules)
        case "restore":
            await restore.resume_restore(app, {"file": "".join(modules[:1]), **options})
        case "finalizers":
            await deletion.remove_one_finalizer(app, modules[0])
        case "install" | "upgrade" if options.keys() <= _INSTALL_OPTIONS:
            await direct_install.resume_install(app, heading.kind, modules, options)
        case _:
            hint = f"run `{record.resume_command}` in a terminal"
            raise RefusedError(f"the screen does not continue \u201c{record.title}\u201d", hint=hint)


_INSTALL_OPTIONS = frozenset(
    {
        *("file", "kustomize", "chart", "repo", "version", "namespace", "policy", VALUES_LEFT_OUT, "values"),
        *("template", "all", "direct", "allow_downgrade", "force", "override_gitops"),
    }
)
"""Options that the screen reads, always has, or asks for; with others the terminal continues."""

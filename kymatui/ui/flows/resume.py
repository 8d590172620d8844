"""Unfinished jobs of earlier runs: reported at start, resumed on request."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.adapters.files.campaign_journal import interrupted_campaigns
from kymatui.adapters.files.interrupted_runs import InterruptedRun, interrupted_runs, runtimes_with_interrupted_runs
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma_edit.module_edit import EditVerb
from kymatui.ui.navigation.command_table import unknown_name

if TYPE_CHECKING:
    from kymatui.ui.flows.flow_app import FlowApp


_TOLD = 30.0
"""Seconds for which it stands there what was cut off: whoever has just started looks at the list first."""


async def look_back(app: FlowApp, context: str) -> None:
    """Report the interrupted jobs on this cluster."""
    for one in await app.jobs.in_thread(lambda: interrupted_runs(context)):
        app.problem(sanitize(f"{_describe(one)}; type `:resume {one.name}` to continue"), seconds=_TOLD)


async def look_around(app: FlowApp, control: str) -> None:
    """Report interrupted jobs on the runtimes of a control plane, and interrupted campaigns."""
    for edit in await app.jobs.in_thread(lambda: interrupted_campaigns(control)):
        names = ", ".join(name.rpartition("/")[2] for name in edit.runtimes[:3])
        more = f" and {len(edit.runtimes) - 3} more" if len(edit.runtimes) > 3 else ""
        app.problem(
            sanitize(
                f"“{edit.verb} {edit.module}” on several runtimes was interrupted at {names}{more}; "
                "mark the runtimes (space) and plan it again (a) to continue"
            )
        )
    for name in await app.jobs.in_thread(lambda: runtimes_with_interrupted_runs(control)):
        app.problem(sanitize(f"a job on runtime {name} was interrupted; open the runtime (enter) to resume it"))


def _describe(one: InterruptedRun) -> str:
    verb = "deletion" if one.deletion else "installation"
    what = f"“{one.title}”" if one.title else f"the {verb} of {one.name}"
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(one.began))
    where = f" at: {', '.join(one.steps[:3])}" if one.steps else ""
    return f"{what}, started {moment}, was interrupted{where}"


async def resume_job(app: FlowApp, words: Sequence[str]) -> None:
    """Plan an interrupted job again, or follow it again; completed steps are skipped."""
    context = app.view.place.name if app.view.place is not None else ""
    found = {one.name: one for one in await app.jobs.in_thread(lambda: interrupted_runs(context))}
    name = " ".join(words) or next(iter(found), "")
    if not found:
        app.problem("no interrupted job on this cluster")
    elif name not in found:
        app.problem(unknown_name("interrupted job", name, found, "resume NAME"))
    else:
        await _go_on(app, found[name])


async def _go_on(app: FlowApp, one: InterruptedRun) -> None:
    from kymatui.actions.modules.install_plan import InstallRequest
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.ui.flows import manifest
    from kymatui.ui.flows.deletion import open_deletion
    from kymatui.ui.flows.direct_install import adopt, install
    from kymatui.ui.flows.kyma_edit import resume_edit

    if one.deletion:
        await open_deletion(app, one.name)
    elif one.kind in set(EditVerb):
        await resume_edit(app, EditVerb(one.kind), one.modules, one.given)
    elif one.kind == "adopt":
        await adopt(app, [one.name])
    elif one.kind == "manifest":
        await manifest.install_manifest(app, one.name)
    else:
        chart, namespace, repository = (one.given.get(word, "") for word in ("chart", "namespace", "repository"))
        source = ModuleSource(chart=chart, repository=repository)
        await install(app, one.name, InstallRequest(one.name, source, namespace))

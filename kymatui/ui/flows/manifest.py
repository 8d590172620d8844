"""Installation by Manifests of kymatui's own operator: the version, the plan, and the job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kymatui.actions.jobs import FOLLOW_SECONDS, JobReport, JobSpec
from kymatui.actions.modules.manifest import (
    ManifestAction,
    ManifestControls,
    ManifestProposal,
    ManifestWriting,
    manifest_item,
)
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.versions import newest_version
from kymatui.domain.plans.jobs import JobPurpose, module_key
from kymatui.domain.plans.manifest_body import ManifestProgress
from kymatui.domain.plans.plan_preview import PreviewVerdict, git_option, join_previews
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.errors import RefusedError
from kymatui.ui.connection.cluster_link import ConnectionLink
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.kyma_edit import result_message
from kymatui.ui.presenters.plans.install_preview import manifest_title, preview_manifest
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

WRITE, FOLLOW = "write the Manifest", "wait for kymatui's operator"
_STAYS = "the Manifest stays; kymatui's operator continues"


def manifest_action(app: FlowApp) -> ManifestAction:
    """Return the Manifests of the displayed cluster; those of a runtime are on its control plane.

    Raises ConfigurationError before it is connected.
    """
    return ManifestAction(app.writing_session)


def why_no_manifest(app: FlowApp, names: Sequence[str]) -> str:
    """Return why no module can be installed or changed by a Manifest; "" where one can."""
    manifesting = manifest_action(app)
    reasons = ["; ".join(manifesting.refusals(name)) for name in names]
    return "" if "" in reasons else next(iter(reasons), "no module selected")


async def start_manifest_job(app: FlowApp, names: Sequence[str]) -> None:
    """Run the flow to the jobs: of one module from the choice of a version, of several with the newest of each."""
    manifesting, name = manifest_action(app), names[0]
    while True:
        if names[1:]:
            proposals, left_out = await app.jobs.in_thread(lambda: manifesting.propose_newest(names))
            if not proposals:
                raise RefusedError("; ".join(left_out), unchanged=True)
        else:
            if refused := await app.jobs.in_thread(lambda: list(manifesting.refusals(name))):
                raise RefusedError(f"{name}: {'; '.join(refused)}", unchanged=True)
            question = _question(manifesting, name)
            chosen = await app.push_screen_wait(ChoiceScreen(f"Install {name} with a Manifest", [question]))
            if chosen is None:
                return
            proposals = [await app.jobs.in_thread(partial(manifesting.propose, name, chosen["version"]))]
        parts = {entry.module: preview_manifest(entry, str(app.view.management or "")) for entry in proposals}
        title = f"{format_count(len(proposals), 'module')} with Manifests"
        shown = join_previews(title, parts, left_out) if names[1:] else parts[name]
        answer = await app.push_screen_wait(PlanScreen(shown, partial(_outdated, app, proposals)))
        for proposal in proposals if answer.is_yes else ():
            _begin(app, manifesting, proposal)
        if answer.verdict is not PreviewVerdict.EDITED:
            return


def _begin(app: FlowApp, manifesting: ManifestAction, proposal: ManifestProposal) -> None:
    name = proposal.module
    work = JobSpec(
        manifest_title(proposal),
        partial(_run, manifesting, proposal, app.view.link),
        name,
        frozenset({module_key(name)}),
        (WRITE, FOLLOW),
        _STAYS,
        JobPurpose("manifest", (name,), {"version": proposal.version, **git_option(proposal.git)}),
    )
    app.jobs.start(work, partial(start_manifest_job, app, [name]))


def _question(manifesting: ManifestAction, name: str) -> Question:
    known, versions = manifesting.installed(name), manifesting.versions(name)
    options = tuple(ChoiceOption(version, version, "installed" if version == known else "") for version in versions)
    return Question("version", "version", options, newest_version(versions))


def _outdated(app: FlowApp, proposals: Sequence[ManifestProposal]) -> str:
    """Return why the plan is outdated: a Manifest was changed since it was read; "" if none was."""
    known = index_cluster(app.view.snapshot).manifests if app.view.snapshot is not None else {}
    reasons = []
    for proposal in proposals:
        live, before = known.get(proposal.module), proposal.live
        if (live is None) != (before is None):
            reasons.append(f"{proposal.ref} was {'deleted' if live is None else 'created'} meanwhile")
        elif live is not None and before is not None and live.raw.get("spec") != before.raw.get("spec"):
            reasons.append(f"{proposal.ref} has changed")
    return "; ".join(reasons)


def _run(manifesting: ManifestAction, proposal: ManifestProposal, link: ConnectionLink[Any], report: JobReport) -> str:
    def report_progress(now: ManifestProgress) -> None:
        report.wait(now.message, now.actor)

    def wrote(proposal: ManifestProposal) -> None:
        report.log(f"wrote {proposal.ref}")
        report.step(FOLLOW)

    with link.listening() as changed:
        controls = ManifestControls(report_progress, FOLLOW_SECONDS, changed=changed, wrote=wrote)
        verb = ManifestWriting(manifesting, controls)
        return run_batch_job([manifest_item(proposal)], verb, report, result_message, lambda _: WRITE)

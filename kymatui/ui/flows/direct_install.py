"""Direct installation and upgrade from the screen: version, default CR or values, the plan, the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.actions.modules.install import InstallItem, install_item
from kymatui.actions.modules.install_choices import InstallAction, InstallSelection, InstallStatus, upgraded_version
from kymatui.actions.modules.install_plan import Adoption, InstallRequest
from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma.versions import newest_version
from kymatui.domain.plans.jobs import VALUES_LEFT_OUT, JobPurpose, module_key
from kymatui.domain.plans.plan_preview import PreviewVerdict, git_option
from kymatui.engine.plans.plan import Plan, plan_to_json
from kymatui.errors import RefusedError
from kymatui.sessions.install_port import SessionInstallPort
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import run_batch_job, with_durations
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.job_controller import JobRestart
from kymatui.ui.presenters.plans.install_preview import install_title, preview_install
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

_STAYS = "applied objects stay; run it again to finish"
_CREATE, _IGNORE, _EDIT = "create", "ignore", "edit"
_KEEP, _DELETE = "keep", "delete"


def install_action(app: FlowApp) -> InstallAction:
    """Return the direct installations of the displayed cluster.

    Raises ConfigurationError before it is connected.
    """
    return InstallAction(SessionInstallPort(app.writing_session, cache=app.view.flow_memory))


def why_not_installable(app: FlowApp, names: Sequence[str], *, upgrade: bool) -> str:
    """Return why no module can be installed or upgraded; "" where one can. Asks the server."""
    directing, reasons = install_action(app), []
    for name in names:
        standing = directing.standing(name)
        if standing.refusals:
            reasons.append(standing.refusals[0])
        elif upgrade and standing.known is None:
            selection = directing.upgrades([name])
            if selection.requests:
                return ""
            reasons.append(selection.left_out[0].removeprefix(f"{name}: "))
        elif upgrade and not standing.known_chart and not upgraded_version(standing):
            reasons.append("newest version installed")
        elif not upgrade and not standing.versions:
            reasons.append("not in any catalog")
        elif not upgrade and len(names) > 1 and standing.known is not None:
            reasons.append("already installed")
        else:
            return ""
    return reasons[0] if reasons else "no module selected"


# one module


async def start_install(app: FlowApp, names: Sequence[str]) -> None:
    """Start the flow of one module with its options, or of several in their newest versions."""
    await (install_several(app, names) if names[1:] else install(app, names[0]))


async def install(app: FlowApp, name: str, first: InstallRequest | None = None) -> None:
    """Run the flow from the choice to the job; `first` is the request with its source for a chart."""
    directing, start = install_action(app), first or InstallRequest(name)
    standing = await app.jobs.in_thread(lambda: directing.standing(name, start.namespace))
    if standing.refusals:
        raise RefusedError("; ".join(standing.refusals), unchanged=True)
    while True:
        request = await _choose(app, directing, standing, start)
        if request is None:
            return
        again = partial(install, app, name, first)
        verdict = await _plan(app, directing, InstallSelection((request,), ()), again, editable=True)
        if verdict is not PreviewVerdict.EDITED:
            return


async def resume_install(app: FlowApp, kind: str, names: Sequence[str], options: Mapping[str, str]) -> None:
    """Plan an interrupted installation again, in its version and with the values that it has written."""
    if names[1:]:
        await (upgrade if kind == "upgrade" else install_several)(app, names)
        return
    directing, name = install_action(app), names[0]
    chart, file, kustomization, repository, version = (
        options.get(option, "") for option in ("chart", "file", "kustomize", "repo", "version")
    )
    source = ModuleSource(file, chart, kustomization, repository=repository, version=version)
    policy = next(
        (candidate for candidate in Policy if candidate.value == options.get("policy")), Policy.CREATE_AND_DELETE
    )
    space, template = "" if source.is_catalog else options.get("namespace", ""), options.get("template", "")
    request = InstallRequest(name, source, space, policy=policy, template=template)
    has_others = VALUES_LEFT_OUT in options
    if not (source.version or file or kustomization) or (
        has_others and not chart
    ):  # what was typed is in no journal: ask again
        await install(app, name, request if chart else None)
        return
    restarted = await app.jobs.in_thread(lambda: directing.interrupted(request, has_others=has_others))
    again = partial(resume_install, app, kind, names, options)
    await _plan(app, directing, InstallSelection((restarted,), ()), again)


async def adopt(app: FlowApp, names: Sequence[str]) -> None:
    """Adopt modules that another tool installed or lifecycle-manager released; delete nothing."""
    directing = install_action(app)
    selection = await app.jobs.in_thread(lambda: directing.adoptions(names))
    await _plan(app, directing, selection, partial(adopt, app, names))


def why_not_adoptable(app: FlowApp, names: Sequence[str]) -> str:
    """Return why there is nothing to adopt; "" where there is."""
    selection = install_action(app).adoptions(names)
    why = "" if selection.requests or not selection.left_out else selection.left_out[0]
    return why.removeprefix(f"{names[0]}: ") if len(names) == 1 else why


async def _choose(
    app: FlowApp, directing: InstallAction, standing: InstallStatus, first: InstallRequest
) -> InstallRequest | None:
    questions = [_version(standing)] if not first.source.chart else []
    questions.append(_values(standing) if first.source.chart else _resource(standing))
    if standing.spaces and not first.source.chart:
        questions.append(_template(standing))
    if standing.known is not None:
        questions.append(_definitions())
    chosen = await app.push_screen_wait(ChoiceScreen(f"Install {standing.module} directly", questions))
    if chosen is None:
        return None
    request = replace(
        first,
        source=replace(
            first.source, version=chosen.get("version", first.source.version), keeps_values=chosen["resource"] == _KEEP
        ),
        policy=Policy.IGNORE if chosen["resource"] == _IGNORE else Policy.CREATE_AND_DELETE,
        prune_definitions=chosen.get("definitions") == _DELETE,
        template=chosen.get("template", ""),
    )
    if chosen["resource"] != _EDIT:
        return request
    fields, document = await app.jobs.in_thread(lambda: directing.form(request))
    what = "values" if first.source.chart else "default CR"
    filled = await app.push_screen_wait(FormScreen(f"{what} of {standing.module}", fields, document))
    return replace(request, document=filled) if filled is not None else None


def _version(standing: InstallStatus) -> Question:
    known = standing.known.version if standing.known is not None else ""
    notes = {known: "installed"} if known else {}
    options = tuple(ChoiceOption(version, version, notes.get(version, "")) for version in standing.versions)
    best = upgraded_version(standing) or known or newest_version(standing.versions)
    return Question("version", "version", options, best)


def _values(standing: InstallStatus) -> Question:
    options = (ChoiceOption(_CREATE, "use chart defaults"), ChoiceOption(_EDIT, "edit values…"))
    if not standing.known_chart:
        return Question("resource", "values", options, _CREATE)
    kept = ChoiceOption(_KEEP, "keep current values", "they override the chart's defaults")
    return Question("resource", "values", (kept, *options), _KEEP)


def _resource(standing: InstallStatus) -> Question:
    if standing.known is not None:
        return Question("resource", "default CR", (ChoiceOption(_CREATE, "keep", "it stays as it is"),), _CREATE)
    options = (
        ChoiceOption(_CREATE, "create", "only on the first installation"),
        ChoiceOption(_EDIT, "edit…", "as a form or YAML"),
        ChoiceOption(_IGNORE, "do not create", "the module is installed without configuration"),
    )
    return Question("resource", "default CR", options, _CREATE)


def _template(standing: InstallStatus) -> Question:
    note = "so that kyma CLI and the dashboard list the module"
    created = (ChoiceOption(name, f"create in {name}", note) for name in standing.spaces)
    none = ChoiceOption("", "do not create" if standing.known is None else "as it is")
    return Question("template", "ModuleTemplate", (none, *created))


def _definitions() -> Question:
    options = (ChoiceOption(_KEEP, "keep them"), ChoiceOption(_DELETE, "delete them", "and all objects of these kinds"))
    return Question("definitions", "CRDs not in the new version", options, _KEEP)


# several modules


async def install_several(app: FlowApp, names: Sequence[str]) -> None:
    """Plan the newest version of each module that is not installed, with its default CR, as one plan."""
    directing = install_action(app)
    selection = await app.jobs.in_thread(lambda: directing.installations(names))
    await _plan(app, directing, selection, partial(install_several, app, names))


async def upgrade(app: FlowApp, names: Sequence[str]) -> None:
    """Plan the upgrade of the outdated modules to their newest versions as one plan."""
    directing = install_action(app)
    selection = await app.jobs.in_thread(lambda: directing.upgrades(names))
    if len(names) == 1 and selection.requests and selection.requests[0].adoption is Adoption.NEVER:
        (request,) = selection.requests
        await install(app, request.module, request if request.source.chart else None)
    else:
        await _plan(app, directing, selection, partial(upgrade, app, names))


async def upgrade_all(app: FlowApp) -> None:
    """Upgrade every outdated installation of kymatui, charts with saved values; name the others."""
    directing = install_action(app)
    selection = await app.jobs.in_thread(directing.all_upgrades)
    await _plan(app, directing, selection, partial(upgrade_all, app))


async def _plan(
    app: FlowApp, directing: InstallAction, selection: InstallSelection, again: JobRestart, *, editable: bool = False
) -> PreviewVerdict:
    """Display the plan and start a job for each module once it is accepted."""
    planned = await app.jobs.in_thread(partial(directing.plans, selection))
    plans, standings = planned.plans, planned.standings
    kept = plan_to_json(plans[0]) if len(plans) == 1 else None
    shown = preview_install(plans, standings, kept, left_out=planned.left_out, editable=editable)
    answer = await app.push_screen_wait(PlanScreen(await with_durations(app, shown, joined_changes(plans))))
    if answer.is_yes:
        for plan, request, standing in zip(plans, planned.requests, standings, strict=True):
            forced = plan
            if f"force {request.module}" in answer.consents:
                forced = replace(plan, intent=replace(plan.intent, force=True))
            start_install_job(
                app, directing, forced, request, again, standing.known.version if standing.known is not None else ""
            )
    return answer.verdict


def start_install_job(
    app: FlowApp, directing: InstallAction, plan: Plan, request: InstallRequest, again: JobRestart, installed: str = ""
) -> None:
    """Start the job of a plan; `installed` is the previous version."""
    name = plan.bundle.name
    work = JobSpec(
        install_title([plan], installed if not plan.first else ""),
        partial(_run, directing, install_item(name, plan)),
        name,
        frozenset({module_key(name)}),
        ("apply",),
        _STAYS,
        JobPurpose(
            "adopt" if plan.intent.adopt else plan.verb, (name,), {**_options(plan, request), **git_option(plan.git)}
        ),
    )
    app.jobs.start(work, again)


def _options(plan: Plan, request: InstallRequest) -> dict[str, str]:
    """Return what the user chose, for the journal: no values, which are in the release."""
    source = request.source
    options = {
        "file": source.file,
        "kustomize": source.kustomization,
        "chart": source.chart,
        "repo": source.repository,
        "namespace": request.namespace if source.is_catalog else plan.bundle.namespace,
        "version": plan.bundle.version,
        "policy": request.policy.value,
        "template": request.template,
        VALUES_LEFT_OUT: "true" if request.document is not None else "",
    }
    return {name: value for name, value in options.items() if value}


def _run(directing: InstallAction, item: InstallItem, report: JobReport) -> str:
    return run_batch_job([item], directing.installation(report.progress), report, _result_line, lambda _: "apply")


def _result_line(item: InstallItem) -> str:
    assert item.result is not None
    return f"{len(item.result.written)} written, {len(item.result.deleted)} deleted"

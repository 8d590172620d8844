"""Campaign from the fleet screen: one edit of many runtimes, with one plan table and one job."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from kymatui.actions.batch import BatchJob, run_items
from kymatui.actions.edits.campaign import (
    UPGRADE,
    Campaign,
    CampaignEdit,
    CampaignItem,
    ClusterCampaign,
    ContextUpgrades,
    UpgradeCampaign,
    campaign_item,
    campaign_steps,
    campaign_target,
    plan_upgrades,
    upgrade_change,
)
from kymatui.actions.edits.uninstall import UninstallConsent
from kymatui.actions.jobs import JobReport, JobSpec
from kymatui.actions.session import Session
from kymatui.domain.fleet.campaigns import (
    MAX_PARALLEL,
    CampaignChange,
    CampaignPace,
    CampaignStep,
    format_outcomes,
    job_runtimes,
    waves,
)
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.refs import split_name
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit, edit_options, read_edit
from kymatui.domain.plans.jobs import RUNTIMES, JobPurpose
from kymatui.domain.plans.plan_preview import PreviewVerdict, git_option
from kymatui.engine.jobs.job_records import JobRecord, join_runtimes
from kymatui.errors import ConfigurationError, PartlyDoneError, RefusedError
from kymatui.sessions.deletions import edits_of
from kymatui.sessions.install_port import SessionInstallPort
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import ScreenRenderer
from kymatui.ui.flows.flow_app import FleetFlowApp
from kymatui.ui.presenters.fleet.campaign_preview import campaign_title, format_campaign_end, preview_campaign
from kymatui.ui.presenters.plans.kyma_edit_preview import edit_title
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

if TYPE_CHECKING:
    from kymatui.ui.connection.fleet_view import FleetSource

FLEET_JOB_KEY = "fleet"
_OWN = "the Kyma's own"
_STAYS = "what is changed stays changed; plan again to continue with the others"
_WORDS: Mapping[str, str] = {
    EditVerb.CHANNEL: "change the channel of a module",
    EditVerb.ENABLE: "enable a module in the Kyma",
    EditVerb.DISABLE: "disable a module (uninstalls it)",
    EditVerb.MANAGE: "let lifecycle-manager manage a module",
    EditVerb.UNMANAGE: "keep a module installed, stop its updates",
    EditVerb.POLICY: "set who creates the default CR",
}
_UPGRADE_OPTIONS = {"all", "policy", "canaries", "at_once", RUNTIMES}
"""Options of an upgrade that the screen has, too."""
_KEEP, _CASCADE = "keep", "cascade"
_LEFT = (
    ChoiceOption(_KEEP, "skip these runtimes", "where user-created objects block the deletion"),
    ChoiceOption(_CASCADE, "delete user-created objects first", "the plan counts them; a backup is saved"),
)
_PACES = ((1, 1), (1, 4), (2, 4), (5, MAX_PARALLEL))


class _Requested(Struct, frozen=True):
    """A campaign that a person chose, which is planned again after a stop."""

    change: CampaignChange
    campaign: Callable[[FleetSource], ClusterCampaign]


def _edit(toggle: ModuleEdit, pace: CampaignPace, consent: UninstallConsent) -> _Requested:
    cascade = {"cascade": "true"} if consent.cascade else {}
    options = {**edit_options(toggle), **cascade}
    change = CampaignChange(toggle.verb.value, (toggle.module,), options, edit_title([toggle]))
    return _Requested(change, lambda source: Campaign(source.listed(), edits_of, toggle, pace, consent))


def _upgrade(modules: Sequence[str], pace: CampaignPace) -> _Requested:
    def campaign(source: FleetSource) -> ClusterCampaign:
        def planned(session: Session) -> ContextUpgrades:
            return plan_upgrades(SessionInstallPort(session), modules)

        listed = source.listed(edits_kymas=False)
        return UpgradeCampaign(listed, SessionInstallPort, planned, pace, everything=not modules)

    return _Requested(upgrade_change(modules), campaign)


async def edit_runtimes(app: FleetFlowApp, runtimes: Sequence[str]) -> None:
    """Run the flow from the choice to the job; `runtimes` are named `namespace/name`."""
    while True:
        verb = await _choose_verb(app, len(runtimes))
        if verb is None:
            return
        chosen = await _choose(app, verb, runtimes)
        if chosen is None:
            continue
        canaries, _, at_once = chosen["pace"].partition("/")
        pace = CampaignPace(int(canaries), int(at_once))
        if verb == UPGRADE:
            requested = _upgrade(list(filter(None, [chosen["module"]])), pace)
        else:
            consent = UninstallConsent(cascade=chosen.get("left") == _CASCADE)
            requested = _edit(_toggle(EditVerb(verb), chosen), pace, consent)
        if await _plan(app, runtimes, requested) is not PreviewVerdict.EDITED:
            return


async def _plan(
    app: FleetFlowApp, runtimes: Sequence[str], requested: _Requested, *, is_resumed: bool = False
) -> PreviewVerdict:
    """Plan every runtime in threads, display one table, and start the job once it is accepted."""
    source = app.fleet_view.fleet_link.session
    if source is None:
        raise ConfigurationError("not connected yet")
    campaign, change = requested.campaign(source), requested.change
    pace = campaign.pace
    app.notify(f"planning {format_count(len(runtimes), app.subject)}, {MAX_PARALLEL} in parallel", timeout=3)
    steps = await app.jobs.in_thread(lambda: campaign.plan(runtimes))
    if campaign.target is not None:
        app.jobs.flow_target = campaign_target(campaign.target, [step for step in steps if step.is_ahead])
    answer = await app.push_screen_wait(PlanScreen(preview_campaign(steps, change.words, pace, campaign.plans_of)))
    if answer.is_yes:
        planned = sum(step.is_ahead for step in steps)
        run = partial(_run, campaign, steps)
        keeps, titles = frozenset({FLEET_JOB_KEY}), tuple(map(_step, waves(steps, pace.canaries, pace.at_once)))
        numbers = {"canaries": str(pace.canaries), "at_once": str(pace.at_once)}
        names = join_runtimes(job_runtimes(steps, is_resumed=is_resumed))
        git = git_option(joined_changes(step for step in steps if step.is_ahead))
        purpose = JobPurpose(change.kind, change.modules, {**change.options, **numbers, **git, RUNTIMES: names})
        title = campaign_title(change.words, steps, planned)
        work = JobSpec(title, run, "", keeps, titles, _STAYS, purpose, cluster=lambda: campaign.home)
        app.jobs.start(work, partial(_plan, app, runtimes, requested))
    return answer.verdict


async def resume_campaign(app: FleetFlowApp, record: JobRecord) -> None:
    """Plan again what is left of an interrupted campaign."""
    heading, options = record.heading, record.heading.options
    pace = CampaignPace(int(options.get("canaries", 1)), int(options.get("at_once", 4)))
    if heading.kind != UPGRADE:
        edit = read_edit(EditVerb(heading.kind), heading.modules[0], options)
        requested = _edit(edit, pace, UninstallConsent(cascade="cascade" in options))
    elif options.keys() <= _UPGRADE_OPTIONS:
        requested = _upgrade(heading.modules, pace)
    else:
        raise RefusedError(
            f"the screen does not continue \u201c{record.title}\u201d",
            hint=f"run `{record.resume_command}` in a terminal",
        )
    await _plan(app, record.runtimes, requested, is_resumed=True)


def _step(wave: Sequence[CampaignStep]) -> str:
    return f"{wave[0].name} and {len(wave) - 1} more" if wave[1:] else wave[0].name


def _run(campaign: ClusterCampaign, steps: Sequence[CampaignStep], report: JobReport) -> str:
    done, lock = 0, threading.Lock()
    total = sum(step.is_ahead for step in steps)

    def report_step(step: CampaignStep) -> None:
        nonlocal done
        with lock:
            done += 1
            words = f"{step.outcome.value}: {step.message}" if step.message else step.outcome.value
            report.log(words, done=done, total=total, about=step.label)

    items = [campaign_item(step) for step in steps if step.is_ahead]
    renderer: ScreenRenderer[CampaignStep, CampaignStep] = ScreenRenderer(report, _wave_step)
    ended = run_items(items, CampaignEdit(campaign, report_step), renderer, BatchJob(report.cancel, report.journal))
    worked = campaign_steps(ended)
    if any(item.error for item in ended):
        raise PartlyDoneError(format_campaign_end(worked))
    return format_outcomes(worked)


def _wave_step(items: Sequence[CampaignItem]) -> str:
    return _step([item.required_plan for item in items])


# the choice


async def _choose_verb(app: FleetFlowApp, number: int) -> str | None:
    words = {**_WORDS, UPGRADE: "upgrade directly installed modules"} if app.has_contexts else _WORDS
    options = tuple(ChoiceOption(str(verb), str(verb), effect) for verb, effect in words.items())
    chosen = await app.push_screen_wait(
        ChoiceScreen(f"Edit {format_count(number, app.subject)}", [Question("verb", "action", options)])
    )
    return chosen["verb"] if chosen is not None else None


async def _choose(app: FleetFlowApp, verb: str, runtimes: Sequence[str]) -> dict[str, str] | None:
    modules = (
        _outdated(app, runtimes) if verb == UPGRADE else _modules(app, runtimes, installed=verb != EditVerb.ENABLE)
    )
    if not modules:
        raise RefusedError(f"these {app.subject}s report no modules")
    questions = [Question("module", "module", modules)]
    if verb in (EditVerb.ENABLE, EditVerb.CHANNEL):
        names = sorted(app.fleet.picture.channels) if app.fleet is not None else ()
        channels = [ChoiceOption(_OWN, "the Kyma's channel"), *(ChoiceOption(name, name) for name in names)]
        questions.append(Question("channel", "channel", tuple(channels), _OWN))
    if verb == EditVerb.POLICY:
        questions.append(Question("policy", "default CR", tuple(ChoiceOption(policy, policy) for policy in Policy)))
    if verb == EditVerb.DISABLE:
        questions.append(Question("left", "blocking objects", _LEFT, _KEEP))
    questions.append(Question("pace", "batches", tuple(_pace(*pace) for pace in _PACES), "1/4"))
    return await app.push_screen_wait(ChoiceScreen(f"{verb}: choose a module", questions))


def _pace(canaries: int, at_once: int) -> ChoiceOption:
    first = format_count(canaries, "canary", "canaries") + (" one by one" if canaries > 1 else "")
    rest = "one by one" if at_once == 1 else f"{at_once} in parallel"
    return ChoiceOption(f"{canaries}/{at_once}", f"{first}, then {rest}", "stop on failure")


def _modules(app: FleetFlowApp, runtimes: Sequence[str], *, installed: bool) -> tuple[ChoiceOption, ...]:
    """Return the modules that any runtime has, with counts; to enable, the available modules too."""

    picture = app.fleet.picture if app.fleet is not None else None
    if picture is None:
        return ()
    chosen = [runtime for name in runtimes if (runtime := picture.runtimes.get(split_name(name))) is not None]
    names = {module.name for runtime in chosen for module in runtime.modules}
    if not installed:
        names |= picture.offered
    have = {name: sum(runtime.module(name) is not None for runtime in chosen) for name in names}
    return tuple(
        ChoiceOption(name, name, f"on {have[name]} of {format_count(len(chosen), app.subject)}")
        for name in sorted(names)
    )


def _outdated(app: FleetFlowApp, runtimes: Sequence[str]) -> tuple[ChoiceOption, ...]:
    """Return all outdated modules as one choice, and each with counts."""
    picture = app.fleet.picture if app.fleet is not None else None
    clusters = [picture.clusters[split_name(name)] for name in runtimes] if picture is not None else []
    counts = Counter(row.name for cluster in clusters for row in cluster.updates)
    some = (
        ChoiceOption(name, name, f"in {number} of {format_count(len(clusters), app.subject)}")
        for name, number in sorted(counts.items())
    )
    return (ChoiceOption("", "all outdated modules"), *some)


def _toggle(verb: EditVerb, chosen: Mapping[str, str]) -> ModuleEdit:
    channel, policy = chosen.get("channel"), chosen.get("policy")
    new_channel = None if channel is None else "" if channel == _OWN and verb is EditVerb.CHANNEL else channel
    return ModuleEdit(
        verb, chosen["module"], None if new_channel == _OWN else new_channel, Policy(policy) if policy else None
    )
